"""An aggregate becomes a hash aggregate; it needs no order and delivers none."""

from __future__ import annotations

from optimizer.algebra.logical import Aggregate
from optimizer.algebra.physical import HashAggregate
from optimizer.rules.interface import ANY, ImplementationRule, node


class AggregateToHashAggregate(ImplementationRule):
    name = "aggregate_to_hash_aggregate"
    pattern = node(Aggregate, ANY)
    to = HashAggregate
