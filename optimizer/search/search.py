"""The driver of the task stack.

Exploration `all`: first everything reachable is explored: transformation rules run to a fixpoint, groups are merged where a
rule shows two to be one. Then the root goal is optimized: groups are implemented and costed only as far as the bounds let
plans through. `on_demand`: a group is explored when the first of its goals is opened, so a group whose every consumer was cut is
never explored. `interleaved`: a group's expressions are costed before rules add others to it, so that its best plan may cut its
exploration. Which plans a goal has does not depend on bounds in any of them; bounds only skip.

A rule that fires while goals are being costed may show two costed groups to be one, or add to a group whose goals are
settled. What was concluded from the smaller memo is then out of date: the goals are reset, expressions and costs are kept, and
the root is optimized again.
"""

from optimizer.algebra.traits import ANY, TraitSet
from optimizer.algebra.trees import Tree
from optimizer.cost.model import CostModel
from optimizer.errors import Interrupted, NoPlan
from optimizer.figures import Figures
from optimizer.memo.bounds import lower_bounds_fall, lower_bounds_rise
from optimizer.memo.goal import INFINITY, Goal, Status
from optimizer.memo.group import Group
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import RuleContext
from optimizer.rules.rule_set import RuleSet
from optimizer.search.context import SearchContext, Task
from optimizer.search.failures import what_was_found, why_no_plan
from optimizer.search.first_plan import want_no_orders, want_one_plan
from optimizer.search.forms import spools_first
from optimizer.search.group_ways import add_way, waiting_way
from optimizer.search.regions import Regions
from optimizer.search.tasks.apply_rule import ApplyRule
from optimizer.search.tasks.explore_input import ExploreInput, ExploreMExpr
from optimizer.search.tasks.optimize_group import OptimizeGroup
from optimizer.trace.recorder import Trace

INNER_ORDERING = ("partition_joins", "join_commute", "join_associate", "join_associate_reverse", "join_exchange_inner")


class Search(SearchContext):
    """One search over one memo."""

    def __init__(self, memo: Memo, rules: RuleSet, context: RuleContext, cost: CostModel, trace: Trace | None = None) -> None:
        super().__init__(memo, rules, context, cost, trace)
        self.regions = self.sources = Regions(self)
        self.budget = context.settings.budget_tasks or INFINITY
        self.left_out: list[tuple[Tree, float]] = []  # forms of the query that are not in the memo, and what each costs at least
        self._open_rules = any(rule.name not in INNER_ORDERING for rule in rules.transformations)
        if self.exploration != "all" and self._open_rules and isinstance(memo.figures, Figures):
            memo.figures.later_rules = True

    # -- running ------------------------------------------------------------------------------------------------------------

    def run(self, tree: Tree, required: TraitSet = ANY) -> Goal:
        """The goal of the query, which has a plan. Raises NoPlan, and Interrupted on Ctrl-C."""
        try:
            goal = self.drive(tree, required)
        except KeyboardInterrupt:
            raise Interrupted(what_was_found(self)) from None
        if goal.best_cost == INFINITY:
            raise NoPlan(why_no_plan(self, goal))
        return goal

    def drive(self, tree: Tree, required: TraitSet) -> Goal:
        """Explore, then optimize; then the same with those other forms of the query that may be cheaper."""
        first, self.left_out = spools_first(self, tree)
        root = self.explore(first)
        self._take_forms(root, self.memo.group(root).lower)  # which no plan of the first will rule out
        goal = self.optimize(self.memo.find(root), required)
        if not self.counters.budget and self._take_forms(goal.group, goal.best_cost):
            self.restart()
            goal = self.optimize(self.memo.find(goal.group), required)
        return goal

    def take_all_forms(self) -> None:
        """Explore those forms of the query that were left out."""
        if self.root is not None:
            self._take_forms(self.root.group, INFINITY)

    def _take_forms(self, root: int, below: float) -> bool:
        """Explore those of the forms left out that may cost less than `below`; whether there are any."""
        forms = [form for form, least in self.left_out if least < below]
        self.left_out = [(form, least) for form, least in self.left_out if least >= below]
        goal, self.root = self.root, None  # no goal has to be told what is new
        for form in forms:
            _, new = self.memo.insert(self.regions.collect(form), root)
            self.regions.decide()
            self.arrived(new)
        if forms:
            self._explore_all(root, grown=True)
        self.root = goal
        return bool(forms)

    def explore(self, tree: Tree) -> int:
        """Insert the query, decide what becomes of its regions of joins and, unless exploration waits, apply transformation rules
        to a fixpoint. Returns the root group."""
        root, _ = self.memo.insert(self.regions.collect(tree))
        self.regions.decide()
        if self.exploration == "all":
            self._explore_all(root)
        return self.memo.find(root)

    def _explore_all(self, root: int, grown: bool = False) -> None:
        """`grown`: the root got expressions that were not there when its bound rose."""
        if not self.memo.group(root).explored:  # it may have been united with groups that are not
            self.push(ExploreInput(self.memo.find(root)))
        explored = self.drain()
        while explored and (graphs := self.regions.looked_into()):
            for graph in reversed(graphs):
                self.push(ExploreMExpr(graph))
            explored = self.drain()
        self.counters.narrowed |= not explored or bool(self.counters.budget)
        if self.memo.merges or self._open_rules or grown:
            self.emit_lower(lower_bounds_fall(self.memo, self.least), "other expressions")
        if self.use_bounds and explored and not self.counters.budget:
            self.emit_lower(lower_bounds_rise(self.memo, root, self.least), "all its expressions")

    def emit_lower(self, groups: list[Group], because: str) -> None:
        if self.trace is not None:
            for group in groups:
                self.trace.emit("lower", group=group.id, lower=group.lower, because=because)

    def optimize(self, root: int, required: TraitSet = ANY, limit: float = INFINITY) -> Goal:
        """Search the root group for `required` under an inclusive limit; the goal says what was found or proved."""
        goal, again = self.root_goal(root, required), list[int]()
        while True:
            self.ask(goal, limit)
            for gid in again:  # first: what is above may find more then, also where no plan of these is asked for
                self.push(ExploreInput(gid))
            if not self.drain():
                self._take_first_plan(goal)
                return goal
            again = self._look_again()
            if not (again or self.outdated()):
                return goal
            self.restart()
            goal = self.root_goal(goal.group, required)

    def _look_again(self) -> list[int]:
        """Groups of joins that rules look into after all, to be explored; none where everything was explored before."""
        groups = [] if self.exploration == "all" else [self.memo.group(graph.group) for graph in self.regions.overlooked()]
        for group in groups:
            group.explored = group.exploring = False
        return [group.id for group in groups]

    def root_goal(self, gid: int, required: TraitSet) -> Goal:
        """The goal of a group, which is the root's from now on."""
        goal = self.root = self.goal(gid, required)
        if self.trace is not None:
            self.trace.emit("root", goal=goal.id)
        return goal

    def restart(self) -> None:
        """Reset every goal, because the memo grew where goals were settled."""
        self.stale = False
        self._known.clear()
        for group in self.memo.groups:
            group.goals.clear()
        for goal in self.memo.goals:
            self.counters.reopened["new expressions"] += goal.opened > 0
            goal.reset()
        self.regions.forget()
        if self.trace is not None:
            self.trace.emit("restart")

    def drain(self) -> bool:
        """Perform tasks until there are none. False when a budget was spent before that."""
        stack, counters, trace = self.stack, self.counters, self.trace
        budget, timed = self.budget, self.deadline < INFINITY
        while stack:
            if counters.tasks >= budget or (timed and self.late()):
                return False
            task = stack.pop()
            counters.tasks += 1
            if trace is None:
                task.perform(self)
            else:
                self._perform_traced(task, trace)
        return True

    def _perform_traced(self, task: Task, trace: Trace) -> None:
        trace.task = task.id
        trace.emit("task_start", id=task.id)
        task.perform(self)
        trace.emit("task_end", id=task.id)
        trace.task = None

    def _take_first_plan(self, root: Goal) -> None:
        """A budget is spent. Nothing more is proved. What was found is costed without asking for more orders, as far as a quarter
        of `budget_tasks` goes; where that does not end, the query as it was given is, which takes a few tasks for each operator.
        Of each goal the cheapest plan stays."""
        self.spent("budget_ms" if self.late() else "budget_tasks")
        self._abandon()
        self.stale = False
        if not root.settled:
            self.prune, self.pass_limits = True, False
            self.exploration = "all"
            self.budget = self.counters.tasks + self.context.settings.budget_tasks // 4
            want_no_orders(self, self.regions)
            self.ask(root)
            if not self.drain() or root.best_cost == INFINITY:
                self._abandon()
                want_one_plan(self, self.regions)
                self.budget = self.deadline = INFINITY
                self.ask(root)
                self.drain()
        for goal in self.memo.goals:
            goal.settled |= goal.best_cost < INFINITY and goal.status is not Status.IMPOSSIBLE  # whatever that is, it will do

    def _abandon(self) -> None:
        """Leave what is still to be done."""
        if self.trace is not None:
            self.trace.emit("budget", tasks=self.counters.tasks, left=[task.id for task in self.stack])
        self.stack.clear()
        for goal in self.memo.goals:
            if goal.status is Status.OPEN:
                goal.status, goal.listed = Status.ABANDONED, None  # expressions may have left the list for a task
                self.emit_close(goal)

    # -- what tasks ask -----------------------------------------------------------------------------------------------------

    def ask(self, goal: Goal, limit: float = INFINITY) -> None:
        self.push(OptimizeGroup(goal, limit))

    def arrived(self, new: list[LogicalExpr]) -> None:
        """Members of groups that are still to be explored need no task: exploring the group will find them."""
        if self.exploration == "all" and self.root is None:
            self.regions.wait(new)
        for mexpr in new:
            group = self.memo.group(mexpr.group)
            self._rebind(group.parents, [mexpr])
            if group.exploring or group.explored:
                self.push(ExploreMExpr(mexpr))
            if not mexpr.op.unordered:  # they have no order yet
                for goal in group.goals.values():
                    self._tell(goal, mexpr, group.lower)
        self.stale = self.stale or (bool(self.memo.news) and any(goal.opened for goal in self.memo.goals))
        while self.memo.news:
            parents, members = self.memo.news.pop()
            self._rebind(parents, members)
            for mexpr in members:
                group = self.memo.group(mexpr.group)
                if group.exploring or group.explored:
                    self.push(ExploreMExpr(mexpr))

    def _tell(self, goal: Goal, mexpr: LogicalExpr, least: float) -> None:
        """A goal's group got a new expression, of which any plan costs at least `least`."""
        if goal.status is Status.OPEN:
            add_way(self, goal, waiting_way(self, mexpr))
        elif goal.opened and goal.lower > least:
            self.stale = True
        elif goal.listed is not None:
            way = waiting_way(self, mexpr)
            goal.listed[way.number] = way

    def _rebind(self, parents: list[LogicalExpr], members: list[LogicalExpr]) -> None:
        """Let rules that have already bound above see new members: as many levels up as their patterns look down."""
        wanted = self.rules.below(frozenset([type(mexpr.op) for mexpr in members]))
        scheduled: set[tuple[int, int]] = set()
        level = parents
        for distance, deep in enumerate(wanted, 1):
            for parent in level if deep else ():
                above = parent.op if distance == 1 else None
                for bit, rule, parts in deep:
                    if parent.applied & bit and (parent.id, bit) not in scheduled:
                        scheduled.add((parent.id, bit))
                        for mexpr in members:
                            if any(part.takes(mexpr.op, above) for part in parts):
                                self.push(ApplyRule(rule, parent, mexpr))
            if distance < len(wanted):
                level = [above for parent in level for above in self.memo.group(parent.group).parents]
