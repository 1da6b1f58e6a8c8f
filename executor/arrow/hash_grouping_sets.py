"""hash_grouping_sets: the input is grouped once by all keys; each grouping set then groups those groups.

Memory: the groups by all keys, and those of one set at a time.
"""

from __future__ import annotations

import pyarrow as pa

from executor.arrow.aggregates import Aggregation, Partial
from executor.arrow.batches import Batches, column_name, single_array, table_batches
from executor.arrow.context import Context
from executor.arrow.hash_aggregate import gathered
from optimizer.algebra.columns import ColumnId, ColumnSet
from optimizer.algebra.physical import HashGroupingSets
from optimizer.algebra.plan import PlanNode


def produce(node: PlanNode, context: Context) -> Batches:
    yield from results(node, context, gathered(node, context, aggregation(node, context)))


def aggregation(node: PlanNode, context: Context) -> Aggregation:
    """By all keys."""
    assert isinstance(node.op, HashGroupingSets)
    sources = list(dict.fromkeys(key.source for key in node.op.keys))
    return Aggregation(sources, node.op.aggregates, context.schema(node), coarser=True)


def results(node: PlanNode, context: Context, finest: Partial) -> Batches:
    """The rows of all sets, of the groups by all keys."""
    op, output = node.op, context.schema(node)
    assert isinstance(op, HashGroupingSets)
    for position, each in enumerate(op.sets):
        by = list(dict.fromkeys(key.source for key in op.keys if each >> key.id & 1))
        groups = _grouped(node, op, context, output, finest, by)
        yield from table_batches(_shown(op, output, groups, each, position), context.tuning.batch)


def _grouped(
    node: PlanNode, op: HashGroupingSets, context: Context, output: pa.Schema, finest: Partial, by: list[ColumnId]
) -> pa.Table:
    """The groups by the input columns `by`: these, and the aggregates of `output`."""
    results = [output.field(column_name(i.id)) for i in op.aggregates if output.get_field_index(column_name(i.id)) >= 0]
    if not by and not results:
        return pa.table({"row": pa.nulls(1)})
    names = [column_name(source) for source in by]
    aggregation = Aggregation(by, op.aggregates, pa.schema([*(finest.states.schema.field(name) for name in names), *results]))
    others = {column_name(key.source) for key in op.keys} - set(names)

    def coarser(tables: tuple[pa.Table, ...]) -> tuple[pa.Table, ...]:
        return tuple(t.select([*names, *(c for c in t.column_names if c not in others and c not in names)]) for t in tables)

    partial = Partial(finest.states, coarser(finest.sets), coarser(finest.kept))
    return aggregation.finish(aggregation.merge([partial], context.tuning, lambda made: context.held(node, finest.nbytes + made)))


def _shown(op: HashGroupingSets, output: pa.Schema, groups: pa.Table, each: ColumnSet, position: int) -> pa.Table:
    """The rows of one set: keys outside it are NULL, and each row has the set's position."""
    shown = {column_name(key.id): column_name(key.source) for key in op.keys if each >> key.id & 1}
    hidden = {column_name(key.id) for key in op.keys if not each >> key.id & 1}
    arrays = []
    for field in output:
        if field.name == column_name(op.number):
            arrays.append(pa.repeat(pa.scalar(position, field.type), groups.num_rows))
        elif field.name in hidden:
            arrays.append(pa.nulls(groups.num_rows, field.type))
        else:
            found = single_array(groups[shown.get(field.name, field.name)])
            arrays.append(found if found.type == field.type else found.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=output)
