"""The sort enforcer: meets a required order by sorting a plan of the same group that need not have any.

It is a move from goal (G, order) to the strictly weaker goal (G, any), not a multi-expression of G: so it can never feed
itself, and a plan that has the order already is never sorted again.
"""

from __future__ import annotations

from optimizer.algebra.physical import PhysicalOperator, Sort
from optimizer.algebra.traits import ANY, TraitSet

name = "sort"


def enforce(required: TraitSet) -> tuple[PhysicalOperator, TraitSet] | None:
    """The operator that adds `required`, and the weaker traits it needs of its input; None when nothing is required."""
    if not required.collation:
        return None
    return Sort(required.collation), ANY
