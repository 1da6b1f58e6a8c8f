"""kept_rows: the rows of a plan that an Apply runs once and reads in every run of its right input; and those of spools.

Rows are read as they are asked for, so that runs which stop early read no more than they need, and an error comes up no earlier
than it is met. What is made of all the rows (an index, a sorted column) is kept with them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from executor.arrow.batches import Batches, batch_schema, collect, one_batch
from executor.arrow.context import Context
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.plan import PlanNode

_FEW_BYTES = 16 << 20
Made = TypeVar("Made")
Make = Callable[[pa.RecordBatch, Callable[[int], None]], Made]  # of rows, and who is told how many bytes are held besides


class Kept:
    """The rows of `plan`, as far as they were read."""

    __slots__ = ("_batches", "_bytes", "_complete", "_made", "_source", "plan")

    def __init__(self, plan: PlanNode) -> None:
        self.plan = plan
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._source: Batches | None = None
        self._complete = False
        self._made: dict[Hashable, Any] = {}

    def batches(self, context: Context) -> Batches:
        """All rows from the first. Readers may take turns."""
        batches, place = self._batches, 0  # which a later list of fewer batches does not disturb
        while place < len(batches) or self._read(context):
            yield batches[place]
            place += 1

    def whole(self, context: Context) -> pa.RecordBatch:
        """All rows in one batch."""
        while self._read(context):
            pass
        if len(self._batches) != 1:
            schema = batch_schema(self.plan.columns, context.columns)
            self._batches = [one_batch(collect(self._batches, schema))]
        return self._batches[0]

    def made(self, key: Hashable, node: PlanNode, context: Context, make: Make[Made]) -> Made:
        """What `make` gives, made once as long as the rows are kept, and held by `node`."""
        if key not in self._made:
            rows = self.whole(context)
            context.held(node, 0, (self, key))
            self._made[key] = make(rows, lambda bytes: context.held(node, bytes, (self, key), again=True))
        found: Made = self._made[key]
        return found

    def forget(self, context: Context) -> None:
        """The rows have to be read anew: what the plan reads of enclosing queries has changed."""
        if self._source is not None:
            self._source.close()
        for key in (None, *self._made):
            context.released((self, key))
        self._batches, self._bytes, self._source, self._complete, self._made = [], 0, None, False, {}

    def _read(self, context: Context) -> bool:
        """Read one more batch; False when there is none. Few rows come as one batch in later runs."""
        if self._complete:
            return False
        if self._source is None:
            self._source = context.open(self.plan)
        for batch in self._source:
            if batch.num_rows:
                self._batches.append(batch)
                self._bytes += batch.nbytes
                context.held(self.plan, self._bytes, (self, None))
                return True
        self._complete = True
        few = sum(b.num_rows for b in self._batches) <= context.tuning.batch and self._bytes <= _FEW_BYTES
        if few and len(self._batches) > 1:
            self._batches = [one_batch(collect(self._batches, self._batches[0].schema))]
        return False


@dataclass(frozen=True, slots=True, eq=False)
class KeptRows(PhysicalOperator):
    """Stands for the plan of `kept` in the plan of a run."""

    kept: Kept
    name: ClassVar[str] = "kept_rows"


def made_of_input(node: PlanNode, context: Context, number: int, key: Hashable, make: Make[Made], keeps: bool = True) -> Made:
    """What `make` gives for all rows of an input; where these are kept for many runs, so is it, under `key`, if it may."""
    child = node.inputs[number]
    if keeps and isinstance(child.op, KeptRows):
        return child.op.kept.made(key, node, context, make)
    rows = one_batch(context.gather(node, child))
    return make(rows, lambda bytes: context.held(node, rows.nbytes + bytes, again=True))


def produce(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, KeptRows)
    yield from node.op.kept.batches(context)
