"""Two joins below a join exchange their inner inputs.

    (A ⋈p B) ⋈r (C ⋈q D)  ≡  (A ⋈p' C) ⋈r' (B ⋈q' D)

p' takes the conjuncts of p ∧ q ∧ r whose columns all lie in A ∪ C, q' those in B ∪ D; r' takes the rest. What two
associativities and a commutation reach by way of deeper trees, this reaches in one step: the duplicate-free rule set RS-B2
needs it, since it tries no rule on the joins in between.

Kinds   inner only; joins on one input, some of them outer: join_exchange_left, join_exchange_full
NULLs   safe: an inner join drops FALSE and UNKNOWN alike, so a conjunct may change joins
Rows    same bag; same column set
Guards  those of join_associate, for three joins: p', q' and r' non-empty, not two of p, q and r with a conjunct that may raise
Source  Pellenkoft, Galindo-Legaria and Kersten, VLDB 1997
"""

from collections.abc import Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node, of_kinds
from optimizer.rules.transform.regrouping import regrouped

_KIND = of_kinds(JoinKind.INNER)


class JoinExchangeInner(TransformationRule):
    name = "join_exchange_inner"
    pattern = node(Join, node(Join, ANY, ANY, where=_KIND), node(Join, ANY, ANY, where=_KIND), where=_KIND)
    used_with = (("enumeration", ("duplicate_free_rules",)),)
    closes = ("join_commute", "join_associate", "join_associate_reverse", "join_exchange_inner")
    expands = "never"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(JoinKind.INNER, r), (Tree(Join(JoinKind.INNER, p), (a, b)), Tree(Join(JoinKind.INNER, q), (c, d)))):
                predicates = regrouped((p, q, r), (a.columns | c.columns, b.columns | d.columns), context)
                if predicates is not None:
                    left, right, upper = predicates
                    joined = Tree(Join(JoinKind.INNER, left), (a, c)), Tree(Join(JoinKind.INNER, right), (b, d))
                    return (Tree(Join(JoinKind.INNER, upper), joined),)
        return ()
