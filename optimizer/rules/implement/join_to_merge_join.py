"""A join with an equality between columns of its inputs becomes a merge join of inputs sorted on them.

Equalities of computed values stay in the residual (a sort key is a column). A right join is reached through its mirror
image, so that the kept side is always the one whose order the merge follows.
"""

from collections.abc import Sequence

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.physical import MergeJoin, PhysicalOperator
from optimizer.algebra.predicates import equality_sides
from optimizer.algebra.scalars import ColumnRef, Scalar
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node
from optimizer.rules.join_keys import is_again


class JoinToMergeJoin(ImplementationRule):
    name = "join_to_merge_join"
    pattern = node(Join, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(Join(kind, predicate), (left, right)) if kind is not JoinKind.RIGHT:
                keys: list[tuple[ColumnRef, ColumnRef]] = []
                residual: list[Scalar] = []
                seen: set[tuple[ColumnId, ColumnId, bool]] = set()
                for conjunct in predicate:
                    match equality_sides(conjunct, left.columns, right.columns):
                        case ColumnRef() as a, ColumnRef() as b:
                            if not is_again((a, b), False, left.props, right.props, seen):
                                keys.append((a, b))
                        case _:
                            residual.append(conjunct)
                if keys:
                    return (MergeJoin(kind, tuple(keys), tuple(residual)),)
        return ()
