"""What the memo asks for when it makes a group."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import TraitSet
from optimizer.cost.model import CostModel
from optimizer.engines.arrow import offers
from optimizer.memo.group import Group
from optimizer.stats.estimator import Estimator
from optimizer.stats.relation import RelationStats


class Figures:
    """An estimator, a cost model and the engine's orders, put together."""

    def __init__(self, estimator: Estimator, cost: CostModel) -> None:
        self.estimator, self.cost = estimator, cost

    def estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        return self.estimator.estimate(op, props, inputs)

    def lower_bound(self, op: LogicalOperator, stats: RelationStats, inputs: Sequence[Group], leaves: Sequence[Group]) -> float:
        return self.cost.lower_bound(op, stats, inputs, leaves)

    def offers(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[Group]) -> tuple[TraitSet, ...]:
        return offers(op, props, inputs)
