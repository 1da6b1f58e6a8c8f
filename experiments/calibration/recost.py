"""What a plan that was run costs with the rows that its operators really had.

Operators are costed as in the search, one by one, from figures in which the estimated rows are replaced by counted ones. What
else the figures say (widths, distinct counts) stays as estimated. In the right input of an Apply a counted number is spread over
the runs: as many as there are left rows, or distinct bindings, of which only the estimate is known.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from executor.arrow.counters import Counters
from optimizer.algebra.physical import NestedApply, PhysicalOperator
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.traits import TraitSet
from optimizer.cost.applies import bindings
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.coefficients import NAMES, Coefficients
from optimizer.cost.model import CostModel, Reruns
from optimizer.memo.memo import Memo
from optimizer.stats.relation import RelationStats


class RanOperator(NamedTuple):
    """One operator of a plan that was run: `output`, `inputs`: figures with counted rows of one run. `runs`: how often it ran.
    `kept[i]`: input i ran once, whatever the runs."""

    node: PlanNode
    output: RelationStats
    inputs: tuple[RelationStats, ...]
    runs: float
    kept: tuple[bool, ...]

    @property
    def op(self) -> PhysicalOperator:
        return self.node.op

    @property
    def delivered(self) -> TraitSet:
        return self.node.alternative.delivered

    def cost(self, model: CostModel) -> float:
        """All its runs, in the model's unit."""
        first = model.local(self.op, self.delivered, self.output, self.inputs)
        if self.runs <= 1.0:
            return first
        if not isinstance(model, Reruns):
            return self.runs * first
        return first + (self.runs - 1.0) * model.rerun(self.op, self.delivered, self.output, self.inputs, self.kept)


def ran_operators(memo: Memo, plan: PlanNode, counters: Counters) -> list[RanOperator]:
    """The operators of a plan over groups of `memo`, parents first. Nodes are numbered (`prune_columns`) and were counted."""
    runs = dict(_runs(memo, plan, counters))
    stats: dict[int, RelationStats] = {}
    for node in plan.walk():
        stats[node.id] = _with_rows(memo.group(node.group).stats, counters[node.id].rows / max(1.0, runs[node.id]))
    found = []
    for node in plan.walk():
        kept = tuple(not _reads_outer(memo, child) for child in node.inputs)
        inputs = tuple(stats[child.id] for child in node.inputs)
        found.append(RanOperator(node, stats[node.id], inputs, runs[node.id], kept))
    return found


def cost_of(operators: list[RanOperator], model: CostModel) -> float:
    return sum(each.cost(model) for each in operators)


def amounts(operators: list[RanOperator]) -> dict[str, float]:
    """How often each coefficient of `arrow` counts in a plan: the plan costs Σ coefficient · amount nanoseconds.

    Costs are linear in the coefficients, so an amount is what the plan costs when that one is 1 and all others are 0."""
    found = {name: cost_of(operators, model) * 1000.0 for name, model in _UNITS.items()}
    return {name: amount for name, amount in found.items() if amount > 0.0}


def _unit(name: str) -> ArrowCost:
    values: Mapping[str, float] = {**dict.fromkeys(NAMES, 0.0), name: 1.0}
    return ArrowCost(Coefficients(**values))


_UNITS = {name: _unit(name) for name in NAMES}


def _runs(memo: Memo, plan: PlanNode, counters: Counters) -> Iterator[tuple[int, float]]:
    """(node, how often it ran): once for each binding of the Apply around it, and once where it reads no outer column."""
    waiting = [(plan, 1.0)]
    while waiting:
        node, runs = waiting.pop()
        if not _reads_outer(memo, node):
            runs = 1.0
        yield node.id, runs
        for number, child in enumerate(node.inputs):
            below = runs
            if isinstance(node.op, NestedApply) and number == 1:
                left = node.inputs[0]
                rows = counters[left.id].rows / max(1.0, runs)
                stats = _with_rows(memo.group(left.group).stats, rows)
                below = runs * max(1.0, bindings(node.op, stats) if node.op.cached else rows)
            waiting.append((child, below))


def _reads_outer(memo: Memo, node: PlanNode) -> bool:
    group = memo.group(node.group)
    return bool(group.outer) or group.volatile


def _with_rows(stats: RelationStats, rows: float) -> RelationStats:
    counted = RelationStats(rows, stats.columns, stats.base_rows, stats.keys)
    counted.distinct = stats.distinct
    return counted
