"""Why a search did not take one operator of a plan: the kinds of reasons, and how a move that lost is found in the trace."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from optimizer.algebra.logical import Scan
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.printing import number
from optimizer.algebra.traits import ANY, TraitSet
from optimizer.audit.ledger import Best, Ledger, Limit, Skip
from optimizer.explanation.walk import Step
from optimizer.memo.goal import Goal, Implementation, Way
from optimizer.search.search import Search
from optimizer.search.set_goals import SetGoals


class Kind(StrEnum):
    LOST = "lost"  # it was costed to its end, and another was cheaper
    PRUNED = "pruned"  # a bound said that it could not win
    DOMINATED = "dominated"  # a plan that never costs more: a hash join of the same inputs, or what no plan through it undercuts
    NOT_SEARCHED = "not searched"  # a heuristic, a gap or a budget left it out
    OFF = "rule off"
    GUARD = "guard"  # a rule was tried and refused
    NO_MATCH = "no match"  # no rule's pattern was found
    TRAITS = "traits"  # no way to run the operator delivers what is asked
    CROSS_PRODUCT = "not connected"
    CONFLICT = "conflict"  # an outer, semi or anti join keeps the relations apart
    NO_SUCH = "no such operator"  # no expression of the group is that


class Reason(NamedTuple):
    """`event`: sequence number of the trace event to look at. `by`: how much dearer, where it lost; `bound` and `limit`: the two
    numbers of a bound."""

    kind: Kind
    text: str
    event: int | None = None
    by: float | None = None
    bound: float | None = None
    limit: float | None = None


class Names:
    """Goals and groups by what they are: `{lineitem, orders}`, or the operator and the group's number."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def goal(self, goal: Goal) -> str:
        label = self._search.context.columns.label
        traits = goal.required.show(label)
        return self.group(goal.group, goal) + ("" if traits == "any" else f" for {traits}")

    def group(self, gid: int, goal: Goal | None = None) -> str:
        memo = self._search.memo
        if gid < 0:
            assert goal is not None
            source = self._search.sources.of(goal)
            members = source.members(goal.relations)  # type: ignore[attr-defined]
        else:
            group = memo.group(gid)
            if group.region is None:
                ops = [mexpr.op for mexpr in group.logical]
                scan = next((op for op in ops if isinstance(op, Scan)), None)
                return f"{{{scan.alias}}}" if scan is not None else f"the {ops[0].name} of group {gid}"
            members = list(group.region.leaves)
        return "{" + ", ".join(self.group(each).strip("{}") for each in members) + "}"


class Judge:
    """What became of moves in a search that was traced."""

    def __init__(self, search: Search, ledger: Ledger) -> None:
        self._search = search
        self.names = Names(search)
        self._skips: dict[int, list[Skip]] = {}
        self._bests: dict[int, list[Best]] = {}
        for skip in ledger.all(Skip):
            self._skips.setdefault(skip.goal, []).append(skip)
        for best in ledger.all(Best):
            self._bests.setdefault(best.goal, []).append(best)
        self._goals = {goal.id: goal for goal in search.memo.goals}
        self._searched: dict[tuple[int, TraitSet], Goal] = {}

    def first_reason(self, plan: Step) -> tuple[Step, Reason] | None:
        """The first operator of a plan, from the root down, that is not the one the search chose; None where all are."""
        self._searched.clear()
        for goal in self._goals.values():
            if goal.group >= 0 and (goal.settled or goal.opened or self._key(goal) not in self._searched):
                self._searched[self._key(goal)] = goal
        pending = [plan]
        while pending:
            step = pending.pop()
            reason = self.of(step)
            if reason is not None:
                return step, reason
            pending += reversed(step.inputs)
        return None

    def _key(self, goal: Goal) -> tuple[int, TraitSet]:
        return self._search.memo.find(goal.group), goal.required

    def goal(self, goal: Goal) -> Goal:
        """The goal that was searched: a set of relations of a region may also be the group of another expression, and then
        there are two goals for it."""
        return self._searched.get(self._key(goal), goal) if not goal.settled else goal

    def of(self, step: Step) -> Reason | None:
        """Why the search did not choose a move for its goal; None if it did."""
        step = step._replace(goal=self.goal(step.goal), inputs=tuple(i._replace(goal=self.goal(i.goal)) for i in step.inputs))
        goal = step.goal
        if goal.way is not None and self._is(goal, goal.way, step):
            return None
        skip = self._skip(step)
        total = step.move.local + sum(_least(below.goal) for below in step.inputs)
        known = all(below.goal.settled for below in step.inputs)
        cheaper = known and total < goal.best_cost * (1.0 - 1e-9)  # a gap or a heuristic left it out
        if skip is not None and (skip.mechanism != "accumulated" or not known or cheaper):
            return self._pruned(step, skip)
        if known and not cheaper and goal.best_cost < float("inf"):
            return self._lost(step, total, skip)
        if goal.way is not None and max(goal.lower, total) >= goal.best_cost * (1.0 - 1e-9):
            return self._not_needed(step, total)
        counters = self._search.counters
        why = counters.budget or counters.heuristic or ("" if counters.proven else "a gap or epsilon ended the search")
        if why:
            return Reason(Kind.NOT_SEARCHED, f"{self._what(step)} was not looked at: {why}")
        return Reason(Kind.NOT_SEARCHED, f"{self.names.goal(goal)} was never optimized: no plan within bounds needed it")

    def _is(self, goal: Goal, way: Way, step: Step) -> bool:
        chosen = self._implementation(goal, way)
        same = chosen.op == step.move.op and chosen.alternative == step.move.alternative
        return same and self._same(way.inputs, step.move.inputs)

    def _implementation(self, goal: Goal, way: Way) -> Implementation:
        return self._search.sources.of(goal).implementation(self._search, goal, way)

    def _same(self, some: Iterable[Goal], others: Iterable[Goal]) -> bool:
        return all(a is b or (a.group >= 0 and self._key(a) == self._key(b)) for a, b in zip(some, others, strict=True))

    def _ids(self, step: Step) -> tuple[set[int], set[int]]:
        """The logical and the physical expressions of the search that a move is an alternative of."""
        memo = self._search.memo
        inputs = [memo.find(each.group) for each in step.move.inputs]
        logical, physical = set(), set()
        for mexpr in memo.group(step.goal.group).members() if not step.enforcer else ():
            if [memo.find(gid) for gid in mexpr.inputs] == inputs:
                own = {each.id for each in mexpr.physical if each.op == step.move.op}
                physical |= own
                if own or not mexpr.physical:
                    logical.add(mexpr.id)
        return logical, physical

    def _skip(self, step: Step) -> Skip | None:
        """The last event that cut a move."""
        logical, physical = self._ids(step)
        inputs = step.move.inputs
        for skip in reversed(self._skips.get(step.goal.id, [])):
            if skip.split is not None:
                # without a cost of its own it stands for every join of its two parts, else for those that ask for no order
                region = self._search.sources.of(step.goal)
                assert isinstance(region, SetGoals)
                found = set(map(region.known_group, skip.split)) == {each.group for each in inputs}
                found = found and (not skip.local or all(each.required == ANY for each in inputs))
            elif skip.mexpr is None:
                found = step.enforcer and self._same((self._goals[i] for i in skip.inputs), inputs)
            elif skip.mechanism == "group_bound":
                found = skip.mexpr in logical
            else:
                found = skip.mexpr in physical and self._same((self._goals[i] for i in skip.inputs), inputs)
            if found:
                return skip
        return None

    def _what(self, step: Step) -> str:
        return self._named(step.move.op, [below.goal for below in step.inputs])

    def _named(self, op: PhysicalOperator, goals: Iterable[Goal]) -> str:
        inputs = " and ".join(map(self.names.goal, goals))
        return f"{op.name} of {inputs}" if inputs else op.name

    def _pruned(self, step: Step, skip: Skip) -> Reason:
        facts = "; ".join(self._fact(fact.of, fact.id, fact.lower, fact.why) for fact in skip.facts)
        below = max(skip.lower, skip.spent) < skip.limit.value * (1.0 - 1e-9) < float("inf") and skip.mechanism != "limit"
        near = ": near enough, by the gap allowed" if below else ""
        text = (
            f"{self._what(step)} was pruned ({skip.mechanism}): a plan through it costs at least {number(skip.lower)}, and "
            f"{self._limit(skip.limit, step.goal)}{near}" + (f"\n{facts}" if facts else "")
        )
        return Reason(Kind.PRUNED, text, skip.seq, None, skip.lower, skip.limit.value)

    def _fact(self, of: str, id: int, lower: float, why: str) -> str:
        name = self.names.goal(self._goals[id]) if of == "goal" else self.names.group(id)
        return f"{name} costs at least {number(lower)} ({why})"

    def _limit(self, limit: Limit, goal: Goal) -> str:
        if limit.source == "none":
            return f"{self.names.goal(goal)} has a plan of {number(goal.best_cost)}"
        if limit.goal is None:
            return f"the whole search has the limit {number(limit.value)}"
        owner = "a seed" if limit.source == "seed" else "a plan"
        text = f"{self.names.goal(self._goals[limit.goal])} had {owner}"
        if not limit.through:
            return f"{text} of {number(limit.value)}"
        through = ", ".join(self.names.goal(self._goals[each]) for each in limit.through)
        return f"{text} that leaves {number(limit.value)} for it (passed down by {through})"

    def _lost(self, step: Step, total: float, skip: Skip | None) -> Reason:
        goal = step.goal
        chosen = goal.way
        assert chosen is not None
        by = total - goal.best_cost
        other = self._named(self._implementation(goal, chosen).op, chosen.inputs)
        event = skip.seq if skip is not None else self._best(goal)
        same_inputs = {each.group for each in chosen.inputs} == {each.group for each in step.move.inputs}
        if step.move.op.name == "merge_join" and same_inputs and skip is None and not self._ids(step)[1]:
            text = f"{self._what(step)} was not looked at: the {other} of the same inputs costs {number(by)} less, never more"
            return Reason(Kind.DOMINATED, text, event, by)
        if by <= 1e-9 * goal.best_cost:
            text = f"{self._what(step)} costs the same as {other}, {number(total)}; the other was found first"
            return Reason(Kind.LOST, text, event, max(0.0, by))
        mine = self._parts(step.move.local, [i.goal for i in step.inputs])
        theirs = [("itself", chosen.local), *((self.names.goal(i), i.best_cost) for i in chosen.inputs)]
        dearer = {name: cost - dict(theirs).get(name, 0.0) for name, cost in mine}
        most = max(dearer, key=lambda name: dearer[name])
        text = (
            f"{self._what(step)} lost by {number(by)}: {number(total)} = {self._sum(mine)}, while {other} costs "
            f"{number(goal.best_cost)} = {self._sum(theirs)}\nit lost most by {most}: {number(dearer[most])} more"
        )
        return Reason(Kind.LOST, text, event, by)

    def _not_needed(self, step: Step, total: float) -> Reason:
        """No plan through it costs less than `total`, and that, or what any plan costs at least, is no less than the goal's."""
        goal = step.goal
        assert goal.way is not None
        other = self._named(self._implementation(goal, goal.way).op, goal.way.inputs)
        text, bound = f"{self._what(step)} was not looked at: ", max(goal.lower, total)
        if total >= goal.lower:
            mine = self._sum(self._parts(step.move.local, [i.goal for i in step.inputs]))
            text += f"a plan through it costs at least {number(total)} = {mine}, while {other} costs {number(goal.best_cost)}"
        else:
            text += (
                f"{other} was found first and costs {number(goal.best_cost)}, and no plan for {self.names.goal(goal)} can cost "
            )
            text += f"less than {number(goal.lower)}"
        return Reason(Kind.DOMINATED, text, self._best(goal), bound=bound, limit=goal.best_cost)

    def _parts(self, local: float, inputs: Iterable[Goal]) -> list[tuple[str, float]]:
        return [("itself", local), *((self.names.goal(each), _least(each)) for each in inputs)]

    def _sum(self, parts: list[tuple[str, float]]) -> str:
        return " + ".join(f"{number(cost)} ({name})" for name, cost in parts)

    def _best(self, goal: Goal) -> int | None:
        """The event at which a goal got its plan."""
        bests = self._bests.get(goal.id)
        return bests[-1].seq if bests else None


def _least(goal: Goal) -> float:
    """What the cheapest plan of a goal costs, or at least."""
    return goal.best_cost if goal.settled else goal.lower
