"""What a bound query means: every logical operator by nested loops and dictionaries over Python rows.

Nothing here is shared with the optimizer or the executors but the algebra itself and `evaluate`, so that a bug there
cannot hide here. Meant for tables of a few rows. A row is a dict from column id to a value as `pyarrow.Scalar.as_py`
gives it. The rows of an operator are a bag; their order means nothing, except that `run_query` sorts the result.
"""

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import pyarrow as pa

from optimizer.algebra import JoinKind, Node, SetOpKind, Tree, predicate_scalar, rewrite
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.columns import ColumnId, Columns, column_ids, column_set
from optimizer.algebra.evaluate import Value, evaluate, holds
from optimizer.algebra.evaluate_numbers import EXACT, fit
from optimizer.algebra.evaluate_order import group_key, order_key
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import (
    Aggregate,
    Choice,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    Scan,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import Apply, Join, MarkJoin, SingleJoin, join_of_kind
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.rebuild import map_scalars, map_tree_scalars
from optimizer.algebra.scalars import AggregateCall, Call, Case, ColumnRef, Literal, Ordered, OuterRef, Predicate, Scalar
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.algebra.subqueries import AnySubquery, ScalarSubquery, has_subquery
from optimizer.algebra.traits import Collation
from optimizer.errors import ExecutionError
from tests.reference.naive_window import window_rows
from tests.reference.props import assert_props_hold

Row = dict[ColumnId, Value]
Tables = Mapping[str, Any]
"""An Arrow table by its name; the rows of a spool, as they are, by that of the spool."""


def run_query(bound: BoundQuery, tables: Tables) -> list[tuple[Value, ...]]:
    """The result of a query: its output columns, in the order it asks for (rows it calls equal in any order).

    The tree may still have subqueries as scalars: they are evaluated for each row, with nothing removed or decorrelated.
    """
    rows = sort_rows(run(bound.tree, bound.columns, tables), bound.order)
    return [tuple(row[output.id] for output in bound.outputs) for row in rows]


def with_literals(root: Tree, row: Mapping[ColumnId, Any]) -> Tree:
    """The tree as it is for one outer row: references to its columns are the row's values."""

    def change(scalar: Scalar) -> Scalar:
        if not scalar.outer:
            return scalar
        return rewrite(scalar, lambda s: Literal(row[s.id], s.type) if isinstance(s, OuterRef) and s.id in row else None)

    return map_tree_scalars(root, change)


def run(tree: Tree, columns: Columns, tables: Tables) -> list[Row]:
    """The rows of `tree` over `tables`, with a check that what the algebra derives of each node's rows is true.

    Each row has exactly the tree's columns. Not recursive: a tree may be deep. What a spool holds is evaluated once, before all
    that reads it, and stands among the tables.
    """
    if isinstance(tree.op, With):
        *spools, body = (each for each in tree.inputs if isinstance(each, Tree))
        for spool in spools:
            assert isinstance(spool.op, Spool)
            tables = {**tables, spool_name(spool.op.spool): run(subtree(spool, 0), columns, tables)}
        return run(body, columns, tables)
    if isinstance(tree.op, Choice) and any(isinstance(each, Tree) and isinstance(each.op, With) for each in tree.inputs):
        return choice_rows(tree.op, [run(subtree(tree, i), columns, tables) for i in range(len(tree.inputs))])
    results: dict[int, list[Row]] = {}
    for node in evaluated_once(tree):
        if isinstance(node.op, Apply):
            produced = apply_rows(node, results[id(node.inputs[0])], columns, tables)
        elif isinstance(node.op, Recursion):
            produced = recursion_rows(node, results[id(node.inputs[0])], columns, tables)
        elif any(has_subquery(s) for s in node.op.scalars()):
            produced = rows_with_subqueries(node, [results[id(i)] for i in node.inputs], columns, tables)
        else:
            produced = run_operator(node.op, [results[id(i)] for i in node.inputs], list(node.inputs), tables)
        assert_props_hold(node.op.name, node.props, produced)
        results[id(node)] = produced
    return results[id(tree)]


def subtree(tree: Tree, number: int) -> Tree:
    found = tree.inputs[number]
    assert isinstance(found, Tree), "a memo group has no rows"
    return found


def spool_name(number: int) -> str:
    """Under which name the rows of a spool stand among the tables."""
    return f"spool {number}"


def evaluated_once(tree: Tree) -> list[Tree]:
    """The nodes to evaluate, inputs first, without those on the right of an Apply: they have rows only for a given left row."""
    found: dict[int, Tree] = {}
    stack: list[tuple[Node, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        assert isinstance(node, Tree), "a memo group has no rows"
        if ready:
            found.setdefault(id(node), node)
        elif id(node) not in found:
            stack.append((node, True))
            stack.extend((i, False) for i in (node.inputs[:1] if isinstance(node.op, Apply | Recursion) else node.inputs))
    return list(found.values())


def recursion_rows(tree: Tree, start: list[Row], columns: Columns, tables: Tables) -> list[Row]:
    """The start, and what the step makes of the rows that came last, until nothing new comes."""
    op, all_rows = tree.op, list[Row]()
    assert isinstance(op, Recursion)
    first, then = (dict(zip(op.columns, source, strict=True)) for source in op.sources)
    new, made = [{out: row[id] for out, id in first.items()} for row in start], 0
    while new:
        all_rows += new
        if not op.all:
            all_rows = distinct_rows(all_rows)
            new = all_rows[made:]
        made = len(all_rows)
        last = [{first[out]: value for out, value in row.items()} for row in new]
        rows = run(subtree(tree, 1), columns, {**tables, spool_name(op.spool): last}) if last else []
        new = [{out: row[id] for out, id in then.items()} for row in rows]
    return all_rows


def apply_rows(tree: Tree, left: list[Row], columns: Columns, tables: Tables) -> list[Row]:
    """The right input is evaluated for each left row on its own; then that row is joined with what came out."""
    op, right = tree.op, tree.inputs[1]
    assert isinstance(op, Apply) and isinstance(right, Tree)
    joined = join_of_kind(op.kind, op.predicate, op.mark)
    produced: list[Row] = []
    for row in left:
        inner = run(with_literals(right, row), columns, tables)
        predicate = tuple(with_row(s, row) for s in op.predicate)
        produced += joined_rows(joined, predicate, [row], inner, list(row), list(column_ids(right.columns)))
    return produced


def with_row(scalar: Scalar, row: Row) -> Scalar:
    return rewrite(scalar, lambda s: Literal(row[s.id], s.type) if isinstance(s, OuterRef) and s.id in row else None)


def rows_with_subqueries(tree: Tree, inputs: list[list[Row]], columns: Columns, tables: Tables) -> list[Row]:
    """An operator whose scalars have subqueries: each is computed for each row (of a join: each pair of rows), and only if the
    scalar comes to need it, as CASE, AND and OR decide from left to right."""
    op = tree.op

    def value(scalar: Scalar, row: Row) -> Value:
        return evaluate(without_subqueries(scalar, row, columns, tables), row)

    match op:
        case Filter(predicate):
            return [row for row in inputs[0] if all(value(s, row) is True for s in simple_first(predicate))]
        case Project(items):
            return [{item.id: value(item.value, row) for item in items} for row in inputs[0]]
        case Values(ids, _, rows):
            return [{c: value(s, {}) for c, s in zip(ids, row, strict=True)} for row in rows]
        case Join(kind, predicate):
            left_columns, right_columns = (list(column_ids(node.columns)) for node in tree.inputs)
            pairs = {
                (i, k)
                for i, a in enumerate(inputs[0])
                for k, b in enumerate(inputs[1])
                if all(value(s, {**a, **b}) is True for s in simple_first(predicate))
            }
            return matched_rows(kind, pairs, inputs[0], inputs[1], left_columns, right_columns)
        case Aggregate() | GroupingSets() | Window():
            computed: dict[Scalar, ColumnId] = {}
            for scalar in op.scalars():
                for part in scalar.children:
                    if has_subquery(part):
                        computed.setdefault(part, len(columns) + len(computed))
            rows = [{**row, **{id: value(s, row) for s, id in computed.items()}} for row in inputs[0]]
            plain = map_scalars(op, lambda s: argument_columns(s, computed))
            produced = run_operator(plain, [rows], list(tree.inputs), tables)
            return [{c: v for c, v in row.items() if c < len(columns)} for row in produced]
    raise AssertionError(f"{op.name} with a subquery has no naive evaluation")


def simple_first(predicate: Predicate) -> list[Scalar]:
    """Conjuncts without subqueries first: a subquery is evaluated for rows that pass the others."""
    return sorted(predicate, key=has_subquery)


def argument_columns(scalar: Scalar, computed: Mapping[Scalar, ColumnId]) -> Scalar:
    children = tuple(ColumnRef(computed[c], c.type) if c in computed else c for c in scalar.children)
    return scalar.with_children(children)


def without_subqueries(scalar: Scalar, row: Row, columns: Columns, tables: Tables) -> Scalar:
    """The scalar for this row, its subqueries replaced by their values; those in branches that are not taken are left out."""
    if isinstance(scalar, ScalarSubquery):
        rows = run(with_literals(scalar.tree, row), columns, tables)
        if len(rows) > 1:
            raise ExecutionError("a scalar subquery returned more than one row")
        return Literal(rows[0][scalar.column] if rows else None, scalar.type)
    if isinstance(scalar, AnySubquery):
        return Literal(any_value(scalar, row, columns, tables), scalar.type)
    if not has_subquery(scalar):
        return scalar
    if isinstance(scalar, Case):
        for condition, result in scalar.branches:
            if evaluate(without_subqueries(condition, row, columns, tables), row) is True:
                return without_subqueries(result, row, columns, tables)
        return without_subqueries(scalar.otherwise, row, columns, tables)
    if isinstance(scalar, Call) and scalar.function == "coalesce":
        for arg in scalar.args:
            value = evaluate(without_subqueries(arg, row, columns, tables), row)
            if value is not None:
                return Literal(value, scalar.type)
        return Literal(None, scalar.type)
    return scalar.with_children(tuple(without_subqueries(c, row, columns, tables) for c in scalar.children))


def any_value(scalar: AnySubquery, row: Row, columns: Columns, tables: Tables) -> Value:
    """TRUE for some row, else UNKNOWN for some row, else FALSE; EXISTS counts rows."""
    inner = run(with_literals(scalar.tree, row), columns, tables)
    if not scalar.left:
        return bool(inner)
    left = tuple(without_subqueries(s, row, columns, tables) for s in scalar.left)
    condition = AnySubquery(scalar.function, left, scalar.right, scalar.tree).condition
    found = {evaluate(condition, {**row, **each}) for each in inner}
    return True if True in found else None if None in found else False


def run_operator(op: LogicalOperator, inputs: list[list[Row]], nodes: list[Node], tables: Tables) -> list[Row]:
    match op:
        case Scan():
            return scan_rows(op, tables[op.table])
        case Spool():
            return inputs[0]
        case CteReference():
            return [{c.id: row[c.source] for c in op.columns} for row in tables[spool_name(op.spool)]]
        case Values():
            return [{c: evaluate(item, {}) for c, item in zip(op.columns, row, strict=True)} for row in op.rows]
        case Filter():
            return [row for row in inputs[0] if holds(op.predicate, row)]
        case Project():
            return [{item.id: evaluate(item.value, row) for item in op.items} for row in inputs[0]]
        case Join():
            left_columns, right_columns = (list(column_ids(node.columns)) for node in nodes)
            return join_rows(op, inputs[0], inputs[1], left_columns, right_columns)
        case MarkJoin() | SingleJoin():
            left_columns, right_columns = (list(column_ids(node.columns)) for node in nodes)
            return joined_rows(op, op.predicate, inputs[0], inputs[1], left_columns, right_columns)
        case JoinGraph():
            return join_graph_rows(op, inputs)
        case GroupingSets():
            return grouping_sets_rows(op, inputs[0])
        case Choice():
            return choice_rows(op, inputs)
        case Aggregate():
            return aggregate_rows(op, inputs[0])
        case Window():
            return window_rows(op, inputs[0], sort_rows, aggregate_value)
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
    return rows[scan.offset :][: scan.limit]


def join_rows(join: Join, left: list[Row], right: list[Row], left_columns: list[int], right_columns: list[int]) -> list[Row]:
    return joined_rows(join, join.predicate, left, right, left_columns, right_columns)


def joined_rows(
    op: LogicalOperator,
    predicate: Predicate,
    left: list[Row],
    right: list[Row],
    left_columns: list[int],
    right_columns: list[int],
) -> list[Row]:
    """Nested loops: which pairs match, then what the kind makes of them."""
    if isinstance(op, MarkJoin):
        whole = predicate_scalar(predicate)
        found = [{evaluate(whole, {**a, **b}) for b in right} for a in left]
        return [{**row, op.mark: True if True in f else None if None in f else False} for row, f in zip(left, found, strict=True)]
    assert isinstance(op, Join | SingleJoin)
    pairs = {(i, k) for i, a in enumerate(left) for k, b in enumerate(right) if holds(predicate, {**a, **b})}
    return matched_rows(op.kind, pairs, left, right, left_columns, right_columns)


def matched_rows(
    kind: JoinKind,
    pairs: set[tuple[int, int]],
    left: list[Row],
    right: list[Row],
    left_columns: list[int],
    right_columns: list[int],
) -> list[Row]:
    """What a join of a kind makes of the pairs (left row, right row) that match."""
    matches = sorted(pairs)
    left_matched, right_matched = {i for i, _ in matches}, {k for _, k in matches}
    if kind is JoinKind.SEMI:
        return [row for i, row in enumerate(left) if i in left_matched]
    if kind is JoinKind.ANTI:
        return [row for i, row in enumerate(left) if i not in left_matched]
    if kind is JoinKind.SINGLE and len(left_matched) < len(matches):
        raise ExecutionError("a scalar subquery returned more than one row")
    found: list[list[int]] = [[] for _ in left]
    for i, k in matches:
        found[i].append(k)
    alone = [dict.fromkeys(right_columns)] if kind.keeps_left else []
    rows = [{**row, **b} for row, its in zip(left, found, strict=True) for b in ([right[k] for k in its] or alone)]
    if kind.keeps_right:
        rows += [{**dict.fromkeys(left_columns), **row} for k, row in enumerate(right) if k not in right_matched]
    return rows


def grouping_sets_rows(op: GroupingSets, rows: list[Row]) -> list[Row]:
    """One Aggregate after the other; keys outside a set are NULL."""
    result = []
    for number, each in enumerate(op.sets):
        keys = tuple(k.source for k in op.keys if each >> k.id & 1)
        for row in aggregate_rows(Aggregate(keys, op.aggregates), rows):
            shown = {k.id: row[k.source] if each >> k.id & 1 else None for k in op.keys}
            result.append({**shown, **{i.id: row[i.id] for i in op.aggregates}, op.number: number})
    return result


def choice_rows(op: Choice, inputs: list[list[Row]]) -> list[Row]:
    """The rows of the first tree; the others must have the same ones."""
    ids = list(column_ids(op.columns))
    kept = [[{c: row[c] for c in ids} for row in rows] for rows in inputs]
    bags = [Counter(tuple(group_key(row[c]) for c in ids) for row in rows) for rows in kept]
    for number, bag in enumerate(bags[1:], 1):
        assert bag == bags[0], f"tree {number} of a choice has other rows: {bags[0] - bag} are missing, {bag - bags[0]} too many"
    return kept[0]


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
        {**{k: members[0][k] for k in op.keys}, **{item.id: aggregate_value(item.call, members) for item in op.aggregates}}
        for members in groups.values()
    ]


def aggregate_value(call: AggregateCall, rows: list[Row]) -> Value:
    """NULL arguments are left out; count(*) counts rows. Sums are exact, but for floats."""
    kept = [row for row in rows if call.filter is None or evaluate(call.filter, row) is True]
    if not call.args:
        return len(kept)
    if AGGREGATE_FUNCTIONS[call.function].reference is not None:
        return by_reference(call, kept)
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


def by_reference(call: AggregateCall, rows: list[Row]) -> Value:
    """By the table of functions: the rows in the order that the call asks for, without NULLs unless it keeps them."""
    known = AGGREGATE_FUNCTIONS[call.function]
    assert known.reference is not None
    for term in reversed([arg for arg in call.args if isinstance(arg, Ordered)]):
        keyed = [(evaluate(term.key, row), row) for row in rows]
        nulls = [row for key, row in keyed if key is None]
        others = [(key, row) for key, row in keyed if key is not None]
        others.sort(key=lambda pair: order_key(pair[0]), reverse=term.descending)
        rows = [*nulls, *(row for _, row in others)] if term.nulls_first else [*(row for _, row in others), *nulls]
    args = [arg for arg in call.args if not isinstance(arg, Ordered)]
    args, constants = args[: len(args) - known.constants], args[len(args) - known.constants :]
    values = [tuple(evaluate(arg, row) for arg in args) for row in rows]
    if not known.keeps_nulls:
        values = [each for each in values if None not in each]
    if call.distinct:
        first: dict[Any, tuple[Value, ...]] = {}
        for each in values:
            first.setdefault(tuple(map(group_key, each)), each)
        values = list(first.values())
    if not values:
        return known.empty_value
    return known.reference(*map(list, zip(*values, strict=True)), *(constant.value for constant in constants))


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
