"""Texts that are dictionaries on their way to the aggregate that groups by them.

A Parquet file holds a column of repeating texts as numbers and a dictionary. Where nothing between scan and aggregate looks
at the column (filters, projections and hash joins on others), it is handed on in that form, and rows are grouped by the numbers.
A hash join makes dictionaries of the texts of a small build side, which all its rows share. The texts of a dictionary differ.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from executor.arrow.context import TableSource
from executor.arrow.parquet_rows import repeats
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import FilterRows, HashAggregate, HashGroupingSets, HashJoin, ProjectRows, TableScan
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.types import is_string

Step = tuple[PlanNode, ColumnId]
_SMALL = 1 << 15  # estimated rows of a build side whose texts are made a dictionary


def encoded_texts(plan: PlanNode, columns: Columns, sources: Mapping[str, TableSource]) -> dict[int, ColumnSet]:
    """By the id of a node, which of its columns come as dictionaries."""
    found: dict[int, ColumnSet] = {}
    for node in plan.walk():
        op = node.op
        if type(op) is HashAggregate:
            keys = op.keys
        elif type(op) is HashGroupingSets:
            keys = tuple(dict.fromkeys(key.source for key in op.keys))
        else:
            continue
        for key in keys:
            if is_string(columns[key].type) and not any(item.call.columns >> key & 1 for item in op.aggregates):
                for below, column in _encoded(list(_path(node.inputs[0], key)), sources):
                    found[below.id] = found.get(below.id, 0) | 1 << column
    return found


def with_dictionaries(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch, with texts as dictionaries where `schema` has them so."""
    for i, field in enumerate(batch.schema):
        at = schema.get_field_index(field.name)
        if at >= 0 and pa.types.is_dictionary(schema.field(at).type) and not pa.types.is_dictionary(field.type):
            batch = batch.set_column(i, field.name, batch.column(i).dictionary_encode())
    return batch


def _encoded(path: list[Step], sources: Mapping[str, TableSource]) -> list[Step]:
    """The steps at which the column is a dictionary."""
    if path and _is_read_encoded(*path[-1], sources):
        return path
    for i in range(len(path) - 1, 0, -1):
        node, built = path[i - 1][0], path[i][0]
        if isinstance(node.op, HashJoin) and built is node.inputs[0 if node.op.build_left else 1] and built.rows <= _SMALL:
            return path[:i]
    return []


def _path(node: PlanNode, column: ColumnId) -> Iterator[Step]:
    """From a node down to where its column comes from."""
    step: Step | None = (node, column)
    while step is not None:
        yield step
        step = _below(*step)


def _below(node: PlanNode, column: ColumnId) -> Step | None:
    op = node.op
    if type(op) is FilterRows or (type(op) is HashJoin and op.kind is not JoinKind.MARK):
        if not predicate_columns(op.scalars()) >> column & 1:
            return next(((below, column) for below in node.inputs if below.columns >> column & 1), None)
    if type(op) is ProjectRows:
        source = next((item.value for item in op.items if item.id == column), None)
        if isinstance(source, ColumnRef) and sum(item.value.columns >> source.id & 1 for item in op.items) == 1:
            return node.inputs[0], source.id
    return None


def _is_read_encoded(node: PlanNode, column: ColumnId, sources: Mapping[str, TableSource]) -> bool:
    if type(node.op) is not TableScan:
        return False
    scan = node.op.scan
    source = sources.get(scan.table)
    if source is None or source.format != "parquet" or not source.files:
        return False
    return repeats(source.files[0], next(each.source for each in scan.columns if each.id == column))
