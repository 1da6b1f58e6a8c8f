"""Costs of goals that follow their inputs: what the iterative driver has instead of limits and tasks.

A goal is opened when it is the root or an input of a way. It then has a way for every alternative of every
physical expression of its group, those that come later included, and its enforcers. A plan that gets cheaper is passed on
to the ways above it through a worklist. Costs only fall, and local costs are not negative, so that ends, and no plan
becomes its own input.

When groups turn out to be one, costs may rise: figures change. Then what follows from them is forgotten, upwards along best
plans, and costed again; all other goals keep their ways and plans.
"""

from collections.abc import Iterable, Set

from optimizer.memo.alternatives import alternatives
from optimizer.memo.goal import INFINITY, Goal, Way
from optimizer.memo.mexpr import LogicalExpr, PhysicalExpr
from optimizer.search.context import SearchContext
from optimizer.search.group_ways import enforcing, implementation_way


class CostGraph:
    """The best plan of every goal opened so far, over the expressions implemented so far."""

    def __init__(self, search: SearchContext) -> None:
        self._search = search
        self._users: dict[Goal, list[tuple[Goal, Way]]] = {}  # goal -> goals with the ways that have it as an input
        self._to_open: list[Goal] = []
        self._fallen: dict[Goal, None] = {}  # goals with a cheaper plan than their users know

    def open(self, goal: Goal) -> None:
        """Cost a goal and all that it needs, from what is implemented."""
        self._to_open.append(goal)
        self._settle()

    def implemented(self, mexpr: LogicalExpr) -> None:
        """An expression got its physical ones: offer them to the goals of its group."""
        for goal in list(self._search.memo.group(mexpr.group).goals.values()):
            if goal.opened:
                for physical in mexpr.physical:
                    self._consider(goal, mexpr, physical)
        self._settle()

    def unite(self, united: Set[int], above: Set[int]) -> None:
        """Cost anew what a merge has touched: the groups that were united, and in groups `above` the ways that read these.

        Goals of groups that are no more leave; who asked for them asks for those of the groups that stay.
        """
        search, memo = self._search, self._search.memo
        gone = [goal for goal in memo.goals if goal.opened and memo.find(goal.group) != goal.group]
        whole = [goal for gid in united for goal in memo.groups[gid].goals.values() if goal.opened]
        partly = [goal for gid in above - united for goal in memo.groups[gid].goals.values() if goal.opened]
        removed = [way for goal in (*gone, *whole) for way in _listed(goal)]
        removed += [
            way for goal in partly for way in _listed(goal) if any(memo.find(each.group) in united for each in way.inputs)
        ]
        fallen = self._resting_on((*gone, *whole, *partly))  # no set: in the same order each time
        numbers = {way.number for way in removed}
        for below in {below for way in removed for below in way.inputs}:
            self._users[below] = [use for use in self._users[below] if use[1].number not in numbers]
        for goal in gone:
            goal.reset()
        for goal in fallen:
            goal.way, goal.best_cost = None, INFINITY
            goal.listed = {way.number: way for way in _listed(goal) if way.number not in numbers}
        search.emit_recost(fallen)
        search.counters.reopened["new expressions"] += len(whole) + len(partly)
        for goal in whole:
            self._list(goal)
        for goal in partly:
            for mexpr in memo.groups[goal.group].members():
                if not united.isdisjoint(mexpr.inputs):
                    for physical in mexpr.physical:
                        self._consider(goal, mexpr, physical)
        for goal in fallen:
            for way in _listed(goal):
                self._recost(goal, way)
        self._settle()

    def _resting_on(self, goals: Iterable[Goal]) -> list[Goal]:
        """Open goals whose best plans have one of these in them."""
        found = dict.fromkeys(goals)
        pending = list(found)
        while pending:
            goal = pending.pop()
            for user, way in self._users.get(goal, ()):
                if user.way is way and user not in found:
                    found[user] = None
                    pending.append(user)
        return list(found)

    def _settle(self) -> None:
        fallen = self._fallen
        while fallen or self._to_open:
            if not fallen:
                goal = self._to_open.pop()
                if not goal.opened:
                    self._search.open(goal, INFINITY)
                    self._list(goal)
                continue
            goal = next(iter(fallen))
            del fallen[goal]
            for user, way in self._users.get(goal, ()):
                self._recost(user, way)

    def _list(self, goal: Goal) -> None:
        """All ways of a goal, from what is implemented in its group."""
        search = self._search
        goal.listed = {}
        for way in enforcing(search, goal):
            self._add(goal, way)
        for mexpr in search.memo.groups[goal.group].members():
            for physical in mexpr.physical:
                self._consider(goal, mexpr, physical)

    def _consider(self, goal: Goal, mexpr: LogicalExpr, physical: PhysicalExpr) -> None:
        search = self._search
        for alternative in alternatives(search.memo, goal, physical):
            self._add(goal, implementation_way(search, goal, mexpr, physical, alternative))

    def _add(self, goal: Goal, way: Way) -> None:
        assert goal.listed is not None
        goal.listed[way.number] = way
        for below in dict.fromkeys(way.inputs):
            self._users.setdefault(below, []).append((goal, way))
            if not below.opened:
                self._to_open.append(below)
        self._recost(goal, way)

    def _recost(self, goal: Goal, way: Way) -> None:
        cost = way.local + sum(below.best_cost for below in way.inputs)
        if cost < goal.best_cost:
            old, goal.way, goal.best_cost = goal.best_cost, way, cost
            self._fallen[goal] = None
            self._search.emit_best(goal, old)


def _listed(goal: Goal) -> Iterable[Way]:
    return (goal.listed or {}).values()
