"""Join commutativity: exchanges the inputs of a join.

    A ⋈p B  ≡  B ⋈p A        A ⟕p B  ≡  B ⟖p A

Kinds   inner and full map to themselves, left to right and right to left; semi and anti have no mirror image
NULLs   safe: the predicate sees the same pairs of rows, and the same side is extended
Rows    same bag; same column set (column order is no part of a group, so no projection is added)
Guards  none
Source  Graefe and McKenna, The Volcano Optimizer Generator, ICDE 1993
"""

from collections.abc import Sequence

from optimizer.algebra.logical_joins import Join
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node


class JoinCommute(TransformationRule):
    name = "join_commute"
    pattern = node(Join, ANY, ANY)
    closes = ("join_commute", "join_associate", "join_associate_reverse", "join_exchange_inner")
    closes_in = ("duplicate_free_rules",)
    expands = "never"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(kind, predicate), (left, right)) if kind.mirrored is not None:
                return (Tree(Join(kind.mirrored, predicate), (right, left)),)
        return ()
