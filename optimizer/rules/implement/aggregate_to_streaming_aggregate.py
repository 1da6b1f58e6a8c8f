"""An aggregate with keys becomes a streaming aggregate over an input sorted on the keys, in any permutation."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import Aggregate
from optimizer.algebra.physical import PhysicalOperator, StreamingAggregate
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class AggregateToStreamingAggregate(ImplementationRule):
    name = "aggregate_to_streaming_aggregate"
    pattern = node(Aggregate, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Aggregate(keys, aggregates) if keys:
                return (StreamingAggregate(keys, aggregates),)
        return ()
