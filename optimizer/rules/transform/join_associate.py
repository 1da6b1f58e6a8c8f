"""Join associativity: regroups two inner joins.

    (A ⋈p B) ⋈q C  ≡  A ⋈p' (B ⋈q' C)

q' takes the conjuncts of p ∧ q whose columns all lie in B ∪ C; p' takes the rest. Together with join_commute this
reaches every join order without cross products of a connected join graph (rule set RS-B1).

Kinds   inner only; an outer join fixes its NULL-extended side
NULLs   safe: an inner join drops FALSE and UNKNOWN alike, so a conjunct may change joins
Rows    same bag; same column set
Guards  p' and q' non-empty, so no cross product appears (setting cross_products lifts this); no volatile conjunct;
        no conjunct that may raise goes down, where it would see rows that the others had removed; not when both p and
        q have one: within one predicate only conjuncts that cannot raise are sure to be tested first
Source  Graefe and McKenna, The Volcano Optimizer Generator, ICDE 1993; Shanbhag and Sudarshan, PVLDB 2014 (rule sets)
"""

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node, of_kinds
from optimizer.rules.transform.regrouping import regrouped

_KIND = of_kinds(JoinKind.INNER)


class JoinAssociate(TransformationRule):
    name = "join_associate"
    pattern = node(Join, node(Join, ANY, ANY, where=_KIND), ANY, where=_KIND)
    closes = ("join_associate", "join_associate_reverse", "join_exchange_inner")
    closes_in = ("duplicate_free_rules",)
    expands = "never"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(JoinKind.INNER, q), (Tree(Join(JoinKind.INNER, p), (a, b)), c)):
                predicates = regrouped((p, q), (b.columns | c.columns,), context)
                if predicates is not None:
                    lower, upper = predicates
                    return (Tree(Join(JoinKind.INNER, upper), (a, Tree(Join(JoinKind.INNER, lower), (b, c)))),)
        return ()
