"""kept_rows: the rows of a plan that an Apply runs once and reads in every run of its right input.

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

Made = TypeVar("Made")


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
        """All rows from the first. One reader at a time: the next may start when this one is through or dropped."""
        place = 0
        while True:
            if place < len(self._batches):
                yield self._batches[place]
                place += 1
            elif not self._read(context):
                return

    def whole(self, context: Context) -> pa.RecordBatch:
        """All rows in one batch."""
        while self._read(context):
            pass
        if len(self._batches) != 1:
            schema = batch_schema(self.plan.columns, context.columns)
            self._batches = [one_batch(collect(self._batches, schema))]
        return self._batches[0]

    def made(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, made once as long as the rows are kept."""
        if key not in self._made:
            self._made[key] = make()
        found: Made = self._made[key]
        return found

    def forget(self) -> None:
        """The rows have to be read anew: what the plan reads of enclosing queries has changed."""
        if self._source is not None:
            self._source.close()
        self._batches, self._bytes, self._source, self._complete, self._made = [], 0, None, False, {}

    def _read(self, context: Context) -> bool:
        """Read one more batch; False when there is none. Few rows come as one batch in later runs."""
        if self._complete:
            return False
        if self._source is None:
            self._source = context.open(self.plan)
        batch = next(self._source, None)
        if batch is not None:
            if batch.num_rows:
                self._batches.append(batch)
                self._bytes += batch.nbytes
                context.held(self.plan, self._bytes)
            return True
        self._complete = True
        context.held(self.plan, self._bytes)  # an operator that is through holds nothing, but for this one
        if len(self._batches) > 1 and sum(b.num_rows for b in self._batches) <= context.tuning.batch:
            self._batches = [one_batch(collect(self._batches, self._batches[0].schema))]
        return False


@dataclass(frozen=True, slots=True, eq=False)
class KeptRows(PhysicalOperator):
    """Stands for the plan of `kept` in the plan of a run."""

    kept: Kept
    name: ClassVar[str] = "kept_rows"


def made_of_input(
    node: PlanNode, context: Context, key: Hashable, make: Callable[[pa.RecordBatch], Made], size: Callable[[Made], int]
) -> Made:
    """What `make` gives for all rows of the input, of `size` bytes; kept under `key` as long as the rows are."""
    child = node.inputs[0]
    if not isinstance(child.op, KeptRows):  # a volatile input has other rows in each run
        return make(one_batch(collect(context.open(child), batch_schema(child.columns, context.columns))))
    kept = child.op.kept

    def keep() -> Made:
        found = make(kept.whole(context))
        context.held(node, size(found))
        return found

    return kept.made(key, keep)


def produce(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, KeptRows)
    yield from node.op.kept.batches(context)
