"""A limit for each binding.

λo;i,n for each binding of r  ≡  σ[i < k ≤ i + n](Ω[k := row_number() by r order o](E))
"""

from __future__ import annotations

from optimizer.algebra.columns import ColumnId, Columns
from optimizer.algebra.logical import Filter, Limit, Window, WindowItem
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Literal, WindowCall
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT64


def first_rows(op: Limit, below: Tree, bindings: tuple[ColumnId, ...], columns: Columns) -> Tree:
    """The rows that the limit lets pass of those of each binding, which `below` holds in the columns `bindings`."""
    if op.count is None and not op.offset:
        return below
    number = columns.new("row_number", INT64, False).id
    call = WindowCall("row_number", (), False, None, False, None, INT64)
    numbered = Tree(Window(tuple(dict.fromkeys(bindings)), op.order, (WindowItem(number, call),)), (below,))
    n = ColumnRef(number, INT64)
    bounds = [Call(">", (n, Literal(op.offset, INT64)), BOOL)] if op.offset else []
    if op.count is not None:
        bounds.append(Call("<=", (n, Literal(op.offset + op.count, INT64)), BOOL))
    return Tree(Filter(conjunction(bounds)), (numbered,))
