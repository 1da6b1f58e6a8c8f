"""A join with groups of a stored table becomes an Apply that groups the rows of one key at a time.

    L ⊗[l = k ∧ p] Γ_{k,g}(T)  ≡  L A⊗ σ_p(Γ_{k,g}(σ[k = $l](T)))        T is stored by k; ⊗ inner or left

The way back from an unnested subquery to one that is evaluated for each binding.

Kinds   inner, left
NULLs   safe: where l is NULL, k = l is UNKNOWN on both sides, there are no rows and so no groups
Guards  decorrelate=cost, where the search picks; k is a key of the groups, so every group is whole; T in the order of k;
        nothing is volatile, in the groups neither; no conjunct may raise; further conjuncts on the groups stay a filter above
        them, as do those on k that tell its equal values apart (0.0 and -0.0)
"""

from collections.abc import Sequence
from dataclasses import replace

from optimizer.algebra.building import filtered
from optimizer.algebra.columns import column_set
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.logical import Aggregate, Scan
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node
from optimizer.rules.transform.join_to_apply import looks_up, taken_inside


class JoinToApplyGrouped(TransformationRule):
    name = "join_to_apply_grouped"
    pattern = node(Join, ANY, node(Aggregate, node(Scan)))
    used_with = (("decorrelate", ("cost",)),)
    expands = "small"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(kind, predicate), (left, Tree(Aggregate(keys) as aggregate, (Tree(Scan() as scan),)) as grouped)):
                if not looks_up(kind, predicate, left.columns, grouped, scan):
                    return ()
                lead = scan.order[0].column
                if lead not in keys:
                    return ()
                inside, outside = taken_inside(predicate, left.columns, grouped.columns)
                below = [s for s in inside if not s.columns & ~column_set((lead,)) and is_congruent(s)]
                above = conjunction(s for s in inside if s not in below)
                looked_up = Tree(replace(scan, predicate=conjunction([*scan.predicate, *below])))
                right = Tree(aggregate, (looked_up,))
                return (Tree(Apply(kind, outside), (left, filtered(above, right))),)
        return ()
