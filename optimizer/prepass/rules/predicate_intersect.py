"""Conjuncts of one predicate that say the same together with less, or exclude each other.

    x > 3 ∧ x > 5 → x > 5        x = 1 ∧ x = 2 → FALSE        x IN (1, 2, 3) ∧ x > 1 → x IN (2, 3)        x <= y ∧ x >= y → x = y
    x = 1 ∧ x IS NOT NULL → x = 1        x = 1 ∧ x IS NULL → FALSE        p ∧ ¬p → FALSE
    x < y → FALSE where an input, or the predicate with the inputs, says x = y

Kinds   the predicates of filters, scans, and joins of every kind but mark joins
NULLs   a conjunct that is not TRUE of a NULL x keeps it out as x IS NOT NULL does; UNKNOWN and FALSE are one here
Guards  only conjuncts that are plain are put together or left out, and a test for NULL goes only if a plain one implies it: what
        raises must not see more rows. Where the plain ones are never TRUE together the others are never evaluated
"""

from dataclasses import replace
from functools import lru_cache

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.logical import Filter, Scan
from optimizer.algebra.logical_joins import Apply, Join, SingleJoin
from optimizer.algebra.nulls import null_rejected
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.props import merge_equivalences
from optimizer.algebra.scalars import FALSE, Call, ColumnRef, Predicate
from optimizer.algebra.trees import Tree
from optimizer.prepass.known import equalities
from optimizer.prepass.rules.predicate_weaken import filtering, intersected
from optimizer.prepass.scalar_rewrite import plain
from optimizer.rules.interface import RuleContext, node, rewrite

NEVER: Predicate = (FALSE,)
DIFFER = ("<", ">", "<>")


@rewrite(node((Filter, Scan, Join, SingleJoin, Apply)))
def predicate_intersect(bound: Tree, context: RuleContext) -> Tree | None:
    predicate = filtering(bound.op)
    if predicate is None:
        return None
    fewer = NEVER if _parts_equals(predicate, bound) else intersection(predicate)
    return None if fewer == predicate else Tree(replace(bound.op, predicate=fewer), bound.inputs)  # type: ignore[type-var]


@lru_cache(maxsize=4096)
def intersection(predicate: Predicate) -> Predicate:
    """The predicate with fewer conjuncts; itself where nothing can be said with less."""
    if len(predicate) < 2:
        return predicate
    apart = len({s.columns for s in predicate}) == len(predicate)  # conjuncts over different columns have nothing in common
    together = predicate if apart and FALSE not in predicate else intersected(predicate)
    if together is None:
        return NEVER
    for test in together:
        if isinstance(test, Call) and test.function in ("is_null", "is_not_null") and isinstance(test.args[0], ColumnRef):
            others = tuple(other for other in together if other is not test and plain(other))
            if null_rejected(others) & test.columns:
                if test.function == "is_null":
                    return NEVER
                together = tuple(other for other in together if other is not test)
    return predicate if together == predicate else conjunction(together)


@lru_cache(maxsize=4096)
def _unlike(predicate: Predicate) -> list[ColumnSet]:
    """Pairs of columns that it wants to differ."""
    compared = [s for s in predicate if isinstance(s, Call) and s.function in DIFFER]
    return [s.columns for s in compared if all(isinstance(arg, ColumnRef) for arg in s.args)]


def _parts_equals(predicate: Predicate, bound: Tree) -> bool:
    """Whether it wants columns to differ that are equal in all rows which it lets pass."""
    unlike = _unlike(predicate)
    if not unlike or not bound.inputs:
        return False
    equal = merge_equivalences([*equalities(predicate), *(each for side in bound.inputs for each in side.props.equivalences)])
    return any(not both & ~members for both in unlike for members in equal)
