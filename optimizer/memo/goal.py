"""Goals: a group, or a set of relations, with required traits; the ways to meet it; and what the search has proved about it.

At every moment `lower <= true optimum <= best_cost`. A failed search is a proof about its limit (`lower` rises above it),
never a statement that there is no plan.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import ANY, Alternative, TraitSet
from optimizer.memo.mexpr import LogicalExpr, PhysicalExpr

INFINITY = float("inf")
ROUNDING = 1.0 - 1e-12  # of a bound that is not added up as costs are


class Status(Enum):
    NEW = "new"
    OPEN = "open"  # being searched, with `limit`
    OPTIMAL = "optimal"  # `way` is the cheapest plan
    BELOW = "below"  # searched and failed: no plan costs less than `lower`
    BOUNDED = "bounded"  # there is a plan, the optimum is at least `lower`: a gap, an epsilon or a heuristic ended the search
    IMPOSSIBLE = "impossible"  # no way to meet the traits at any cost
    ABANDONED = "abandoned"  # a budget ran out while it was open


class Implementation(NamedTuple):
    """A physical operator, of multi-expression `mexpr` (None: an enforcer), with the input traits chosen for it."""

    op: PhysicalOperator
    alternative: Alternative
    mexpr: PhysicalExpr | None


class Split(NamedTuple):
    """Two sets of relations and the physical join of them, the left one first; `PhysicalOperator` while none was chosen."""

    method: type[PhysicalOperator]
    left: int
    right: int


class Way(NamedTuple):
    """One way to meet a goal. `bound`: what a plan through it costs at least; `number` tells ways of equal bounds apart;
    `local`: its own cost; `inputs`: the goals that have to be met; `what` it is: an implementation, a split of a set of
    relations, or a logical expression that has not been costed for the goal yet.
    """

    bound: float
    number: int
    local: float
    inputs: tuple[Goal, ...]
    what: Implementation | Split | LogicalExpr


class Goal:
    """`group`: id, -1 for a set of relations that has none; `relations`: the set, within its region, 0 for a group of anything
    else. `required`: traits, reduced in the group. `limit`: inclusive, that of the current or last search. `opened`: how
    often it was searched. `settled`: there is a plan, and the search for it is over.

    `ways`: those of the current search, cheapest bound first, `next` on still to be tried; `asked`: the input searched last
    on behalf of the way at `next`; `dropped`: the least bound of what was cut; `listed`: all ways known of a group's goal,
    by number, kept for when it is opened again.
    """

    __slots__ = (
        "asked", "best_cost", "dropped", "group", "id", "limit", "listed", "lower", "next", "opened", "relations", "required",
        "settled", "status", "way", "ways",
    )  # fmt: skip

    def __init__(self, id: int, group: int, required: TraitSet = ANY, lower: float = 0.0, relations: int = 0) -> None:
        self.id, self.group, self.required, self.lower, self.relations = id, group, required, lower, relations
        self.listed: dict[int, Way] | None = None
        self._forget()

    def __repr__(self) -> str:
        return f"Goal({self.id}, group={self.group}, {self.required.show(str)}, {self.status.value}, cost={self.best_cost:,.0f})"

    def reset(self) -> None:
        """Forget what was concluded, because the group may hold more now; what was proved from figures alone is proved again."""
        self.lower, self.listed = 0.0, None
        self._forget()

    def _forget(self) -> None:
        self.status, self.settled = Status.NEW, False
        self.limit = -INFINITY
        self.way: Way | None = None
        self.best_cost = self.dropped = INFINITY
        self.ways: list[Way] = []
        self.next = self.opened = 0
        self.asked: Goal | None = None
