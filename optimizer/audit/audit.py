"""The audit of a search: every bound it claimed and everything it skipped, compared with the true optima of the same memo.

The optima owe nothing to limits and bounds (`optima`), so a claim is judged by the plans it was about:

- a bound of a goal or a group:  bound <= optimum of the goal, and of every goal of the group
- a skipped alternative:         its claimed bound <= cost of the cheapest plan through it,
                                 and no such plan is cheaper than what its goal ended with
- a goal that ended:             its best plan is none that is cheaper than the optimum; OPTIMAL: it costs the optimum;
                                 BOUNDED: it costs at most (1 + gap) · optimum + N · epsilon; IMPOSSIBLE: there is no plan

N counts the joins of the goal's cheapest plan that lie in join graphs searched with epsilon pruning (Columbia's bound; Xu,
Efficiency in the Columbia database query optimizer, 1998). Where a heuristic or a budget ended a search, BOUNDED and
ABANDONED promise only their lower bound. Claims are judged in the order of the trace, so the first that is false is where the
search went wrong, rather than what followed from it.
"""

from collections import Counter
from typing import NamedTuple

from optimizer.algebra.traits import ANY
from optimizer.audit.ledger import Claim, Ledger, Skip
from optimizer.audit.optima import Optima
from optimizer.errors import many
from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.plan_space.expansion import expand_all
from optimizer.search.search import Search
from optimizer.search.set_goals import SetGoals
from optimizer.trace.recorder import Trace

SLACK = 1e-9  # relative: costs are sums in different orders


class Finding(NamedTuple):
    """The first claim that is false. `kind`: bound, skip, lost, result or group; `claimed` and `true`: the two numbers."""

    kind: str
    goal: int | None
    what: str
    claimed: float
    true: float
    seq: int | None = None

    def __str__(self) -> str:
        at = "" if self.seq is None else f"event {self.seq}: "
        return f"{at}{self.what}\nclaimed {self.claimed!r}, true {self.true!r}"


class AuditReport(NamedTuple):
    """How much was compared: `goals` with `bounds` claimed for them, `groups`, and `skips` by mechanism. `finding`: None when all
    of it is sound. `complete`: all plans were compared with, not only those for which the memo had room (budget_mexprs,
    budget_groups)."""

    goals: int
    bounds: int
    groups: int
    skips: dict[str, int]
    finding: Finding | None
    complete: bool

    @property
    def sound(self) -> bool:
        return self.finding is None

    def __str__(self) -> str:
        skips = ", ".join(f"{count:,} {name}" for name, count in self.skips.items() if count) or "none"
        text = f"{many(sum(self.skips.values()), 'skip')} checked ({skips}), {many(self.bounds, 'bound')} of "
        text += f"{many(self.goals, 'goal')}, {many(self.groups, 'group')}" + (
            "" if self.complete else " with the cheapest of the plans that the memo may hold"
        )
        return f"{text}: sound" if self.finding is None else f"{text}: UNSOUND\n{self.finding}"


def audit(search: Search, trace: Trace) -> AuditReport:
    """Audit a finished search that was traced, whatever its settings. Expands the memo; the search stays as it ended.

    Costing everything takes time and memory: meant for joins of up to eight relations or so. Raises ValueError when the
    trace lacks events.
    """
    if trace.dropped:
        raise ValueError(f"the trace lacks {trace.dropped:,} events: record it without a limit to audit the search")
    return _Audit(search, Ledger(trace.events)).report()


class _Audit:
    def __init__(self, search: Search, ledger: Ledger) -> None:
        self._search, self._ledger = search, ledger
        searched = list(search.memo.goals)
        self._groups = {g.id: g.lower for g in search.memo.live_groups()}
        self._logical = search.memo.expressions()
        self._complete = expand_all(search)
        self._tabled = self._goals_of_sets()
        self._goals = {goal.id: goal for goal in searched if goal.group >= 0}  # others are of regions that a restart made anew
        self._optima = Optima(search, [*self._goals.values(), *(goal for goal, _, _ in self._tabled)])
        self._epsilon = self._allowed_by_epsilon()
        self._bounds = 0
        self._skips: Counter[str] = Counter({"group_bound": 0, "predicted": 0, "accumulated": 0, "limit": 0})

    def _goals_of_sets(self) -> list[tuple[Goal, float, bool]]:
        """Every set of relations gets a group and a goal; those of tables with what the table says, and whether that is exact."""
        found = []
        search = self._search
        for region in search.regions.made:
            for s in list(region.sets):
                region.group_of(s)
            if region.table is not None:
                for s, cost in zip(region.table.splits.sets.tolist(), region.table.best.tolist(), strict=True):
                    if s & (s - 1):
                        found.append((search.goal(region.group_of(s), ANY), cost, region.exact))
        return found

    def report(self) -> AuditReport:
        finding = self._events() or self._tables() or self._bounds_of_groups() or self._results()
        return AuditReport(len(self._goals), self._bounds, len(self._groups), dict(self._skips), finding, self._complete)

    # -- in the order of the trace ------------------------------------------------------------------------------------------

    def _events(self) -> Finding | None:
        for entry in self._ledger.valid():
            finding = None
            if type(entry) is Claim:
                finding = self._claim(entry)
            elif type(entry) is Skip:
                finding = self._skip(entry)
            if finding is not None:
                return finding
        return None

    def _claim(self, claim: Claim) -> Finding | None:
        goal = self._goals[claim.goal]
        optimum = self._optima.of(goal)
        self._bounds += 1
        if _exceeds(claim.lower, optimum):
            what = f"goal {goal.id} ({self._show(goal)}) costs less than was proved: {claim.why}"
            return Finding("bound", goal.id, what, claim.lower, optimum, claim.seq)
        return None

    def _skip(self, skip: Skip) -> Finding | None:
        goal = self._goals[skip.goal]
        true = self._cheapest_through(goal, skip)
        self._skips[skip.mechanism] += 1
        if _exceeds(skip.lower, true):
            what = f"a plan costs less than the bound that skipped it ({self._show(goal)}): {skip}"
            return Finding("skip", goal.id, what, skip.lower, true, skip.seq)
        ended = self._ended_with(goal)
        if _exceeds(ended, true):
            what = f"what was skipped is cheaper than what its goal ended with ({self._show(goal)}): {skip}"
            return Finding("lost", goal.id, what, ended, true, skip.seq)
        return None

    def _cheapest_through(self, goal: Goal, skip: Skip) -> float:
        """What the cheapest plan through a skipped alternative costs."""
        if skip.split is not None:
            region = self._search.sources.of(goal)
            assert isinstance(region, SetGoals)
            return self._optima.joining(goal, *map(region.group_of, skip.split))
        logical = None if skip.mexpr is None else self._logical.get(skip.mexpr)
        if logical is not None:
            return self._optima.through(goal, logical)
        return skip.local + sum(self._optima.of(self._goals[number]) for number in skip.inputs)

    def _ended_with(self, goal: Goal) -> float:
        """A cost that no alternative of a goal may undercut, after what a gap and an epsilon allow."""
        if goal.status is Status.BELOW:
            return goal.lower
        if not goal.settled or not self._guaranteed(goal):
            return 0.0
        gap = 1.0 + self._search.context.settings.gap
        return (goal.best_cost - self._epsilon[goal.id]) / gap

    def _tables(self) -> Finding | None:
        for goal, cost, exact in self._tabled:
            optimum = self._optima.of(goal)
            self._bounds += 1
            if _exceeds(cost, optimum) or (exact and self._complete and _exceeds(optimum, cost)):
                return Finding("table", goal.id, f"the table is wrong about goal {goal.id} ({self._show(goal)})", cost, optimum)
        return None

    # -- in the end ---------------------------------------------------------------------------------------------------------

    def _bounds_of_groups(self) -> Finding | None:
        for goal in self._goals.values():
            group, optimum = self._search.memo.find(goal.group), self._optima.of(goal)
            lower = self._groups.get(group, 0.0) if self._search.use_bounds else 0.0
            if _exceeds(lower, optimum):
                what = f"the bound of group {group} is above the optimum of its goal {goal.id} ({self._show(goal)})"
                return Finding("group", goal.id, what, lower, optimum)
        return None

    def _results(self) -> Finding | None:
        for goal in self._goals.values():
            wrong = self._wrong_result(goal)
            if wrong is not None:
                optimum = self._optima.of(goal)
                return Finding("result", goal.id, f"goal {goal.id} ({self._show(goal)}) {wrong}", goal.best_cost, optimum)
        return None

    def _wrong_result(self, goal: Goal) -> str | None:
        optimum, best = self._optima.of(goal), goal.best_cost
        if goal.status is Status.IMPOSSIBLE:
            return None if optimum == INFINITY else "is said to be impossible, but there is a plan"
        if self._complete and _exceeds(optimum, best):
            return "has a plan that is cheaper than every plan of the space"
        if goal.status is Status.OPTIMAL and _exceeds(best, optimum):
            return "is said to be optimal, but there is a cheaper plan"
        if goal.status is Status.BOUNDED and self._guaranteed(goal):
            allowed = (1.0 + self._search.context.settings.gap) * optimum + self._epsilon[goal.id]
            if _exceeds(best, allowed):
                return f"may cost {allowed!r} after gap and epsilon, but costs more"
        return None

    def _guaranteed(self, goal: Goal) -> bool:
        """Whether a settled goal is as good as the settings say, rather than what a heuristic or a budget left."""
        return goal.status is Status.OPTIMAL or self._search.counters.proven

    def _allowed_by_epsilon(self) -> dict[int, float]:
        """By goal: how much dearer than the optimum epsilon pruning may leave its best plan: along its cheapest plan, each
        join of a join graph that has an epsilon adds that."""
        allowed: dict[int, float] = {}
        for goal in self._optima.inputs_first():
            move = self._optima.cheapest(goal)
            own = max(0.0, self._search.sources.of(goal).enough)
            if move is not None and len(move.inputs) < 2:
                own = 0.0
            allowed[goal.id] = own + (0.0 if move is None else sum(allowed.get(i.id, 0.0) for i in move.inputs))
        return allowed

    def _show(self, goal: Goal) -> str:
        return f"group {goal.group}, {goal.required.show(self._search.context.columns.label)}"


def _exceeds(a: float, b: float) -> bool:
    return a > b * (1.0 + SLACK)
