"""Goals: a group with required traits, and what the search has proved about it.

At every moment `lower <= true optimum <= best.cost`. A failed search is a proof about its limit (`lower` rises above it),
never a statement that there is no plan.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import Alternative, TraitSet
from optimizer.memo.group import LogicalExpr, PhysicalExpr

INFINITY = float("inf")


class Status(Enum):
    NEW = "new"
    OPEN = "open"  # being searched, with `limit`
    OPTIMAL = "optimal"  # `best` is the cheapest plan
    BELOW = "below"  # searched and failed: no plan costs less than `lower`
    BOUNDED = "bounded"  # `best` is a plan, the optimum is at least `lower`: a gap, an epsilon or a heuristic ended the search
    IMPOSSIBLE = "impossible"  # no way to meet the traits at any cost
    ABANDONED = "abandoned"  # a budget ran out while it was open


class Candidate:
    """One way to meet a goal: a physical operator (of multi-expression `mexpr`, or an enforcer when None) with chosen
    input traits. Made once per goal and kept, so that a re-opened goal retries only what a limit had stopped.

    `bound`: what the plan costs at least, as far as known: exact once `done`. `index`: the next input to optimize;
    `asked`: the input last searched on its behalf.
    """

    __slots__ = ("alternative", "asked", "bound", "done", "goal", "index", "inputs", "local", "mexpr", "op")

    def __init__(
        self,
        goal: Goal,
        mexpr: PhysicalExpr | None,
        op: PhysicalOperator,
        alternative: Alternative,
        inputs: tuple[Goal, ...],
        local: float,
    ) -> None:
        self.goal, self.mexpr, self.op, self.alternative, self.inputs = goal, mexpr, op, alternative, inputs
        self.local = local
        self.bound = local
        self.index = 0
        self.asked = -1
        self.done = False


class Goal:
    """`limit`: inclusive, that of the current or last search. `opened`: how often it was searched. `waiting`: logical
    expressions of the group that have no candidates here yet, with what any plan through them costs at least. `settled`:
    there is a plan, and the search for it is over. `joins`: the node of a join space that the goal stands for, if any."""

    __slots__ = (
        "best",
        "best_cost",
        "candidates",
        "group",
        "id",
        "joins",
        "limit",
        "lower",
        "opened",
        "required",
        "settled",
        "status",
        "waiting",
    )

    def __init__(self, id: int, group: int, required: TraitSet, lower: float) -> None:
        self.id, self.group, self.required, self.lower = id, group, required, lower
        self.status = Status.NEW
        self.limit = -INFINITY
        self.best: Candidate | None = None
        self.best_cost = INFINITY
        self.candidates: list[Candidate] = []
        self.waiting: dict[LogicalExpr, float] = {}
        self.opened = 0
        self.settled = False
        self.joins: Any = None

    def reset(self) -> None:
        """Forget what was concluded, because the group may hold more now; what was proved from figures alone is proved again."""
        self.status, self.settled, self.joins = Status.NEW, False, None
        self.limit, self.lower = -INFINITY, 0.0
        self.best, self.best_cost = None, INFINITY
        self.candidates, self.waiting, self.opened = [], {}, 0
