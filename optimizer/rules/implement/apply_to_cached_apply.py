"""An Apply runs its right input once for each distinct combination of the left columns that it reads.

Guards  the right input is not volatile: evaluated again it has the same rows; left rows are not known to differ in the columns
        it reads, else no result would be used twice
"""

from collections.abc import Sequence

from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.physical import NestedApply, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class ApplyToCachedApply(ImplementationRule):
    name = "apply_to_cached_apply"
    pattern = node(Apply, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(Apply(kind, predicate, mark), (left, right)) if not right.volatile:
                parameters = right.outer & left.columns
                if not left.props.unique_on(parameters):
                    return (NestedApply(kind, predicate, mark, parameters, cached=True),)
        return ()
