"""A limit for each binding.

λo;i,n for each binding of r  ≡  σ[i < k ≤ i + n](Ω[k := row_number() by r order o](E))
"""

from optimizer.algebra.building import numbered
from optimizer.algebra.columns import ColumnId, Columns
from optimizer.algebra.logical import Filter, Limit
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalars import BOOL, Call, Literal
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT64


def first_rows(op: Limit, below: Tree, bindings: tuple[ColumnId, ...], columns: Columns) -> Tree:
    """The rows that the limit lets pass of those of each binding, which `below` holds in the columns `bindings`."""
    if op.count is None and not op.offset:
        return below
    tree, n = numbered(below, tuple(dict.fromkeys(bindings)), op.order, columns)
    bounds = [Call(">", (n, Literal(op.offset, INT64)), BOOL)] if op.offset else []
    if op.count is not None:
        bounds.append(Call("<=", (n, Literal(op.offset + op.count, INT64)), BOOL))
    return Tree(Filter(conjunction(bounds)), (tree,))
