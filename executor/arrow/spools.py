"""with_spools, fill_spool, read_spool: rows that are computed as they are first asked for, and kept for all who read them."""

from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from executor.arrow.batches import Batches, column_name, renamed
from executor.arrow.context import Context
from optimizer.algebra.columns import column_ids
from optimizer.algebra.physical import FillSpool, ReadSpool, WithSpools
from optimizer.algebra.plan import PlanNode


class Readable(Protocol):
    def batches(self) -> Batches:
        """All rows from the first."""
        ...


class SpoolRows:
    """The rows of a spool, as far as they were read. Readers may take turns. They are made in the context of the With, so only
    once also where a reader runs again and again."""

    __slots__ = ("_batches", "_bytes", "_context", "_fill", "_source")

    def __init__(self, fill: PlanNode, context: Context) -> None:
        self._fill, self._context = fill, context
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._source: Batches | None = None

    def batches(self) -> Batches:
        """All rows from the first."""
        place = 0
        while place < len(self._batches) or self._read():
            yield self._batches[place]
            place += 1

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._context.released(self)

    def _read(self) -> bool:
        """Read one more batch; False when there is none."""
        if self._source is None:
            self._source = self._context.open(self._fill)
        for batch in self._source:
            if batch.num_rows:
                self._batches.append(batch)
                self._bytes += batch.nbytes
                self._context.held(self._fill, self._bytes, self)
                return True
        return False


def produce_with(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, WithSpools)
    *fills, body = node.inputs
    spools: dict[int, SpoolRows] = {}
    inner = replace(context, spools=spools)
    for fill in fills:
        assert isinstance(fill.op, FillSpool)
        spools[fill.op.spool] = SpoolRows(fill, inner)
    try:
        yield from inner.open(body)
    finally:
        for spool in spools.values():
            spool.close()


def produce_fill(node: PlanNode, context: Context) -> Batches:
    yield from context.open(node.inputs[0])


def produce_read(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, ReadSpool)
    schema, source = context.schema(node), dict(node.op.columns)
    names = [column_name(source[id]) for id in column_ids(node.columns)]
    yield from renamed(context.spools[node.op.spool].batches(), names, schema)
