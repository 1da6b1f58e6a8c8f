"""with_spools, fill_spool, read_spool: rows that are computed as they are first asked for, and kept for all who read them."""

from dataclasses import replace
from functools import partial

from executor.arrow.batches import Batches, renamed
from executor.arrow.context import Context, Rows
from executor.arrow.kept_rows import Kept
from optimizer.algebra.physical import FillSpool, ReadSpool, WithSpools
from optimizer.algebra.plan import PlanNode


def produce_with(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, WithSpools)
    *fills, body = node.inputs
    kept, spools = list(map(Kept, fills)), dict[int, Rows]()
    inner = replace(context, spools=spools)  # in which rows are made, so only once also where a reader runs again and again
    for fill, rows in zip(fills, kept, strict=True):
        assert isinstance(fill.op, FillSpool)
        spools[fill.op.spool] = partial(rows.batches, inner)
    try:
        yield from inner.open(body)
    finally:
        for rows in kept:
            rows.forget(inner)


def produce_fill(node: PlanNode, context: Context) -> Batches:
    yield from context.open(node.inputs[0])


def produce_read(node: PlanNode, context: Context) -> Batches:
    assert isinstance(node.op, ReadSpool)
    yield from renamed(context.spools[node.op.spool](), dict(node.op.columns), node.columns, context.schema(node))
