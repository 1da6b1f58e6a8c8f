"""An aggregate becomes a hash aggregate; it needs no order and delivers none."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Aggregate
from optimizer.algebra.physical import HashAggregate, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class AggregateToHashAggregate(ImplementationRule):
    name = "aggregate_to_hash_aggregate"
    pattern = node(Aggregate, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Aggregate(keys, aggregates):
                return (HashAggregate(keys, aggregates),)
        return ()
