"""INTERSECT and EXCEPT count whole rows in a hash table (NULL equals NULL)."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import SetOp
from optimizer.algebra.physical import HashSetOp, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class SetOpToHashSetOp(ImplementationRule):
    name = "setop_to_hash_set_op"
    pattern = node(SetOp)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case SetOp(kind, all, columns, sources) if kind is not SetOpKind.UNION:
                return (HashSetOp(kind, all, columns, sources),)
        return ()
