"""Cuts a plan at its exchanges: what lies between them is a stage, which a task runs on the rows that were sent to it.

The rows of a spool are a stage of their own; they stay in the tasks that made them, where every reader of the spool finds them.
"""

from typing import NamedTuple

from executor.spark.operators import Exchange, Received
from executor.spark.places import ONE, Place
from executor.spark.placing import outside
from optimizer.algebra.columns import column_ids
from optimizer.algebra.physical import FillSpool, ReadSpool, WithSpools
from optimizer.algebra.plan import PlanNode


class Stage(NamedTuple):
    """`parted`: every task runs `plan`, else the first alone. Then its rows go to `place`."""

    plan: PlanNode
    parted: bool
    place: Place

    @property
    def inputs(self) -> list[int]:
        """Numbers of the stages whose rows it reads."""
        return sorted({node.op.of for node in self.plan.walk() if isinstance(node.op, Received)})


def stages_of(plan: PlanNode) -> list[Stage]:
    """The stages of a plan with exchanges, each after those that it reads. The last one gives the result, in one task."""
    cut = _Cut()
    root = cut.within(plan)
    return [*cut.stages, Stage(root, False, ONE)]


class _Cut:
    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._spools: dict[int, int] = {}  # spool -> the stage that fills it

    def within(self, node: PlanNode, inside: bool = False) -> PlanNode:
        """What of `node` is in the stage of its consumer. `inside`: it runs as a whole in a task, spools of its own included."""
        op = node.op
        if isinstance(op, Exchange):
            columns = node.inputs[0].columns
            return node.rebuilt(Received(self._sent(node), tuple((id, id) for id in column_ids(columns))), ())
        if isinstance(op, WithSpools) and not inside:
            *fills, body = node.inputs
            for fill in fills:
                assert isinstance(fill.op, FillSpool)
                self._spools[fill.op.spool] = self._sent(fill.inputs[0])
            return self.within(body)
        if isinstance(op, ReadSpool) and not inside:
            kept = tuple((column.id, column.source) for column in op.columns if node.columns >> column.id & 1)
            return node.rebuilt(Received(self._spools[op.spool], kept), ())
        return node.rebuilt(op, tuple(self.within(each, inside or i >= outside(node)) for i, each in enumerate(node.inputs)))

    def _sent(self, exchange: PlanNode) -> int:
        """The number of the stage whose rows the exchange moves."""
        op = exchange.op
        assert isinstance(op, Exchange)
        self.stages.append(Stage(self.within(exchange.inputs[0]), op.parted, op.place))
        return len(self.stages) - 1
