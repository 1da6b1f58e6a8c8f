"""Grouping sets become one operator that hashes; it needs no order and delivers none."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import GroupingSets
from optimizer.algebra.physical import HashGroupingSets, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class GroupingSetsToHashGroupingSets(ImplementationRule):
    name = "grouping_sets_to_hash_grouping_sets"
    pattern = node(GroupingSets, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case GroupingSets(keys, sets, aggregates, number):
                return (HashGroupingSets(keys, sets, aggregates, number),)
        return ()
