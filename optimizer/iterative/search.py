"""The iterative driver: rule matches from one queue, by importance, as the classic Volcano planners take them.

First the query as given is implemented, so there is a plan before any rule fires. Then the most important match is taken, again
and again: what a transformation rule makes of a binding, or all implementation rules at an expression. What is new in the
memo is matched at once, and every plan that gets cheaper is passed up (`cost_graph`), so the root's plan is at any moment the
cheapest over all that was implemented. Memo, rules, alternatives and enforcers are those of the task stack; nothing is pruned,
no limit is passed, and bounds serve importance alone. When the queue is empty everything was tried, and the plan costs what
the task stack finds.

A binding is looked at when the last of its expressions arrives, so each is seen once, whatever the order. Join graphs are
expanded by their rule, split after split; the adaptive enumeration leaves those that are too large with a greedy order.

`budget_tasks` and `budget_ms` count from the first plan on; `budget_mexprs` and `budget_groups` stop the transformations.
"""

from collections.abc import Iterable, Sequence

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.traits import TraitSet
from optimizer.algebra.trees import Tree
from optimizer.iterative.cost_graph import CostGraph
from optimizer.iterative.first_order import insert_first_order, why_not_exact
from optimizer.iterative.importance import Match, MatchQueue
from optimizer.joins.collect import written_order
from optimizer.memo.binding import bindings
from optimizer.memo.bounds import lower_bounds_fall
from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.memo.group import Group
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import TransformationRule
from optimizer.search.firing import fire, implement, insert_results
from optimizer.search.search import Search
from optimizer.search.set_goals import PARTITION

IMPLEMENT_RANK = -1  # an expression is costed before rules are tried on its group


class Iterative:
    """One search. What it counts as tasks are the matches it took, those of the first plan included."""

    def __init__(self, search: Search) -> None:
        self.search, self.memo = search, search.memo
        self.queue = MatchQueue(search.memo)
        self.costs = CostGraph(search)
        self._left: list[Match] = []  # not taken, because a budget is spent

    def run(self, tree: Tree, required: TraitSet) -> Goal:
        """Search until the queue is empty or a budget is spent. The goal has the best plan found, if there is any."""
        search = self.search
        gid, new = self.memo.insert(search.regions.collect(tree))
        search.regions.decide(splits=False)
        self._new_root(gid, required)
        self._arrive(new)
        self._first_plan()
        while self.queue.size or self._look_again():
            match = self.queue.take()
            if self._superfluous(match):
                continue
            if self._spent():
                self._left.append(match)
                break
            self._perform(match)
        self._conclude()
        return self._root

    @property
    def _root(self) -> Goal:
        assert self.search.root is not None
        return self.search.root

    def _new_root(self, gid: int, required: TraitSet) -> None:
        root = self.search.root_goal(gid, required)
        self.queue.refresh(root.group)
        self.costs.open(root)

    def _has_plan(self) -> bool:
        return self._root.best_cost < INFINITY

    def _spent(self) -> bool:
        return self._has_plan() and (self.search.counters.tasks >= self.search.budget or self.search.late())

    # -- steps --------------------------------------------------------------------------------------------------------------

    def _first_plan(self) -> None:
        """Implement one expression of every group that the query as given reaches, with as few rows in its inputs as may be."""
        seen: set[int] = set()
        pending = [self._root.group]
        while pending:
            group = self.memo.group(pending.pop())
            if group.id in seen:
                continue
            seen.add(group.id)
            if not _ordered(group):
                self._split(group.logical[0])
            first = min(_ordered(group), key=lambda e: (sum(self.memo.group(g).stats.rows for g in e.inputs), e.id), default=None)
            if first is not None:
                if not first.implemented:
                    self._perform(Match(first))
                pending += (self.memo.find(gid) for gid in first.inputs)

    def _split(self, mexpr: LogicalExpr) -> None:
        """Expand a region now rather than when its match is taken."""
        for _, rule in self.search.regions.partitioning:
            if rule.pattern.takes(mexpr.op):
                self._perform(Match(mexpr, rule))

    def _superfluous(self, match: Match) -> bool:
        """Whether another step has done what a match asks for."""
        mexpr, rule, produced = match
        if mexpr.dropped or rule is None:
            return mexpr.dropped or mexpr.implemented
        return produced is None and bool(mexpr.applied & self.search.rules.bits[rule.name])

    def _perform(self, match: Match) -> None:
        """Take one step. The memo may grow beyond its budget only while there is no plan."""
        mexpr, rule, produced = match
        search = self.search
        if rule is not None and self._has_plan() and not search.may_explore():
            self._left.append(match)
            return
        trace, counters = search.trace, search.counters
        if trace is not None:
            name = "ImplementExpression" if rule is None else "ApplyMatch"
            text = f"{'implementation rules' if rule is None else rule.name} on expression {mexpr.id}"
            trace.emit("task_push", id=counters.tasks, name=name, parent=None, text=text)
            trace.task = counters.tasks
            trace.emit("task_start", id=counters.tasks)
        counters.tasks += 1
        if rule is None:
            implement(search, mexpr)
            self.costs.implemented(mexpr)
        else:
            self._apply(rule, mexpr, produced)
        if trace is not None:
            trace.emit("task_end", id=trace.task)
            trace.task = None

    def _apply(self, rule: TransformationRule, mexpr: LogicalExpr, produced: list[Tree] | None) -> None:
        merges = self.memo.merges
        mexpr.applied |= self.search.rules.bits[rule.name]
        if produced is None:
            produced = [
                tree for bound in bindings(self.memo, mexpr, rule.pattern) for tree in fire(self.search, rule, mexpr, bound)
            ]
        partitioning = any(rule is each for _, each in self.search.regions.partitioning)
        if not produced and partitioning and not _ordered(self.memo.group(mexpr.group)):
            # no split is allowed (a left-deep plan of a region that has none): the order as written is the only one
            produced = [written_order(self.memo.bound(mexpr))]
        if not produced:
            return
        unseen = isinstance(mexpr.op, JoinGraph) and self.search.regions.unseen(mexpr)
        new = insert_results(self.search, rule, mexpr, produced, unseen)
        if self.memo.merges > merges:
            self._merged()
        self._arrive(new)

    # -- what is new --------------------------------------------------------------------------------------------------------

    def _arrive(self, new: Sequence[LogicalExpr]) -> None:
        """Queue every match that new expressions give, at their root or below it."""
        for mexpr in new:
            if mexpr.dropped:
                continue
            if mexpr in self.memo.group(mexpr.group).unseen:
                self.queue.add(Match(mexpr), IMPLEMENT_RANK)
                continue
            self._match_above(self.memo.group(mexpr.group).parents, mexpr)
            if not mexpr.op.unordered:
                self.queue.add(Match(mexpr), IMPLEMENT_RANK)
            elif isinstance(mexpr.op, JoinGraph) and mexpr.rule != PARTITION:
                self._order(mexpr)
            for bit, rule in self.search.rules.of(mexpr.op):
                if (mexpr.applied | mexpr.barred) & bit or not rule.pattern.takes(mexpr.op):
                    continue
                if rule.pattern.depth == 1:
                    self.queue.add(Match(mexpr, rule), bit)
                else:
                    mexpr.applied |= bit  # from now on members that arrive below give the other bindings
                    self._match(rule, bit, mexpr, None)

    def _match(self, rule: TransformationRule, rank: int, mexpr: LogicalExpr, fresh: LogicalExpr | None) -> None:
        """Queue the bindings of an expression that the rule applies to, only those with `fresh` where that is given. The bit of
        a rule is its rank: the rules that come first are tried first."""
        for bound in list(bindings(self.memo, mexpr, rule.pattern, fresh)):
            produced = fire(self.search, rule, mexpr, bound)
            if produced:
                self.queue.add(Match(mexpr, rule, produced), rank)

    def _match_above(self, parents: Iterable[LogicalExpr], fresh: LogicalExpr) -> None:
        """Queue the matches that hold a new member, as many levels up as patterns look down."""
        level = [parent for parent in parents if not parent.dropped]
        for distance in range(1, self.search.rules.deepest):
            for parent in dict.fromkeys(level):
                for bit, rule, levels in self.search.rules.deep:
                    if parent.applied & bit and len(levels) > distance:
                        self._match(rule, bit, parent, fresh)
            if distance + 1 < self.search.rules.deepest:
                level = [above for parent in level for above in self.memo.group(parent.group).parents]

    def _order(self, mexpr: LogicalExpr) -> None:
        """Give a join graph a first order; if it is too large to be searched exactly, leave it at that."""
        search = self.search
        new = insert_first_order(search, mexpr, PARTITION, search.regions.unseen(mexpr))
        barred = search.barred(PARTITION)
        why = why_not_exact(search, mexpr)
        if why:
            barred |= search.rules.bits[PARTITION]
            mexpr.barred |= barred
            search.counters.proven, search.counters.heuristic = False, why
        for each in new:
            each.barred |= barred
        self._arrive(new)

    def _look_again(self) -> bool:
        """Let rules look into joins that they had no reason to before; whether that gives matches."""
        regions = self.search.regions
        regions.overlooked()
        for group in [group for group in self.memo.live_groups() if group.unseen]:
            graph = next((mexpr for mexpr in group.logical if isinstance(mexpr.op, JoinGraph)), None)
            if graph is not None and not regions.unseen(graph):
                seen, group.unseen = group.unseen, []
                group.logical += seen
                self._arrive(seen)
        return bool(self.queue.size)

    def _merged(self) -> None:
        """Groups turned out to be one. What the merge has touched is costed anew.

        What was implemented of an expression that the merge dropped must not be lost: all expressions of a united group, and
        all that read one, are implemented. Others keep their turn, and are offered to the goals of their group then.
        """
        search, memo, news = self.search, self.memo, self.memo.news
        united = {memo.find(mexpr.group) for _, members in news for mexpr in members}
        above = {memo.find(mexpr.group) for parents, _ in news for mexpr in parents}
        for gid in united | above:
            for mexpr in _ordered(memo.groups[gid]):
                if not mexpr.implemented and (gid in united or not united.isdisjoint(mexpr.inputs)):
                    implement(search, mexpr)
        search.forget_merged()
        self.costs.unite(united, above)
        old = self._root
        if memo.find(old.group) != old.group:
            self._new_root(old.group, old.required)
        self.queue.unite()
        while news:
            parents, members = news.pop()
            for mexpr in members:
                self._match_above(parents, mexpr)

    # -- the end ------------------------------------------------------------------------------------------------------------

    def _conclude(self) -> None:
        """Settle every goal, if the queue ran empty; else say what was left."""
        search, memo = self.search, self.memo
        left = [match for match in self._left + self.queue.left() if not self._superfluous(match)]
        if left and not self._spent():
            search.may_explore()  # no more, which it tells
        elif left:
            search.spent("budget_tasks" if search.counters.tasks >= search.budget else "budget_ms")
            if search.trace is not None:
                search.trace.emit("budget", tasks=search.counters.tasks, left=[])
        for match in left:  # whoever explores further must not take these for applied
            if match.rule is not None:
                match.mexpr.applied &= ~self.search.rules.bits[match.rule.name]
        complete = search.counters.proven
        self._lower_bounds(complete)
        for group in memo.live_groups() if not left else ():
            group.explored = True
            if search.trace is not None:
                search.trace.emit("explored", group=group.id)
        for goal in memo.goals:
            if not goal.opened:
                continue
            if not complete:
                goal.status = Status.ABANDONED if left else Status.BOUNDED
                goal.lower = min(goal.lower, memo.groups[goal.group].lower)
            elif goal.way is None:
                goal.status, goal.lower = Status.IMPOSSIBLE, INFINITY
            else:
                goal.status, goal.lower, goal.settled = Status.OPTIMAL, goal.best_cost, True
            search.emit_close(goal)

    def _lower_bounds(self, complete: bool) -> None:
        """Groups were made with bounds for their first expression; others may cost less, and so may those not found yet."""
        search, memo = self.search, self.memo
        if complete:
            search.emit_lower(lower_bounds_fall(memo, search.least), "other expressions")
        else:
            fallen = [group for group in memo.live_groups() if group.lower > 0.0]
            for group in fallen:
                group.lower = 0.0
            search.emit_lower(fallen, "not explored")


def _ordered(group: Group) -> list[LogicalExpr]:
    """The expressions that can be implemented: all but regions whose joins have no order yet."""
    return [mexpr for mexpr in group.members() if not mexpr.op.unordered]


class IterativeSearch(Search):
    """A search by this driver."""

    explores_first = False

    def drive(self, tree: Tree, required: TraitSet) -> Goal:
        return Iterative(self).run(tree, required)
