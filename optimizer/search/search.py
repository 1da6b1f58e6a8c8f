"""The driver of the task stack, and what all tasks share.

Exploration `all`: first everything reachable is explored: transformation rules run to a fixpoint, groups are merged where a
rule shows two to be one. Then the root goal is optimized: groups are implemented and costed only as far as the bounds let
plans through. Exploration `on_demand`: a group is explored when the first of its goals is opened, so a group whose every
consumer was cut is never explored. Which plans a goal has does not depend on bounds in either; bounds only skip.

Join graphs are the exception to `all`: their splits are enumerated set by set while they are costed (`join_space`).

A rule that fires while goals are being costed may show two costed groups to be one, or add to a group whose goals are
settled. What was concluded from the smaller memo is then out of date: the goals are reset, expressions and costs are kept, and
the root is optimized again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import Aggregate, Join
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.traits import ANY, TraitSet, reduce_traits
from optimizer.algebra.trees import Tree
from optimizer.cost.joins import JoinCosts
from optimizer.cost.model import CostModel, LinearJoins, Reruns
from optimizer.errors import Interrupted, NoPlan
from optimizer.joins.collect import collect_join_graphs, written_order
from optimizer.joins.csg import count_connected_sets
from optimizer.joins.graph import JoinGraph as Graph
from optimizer.joins.graph import Relations
from optimizer.joins.inner import InnerRegion, inner_region
from optimizer.joins.partition import PARTITIONERS
from optimizer.joins.region import JoinRegion
from optimizer.memo.binding import matches
from optimizer.memo.bounds import lower_bounds_fall
from optimizer.memo.goal import INFINITY, Candidate, Goal, Status
from optimizer.memo.group import Group, LogicalExpr, PhysicalExpr
from optimizer.memo.memo import Memo
from optimizer.rules.catalog import RuleSet
from optimizer.rules.implement.join_to_hash_join import JoinToHashJoin
from optimizer.rules.implement.join_to_merge_join import JoinToMergeJoin
from optimizer.rules.implement.join_to_nested_loop_join import JoinToNestedLoopJoin
from optimizer.rules.interface import RuleContext, binds
from optimizer.search.counters import Counters
from optimizer.search.failures import what_was_found, why_no_plan
from optimizer.search.figures import Figures
from optimizer.search.iterative import Iterative
from optimizer.search.join_space import PARTITION, JoinNode, JoinSpace
from optimizer.search.tasks.apply_rule import ApplyRule, implement
from optimizer.search.tasks.explore_input import ExploreInput, ExploreMExpr
from optimizer.search.tasks.optimize_group import OptimizeGroup
from optimizer.search.tasks.task import Task
from optimizer.stats.region import RegionRows
from optimizer.trace.recorder import Trace

INNER_ORDERING = ("partition_joins", "join_commute", "join_associate", "join_associate_reverse", "join_exchange_inner")
PARTITIONING = (PARTITION, "partition_region")
RESULTS = {
    Status.OPTIMAL: "win", Status.BOUNDED: "bounded", Status.BELOW: "fail", Status.IMPOSSIBLE: "impossible",
    Status.ABANDONED: "abandoned",
}  # fmt: skip


class Search:
    """One search over one memo. `stack`: tasks, the last runs next. Goals are searched with inclusive limits.

    `keep`: what the joins of a region were costed as stays in the memo, for traces and pictures. `finishing`: a budget is
    spent. What was found stays, and goals without a plan get one from an expression whose order is chosen; that takes a few
    tasks for each operator of the query, and proves nothing.
    """

    def __init__(
        self,
        memo: Memo,
        rules: RuleSet,
        context: RuleContext,
        cost: CostModel,
        trace: Trace | None = None,
        keep: bool = False,
    ) -> None:
        self.memo, self.rules, self.context, self.cost, self.trace = memo, rules, context, cost, trace
        settings = context.settings
        exact = not settings.gap and not settings.epsilon  # a plan that is not the best may lie above a limit the optimum keeps
        self.pass_limits = settings.pruning in ("upper", "both") and exact
        self.use_bounds = settings.pruning in ("lower", "both")
        self.prune = settings.pruning != "none"
        self.grace = 1.0 + settings.gap
        self.on_demand = settings.exploration == "on_demand"
        self.keep = keep or trace is not None
        self.stale = False
        self.spaces: list[JoinSpace] = []
        names = [rule.name for rule in rules.transformations]
        self.join_graphs = settings.enumeration in ("adaptive", "partition", "left_deep") and PARTITION in names
        joins = [rule for rule in rules.implementations if issubclass(Join, rule.pattern.op or Join)]
        self.can_hash = any(type(rule) is JoinToHashJoin for rule in joins)
        self.can_loop = any(type(rule) is JoinToNestedLoopJoin for rule in joins)
        self.join_alternatives = self.can_hash + self.can_loop  # that a join space costs for a split; see Counters
        self.join_costs = self._join_costs([type(rule) for rule in joins])
        self._partition = PARTITIONERS[settings.partitioner]
        self._left_deep = settings.enumeration == "left_deep"
        self.finishing = False
        self.stack: list[Task] = []
        self.counters = Counters()
        self.root: Goal | None = None
        self._goals: dict[tuple[int, TraitSet], Goal] = {}
        self._deep = tuple(  # bit, rule, and what it looks for at each level below its root
            (1 << i, rule, tuple(rule.pattern.operators(level) for level in range(rule.pattern.depth)))
            for i, rule in enumerate(rules.transformations)
            if rule.pattern.depth > 1
        )
        self._deepest = max((rule.pattern.depth for rule in rules.transformations), default=1)
        self._wishes = {rule.expands for rule in rules.transformations if binds(rule.pattern, Join)}
        self._regions: list[int] = []  # groups of the query's join graphs
        self._wholes: list[LogicalExpr] = []  # the join graphs themselves
        self._hidden: dict[int, bool] = {}  # by expression
        self._open_rules = any(rule.name not in INNER_ORDERING for rule in rules.transformations)
        if self.on_demand and self._open_rules and isinstance(memo.figures, Figures):
            memo.figures.later_rules = True
        self.partition_bit = 1 << names.index(PARTITION) if PARTITION in names else 0
        self.partitioning = [(1 << i, rule) for i, rule in enumerate(rules.transformations) if rule.name in PARTITIONING]
        self.closed_rules = {
            rule.name: sum(1 << names.index(name) for name in rule.closes if name in names)
            for rule in rules.transformations
            if not rule.closes_in or settings.enumeration in rule.closes_in
        }
        self.seed_once = settings.enumeration == "duplicate_free_rules"
        self._next_task = 0
        self._budget = context.settings.budget_tasks or INFINITY
        milliseconds = context.settings.budget_ms
        self._deadline = perf_counter() + milliseconds / 1000 if milliseconds else INFINITY
        self._most_groups = settings.budget_groups or INFINITY
        self._most_mexprs = context.settings.budget_mexprs or INFINITY

    # -- running ----------------------------------------------------------------------------------------------------------

    def explore(self, tree: Tree) -> int:
        """Insert the query and apply transformation rules to a fixpoint. Returns the root group."""
        root, _ = self.memo.insert(collect_join_graphs(tree, self.takes) if self.join_graphs else tree)
        self.note_regions()
        if self.on_demand:
            return root
        self.push(ExploreInput(root))
        self._drain()
        for group in lower_bounds_fall(self.memo) if self.memo.merges or self._open_rules else ():
            if self.trace is not None:
                self.trace.emit("lower", group=group.id, lower=group.lower, because="other expressions")
        return self.memo.find(root)

    def note_regions(self) -> None:
        """Remember the join graphs of the query, which has just been inserted."""
        self._wholes = [m for group in self.memo.groups for m in group.logical if isinstance(m.op, JoinGraph)]
        self._regions = [m.group for m in self._wholes]
        for mexpr in self._wholes:
            self.hides(mexpr)

    def optimize(self, root: int, required: TraitSet = ANY, limit: float = INFINITY) -> Goal:
        """Search the root group for `required` under an inclusive limit; the goal says what was found or proved."""
        goal = self.goal(root, required)
        self.root = goal
        if self.trace is not None:
            self.trace.emit("root", goal=goal.id)
        while not self.finishing:
            self.push(OptimizeGroup(goal, limit))
            self._drain()
            if not self.stale or self.finishing:
                break
            goal = self.root = self.restart(goal)
        if self.finishing and goal.best_cost == INFINITY:
            self._budget = INFINITY
            self.push(OptimizeGroup(goal, INFINITY))
            self._drain()
        return goal

    def restart(self, root: Goal) -> Goal:
        """Reset every goal, because the memo grew where goals were settled; the root goal, which may now be another's."""
        self.stale = False
        self._goals.clear()
        self.spaces.clear()
        for goal in self.memo.goals:
            goal.reset()
        self.counters.reopened["new expressions"] += 1
        if self.trace is not None:
            self.trace.emit("restart")
        return self.goal(root.group, root.required)

    def run(self, tree: Tree, required: TraitSet = ANY) -> Goal:
        """Explore, then optimize; the returned goal has a plan. Raises NoPlan, and Interrupted on Ctrl-C."""
        try:
            if self.context.settings.driver == "iterative":
                goal = Iterative(self).run(tree, required)
            else:
                goal = self.optimize(self.explore(tree), required)
        except KeyboardInterrupt:
            raise Interrupted(what_was_found(self)) from None
        if goal.best_cost == INFINITY:
            raise NoPlan(why_no_plan(self, goal))
        return goal

    def push(self, task: Task) -> None:
        if self.trace is not None:
            task.id = self._next_task
            self._next_task += 1
            self.trace.emit("task_push", id=task.id, name=type(task).__name__, parent=self.trace.task, text=task.describe(self))
        self.stack.append(task)

    def _drain(self) -> None:
        stack, counters, trace = self.stack, self.counters, self.trace
        while stack:
            if counters.tasks >= self._budget or self.late():
                self._abandon()
                return
            task = stack.pop()
            counters.tasks += 1
            if trace is None:
                task.perform(self)
            else:
                trace.task = task.id
                trace.emit("task_start", id=task.id)
                task.perform(self)
                trace.emit("task_end", id=task.id)
                trace.task = None

    def late(self) -> bool:
        """Whether the time allowed is over."""
        return self._deadline < INFINITY and perf_counter() > self._deadline

    def _abandon(self) -> None:
        """The budget is spent: every open goal is left as it stands, and nothing more is proved."""
        if self.trace is not None:
            self.trace.emit("budget", tasks=self.counters.tasks, left=[task.id for task in self.stack])
        self.stack.clear()
        self.finishing = True
        self.prune = False
        self._deadline = INFINITY
        self.counters.proven = False
        for space in self.spaces:
            space.abandon()
        for goal in self.memo.goals:
            if goal.status is Status.OPEN:
                goal.status = Status.ABANDONED
                if self.trace is not None:
                    self.trace.emit("goal_close", goal=goal.id, result="abandoned", cost=goal.best_cost, lower=goal.lower)

    # -- goals and bounds ---------------------------------------------------------------------------------------------------

    def goal(self, gid: int, required: TraitSet) -> Goal:
        """The goal of a group for traits, reduced in the group's context."""
        known = self._goals.get((gid, required))
        if known is None:
            group = self.memo.group(gid)
            reduced = reduce_traits(required, group.props)
            made = len(self.memo.goals)
            known = self.memo.goal(group.id, reduced, group.lower if self.use_bounds else 0.0)
            self._goals[gid, required] = known
            if self.trace is not None and len(self.memo.goals) > made:
                traits = reduced.show(self.context.columns.label)
                self.trace.emit("goal", goal=known.id, group=group.id, traits=traits, lower=known.lower)
        return known

    def lower(self, goal: Goal) -> float:
        """What a plan for `goal` costs at least, as proved so far.

        The optimum for any traits is no bound for stronger traits: a requirement passed through may reach an order that
        the group's own alternatives never ask for, and so a cheaper plan.
        """
        return goal.lower

    def expected(self, goal: Goal) -> float:
        """What an input costs, or at least costs: its plan's cost once it is settled, else its bound."""
        return goal.best_cost if self.finishing and goal.best_cost < INFINITY else goal.lower

    def least(self, mexpr: LogicalExpr) -> float:
        """The cheapest local cost that any implementation of `mexpr` can have."""
        if mexpr.least < 0.0:
            group = self.memo.groups
            own = group[mexpr.group]
            each = self.cost.least(mexpr.op, own.stats, [self.memo.group(g).stats for g in mexpr.inputs])
            runs = self.memo.runs(own)
            if runs > 1.0:
                each += (runs - 1.0) * (self.cost.least_rerun(mexpr.op) if isinstance(self.cost, Reruns) else each)
            mexpr.least = each
        return mexpr.least

    def expression_bound(self, mexpr: LogicalExpr) -> float:
        """What any plan through a logical expression costs at least: its cheapest local cost and its inputs' bounds."""
        bound = self.least(mexpr) if self.use_bounds else 0.0
        groups = self.memo.groups
        if self.use_bounds:
            for gid in mexpr.inputs:
                bound += groups[gid].lower
        return bound

    def local_cost(self, goal: Goal, physical: PhysicalExpr, delivered: TraitSet, count: bool = True) -> float:
        """Local cost of a physical expression, computed once for each delivered traits. `count`: as a costed alternative."""
        known = physical.costs.get(delivered)
        if known is None:
            groups = self.memo.groups
            known = self.local(groups[goal.group], physical.op, delivered, [groups[g] for g in physical.inputs])
            assert known >= 0.0, f"{self.cost.name} gives {physical.op.name} the negative cost {known}"
            physical.costs[delivered] = known
            self.counters.costed += count
            if self.trace is not None:
                traits = delivered.show(self.context.columns.label)
                self.trace.emit("cost", goal=goal.id, mexpr=physical.id, local=known, delivered=traits)
        return known

    def local(self, group: Group, op: PhysicalOperator, delivered: TraitSet, inputs: Sequence[Group]) -> float:
        """Local cost of an operator in a group, over all evaluations of the group."""
        stats = [each.stats for each in inputs]
        first, runs = self.cost.local(op, delivered, group.stats, stats), self.memo.runs(group)
        if runs == 1.0:
            return first
        if not isinstance(self.cost, Reruns):
            return runs * first
        kept = [not each.outer and not each.volatile for each in inputs]
        return first + (runs - 1.0) * self.cost.rerun(op, delivered, group.stats, stats, kept)

    def push_goal(self, goal: Goal, limit: float = INFINITY) -> None:
        self.push(OptimizeGroup(goal, limit))

    def plan_of(self, goal: Goal) -> Candidate:
        """The best plan of a goal that has one; a plan found by arithmetic gets its expressions now."""
        if goal.joins is not None:
            found: tuple[JoinSpace, JoinNode] = goal.joins
            return found[0].winner(found[1])
        assert goal.best is not None, f"goal {goal.id} of group {goal.group} has no plan"
        return goal.best

    def implement(self, mexpr: LogicalExpr) -> None:
        """Fire the implementation rules on an expression: it is implemented as a whole or not at all."""
        mexpr.implemented = True
        for rule in self.rules.implementations:
            if matches(mexpr, rule.pattern):
                implement(self, rule, mexpr)

    def expand_all(self) -> None:
        """Explore everything that was left for later: join graphs that a join space searched, groups nobody asked for.

        For those who look at the whole memo (plan spaces). Figures, goals and plans of the search stay as they are; the
        limits on the size of the memo hold.
        """
        counters, self.counters = self.counters, Counters()
        budget, self._budget, deadline, self._deadline = self._budget, INFINITY, self._deadline, INFINITY
        trace, self.trace = self.trace, None
        self.memo.trace = None
        seen: set[int] = set()
        while True:
            for group in self.memo.live_groups():
                self.push(ExploreInput(group.id))
                for mexpr in group.logical:
                    for bit, rule in self.partitioning:
                        if not mexpr.applied & bit and matches(mexpr, rule.pattern):
                            mexpr.applied |= bit
                            self.push(ApplyRule(rule, mexpr))
            self._drain()
            grown = {group.id for group in self.memo.live_groups()}
            if grown <= seen:
                break
            seen = grown
        self.counters, self._budget, self._deadline, self.stale = counters, budget, deadline, False
        self.trace = self.memo.trace = trace

    def given(self, gid: int) -> LogicalExpr | None:
        """An expression of a group that leads to a complete plan in a few steps, for a search whose budget is spent: the
        first with a chosen order; a group that has none gets one."""
        group = self.memo.group(gid)
        for mexpr in group.logical:
            if not isinstance(mexpr.op, JoinGraph | RegionGraph) and mexpr.rule not in PARTITIONING:
                return mexpr
        nary = next((m for m in group.logical if isinstance(m.op, JoinGraph | RegionGraph)), None)
        if nary is None:
            return group.logical[0]
        tree = written_order(Tree(nary.op, tuple(self.memo.binding_leaf(g) for g in nary.inputs)))
        self.memo.insert(tree, gid)
        return next(mexpr for mexpr in group.logical if mexpr.op == tree.op)

    # -- join graphs --------------------------------------------------------------------------------------------------------

    def _join_costs(self, joins: list[type]) -> JoinCosts | None:
        """Coefficients by which joins without required traits may be costed, if nothing is lost by it: the model's joins are
        linear, every join rule is known, and a merge join is never the cheapest way to a result in any order."""
        if not isinstance(self.cost, LinearJoins) or not self.can_loop:
            return None
        costs = self.cost.join_costs()
        merging = JoinToMergeJoin in joins and not (self.can_hash and costs.hash_beats_merge and self.use_bounds)
        known = (JoinToHashJoin, JoinToMergeJoin, JoinToNestedLoopJoin)
        return None if merging or any(rule not in known for rule in joins) else costs

    def partition(self, graph: Graph, s: Relations) -> list[Relations]:
        """The splits of a set that the enumeration mode allows, each as the part with the lowest relation, in one order."""
        parts = self._partition(graph, s)
        if not self.use_bounds:  # else their bounds put them in order
            parts.sort()
        if self._left_deep:
            return [a for a in parts if not a & (a - 1) or not (s ^ a) & ((s ^ a) - 1)]
        return parts

    def joins_of(self, goal: Goal) -> tuple[JoinSpace, JoinNode] | None:
        """The node that settles a goal by arithmetic, if it is a join graph's, asks for no traits and its costs allow it."""
        known: tuple[JoinSpace, JoinNode] | None = goal.joins
        if known is not None or goal.opened or goal.required != ANY or self.join_costs is None:
            return known
        group = self.memo.groups[goal.group]
        graph = next((m for m in group.logical if isinstance(m.op, JoinGraph)), None)
        if graph is None or not (self.compact(graph) or self.finishing):
            return None
        if not self.finishing and any(m.rule != PARTITION and m is not graph for m in group.logical):
            return None  # another rule found something else for the group
        leaves = [self.memo.find(gid) for gid in graph.inputs]
        assert isinstance(graph.op, JoinGraph)
        predicate = graph.op.predicate
        space = next((space for space in self.spaces if space.holds(leaves, predicate)), None)
        if space is None:
            wholes = [self.memo.group(gid) for gid in self._regions]  # a part of a region of the query belongs to its space
            made = map(self._new_space, [*wholes, group])
            space = next((each for each in made if each is not None and each.holds(leaves, predicate)), None)
            if space is None:
                return None
            self.spaces.append(space)
        node = space.node(space.set_of(leaves))
        node.goal = goal
        goal.joins = (space, node)
        space.update(node)
        return space, node

    def region_rows(self, region: InnerRegion, leaves: list[Group]) -> Callable[[Relations], float]:
        figures = self.memo.figures
        if isinstance(figures, Figures):
            return figures.region_rows(region, leaves)
        return RegionRows([leaf.stats for leaf in leaves], region.predicate).rows

    def takes(self, region: JoinRegion) -> bool:
        """Whether a region of several kinds of joins is ordered as a whole."""
        settings = self.context.settings
        if PARTITIONING[1] not in self.closed_rules:
            return False
        if settings.enumeration != "adaptive" or len(region.leaves) < settings.exact_mixed_below:
            return True
        return count_connected_sets(region.graph, settings.exact_mixed_sets) <= settings.exact_mixed_sets

    def _new_space(self, group: Group) -> JoinSpace | None:
        graph = next((m for m in group.logical if isinstance(m.op, JoinGraph)), None)
        if graph is None or self.join_costs is None or group.outer:
            return None
        assert isinstance(graph.op, JoinGraph)
        leaves = [self.memo.group(gid) for gid in graph.inputs]
        columns = tuple(leaf.props.columns for leaf in leaves)
        region = inner_region(columns, graph.op.predicate, self.context.settings.cross_products)
        return JoinSpace(self, leaves, region, self.join_costs) if region.decided else None

    def compact(self, mexpr: LogicalExpr) -> bool:
        """Whether the splits of a join graph are left to its join space until someone asks for its group in some order."""
        if self.join_costs is None or not self.hides(mexpr) or self.memo.group(mexpr.group).outer:
            return False  # of a correlated region some joins are evaluated once, some for each binding
        assert isinstance(mexpr.op, JoinGraph)
        columns = tuple(self.memo.group(gid).props.columns for gid in mexpr.inputs)
        return inner_region(columns, mexpr.op.predicate, self.context.settings.cross_products).decided

    def hides(self, mexpr: LogicalExpr) -> bool:
        """Whether no transformation rule is to see the splits of a join graph: they are made when they are costed, if at
        all. Depends on the region of the query that the graph is part of, so the space of plans is the same whichever way
        joins are costed."""
        if not isinstance(mexpr.op, JoinGraph):
            return False
        known = self._hidden.get(mexpr.id)
        if known is None:
            known = self._hidden[mexpr.id] = not self._expands(self.whole(mexpr))
        return known

    def whole(self, mexpr: LogicalExpr) -> LogicalExpr:
        """The join graph of the query that a join graph is part of; itself where a rule made it of other relations."""
        leaves = {self.memo.find(gid) for gid in mexpr.inputs}
        return next((w for w in self._wholes if leaves <= {self.memo.find(gid) for gid in w.inputs}), mexpr)

    def _expands(self, mexpr: LogicalExpr) -> bool:
        """Whether a rule wants to see the joins of a join graph: always, or in a small one that an aggregate lies below
        (it may be pulled up) or another join above (they may change places)."""
        if "always" in self._wishes:
            return True
        if "small" not in self._wishes or len(mexpr.inputs) > self.context.settings.expand_joins:
            return False
        if any(isinstance(m.op, Aggregate) for gid in mexpr.inputs for m in self.memo.group(gid).logical):
            return True
        return any(isinstance(m.op, Join) and m.rule != PARTITION for m in self.memo.group(mexpr.group).parents)

    # -- what traces are told -------------------------------------------------------------------------------------------------

    def emit_best(self, goal: Goal, candidate: Candidate, old: float) -> None:
        if self.trace is not None:
            label = self.context.columns.label
            self.trace.emit(
                "best", goal=goal.id, mexpr=None if candidate.mexpr is None else candidate.mexpr.id,
                op=candidate.op.name, detail=candidate.op.describe(label), local=candidate.local, cost=goal.best_cost, old=old,
                inputs=[i.id for i in candidate.inputs], delivered=candidate.alternative.delivered.show(label),
            )  # fmt: skip

    def emit_close(self, goal: Goal) -> None:
        if self.trace is not None:
            result = RESULTS[goal.status]
            self.trace.emit("goal_close", goal=goal.id, result=result, cost=goal.best_cost, lower=goal.lower, limit=goal.limit)

    def cut(self, goal: Goal, bound: float) -> bool:
        """Whether a plan that costs at least `bound` can neither meet the goal's limit nor beat its best plan."""
        grace = self.grace if goal.best_cost <= goal.limit else 1.0
        return self.prune and (bound > goal.limit or bound * grace >= goal.best_cost)

    def may_explore(self) -> bool:
        """Whether transformation rules may still add to the memo. Once they may not, nothing is proven any more: what was
        not explored might have been cheaper. The query as given is in the memo before the first rule, so there is a plan."""
        if self.memo.logical_count < self._most_mexprs and len(self.memo.groups) < self._most_groups:
            return True
        if self.counters.proven:
            self.counters.proven = False
            if self.trace is not None:
                self.trace.emit("budget", mexprs=self.memo.logical_count, left=len(self.stack))
        return False

    def looks_into(self, mexpr: LogicalExpr, position: int) -> bool:
        """Whether a transformation rule that fits an expression binds expressions of one of its inputs."""
        for rule in self.rules.transformations:
            inputs = rule.pattern.inputs
            if inputs and position < len(inputs) and inputs[position].op is not None and matches(mexpr, rule.pattern):
                return True
        return False

    # -- after rules --------------------------------------------------------------------------------------------------------

    def schedule_new(self, new: list[LogicalExpr]) -> None:
        """Explore new logical expressions, and let rules that have already bound their parents see them.

        Members of groups that are still to be explored need no task: exploring the group will find them.
        """
        for mexpr in new:
            if mexpr.hidden:
                continue
            group = self.memo.group(mexpr.group)
            self._rebind(group.parents, [mexpr])
            if group.exploring or group.explored:
                self.push(ExploreMExpr(mexpr))
            if any(goal.opened for goal in group.goals.values()) and mexpr.rule != PARTITION:
                self.stale = True
        self.stale = self.stale or (bool(self.memo.news) and any(goal.opened for goal in self.memo.goals))
        while self.memo.news:
            parents, members = self.memo.news.pop()
            self._rebind(parents, members)
            for mexpr in members:
                group = self.memo.group(mexpr.group)
                if group.exploring or group.explored:
                    self.push(ExploreMExpr(mexpr))

    def _rebind(self, parents: list[LogicalExpr], members: list[LogicalExpr]) -> None:
        """Let rules that have already bound above see new members: as many levels up as their patterns look down."""
        scheduled: set[tuple[int, int]] = set()
        level = parents
        for distance in range(1, self._deepest):
            for parent in level:
                for bit, rule, operators in self._deep:
                    if len(operators) > distance and parent.applied & bit and (parent.id, bit) not in scheduled:
                        scheduled.add((parent.id, bit))
                        for mexpr in members:
                            if isinstance(mexpr.op, operators[distance]):
                                self.push(ApplyRule(rule, parent, mexpr))
            if distance + 1 < self._deepest:
                level = [above for parent in level for above in self.memo.group(parent.group).parents]
