"""Importance of groups: how much of the root's cost depends on each, as the classic Volcano planners see it.

    importance(root) = 1
    importance(G)    = max over expressions e that have G as an input, in a group P, of importance(P) · share(G, P)
    share(G, P)      = cost(G) / cost(P), at most CEILING

The cost of a group is that of its best plan; before it has one, its lower bound. Since every share is below one, the
groups are final in order of falling importance, as in Dijkstra's algorithm.
"""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

from optimizer.algebra.trees import Tree
from optimizer.memo.goal import INFINITY
from optimizer.memo.group import Group
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import TransformationRule

CEILING = 0.99  # an input is never quite as important as what uses it
FLOOR = 1e-6  # and never unimportant: a cheap group may hold an expression that a rule needs


def importances(memo: Memo, root: int) -> dict[int, float]:
    """The importance of every group that the root group reaches."""
    found: dict[int, float] = {}
    heap = [(-1.0, memo.find(root))]
    while heap:
        negative, gid = heappop(heap)
        if gid in found:
            continue
        found[gid] = -negative
        group = memo.groups[gid]
        inputs = dict.fromkeys(memo.find(below) for mexpr in group.logical for below in mexpr.inputs)
        for below in inputs:
            if below not in found:
                heappush(heap, (negative * share(memo.groups[below], group), below))
    return found


def share(part: Group, whole: Group) -> float:
    """How much of a group's cost an input has."""
    total = _cost(whole)
    return min(CEILING, max(FLOOR, _cost(part) / total)) if total > 0.0 else CEILING


def _cost(group: Group) -> float:
    best = min((goal.best_cost for goal in group.goals.values()), default=INFINITY)
    return best if best < INFINITY else group.lower


class Match(NamedTuple):
    """A transformation rule that applies to a binding of an expression, with what it makes of it (None: not asked yet, the
    rule looks at one operator); `rule` None: all implementation rules at the expression."""

    mexpr: LogicalExpr
    rule: TransformationRule | None = None
    produced: list[Tree] | None = None


class MatchQueue:
    """Rule matches, those of the most important group first; within a group by rank, then age; ties between groups by id.

    Importance is computed anew when as many matches were taken as there were expressions the last time, so that it costs
    a bounded share of the work; a group made since then counts by the parents it has.
    """

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._root = 0
        self._importance: dict[int, float] = {}
        self._groups: list[tuple[float, int]] = []  # heap of (- importance, group) for all in `_waiting`
        self._waiting: dict[int, list[tuple[int, int, Match]]] = {}  # by group: heap of (rank, age, match)
        self._added = 0
        self._until_refresh = 0
        self.size = 0

    def add(self, match: Match, rank: int) -> None:
        """Queue a match; matches of lower rank come first within their group."""
        gid = self._memo.find(match.mexpr.group)
        waiting = self._waiting.get(gid)
        if waiting is None:
            waiting = self._waiting[gid] = []
            heappush(self._groups, (-self._importance_of(gid), gid))
        heappush(waiting, (rank, self._added, match))
        self._added += 1
        self.size += 1

    def take(self) -> Match:
        """The most important match."""
        self._until_refresh -= 1
        if self._until_refresh < 0:
            self.refresh(self._root)
        gid = self._groups[0][1]
        waiting = self._waiting[gid]
        match = heappop(waiting)[2]
        self.size -= 1
        if not waiting:
            del self._waiting[gid]
            heappop(self._groups)
        return match

    def refresh(self, root: int) -> None:
        """Compute importance anew, from group `root` down."""
        self._root = root
        self._importance = importances(self._memo, root)
        self._until_refresh = self._memo.logical_count
        self.unite()

    def unite(self) -> None:
        """Matches of merged groups go to the group that stands for both."""
        memo = self._memo
        for gid in [gid for gid in self._waiting if memo.find(gid) != gid]:
            merged = self._waiting.setdefault(memo.find(gid), [])
            merged += self._waiting.pop(gid)
            heapify(merged)
        self._groups = [(-self._importance.get(gid, 0.0), gid) for gid in self._waiting]
        heapify(self._groups)

    def left(self) -> list[Match]:
        """What was not taken."""
        return [match for waiting in self._waiting.values() for _, _, match in waiting]

    def _importance_of(self, gid: int) -> float:
        known = self._importance.get(gid)
        if known is None:
            memo = self._memo
            group = memo.groups[gid]
            parents = dict.fromkeys(memo.find(parent.group) for parent in group.parents)
            known = max((self._importance.get(p, 0.0) * share(group, memo.groups[p]) for p in parents), default=0.0)
            self._importance[gid] = known
        return known
