"""A predicate compares a column instead of a monotone expression of it, so that statistics, stored orders and files know it.

    CAST(x AS BIGINT) > 5  ≡  x > 5        x * 2.0 <= 5.0  ≡  x <= 2.5        CAST(i AS DECIMAL) < 2.5  ≡  i < 3
    year(d) = 1995  ≡  d >= '1995-01-01' ∧ d < '1996-01-01'

NULLs   exact: a monotone expression is NULL where its column is, and only there
Guards  the expression raises for no value of the column's type (x + 1 > 5 stays, for an INTEGER x: it raises on the largest), or
        for none that the column has (arithmetic_within_bounds);
        the other side is a constant; the column's values can be numbered (integers, decimals, dates, timestamps), see
        monotone_comparison.py. A comparison that no value, or every value, satisfies is left to predicate_weaken
"""

from optimizer.algebra.logical import Aggregate, Project, Values
from optimizer.algebra.scalars import Scalar
from optimizer.prepass.monotone_comparison import of_column
from optimizer.prepass.openings import COMPUTED
from optimizer.prepass.scalar_rewrite import scalar_rewrite


@scalar_rewrite(COMPUTED, unless=(Project, Aggregate, Values))
def comparison_unwrap(scalar: Scalar) -> Scalar | None:
    found = of_column(scalar)
    return found if isinstance(found, Scalar) else None
