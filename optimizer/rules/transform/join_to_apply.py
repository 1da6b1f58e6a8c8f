"""A join with a stored table becomes an Apply that looks each left row up in it.

    L ⊗[l = k ∧ p] T  ≡  L A⊗ σ[k = $l ∧ p](T)        T is stored by k; ⊗ inner or left

With few left rows a lookup reads little of T, as an index nested-loop join does.

Kinds   inner, left
NULLs   safe: where l is NULL, k = l is UNKNOWN on both sides and nothing matches
Guards  decorrelate=cost, where the search picks between Apply and join; T in the order of k, or a lookup reads all of it;
        nothing volatile, in the scan neither, which is read once for each left row; no conjunct that may raise, which the join
        tests on fewer rows
"""

from collections.abc import Sequence
from dataclasses import replace

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Scan
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.predicates import conjunction, equality_sides
from optimizer.algebra.scalar_trees import as_outer
from optimizer.algebra.scalars import ColumnRef, Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node


class JoinToApply(TransformationRule):
    name = "join_to_apply"
    pattern = node(Join, ANY, node(Scan))
    used_with = (("decorrelate", ("cost",)),)
    expands = "small"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(kind, predicate), (left, Tree(Scan() as scan))):
                if not looks_up(kind, predicate, left.columns, bound.inputs[1], scan):
                    return ()
                inside, outside = taken_inside(predicate, left.columns, scan.output_columns(()))
                looked_up = replace(scan, predicate=conjunction([*scan.predicate, *inside]))
                return (Tree(Apply(kind, outside), (left, Tree(looked_up))),)
        return ()


def looks_up(kind: JoinKind, predicate: Predicate, left: ColumnSet, right: Node, scan: Scan) -> bool:
    """Whether the join finds rows of `right` by the column that the table of its scan is stored by."""
    if kind not in (JoinKind.INNER, JoinKind.LEFT) or not scan.order or scan.limit is not None or right.volatile:
        return False
    if any(s.volatile or s.raises for s in predicate):
        return False
    lead = 1 << scan.order[0].column
    sides = [equality_sides(s, left, lead) for s in predicate]
    return any(pair is not None and isinstance(pair[1], ColumnRef) for pair in sides)


def taken_inside(predicate: Predicate, left: ColumnSet, right: ColumnSet) -> tuple[list[Scalar], Predicate]:
    """The conjuncts on the right rows, reading the left columns from outside; and those on the left row alone."""
    inside = [as_outer(s, left) for s in predicate if s.columns & right]
    return inside, conjunction(s for s in predicate if not s.columns & right)
