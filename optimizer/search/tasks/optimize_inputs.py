"""OptimizeInputs: work through the ways of a goal, the inputs of one after the other, as long as one can still win."""

from math import nextafter

from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import ANY
from optimizer.errors import BoundRefuted
from optimizer.memo.goal import INFINITY, Goal, Split, Status
from optimizer.memo.mexpr import LogicalExpr
from optimizer.search.context import SearchContext, Task
from optimizer.search.group_ways import ALMOST
from optimizer.search.tasks.optimize_mexpr import OptimizeMExpr

SLACK = 1e-12  # of the larger number, when a limit is made by subtraction: rounding must never cost a plan


class OptimizeInputs(Task):
    """Take the ways by their bounds; add up local cost, the cost of settled inputs and the bounds of the others; stop when that
    is too much.

        OptimizeInputs(goal) …  →  OptimizeGroup(next input, what is left) OptimizeInputs(goal) …
        OptimizeInputs(goal) …  →  OptimizeMExpr(goal, e) OptimizeInputs(goal) …      the next way is an expression not costed yet
        OptimizeInputs(goal) …  →  …                                                  nothing left that can win

    The limit for an input is what the goal's limit (or its best plan, if cheaper) leaves after everything else that is
    known: U - local - Σ other inputs. It is read anew at each step, since another way may have lowered it.
    """

    __slots__ = ("goal",)

    def __init__(self, goal: Goal) -> None:
        self.goal = goal

    def perform(self, search: SearchContext) -> None:
        goal, pass_limits, counters = self.goal, search.pass_limits, search.counters
        source = search.sources.of(goal)
        each, enough, prune = source.each, source.enough, search.prune or source.bounded
        ways, limit = goal.ways, goal.limit
        i = goal.next
        while i < len(ways):
            way = ways[i]
            best = goal.best_cost
            grace = search.grace if best <= limit else 1.0
            if prune and (way.bound > limit or way.bound * grace >= best):
                break  # and so are all that follow
            if isinstance(way.what, LogicalExpr) or (isinstance(way.what, Split) and way.what.method is PhysicalOperator):
                goal.next = i + 1
                search.push(self)
                for one in source.expressions(search, goal, way) if isinstance(way.what, Split) else [way]:
                    search.push(OptimizeMExpr(goal, one))
                return
            total = lower = way.local
            waiting: Goal | None = None
            for below in way.inputs:
                lower += below.lower
                if below.settled:
                    total += below.best_cost
                elif waiting is None:
                    waiting = below
            if waiting is None:
                counters.costed += each
                if lower < total and lower < goal.dropped:  # a better plan of an input may exist
                    goal.dropped = lower
                i += 1
                goal.asked = None
                if total < best:
                    if total < goal.lower * ALMOST and not search.outdated():
                        self._refuted(search, total)
                    goal.best_cost, goal.way = total, way
                    if search.trace is not None:
                        search.emit_best(goal, best)
                        search.emit_limit(goal, min(limit, best), min(limit, total), goal)
                    if total <= enough:
                        break
                elif prune:
                    counters.pruned["accumulated"] += 1
                    search.emit_prune(goal, way, "accumulated", lower)
                continue
            asked = goal.asked is waiting
            if waiting.status in (Status.OPEN, Status.IMPOSSIBLE) or (asked and not pass_limits):  # it has no plan
                if waiting.status is Status.OPEN:  # the goal is its own input: such a plan would never end
                    counters.cycles += 1
                    if waiting is not goal:  # which may have others
                        goal.dropped = min(goal.dropped, lower)
                    if search.trace is not None:
                        search.trace.emit("cycle", goal=goal.id, input=waiting.id)
                i += 1
                goal.asked = None
                continue
            if asked or (prune and (lower > limit or lower * grace >= best)):
                if asked and waiting.lower > waiting.limit:  # it was refuted at its limit, not left by a heuristic
                    lower = max(lower, nextafter(min(limit, best), INFINITY))
                mechanism = "limit" if asked else "predicted" if goal.asked is None else "accumulated"
                if goal.asked is not None:
                    counters.costed += each
                goal.dropped = min(goal.dropped, lower)
                counters.pruned[mechanism] += 1
                search.emit_prune(goal, way, mechanism, lower)
                i += 1
                goal.asked = None
                continue
            left = INFINITY
            if pass_limits:
                bar = min(limit, best)
                left = bar - (lower - waiting.lower) + (SLACK * bar if bar < INFINITY else 0.0)
                if waiting.lower > left:  # only rounding hid from the test above that it must fail
                    left = waiting.lower
            goal.next, goal.asked = i, waiting
            search.push(self)
            search.ask(waiting, left)
            return
        self._rest(search, i)

    def _rest(self, search: SearchContext, i: int) -> None:
        """What is left cannot win: the least of its bounds is the first."""
        goal = self.goal
        rest = goal.ways[i:]
        goal.next = len(goal.ways)
        goal.asked = None
        if not rest:
            return
        goal.dropped = min(goal.dropped, rest[0].bound)
        for way in rest:
            mechanism = "group_bound" if isinstance(way.what, LogicalExpr | Split) else "predicted"
            search.counters.pruned[mechanism] += 1
            search.emit_prune(goal, way, mechanism, way.bound)

    def describe(self, search: SearchContext) -> str:
        return f"inputs of the ways of goal {self.goal.id}"

    def _refuted(self, search: SearchContext, total: float) -> None:
        """A plan costs less than it should at least. Raises BoundRefuted: the cost model is wrong, unless a group had a plan in
        some order at less cost than in any: of many keys not every sequence is tried, but for those that are asked for."""
        goal, least = self.goal, dict[int, float]()
        for one in search.memo.goals:
            if one.group >= 0 and one.required == ANY and one.settled:
                least[one.group] = one.best_cost
        if not any(one.best_cost < least.get(one.group, 0.0) * ALMOST for one in search.memo.goals):
            raise BoundRefuted(search.cost.name, goal.lower, f"a plan of goal {goal.id}", total)
        search.counters.narrow("not all sequences of an operator's many keys are tried")
        goal.lower = total
