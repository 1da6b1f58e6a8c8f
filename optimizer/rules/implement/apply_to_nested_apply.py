"""An Apply runs its right input for each left row.

The parameters are the left columns that the right input reads; columns of further-out queries have values by then.
"""

from collections.abc import Sequence

from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.physical import NestedApply, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class ApplyToNestedApply(ImplementationRule):
    name = "apply_to_nested_apply"
    pattern = node(Apply, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(Apply(kind, predicate, mark), (left, right)):
                return (NestedApply(kind, predicate, mark, right.outer & left.columns, cached=False),)
        return ()
