"""Row values compared, three-valued: `(a, b) = (c, d)`, `(a, b) < (c, d)`.

As the standard (SQL:2016, part 2, 8.2) and PostgreSQL have it: columns are compared in order, and a NULL makes the result
UNKNOWN unless other columns decide it. DuckDB differs: to it a row is one value, in which NULL equals NULL and is the greatest.
"""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.predicates import compare, junction
from optimizer.algebra.scalars import TRUE, Scalar


def rows_compared(function: str, left: Sequence[Scalar], right: Sequence[Scalar]) -> Scalar:
    """`left function right` of two rows of one length; TRUE for rows without columns.

    =   all are equal            <>  some differ
    <   a₁ < b₁ ∨ (a₁ = b₁ ∧ (a₂ < b₂ ∨ ...)), and likewise <=, which compares the last columns by <=
    """
    pairs = list(zip(left, right, strict=True))
    match function:
        case "=" | "is_not_distinct_from":
            return junction("and", [compare(function, a, b) for a, b in pairs]) if pairs else TRUE
        case "<>" | "is_distinct_from":
            return junction("or", [compare(function, a, b) for a, b in pairs])
    decided = []
    for i, (a, b) in enumerate(pairs):
        last = i == len(pairs) - 1
        differ = compare(function if last else function[0], a, b)
        decided.append(junction("and", [*(compare("=", c, d) for c, d in pairs[:i]), differ]))
    return junction("or", decided)
