"""Windows become window rows over an input sorted by partition, in any permutation, and order."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Window
from optimizer.algebra.physical import PhysicalOperator, WindowRows
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class WindowToWindowRows(ImplementationRule):
    name = "window_to_window_rows"
    pattern = node(Window, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Window(partition, order, items):
                return (WindowRows(partition, order, items),)
        return ()
