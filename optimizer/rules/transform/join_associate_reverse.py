"""Join associativity the other way round: regroups two inner joins to the left.

    A ⋈q (B ⋈p C)  ≡  (A ⋈q' B) ⋈p' C

q' takes the conjuncts of p ∧ q whose columns all lie in A ∪ B; p' takes the rest. With join_commute and join_associate this
is rule set RS-B0, which reaches no more than RS-B1 does without it; the duplicate-free set RS-B2 needs both directions,
since it tries no rule on a commuted join.

Kinds   inner only; left joins: join_associate_left
NULLs   safe: an inner join drops FALSE and UNKNOWN alike, so a conjunct may change joins
Rows    same bag; same column set
Guards  those of join_associate
Source  Pellenkoft, Galindo-Legaria and Kersten, VLDB 1997; Shanbhag and Sudarshan, PVLDB 2014 (rule sets)
"""

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node, of_kinds
from optimizer.rules.transform.regrouping import regrouped

_KIND = of_kinds(JoinKind.INNER)


class JoinAssociateReverse(TransformationRule):
    name = "join_associate_reverse"
    pattern = node(Join, ANY, node(Join, ANY, ANY, where=_KIND), where=_KIND)
    used_with = (("enumeration", ("rules_b0", "duplicate_free_rules")),)
    closes = ("join_associate", "join_associate_reverse", "join_exchange_inner")
    closes_in = ("duplicate_free_rules",)
    expands = "never"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(JoinKind.INNER, q), (a, Tree(Join(JoinKind.INNER, p), (b, c)))):
                predicates = regrouped((p, q), (a.columns | b.columns,), context)
                if predicates is not None:
                    lower, upper = predicates
                    return (Tree(Join(JoinKind.INNER, upper), (Tree(Join(JoinKind.INNER, lower), (a, b)), c)),)
        return ()
