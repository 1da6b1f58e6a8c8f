"""The same subquery written twice is one scalar, so that GROUP BY (SELECT ...) finds itself in the select list.

Every time a subquery is bound its columns get fresh ids. Two are the same when their trees differ in nothing but those: the
trees are renamed to ids counted from 0, the columns of enclosing queries last, and compared. Volatile ones are never the same.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from optimizer.algebra.columns import column_ids
from optimizer.algebra.rebuild import defined_columns, map_scalars, renamed_scalar, renamed_tree
from optimizer.algebra.scalar_trees import rewrite
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.subqueries import AnySubquery, ScalarSubquery, Subquery, operators_of
from optimizer.algebra.trees import Tree, postorder
from optimizer.sql.context import Context


def first_like(context: Context, node: Any, subquery: Subquery) -> Subquery:
    """The subquery bound earlier that is the same as this one, made from the AST `node`; this one when there is none."""
    if subquery.volatile:
        return subquery
    earlier = context.subqueries.setdefault(node, [])
    if earlier:
        shape = _shape(context, subquery)
        for other in earlier:
            if _shape(context, other) == shape:
                return other
    earlier.append(subquery)
    return subquery


def _shape(context: Context, subquery: Subquery) -> Hashable:
    """Equal for subqueries that are the same, and only for those."""
    made = (id for op in operators_of(subquery.tree) for id in column_ids(defined_columns(op)))
    names = {id: number for number, id in enumerate(dict.fromkeys(made))}
    outer = tuple(column_ids(subquery.tree.outer))
    for id in outer:
        names[id] = len(names)
    tree = _canonical(context, renamed_tree(subquery.tree, names))
    match subquery:
        case ScalarSubquery():
            return tree, outer, names[subquery.column], subquery.type
        case AnySubquery():
            return tree, outer, subquery.function, subquery.left, tuple(renamed_scalar(s, names) for s in subquery.right)
    raise AssertionError(f"{subquery.__class__.__name__} does not say when it is the same as another")


def _canonical(context: Context, root: Tree) -> Tree:
    """One tree for all that are equal node by node."""

    def inner(scalar: Scalar) -> Scalar:
        return rewrite(scalar, lambda p: p.with_tree(_canonical(context, p.tree)) if isinstance(p, Subquery) else None)

    nodes = []
    for node in postorder(root):
        assert isinstance(node, Tree), "a bound query has no groups"
        nodes.append((map_scalars(node.op, inner), len(node.inputs)))
    return context.shapes.setdefault(tuple(nodes), root)
