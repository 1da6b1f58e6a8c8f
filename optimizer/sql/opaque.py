"""Columns of types that nothing is computed with: intervals, lists, structs, maps, UUIDs, times, ...

They may be selected, and carried through joins, filters, sorts by other columns, LIMIT and UNION ALL. IS NULL and count look
at their validity alone. Whatever else reads one is refused, but for sorting by intervals.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.columns import ColumnId, column_set
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, GroupingSets, Limit, LogicalOperator, Project, SetOp, Window
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import AggregateCall, Call, Case, ColumnRef, Literal, Once, OuterRef, Scalar
from optimizer.algebra.spools import Recursion
from optimizer.algebra.subqueries import AnySubquery, ScalarSubquery, operators_of
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INTERVAL, is_opaque, type_name
from optimizer.sql.cast_hints import OPAQUE, SECONDS
from optimizer.sql.source import Source

_SORTED = "in ORDER BY"
_PASSING_ON = ("date_add", "is_null", "is_not_null", "coalesce", "count", "first", "last", "any_value")


def refuse_uses(source: Source, tree: Any, query: BoundQuery) -> None:
    """Raises Unsupported where the query, whose AST is `tree`, compares, groups, sorts or computes with an opaque column."""
    columns = query.columns
    scalars = (part for op in operators_of(query.tree) for scalar in op.scalars() for part in walk(scalar))
    for scalar in scalars if source.differences else ():
        if any(child.type == INTERVAL and not isinstance(child, Literal | ColumnRef) for child in scalar.children):
            if not isinstance(scalar, Case | Once) and getattr(scalar, "function", "") not in _PASSING_ON:
                raise source.unsupported("computing with an INTERVAL that is no constant", tree, SECONDS)
    if not any(map(is_opaque, columns.types.values())):
        return
    opaque = column_set(column.id for column in columns if is_opaque(column.type))
    sorted_by = ((key.column, _SORTED) for key in query.order)
    for id, where in (*sorted_by, *_uses(query.tree)):
        if opaque >> id & 1 and not (where == _SORTED and pa.types.is_interval(columns[id].type)):
            column = columns[id]
            mention = _mention(tree, column.name, where)
            raise source.unsupported(f'column "{column.name}" of type {type_name(column.type)} {where}', mention, OPAQUE)


def _mention(tree: Any, name: str, where: str) -> Any:
    """An AST column of that name, one that is sorted by where that is meant; all of the text if there is none."""
    parts = tree.find_all(exp.Ordered) if where == _SORTED else (tree,)
    named = (node for part in parts for node in part.find_all(exp.Column) if node.name.lower() == name.lower())
    return next(named, tree)


def _uses(root: Tree) -> Iterator[tuple[ColumnId, str]]:
    """The columns of which a tree and its subqueries look at values, each with the place."""
    for op in operators_of(root):
        yield from _keys(op)
        for scalar in op.scalars():
            if not (isinstance(op, Project) and isinstance(scalar, ColumnRef)):
                yield from ((id, "in an expression") for id in _read(scalar))


def _keys(op: LogicalOperator) -> Iterator[tuple[ColumnId, str]]:
    match op:
        case Aggregate(keys=keys):
            yield from ((id, "in GROUP BY, DISTINCT or UNION") for id in keys)
        case GroupingSets(keys=keys):
            yield from ((key.source, "in GROUP BY") for key in keys)
        case Limit(order=order):
            yield from ((key.column, _SORTED) for key in order)
        case Window(partition=partition, order=order):
            yield from ((id, "in PARTITION BY or DISTINCT ON") for id in partition)
            yield from ((key.column, _SORTED) for key in order)
        case SetOp() | Recursion() if not (op.all and getattr(op, "kind", SetOpKind.UNION) is SetOpKind.UNION):
            yield from ((id, "in UNION, INTERSECT or EXCEPT") for id in op.columns)


def _read(scalar: Scalar) -> Iterator[ColumnId]:
    """The columns whose values a scalar looks at."""
    stack = [scalar]
    while stack:
        part = stack.pop()
        match part:
            case ColumnRef(id=id) | OuterRef(id=id) | ScalarSubquery(column=id):
                yield id
            case Call(function="is_null" | "is_not_null", args=(ColumnRef(),)):
                continue
            case AggregateCall(function="count", distinct=False, args=(ColumnRef(),)):
                stack += part.children[1:]
                continue
            case AnySubquery(right=right):
                stack += right
        stack += part.children
