"""OptimizeJoins: settle one set of relations of a join space under a limit."""

from __future__ import annotations

from math import nextafter
from typing import TYPE_CHECKING

from optimizer.memo.goal import INFINITY, Status
from optimizer.search.join_space import JoinNode, JoinSpace
from optimizer.search.tasks.optimize_inputs import SLACK
from optimizer.search.tasks.task import Task

if TYPE_CHECKING:
    from optimizer.search.search import Search

RAISE_AFTER = 2  # searches of one set after which its limit is raised beyond what is asked


class OptimizeJoins(Task):
    """What OptimizeGroup, OptimizeMExpr, OptimizeInputs and GroupOptimized do for a goal, by arithmetic over splits.

        OptimizeJoins(S) …  →  OptimizeGroup(leaf) … OptimizeJoins(S) …       leaves not settled yet
        OptimizeJoins(S) …  →  OptimizeJoins(part, what is left) OptimizeJoins(S) …
        OptimizeJoins(S) …  →  …                                        settled, or failed at this limit

    With bounds, splits are tried from the cheapest on, so once one is cut so are all that follow.
    """

    __slots__ = ("asked", "limit", "node", "opened", "space", "waited")

    def __init__(self, space: JoinSpace, node: JoinNode, limit: float) -> None:
        self.space, self.node, self.limit = space, node, limit
        self.opened = self.waited = False  # `waited`: the leaves were searched on its behalf
        self.asked: JoinNode | None = None  # the part searched last on behalf of the split at hand

    def perform(self, search: Search) -> None:
        node, space = self.node, self.space
        if not self.opened:
            if node.settled or (node.lower > self.limit and not search.finishing):
                return
            if (search.finishing or not space.exact) and not space.prepare(self):
                return
            if node.settled or not self._open(search):
                return
        nodes, counters = space.nodes, search.counters
        grace, prune, enough, keep = search.grace, search.prune, space.enough, search.keep
        sorted_ = search.use_bounds
        width = search.join_alternatives
        waiting, i = node.waiting, node.next
        limit, best, dropped = node.limit, node.best, node.dropped
        costed = 0
        end = len(waiting)
        while i < end:
            bound, a, local, b, method = waiting[i]
            left, right = nodes[a], nodes[b]
            if left.settled and right.settled:
                costed += width
                cost = local + left.best + right.best
                bound = local + left.lower + right.lower
                if bound < dropped and bound < cost:
                    dropped = bound
                if cost < best:
                    best = cost
                    node.best, node.left, node.right, node.method = cost, left, right, method
                    if keep:
                        space.improved(node, local)
                    if cost <= enough:
                        i += 1
                        break
                elif keep:
                    space.cut(node, left, right, local, bound, "accumulated")
                i += 1
                self.asked = None
                continue
            if prune:
                if sorted_ and (bound > limit or bound * grace >= best):
                    break  # and so are all that follow
                bound = local + left.lower + right.lower
                failed = self.asked is not None and not self.asked.settled and search.pass_limits
                if bound > limit or bound * grace >= best or failed:
                    if failed:
                        bound = max(bound, nextafter(min(limit, best), INFINITY))
                    if bound < dropped:
                        dropped = bound
                    if self.asked is not None:
                        costed += width
                    counters.pruned["group_bound" if self.asked is None else "limit" if failed else "accumulated"] += 1
                    if keep:
                        space.cut(node, left, right, local, bound, "limit" if failed else "predicted")
                    i += 1
                    self.asked = None
                    continue
            child, other = (right, left) if left.settled else (left, right)
            left_over = INFINITY
            if search.pass_limits:
                ceiling = min(limit, best)
                left_over = ceiling - local - other.lower + (SLACK * ceiling if ceiling < INFINITY else 0.0)
            self.asked = child
            node.next, node.dropped = i, dropped
            counters.costed += costed
            search.push(self)
            search.push(OptimizeJoins(space, child, left_over))
            return
        counters.costed += costed
        if i < end:
            dropped = min(dropped, waiting[i][0] if sorted_ else min(split[0] for split in waiting[i:]))
            counters.pruned["group_bound"] += end - i
            if search.trace is not None:
                for _, a, local, b, _ in waiting[i:]:
                    left, right = nodes[a], nodes[b]
                    space.cut(node, left, right, local, local + left.lower + right.lower, "group_bound")
        node.dropped = dropped
        self._close(search)

    def _open(self, search: Search) -> bool:
        """Enumerate the splits that the limit and the best plan leave. False when the time allowed is over."""
        node, space, limit = self.node, self.space, self.limit
        self.opened = True
        node.opened += 1
        search.counters.goals_opened += 1
        if node.opened > 1:
            search.counters.reopened["limit"] += 1
            if node.opened > RAISE_AFTER and limit < INFINITY:  # asked again and again with a little more: jump
                limit = max(limit, node.lower * 2.0 ** (node.opened - RAISE_AFTER))
        node.limit, node.status = limit, Status.OPEN
        if search.keep:
            space.opened(node)
        return space.splits(node)

    def _close(self, search: Search) -> None:
        """What GroupOptimized concludes for a goal: see there."""
        node = self.node
        node.waiting = []
        if node.best <= node.dropped:
            node.status, node.lower, node.settled = Status.OPTIMAL, node.best, True
        elif min(node.best, node.dropped) <= node.limit:
            node.status, node.lower, node.settled = Status.BOUNDED, max(node.lower, min(node.best, node.dropped)), True
        else:
            node.status, node.lower = Status.BELOW, max(node.lower, min(node.best, node.dropped))
            assert node.lower > node.limit, f"set {node.relations:b} failed at {node.limit} but is only proved above {node.lower}"
        self.space.closed(node)

    def describe(self, search: Search) -> str:
        limit = "no limit" if self.limit == INFINITY else f"limit {self.limit:.6g}"
        return f"optimize the join of {self.space.show(self.node.relations)}, {limit}"
