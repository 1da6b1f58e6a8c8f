"""The sort enforcer: meets a required order or grouping by sorting a plan of the same group that need not have any.

It is a move from goal (G, traits) to the strictly weaker goal (G, any), not a multi-expression of G: so it can never feed
itself, and a plan that has the traits already is never sorted again. Rows are grouped by sorting them on the columns, by id.
"""

from optimizer.algebra.physical import Sort
from optimizer.algebra.traits import ANY, TraitSet, group_order

name = "sort"


def enforce(required: TraitSet) -> tuple[Sort, TraitSet] | None:
    """The operator that adds `required`, and the weaker traits it needs of its input; None when nothing is required."""
    if required == ANY:
        return None
    return Sort(required.collation or group_order(required.grouping)), ANY
