"""UNION, INTERSECT and EXCEPT, with and without ALL, UNION also BY NAME.

The parser nests a chain to the left; it is walked without recursion. A run of UNION ALL becomes one n-ary SetOp, UNION
(distinct) an Aggregate over all columns of one: (A ∪ B) ∪ C removes duplicates once, at the end. NULL equals NULL.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.building import passed
from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, Project, ProjectItem, SetOp
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import ColumnRef, Literal, Scalar
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT32, STRING, common_type, is_opaque, is_string, type_name
from optimizer.sql.coerce import Operand, convert
from optimizer.sql.context import Bound, Context, Ctes

_KINDS = {exp.Intersect: SetOpKind.INTERSECT, exp.Except: SetOpKind.EXCEPT}


def bind_set_operation(context: Context, node: Any, ctes: Ctes | None) -> Bound:
    """The chain of set operations that ends in `node`; its ORDER BY and LIMIT are the caller's."""
    from optimizer.sql.query import bind_query  # a query contains set operations, which contain queries

    source = context.source
    chain = []
    first = node
    while isinstance(first, exp.SetOperation):
        clauses = ("with_", "order", "limit", "offset") if first is node else ()
        by_name = ("by_name",) if isinstance(first, exp.Union) else ()
        source.only(first, "this", "expression", "distinct", *by_name, *clauses)
        chain.append(first)
        first = first.this

    def branch(query: Any) -> Bound:
        if isinstance(query, exp.Select):
            for clause in ("order", "limit", "offset"):
                if query.args.get(clause) is not None:
                    raise source.error(
                        f"{clause.upper()}{' BY' if clause == 'order' else ''} before a set operation",
                        query.args[clause],
                        "put that SELECT into parentheses",
                        word=clause.upper(),
                    )
        return bind_query(context, query, ctes)

    pending, distinct = [(branch(first), first)], False
    for operation in reversed(chain):
        right = (branch(operation.expression), operation.expression)
        if operation.args.get("by_name"):
            bounds = _by_name(context, (_united(context, pending, distinct), right[0]), operation)
            pending = list(zip(bounds, (operation.this, right[1]), strict=True))
            distinct = bool(operation.args.get("distinct"))
        elif isinstance(operation, exp.Union):
            if operation.args.get("distinct"):
                distinct = True
            elif distinct:
                pending, distinct = [(_united(context, pending, distinct), operation.this)], False
            pending.append(right)
        else:
            left = (_united(context, pending, distinct), operation.this)
            kind = _KINDS[type(operation)]
            pending, distinct = [(_combined(context, kind, not operation.args.get("distinct"), [left, right]), operation)], False
    return _united(context, pending, distinct)


def _by_name(context: Context, both: tuple[Bound, Bound], node: Any) -> list[Bound]:
    """UNION BY NAME: both with all columns of both, those of the left first, NULL where one has none of that name."""
    names: dict[str, str] = {}
    result = []
    for bound in both:
        own = [o.name.lower() for o in bound.outputs]
        if len(own) > len(set(own)):
            raise context.source.error("BY NAME needs columns of different names", node, "name them apart with AS")
        names |= {key: o.name for key, o in zip(own, bound.outputs, strict=True) if key not in names}
    for bound in both:
        ids = {o.name.lower(): o.id for o in bound.outputs}
        items = [*passed(dict.fromkeys(ids.values()), context.columns)]
        for key in [key for key in names if key not in ids]:
            ids[key] = context.columns.new(names[key], INT32, True).id
            context.untyped.add(ids[key])
            items.append(ProjectItem(ids[key], Literal(None, INT32)))
        tree = bound.tree if len(ids) == len(bound.outputs) else Tree(Project(tuple(items)), (bound.tree,))
        result.append(Bound(tree, tuple(OutputColumn(name, ids[key]) for key, name in names.items())))
    return result


def _united(context: Context, branches: list[tuple[Bound, Any]], distinct: bool) -> Bound:
    if len(branches) == 1:
        return branches[0][0]
    bound = _combined(context, SetOpKind.UNION, True, branches)
    if not distinct:
        return bound
    keys = tuple(o.id for o in bound.outputs)
    return bound._replace(tree=Tree(Aggregate(keys, ()), (bound.tree,)))


def _combined(context: Context, kind: SetOpKind, all: bool, branches: list[tuple[Bound, Any]]) -> Bound:
    """One SetOp over the branches, each cast to the common column types; names come from the first."""
    first = branches[0][0]
    width = len(first.outputs)
    for bound, node in branches[1:]:
        if len(bound.outputs) != width:
            message = f"{kind.value.upper()} of {width} and {len(bound.outputs)} columns"
            raise context.source.error(message, node, "all parts must have the same number of columns")
    met = [_column_type(context, branches, i) for i in range(width)]
    types = [INT32 if pa.types.is_null(type) else type for type in met]
    cast = [cast_outputs(context, bound, types) for bound, _ in branches]
    columns = context.columns
    ids = [columns.new(columns[o.id].name, type, True).id for o, type in zip(first.outputs, types, strict=True)]
    context.untyped.update(id for id, type in zip(ids, met, strict=True) if pa.types.is_null(type))
    operator = SetOp(kind, all, tuple(ids), tuple(source for _, source in cast))
    outputs = tuple(OutputColumn(o.name, id) for o, id in zip(first.outputs, ids, strict=True))
    names: dict[str, int] = {}
    for bound, _ in branches:  # the first part that has a name says what it means
        names = {**{o.name.lower(): i for i, o in reversed(list(enumerate(bound.outputs)))}, **bound.names, **names}
    written = tuple(each for bound, _ in branches for each in bound.written)
    return Bound(Tree(operator, tuple(tree for tree, _ in cast)), outputs, names=names, written=written)


def _column_type(context: Context, branches: list[tuple[Bound, Any]], i: int) -> DataType:
    """The type in which column `i` of all branches meets: a string column makes the others strings."""
    type: DataType = pa.null()
    for bound, node in branches:
        id = bound.outputs[i].id
        other = pa.null() if id in context.untyped else context.columns[id].type
        met = common_type(type, other)
        if met is None and (is_string(type) or is_string(other)):
            met = STRING
        if met is None:
            hint = None if is_opaque(type) or is_opaque(other) else "cast one of them"
            raise context.source.error(
                f"column {i + 1} of this part is {type_name(other)}, before it is {type_name(type)}", node, hint
            )
        type = met
    return type


def cast_outputs(context: Context, bound: Bound, types: list[DataType]) -> tuple[Tree, tuple[ColumnId, ...]]:
    """The branch with its outputs cast to `types`, and their ids."""
    columns = [context.columns[o.id] for o in bound.outputs]
    if all(c.type == t for c, t in zip(columns, types, strict=True)):
        return bound.tree, tuple(c.id for c in columns)
    items: dict[ColumnId, ProjectItem] = {}
    source = []
    for column, type in zip(columns, types, strict=True):
        scalar: Scalar = ColumnRef(column.id, column.type)
        if column.type != type:
            scalar = convert(context.source, Operand(context.bare_null(scalar), None), type)
        id = column.id if column.type == type else context.compute(column.name, scalar)
        items[id] = ProjectItem(id, scalar)
        source.append(id)
    return Tree(Project(tuple(items.values())), (bound.tree,)), tuple(source)
