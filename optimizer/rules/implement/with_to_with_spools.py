"""A With fills its spools when they are first read."""

from collections.abc import Sequence

from optimizer.algebra.physical import PhysicalOperator, WithSpools
from optimizer.algebra.spools import With
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class WithToWithSpools(ImplementationRule):
    name = "with_to_with_spools"
    pattern = node(With)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        return (WithSpools(tuple(spool.columns for spool in bound.inputs[:-1])),)
