"""The same subquery written twice is one scalar, so that GROUP BY (SELECT ...) finds itself in the select list.

Every time a subquery is bound its columns get fresh ids. What a text means where the same common table expressions are in reach
depends on the names of queries around it alone: two are the same when these stand for the same scalars. Volatile ones never are.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.subqueries import AnySubquery, Subquery, operators_of
from optimizer.sql.context import Context, Ctes


def first_like(context: Context, node: Any, ctes: Ctes | None, subquery: Subquery) -> Subquery:
    """The subquery bound earlier that is the same as this one, made from the AST `node`; this one when there is none."""
    if subquery.volatile:
        return subquery
    _, earlier = context.subqueries.setdefault((node, id(ctes)), (ctes, []))  # held, so that its id stays its own
    if earlier:
        meaning = _meaning(subquery)
        for other in earlier:
            if _meaning(other) == meaning:
                return other
    earlier.append(subquery)
    return subquery


def _meaning(subquery: Subquery) -> Hashable:
    """Its scalars, the columns that are made in it numbered as they come."""
    outer, numbers = subquery.tree.outer, dict[ColumnId, int]()

    def label(id: ColumnId) -> str:
        return f"#{id}" if outer >> id & 1 else str(numbers.setdefault(id, len(numbers)))

    scalars = [scalar for op in operators_of(subquery.tree) for scalar in op.scalars()]
    compared = (subquery.function, *subquery.left) if isinstance(subquery, AnySubquery) else ()
    scalars += subquery.right if isinstance(subquery, AnySubquery) else ()
    return compared, *(scalar.text_with(label) for scalar in scalars)
