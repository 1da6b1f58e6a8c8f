"""What a bound query means: every logical operator by nested loops and dictionaries over Python rows.

Nothing here is shared with the optimizer or the executors but the algebra itself and `evaluate`, so that a bug there
cannot hide here. Meant for tables of a few rows. A row is a dict from column id to a value as `pyarrow.Scalar.as_py`
gives it. The rows of an operator are a bag; their order means nothing, except that `run_query` sorts the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, Columns, column_ids, column_set
from optimizer.algebra.evaluate import Value, evaluate, holds
from optimizer.algebra.evaluate_numbers import EXACT, fit
from optimizer.algebra.evaluate_order import group_key, order_key
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import Aggregate, Filter, Join, Limit, LogicalOperator, Project, Scan, SetOp, Values
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.scalars import AggregateCall
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Node, Tree, postorder
from tests.reference.props import assert_props_hold

Row = dict[ColumnId, Value]
Tables = Mapping[str, pa.Table]


def run_query(bound: BoundQuery, tables: Tables) -> list[tuple[Value, ...]]:
    """The result of a query: its output columns, in the order it asks for (rows it calls equal in any order)."""
    rows = sort_rows(run(bound.tree, bound.columns, tables), bound.order)
    return [tuple(row[output.id] for output in bound.outputs) for row in rows]


def run(tree: Tree, columns: Columns, tables: Tables) -> list[Row]:
    """The rows of `tree` over `tables`, with a check that what the algebra derives of each node's rows is true.

    Each row has exactly the tree's columns. Not recursive: a tree may be deep.
    """
    results: dict[int, list[Row]] = {}
    for node in postorder(tree):
        assert isinstance(node, Tree), "a memo group has no rows"
        produced = run_operator(node.op, [results[id(i)] for i in node.inputs], list(node.inputs), tables)
        assert_props_hold(node.op.name, node.props, produced)
        results[id(node)] = produced
    return results[id(tree)]


def run_operator(op: LogicalOperator, inputs: list[list[Row]], nodes: list[Node], tables: Tables) -> list[Row]:
    match op:
        case Scan():
            return scan_rows(op, tables[op.table])
        case Values():
            return [{c: evaluate(item, {}) for c, item in zip(op.columns, row, strict=True)} for row in op.rows]
        case Filter():
            return [row for row in inputs[0] if holds(op.predicate, row)]
        case Project():
            return [{item.id: evaluate(item.value, row) for item in op.items} for row in inputs[0]]
        case Join():
            left_columns, right_columns = (list(column_ids(node.columns)) for node in nodes)
            return join_rows(op, inputs[0], inputs[1], left_columns, right_columns)
        case JoinGraph():
            return join_graph_rows(op, inputs)
        case Aggregate():
            return aggregate_rows(op, inputs[0])
        case Limit():
            ordered = sort_rows(inputs[0], op.order)
            return ordered[op.offset :] if op.count is None else ordered[op.offset : op.offset + op.count]
        case SetOp():
            return set_operation_rows(op, inputs)
    raise AssertionError(f"{op.name} has no naive evaluation")


def scan_rows(scan: Scan, table: pa.Table) -> list[Row]:
    lists = {c.id: table.column(c.source).to_pylist() for c in scan.columns}
    rows = [{id: values[i] for id, values in lists.items()} for i in range(table.num_rows)]
    rows = [row for row in rows if holds(scan.predicate, row)]
    return rows if scan.limit is None else rows[: scan.limit]


def join_rows(join: Join, left: list[Row], right: list[Row], left_columns: list[int], right_columns: list[int]) -> list[Row]:
    """Nested loops: which pairs match, then what the kind makes of them."""
    matches = [(i, k) for i, a in enumerate(left) for k, b in enumerate(right) if holds(join.predicate, {**a, **b})]
    left_matched, right_matched = {i for i, _ in matches}, {k for _, k in matches}
    if join.kind is JoinKind.SEMI:
        return [row for i, row in enumerate(left) if i in left_matched]
    if join.kind is JoinKind.ANTI:
        return [row for i, row in enumerate(left) if i not in left_matched]
    rows = [{**left[i], **right[k]} for i, k in matches]
    if join.kind in (JoinKind.LEFT, JoinKind.FULL):
        rows += [{**row, **dict.fromkeys(right_columns)} for i, row in enumerate(left) if i not in left_matched]
    if join.kind in (JoinKind.RIGHT, JoinKind.FULL):
        rows += [{**dict.fromkeys(left_columns), **row} for k, row in enumerate(right) if k not in right_matched]
    return rows


def join_graph_rows(op: JoinGraph, inputs: list[list[Row]]) -> list[Row]:
    """All combinations of rows where every conjunct is TRUE, input by input: each is tested once its columns are there."""
    rows: list[Row] = [{}]
    waiting = list(op.predicate)
    for number, added in enumerate(inputs):
        rows = [{**row, **other} for row in rows for other in added]
        known = column_set(rows[0]) if rows else 0
        usable = tuple(s for s in waiting if not s.columns & ~known)
        waiting = [s for s in waiting if s.columns & ~known]
        rows = [row for row in rows if holds(usable, row)]
        assert not rows or number < len(inputs) - 1 or not waiting, f"no input has the columns of {waiting}"
    return rows


def aggregate_rows(op: Aggregate, rows: list[Row]) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = {} if op.keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(group_key(row[k]) for k in op.keys), []).append(row)
    return [
        {
            **{k: members[0][k] for k in op.keys},
            **{item.id: aggregate_value(item.call, members) for item in op.aggregates},
        }
        for members in groups.values()
    ]


def aggregate_value(call: AggregateCall, rows: list[Row]) -> Value:
    """NULL arguments are left out; count(*) counts rows. Sums are exact, but for floats."""
    kept = [row for row in rows if call.filter is None or evaluate(call.filter, row) is True]
    if not call.args:
        return len(kept)
    values = [v for v in (evaluate(call.args[0], row) for row in kept) if v is not None]
    if call.distinct:
        values = list({group_key(v): v for v in values}.values())
    if call.function == "count":
        return len(values)
    if not values:
        return None
    match call.function:
        case "min":
            return min(values, key=order_key)
        case "max":
            return max(values, key=order_key)
        case "sum":
            return fit(exact_total(values), call.type)
        case "avg":
            total = exact_total(values)
            return total / len(values) if isinstance(total, float) else float(Fraction(total) / len(values))
    raise AssertionError(f"{call.function} has no naive evaluation")


def exact_total(values: list[Value]) -> Value:
    """Their sum without rounding, but for floats, which are added in row order."""
    return reduce(EXACT.add, values) if isinstance(values[0], Decimal) else sum(values)


def set_operation_rows(op: SetOp, inputs: list[list[Row]]) -> list[Row]:
    """Bags of output rows, with NULL equal to NULL."""
    bags = [
        [{out: row[source] for out, source in zip(op.columns, sources, strict=True)} for row in rows]
        for sources, rows in zip(op.sources, inputs, strict=True)
    ]
    if op.kind is SetOpKind.UNION:
        united = [row for bag in bags for row in bag]
        return united if op.all else distinct_rows(united)
    left, right = bags
    if not op.all:
        others = {row_key(row) for row in right}
        return [row for row in distinct_rows(left) if (row_key(row) in others) == (op.kind is SetOpKind.INTERSECT)]
    available = Counter(row_key(row) for row in right)
    kept = []
    for row in left:
        matched = available[row_key(row)] > 0
        if matched:
            available[row_key(row)] -= 1
        if matched == (op.kind is SetOpKind.INTERSECT):
            kept.append(row)
    return kept


def row_key(row: Row) -> tuple[Any, ...]:
    return tuple(group_key(value) for value in row.values())


def distinct_rows(rows: list[Row]) -> list[Row]:
    seen: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        seen.setdefault(row_key(row), row)
    return list(seen.values())


def sort_rows(rows: list[Row], order: Collation) -> list[Row]:
    """Stable, by the last key first."""
    for key in reversed(order):
        nulls = [row for row in rows if row[key.column] is None]
        others = [row for row in rows if row[key.column] is not None]
        others.sort(key=lambda row, c=key.column: order_key(row[c]), reverse=key.descending)
        rows = nulls + others if key.nulls_first else others + nulls
    return rows
