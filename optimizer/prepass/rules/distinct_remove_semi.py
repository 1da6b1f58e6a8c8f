"""Duplicates need not be removed on the right of a semi, anti or mark join.

    A ⋉p δ(B)  ≡  A ⋉p B        likewise for ▷ and for mark joins, and below projections and unions with ALL

Where removing them early pays, semi_join_to_inner_on_distinct brings it back.

Kinds   SEMI, ANTI and MARK, of a join and of an Apply
NULLs   δ takes NULL for a value: some row of B has the same values, NULL included, so the predicate has the same outcomes
Rows    whether there is a match does not depend on how often; nor is a row of B with duplicates an error
Guards  p gives equal results for equal values (floats: of 0.0 and -0.0, δ keeps one); no volatile conjunct, nor projection in
        between
"""

from __future__ import annotations

from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.flags import GROUPED
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import AnyJoin
from optimizer.algebra.trees import Tree
from optimizer.prepass.rules.distinct_remove_below import without_distinct
from optimizer.rules.interface import ANY, RuleContext, node, rewrite

_ASK_ONCE = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK)


@rewrite(node(AnyJoin, ANY, ANY), openings=GROUPED)
def distinct_remove_semi(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(AnyJoin(kind=kind) as join, (left, Tree() as right)) if kind in _ASK_ONCE:
            if all(is_congruent(s) for s in join.predicate):
                without = without_distinct(right)
                return None if without is right else Tree(join, (left, without))
    return None
