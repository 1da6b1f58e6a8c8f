"""A VALUES list becomes constant rows."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Values
from optimizer.algebra.physical import ConstantRows, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class ValuesToConstantRows(ImplementationRule):
    name = "values_to_constant_rows"
    pattern = node(Values)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Values(columns, types, rows):
                return (ConstantRows(columns, types, rows),)
        return ()
