"""Subqueries in expressions: (SELECT ...), EXISTS, IN (SELECT ...), θ ANY and θ ALL.

Each is bound as a query of its own with the clause around it as what encloses it, and becomes one scalar that holds the
subquery's tree (`algebra/subqueries.py`); removing it is a later stage. Columns of enclosing queries are `OuterRef`s in that
tree. Its ORDER BY counts only where a LIMIT goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from optimizer.algebra.building import reference
from optimizer.algebra.columns import ColumnId, ColumnSet
from optimizer.algebra.functions import NEGATED
from optimizer.algebra.logical import Project
from optimizer.algebra.rebuild import map_tree_scalars
from optimizer.algebra.scalar_trees import bound_to, map_children
from optimizer.algebra.scalars import OuterRef, Scalar
from optimizer.algebra.subqueries import AnySubquery, ScalarSubquery, Subquery
from optimizer.algebra.trees import Tree
from optimizer.errors import many
from optimizer.sql.coerce import Operand, bare, meet, negated
from optimizer.sql.context import Bound
from optimizer.sql.rows import row_items
from optimizer.sql.same_subquery import first_like

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder


def _bound(binder: ExpressionBinder, node: Any) -> Bound:
    from optimizer.sql.query import bind_query  # a query contains expressions, which contain queries

    with binder.context.subquery(binder, node):
        bound = bind_query(binder.context, node, binder.scope.ctes)
    binder.context.check_run_again(bound.tree, binder, node)
    return bound


def _scalar(binder: ExpressionBinder, node: Any) -> Scalar:
    """The value of the one column of the only row."""
    bound = _bound(binder, node)
    _check_width(binder, bound, 1, node)
    id = bound.outputs[0].id
    return first_like(binder.context, node, binder.scope.ctes, ScalarSubquery(bound.tree, id, binder.context.columns[id].type))


def _exists(binder: ExpressionBinder, node: Any) -> Scalar:
    binder.source.only(node, "this")
    if not is_query(node.this):
        raise binder.source.unsupported("EXISTS of anything but a query", node, "write EXISTS (SELECT ...)")
    tree = _without_values(_bound(binder, _without_star(node.this)).tree)
    return first_like(binder.context, node, binder.scope.ctes, AnySubquery("=", (), (), tree))


def _without_values(tree: Tree) -> Tree:
    """Without what the rows are made of at the top, which nobody looks at and which may raise: EXISTS (SELECT 1 / 0 FROM t)."""
    while isinstance(tree.op, Project) and any(s.raises for s in tree.op.scalars()):
        below = tree.inputs[0]
        if not isinstance(below, Tree) or not below.columns:
            break
        tree = below
    return tree


def _without_star(query: Any) -> Any:
    """SELECT * as SELECT 1, where nobody looks at the columns."""
    if not isinstance(query, exp.Select) or len(query.expressions) != 1 or query.args.get("from_") is None:
        return query
    star = query.expressions[0]
    grouped = any(query.args.get(k) for k in ("distinct", "group", "having", "order"))
    if grouped or not isinstance(star, exp.Star) or any(star.args.values()):
        return query
    number = exp.Literal.number(1)
    one = exp.Select(**{**query.args, "expressions": [number]})
    number.parent = None  # no way up to what is no part of the AST
    one.meta.update(query.meta)
    return one


def is_query(node: Any) -> bool:
    return isinstance(node, exp.Query | exp.Values)


def quantified(binder: ExpressionBinder, function: str, left: Any, right: Any) -> Scalar:
    """`left function right`, where `right` is an ANY or ALL node: x θ ALL Q is ¬(x ¬θ ANY Q)."""
    word = "ANY" if isinstance(right, exp.Any) else "ALL"
    query = bare(right.this)
    if isinstance(query, exp.Array) and query.expressions and function == ("=" if word == "ANY" else "<>"):
        found = binder.bind(exp.In(this=left, expressions=query.expressions))
        return found if word == "ANY" else negated(found)
    if isinstance(query, exp.Split):
        query = exp.Select(expressions=[exp.Explode(this=query)])
    if not is_query(query):
        raise binder.source.unsupported(f"{word} of a list", right, f"write {word} (SELECT ...), or IN (...)")
    if function not in NEGATED:
        raise binder.source.error(f"{word} takes one of =, <>, <, <=, > and >=", right)
    if word == "ANY":
        return compared_with_any(binder, function, left, query, right)
    return negated(compared_with_any(binder, NEGATED[function], left, query, right))


def compared_with_any(binder: ExpressionBinder, function: str, left: Any, query: Any, node: Any) -> Scalar:
    """`left function ANY (query)`, three-valued; `node` is the AST that errors point at."""
    items = row_items(left)
    operands = [binder.operand(left)] if items is None else binder.operands(items)
    bound = _bound(binder, query)
    _check_width(binder, bound, len(operands), query)
    refs = (reference(o.id, binder.context.columns) for o in bound.outputs)
    columns = [Operand(binder.context.bare_null(ref), query) for ref in refs]
    pairs = [meet(binder.source, both, "cannot compare", comparing=True)[0] for both in zip(operands, columns, strict=True)]
    lefts, rights = zip(*pairs, strict=True)
    return first_like(binder.context, node, binder.scope.ctes, AnySubquery(function, lefts, rights, bound.tree))


def _check_width(binder: ExpressionBinder, bound: Bound, width: int, node: Any) -> None:
    if len(bound.outputs) != width:
        returns = many(len(bound.outputs), "column")
        hint = "name one column in its SELECT" if width == 1 else f"name {width} columns in its SELECT"
        raise binder.source.error(f"the subquery returns {returns}, not {width}", node, hint)


HANDLERS: dict[Any, Callable[[ExpressionBinder, Any], Scalar]] = {exp.Subquery: _scalar, exp.Exists: _exists}


def over_columns(subquery: Subquery, values: Mapping[Scalar, ColumnId], inputs: ColumnSet) -> Subquery:
    """The subquery where the rows around it hold scalars over `inputs` in columns, `values`: what it reads of them is
    read there. The operands outside its tree stay as they are."""
    tree = map_tree_scalars(subquery.tree, lambda scalar: _over(scalar, values, inputs))
    return subquery if tree is subquery.tree else subquery.with_tree(tree)


def _over(scalar: Scalar, values: Mapping[Scalar, ColumnId], inputs: ColumnSet) -> Scalar:
    if not scalar.outer & inputs:
        return scalar
    id = values.get(bound_to(scalar, inputs))
    if id is not None and not scalar.volatile:
        return OuterRef(id, scalar.type)
    return map_children(scalar, lambda child: _over(child, values, inputs))
