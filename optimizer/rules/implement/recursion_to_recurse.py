"""A recursive common table expression is a loop."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.physical import PhysicalOperator, Recurse
from optimizer.algebra.spools import Recursion
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class RecursionToRecurse(ImplementationRule):
    name = "recursion_to_recurse"
    pattern = node(Recursion)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Recursion(spool, title, all, columns, sources):
                return (Recurse(spool, title, all, columns, sources),)
        return ()
