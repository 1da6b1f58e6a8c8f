"""The pruning ledger: what a search skipped, by which numbers, and where those numbers came from.

In: the events of a trace. Out: typed entries in the order of events, each with the goal it is about. Two questions that single
events leave open are answered here from those before them:

- who supplied a limit: the goal whose best plan it was derived from, and the goals that passed it down;
- which facts gave a bound: for each input what was proved of it by then, and why.

A restart makes what came before it void; `Ledger.entries` has it all, `valid` only what came after the last restart.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from optimizer.memo.goal import INFINITY

Event = dict[str, Any]


class Limit(NamedTuple):
    """A cost that plans must not exceed. `source`: "none", "caller" (of the whole search), "seed" or "plan": the best plan of
    goal `goal` then, expression `mexpr`. `through`: the goals that passed it down, the nearest first."""

    value: float
    source: str = "none"
    goal: int | None = None
    mexpr: int | None = None
    through: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.source == "none":
            return "no limit"
        if self.source == "caller":
            text = f"limit {self.value:.10g} from the caller"
        else:
            text = f"limit {self.value:.10g} from the {'seed' if self.source == 'seed' else 'best plan'} of goal {self.goal}"
        return f"{text}, passed down by {_listed(self.through)}" if self.through else text


class Fact(NamedTuple):
    """What was proved of an input: of goal `id`, or of the whole group `id`, no plan costs less than `lower`."""

    of: str
    id: int
    lower: float
    why: str

    def __str__(self) -> str:
        return f"{self.of} {self.id} at least {self.lower:.10g} ({self.why})"


class Skip(NamedTuple):
    """An alternative of a goal that was not costed to its end, or whose cost was no improvement.

    `mexpr`: a logical expression (`mechanism` group_bound), a physical one, or None: an enforcer, or for `split` the join of
    two sets of relations, each as bits. `inputs`: goals; groups for a logical expression; none where the two sets are no
    goals: then `parts` has the groups that each joins. `local`: its own cost; `spent`: cost counted so far.
    `lower`: what any plan through the alternative costs at least, by `facts`.
    """

    seq: int
    goal: int
    mechanism: str
    mexpr: int | None
    split: tuple[int, int] | None
    inputs: tuple[int, ...]
    local: float
    spent: float
    lower: float
    limit: Limit
    facts: tuple[Fact, ...]
    parts: tuple[Sequence[int], ...] = ()

    @property
    def what(self) -> str:
        if self.split is not None:
            if self.inputs:
                return f"the join of goals {self.inputs[0]} and {self.inputs[1]}"
            return "the join of groups " + " with ".join("{" + ", ".join(map(str, part)) + "}" for part in self.parts)
        return "the enforcer" if self.mexpr is None else f"expression {self.mexpr}"

    def __str__(self) -> str:
        facts = "; ".join(map(str, self.facts))
        return (
            f"{self.what} for goal {self.goal} skipped ({self.mechanism}): at least {self.lower:.10g}, {self.limit}"
            + (f"; {facts}" if facts else "")
        )  # fmt: skip


class Claim(NamedTuple):
    """A bound that was recorded for a goal: no plan for it costs less than `lower`."""

    seq: int
    goal: int
    lower: float
    why: str


class Opening(NamedTuple):
    """A search of a goal began, under `limit`."""

    seq: int
    goal: int
    limit: Limit


class Best(NamedTuple):
    """A cheaper plan was found."""

    seq: int
    goal: int
    mexpr: int | None
    op: str
    cost: float


Entry = Skip | Claim | Opening | Best
Kind = TypeVar("Kind", Skip, Claim, Opening, Best)

_PROOFS = {
    "win": "its cheapest plan is known",
    "bounded": "its search ended early",
    "fail": "its search failed at a limit",
    "impossible": "it has no plan",
    "abandoned": "its search was abandoned",
}


class Ledger:
    """All entries of a trace; `valid_from`: position of the first one that a restart has not made void.

    While events are read it knows what holds at each: bounds with reasons, best plans, limits, and the goals being searched,
    innermost last.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.entries: list[Entry] = []
        self.valid_from = 0
        self._lower: dict[int, tuple[float, str]] = {}
        self._group_lower: dict[int, float] = {}
        self._best: dict[int, tuple[float, int | None, bool]] = {}  # cost, expression, found before the goal was searched
        self._limits: dict[int, Limit] = {}
        self._open: list[int] = []
        for event in events:
            read = getattr(self, f"_read_{event['kind']}", None)
            if read is not None:
                read(event)

    def all(self, kind: type[Kind]) -> Iterator[Kind]:
        """Valid entries of one kind, in order."""
        return (entry for entry in self.valid() if type(entry) is kind)

    def valid(self) -> Sequence[Entry]:
        return self.entries[self.valid_from :]

    def _read_group(self, event: Event) -> None:
        self._group_lower[event["id"]] = event["lower"]

    def _read_merge(self, event: Event) -> None:
        gone, into = event["gone"], event["into"]
        self._group_lower[into] = min(self._group_lower[into], self._group_lower[gone])

    def _read_goal(self, event: Event) -> None:
        of = f"group {event['group']}" if event["group"] >= 0 else "the set of relations"
        why = f"bound of {of}" if event["lower"] else "costs are not negative"
        self._claim(event, event["lower"], why)

    def _read_lower(self, event: Event) -> None:
        if "goal" in event:
            self._claim(event, event["lower"], f"bound by {event['because']}")
        else:
            self._group_lower[event["group"]] = event["lower"]

    def _read_goal_open(self, event: Event) -> None:
        goal = event["goal"]
        limit = self._limits[goal] = self._passed_down(event["limit"])
        self._open.append(goal)
        self.entries.append(Opening(event["seq"], goal, limit))

    def _read_goal_close(self, event: Event) -> None:
        goal = event["goal"]
        if goal in self._open:
            self._open.remove(goal)
        self._claim(event, event["lower"], _PROOFS[event["result"]])

    def _read_best(self, event: Event) -> None:
        goal = event["goal"]
        self._best[goal] = event["cost"], event["mexpr"], goal not in self._limits
        self.entries.append(Best(event["seq"], goal, event["mexpr"], event["op"], event["cost"]))

    def _read_prune(self, event: Event) -> None:
        goal, split, mexpr = event["goal"], event.get("split"), event["mexpr"]
        inputs = tuple(event["sources"])
        of_groups = event["mechanism"] == "group_bound" and split is None
        facts = tuple(
            Fact("group", i, self._group_lower[i], "bound of the group") if of_groups else Fact("goal", i, *self._lower[i])
            for i in inputs
        )
        pair = None if split is None else (split[0], split[1])
        self.entries.append(
            Skip(
                event["seq"], goal, event["mechanism"], mexpr, pair, inputs, event["local"], event["spent"], event["lower"],
                self._bar(goal), facts, (event["left"], event["right"]) if "left" in event else (),
            )
        )  # fmt: skip

    def _read_restart(self, event: Event) -> None:
        self.valid_from = len(self.entries)
        self._lower = dict.fromkeys(self._lower, (0.0, "costs are not negative"))
        self._best.clear()
        self._limits.clear()
        self._open.clear()

    def _read_recost(self, event: Event) -> None:
        for goal in event["goals"]:
            self._best.pop(goal, None)

    def _claim(self, event: Event, lower: float, why: str) -> None:
        goal = event["goal"]
        if goal not in self._lower or lower > self._lower[goal][0]:
            self._lower[goal] = lower, why
            self.entries.append(Claim(event["seq"], goal, lower, why))

    def _bar(self, goal: int) -> Limit:
        """What an alternative of a goal has to undercut: its limit, or the best plan that it has."""
        limit = self._limits.get(goal, Limit(INFINITY))
        best, mexpr, seed = self._best.get(goal, (INFINITY, None, False))
        return Limit(best, "seed" if seed else "plan", goal, mexpr) if best < INFINITY and best <= limit.value else limit

    def _passed_down(self, value: float) -> Limit:
        """The limit of a goal that is opened now: a part of what the goal that asks for it has to undercut."""
        if value == INFINITY:
            return Limit(INFINITY)
        if not self._open:
            return Limit(value, "caller")
        asking = self._open[-1]
        bar = self._bar(asking)
        return Limit(value, bar.source, bar.goal, bar.mexpr, (asking, *bar.through))


def _listed(goals: Sequence[int]) -> str:
    return f"goal{'s' if len(goals) > 1 else ''} {', '.join(map(str, goals))}"
