"""A filter becomes a vectorized filter that keeps its input's order."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Filter
from optimizer.algebra.physical import FilterRows, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class FilterToFilterRows(ImplementationRule):
    name = "filter_to_filter_rows"
    pattern = node(Filter, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Filter(predicate):
                return (FilterRows(predicate),)
        return ()
