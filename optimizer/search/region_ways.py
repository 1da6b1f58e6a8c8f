"""The ways of the sets of relations of one region of inner joins: their splits.

A join is costed by four multiplications (`JoinCosts`); splits above the bar leave nothing behind. For goals with an order, for
regions where a merge join may be the cheapest, and for cost models that are not linear in rows, splits become physical
expressions when they are reached; no rule sees those.

A region is solved in one of two ways (setting `region`). By *tasks*, set by set, from the whole down: for those who watch a
search. By the *table* of all its sets (`set_table`) before its first goal is opened: then goals without traits arrive settled,
and all others with bounds.
"""

from collections.abc import Sequence
from functools import cached_property

from optimizer.algebra.columns import column_ids
from optimizer.algebra.derive_props import matching_props
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import ANY, Alternative, TraitSet
from optimizer.algebra.trees import Leaf, Tree
from optimizer.joins.graph import Relations
from optimizer.memo.goal import INFINITY, ROUNDING, Goal, Implementation, Split, Status, Way
from optimizer.memo.group import Group
from optimizer.memo.mexpr import LogicalExpr
from optimizer.search.context import TIE, SearchContext
from optimizer.search.group_ways import listed, within_bar
from optimizer.search.set_goals import PARTITION, SetGoals
from optimizer.search.set_orders import SetOrders


class RegionWays(SetGoals):
    """A source (`context.Source`)."""

    @cached_property
    def orders(self) -> SetOrders:
        return SetOrders()

    def goal(self, group: Group, s: Relations, required: TraitSet) -> Goal:
        """The goal of the group that a set has become."""
        self.groups[s] = group.id
        own = self.figures(s).goal
        self._grouped(own, group.id)
        if self.search.use_bounds and own.status is Status.NEW and (s == self.region.graph.all or not self.grown):
            self.prove(own, group.lower, "the group")
        if required == ANY:
            return own
        lower = self.at_least(s)
        if self.table is not None and not self.orders.to_learn(self, required):
            bounds = self.table.ordered(self.orders.starts(self, required))
            lower = max(lower, self.bounded_by(s, float(bounds[self.table.splits.position(s)]) * ROUNDING))
        made = self.search.memo.new_goal(group.id, required, lower, s)
        self._sources[made.id] = self.number
        self.search.emit_goal(made)
        return made

    def begin_anew(self) -> None:
        """A budget was spent while relations, or the joins of a split, waited for tasks that are gone."""
        self.begun = self.begun and all(leaf.settled for leaf in self.leaf_goals)
        self.waited = False
        self._reached.clear()

    def ready(self, search: SearchContext, goal: Goal, limit: float) -> bool:
        """Settle the relations, then solve the region or find its bounds and seeds."""
        if not self.begun:
            if not self.waited and self._ask_first(search, goal, limit, self.leaf_goals):
                self.waited = True
                return False
            if all(leaf.settled for leaf in self.leaf_goals):
                self.begun = True
                self.start(self)
        wanted = self.orders.goals(self, goal.required)
        if wanted and goal not in self.orders.asked and self._ask_first(search, goal, limit, wanted):
            self.orders.asked.add(goal)
            return False
        self.orders.learn(self, goal.required)
        return True

    def _ask_first(self, search: SearchContext, goal: Goal, limit: float, wanted: list[Goal]) -> bool:
        """Have those of `wanted` searched that can be settled, and then the goal; whether there are any."""
        ended = (Status.IMPOSSIBLE, Status.OPEN)  # open: a relation that is made of the region itself
        unsettled = [each for each in wanted if not each.settled and each.status not in ended]
        if unsettled:
            search.ask(goal, limit)
            for each in reversed(unsettled):
                search.ask(each)
        return bool(unsettled)

    def ways(self, search: SearchContext, goal: Goal) -> tuple[list[Way], float]:
        if any(not leaf.settled for leaf in self.leaf_goals):
            return [], INFINITY if any(leaf.status is Status.IMPOSSIBLE for leaf in self.leaf_goals) else goal.lower
        if self.merging or self.grown or goal.required != ANY:  # grown: its group may have other expressions
            self.group_of(goal.relations)
            if self.exact and goal.required != ANY:
                self.settle(self.figures(goal.relations).goal)  # so that what a sort of it costs is known
        others = listed(search, goal) if goal.group >= 0 else []  # enforcers, and expressions that rules found
        if self.exact and goal.required == ANY:
            ways, dropped = self.settle(goal)
        elif goal.required == ANY and not self.merging:
            ways, dropped = self._splits(goal)
        else:
            ways, dropped = self._joins(goal)
        if others:
            kept, cut = within_bar(search, goal, others)
            ways, dropped = sorted(ways + kept), min(dropped, cut)
        return ways, dropped

    def implementation(self, search: SearchContext, goal: Goal, way: Way) -> Implementation:
        if isinstance(way.what, Implementation):
            return way.what
        assert isinstance(way.what, Split)
        method, a, b = way.what
        join, left, right = Join(JoinKind.INNER, self.region.across(a, b)), self._props(a), self._props(b)
        self._joined[a | b] = matching_props(join.predicate, left, right)  # for the join above it, which comes next
        bound = Tree(join, (Leaf(-1, left), Leaf(-1, right)))
        for rule in search.rules.implementing(join):
            for op in rule.apply(bound, search.context):
                if type(op) is method:
                    return Implementation(op, Alternative((ANY, ANY)), None)
        raise AssertionError(f"no {method.name} joins {self.show(a)} and {self.show(b)}")

    def _props(self, s: Relations) -> LogicalProps:
        """What is known of the columns of a set that needs no group: which are equal."""
        known = self._joined.get(s)
        if known is None:
            known = self._joined[s] = matching_props(self.region.within(s), *(self.leaves[i].props for i in column_ids(s)))
        return known

    def costed(self, search: SearchContext, goal: Goal) -> list[Way]:
        ways = list((goal.listed or {}).values())
        if goal.required == ANY and not self.merging and goal.relations & (goal.relations - 1):
            known = self.table is not None and goal.way is not None
            ways += [self.by_table(goal.relations)] if known else self._settled_splits(goal)
        return [way for way in ways if not isinstance(way.what, LogicalExpr) and all(i.way is not None for i in way.inputs)]

    def _settled_splits(self, goal: Goal) -> list[Way]:
        found = []
        s = goal.relations
        for a in self.splits_of(s):
            if a in self.sets and s ^ a in self.sets:
                split, local = self._cheapest(a, s ^ a, self.figures(s))
                found.append(Way(local, 0, local, (self.sets[split.left].goal, self.sets[split.right].goal), split))
        return found

    # -- ways ---------------------------------------------------------------------------------------------------------------

    def _splits(self, goal: Goal) -> tuple[list[Way], float]:
        """The splits of a set within the bar, as joins costed by arithmetic."""
        s = goal.relations
        parts, own, ways = self.splits_of(s), self.figures(s), list[Way]()
        self._count(s, parts)
        for number, a in enumerate(parts):
            split, local = self._cheapest(a, s ^ a, own)
            left, right = self.sets[split.left].goal, self.sets[split.right].goal
            ways.append(Way(local + left.lower + right.lower, number - len(parts), local, (left, right), split))
        kept, dropped = within_bar(self.search, goal, ways)
        return kept, min(dropped, goal.lower) if self.heuristic else dropped

    def _joins(self, goal: Goal) -> tuple[list[Way], float]:
        """The splits within the bar, for which a join is chosen when they are reached."""
        search = self.search
        best = goal.best_cost
        for way in (goal.listed or {}).values():  # enforcers over what is settled
            if len(way.inputs) == 1 and way.inputs[0].settled:
                best = min(best, way.local + way.inputs[0].best_cost)
        bar = min(goal.limit, best / (1.0 + TIE))
        prune = search.prune or self.table is not None
        done = self._reached.get(goal, ())
        ways: list[Way] = []
        dropped = goal.lower if self.heuristic else INFINITY
        for number, (a, b, bound) in enumerate(self._bounded(goal)):
            if a in done or b in done:
                continue
            if bound > bar and prune:
                dropped = min(dropped, bound)
                search.counters.pruned["group_bound"] += 1
                if search.trace is not None:
                    self._emit_cut(goal, a, b, bound, best)
                continue
            below = self.figures(a).goal, self.figures(b).goal
            ways.append(Way(bound, -1 - number, 0.0, below, Split(PhysicalOperator, a, b)))
        kept, cut = within_bar(search, goal, ways)
        return kept, min(cut, dropped)

    def expressions(self, search: SearchContext, goal: Goal, way: Way) -> list[Way]:
        """Both joins of a split as logical expressions, without one whose left rows cannot lead to the goal's traits. They belong
        to the region: no rule sees them."""
        assert isinstance(way.what, Split)
        _, a, b = way.what
        self._reached.setdefault(goal, set()).add(a)
        both = [(left, right) for left, right in ((a, b), (b, a)) if goal.required == ANY or self._leads(left, goal)]
        return [Way(way.bound, way.number, 0.0, (), self._join(left, right)) for left, right in both]

    def _leads(self, left: Relations, goal: Goal) -> bool:
        """Whether joins of which these are the left rows may have what a goal requires: our joins keep the order of their left
        rows, but for nested loops with a single one. Where joins are not costed by arithmetic there may be others."""
        if self.costs is None:
            return True
        groups, required = self.search.memo.groups, goal.required
        output = groups[goal.group].props
        wanted = output.closure(required.grouping) if required.grouping else output.equivalents(required.collation[0].column)
        if self.columns(left) & wanted:
            return True
        return any(not key & ~output.closure(0) for key in groups[self.group_of(left)].props.keys)

    def _emit_cut(self, goal: Goal, a: Relations, b: Relations, bound: float, best: float) -> None:
        """A split was cut, since a plan costs `best`. What the table cuts has no goals: a trace must not make any."""
        below = () if self.table is not None else (self.figures(a).goal, self.figures(b).goal)
        parts = {"left": self.members(a), "right": self.members(b)} if self.table is not None else {}
        way = Way(bound, 0, 0.0, below, Split(PhysicalOperator, a, b))
        self.search.emit_prune(goal, way, "group_bound", bound, best, **parts)

    def _bounded(self, goal: Goal) -> list[tuple[Relations, Relations, float]]:
        """The splits of a set, and what a plan through each costs at least."""
        s = goal.relations
        if self.table is not None and not self.heuristic:
            left, right, bound = self.table.bounds(s, self.orders.starts(self, goal.required))
            return list(zip(left.tolist(), right.tolist(), (bound * ROUNDING).tolist(), strict=True))
        parts = self.splits_of(s)
        self._count(s, parts)
        least = 0.0
        if self.costs is not None and self.search.use_bounds:
            least = self.costs.start + self.costs.out * self.figures(s).rows
        return [(a, s ^ a, self._split_bound(a, s ^ a, least)) for a in parts]

    def _split_bound(self, a: Relations, b: Relations, least: float) -> float:
        if self.costs is not None and self.search.use_bounds:
            least += self.costs.least_input * (self.figures(a).rows + self.figures(b).rows)
        return (least + self.at_least(a) + self.at_least(b)) * ROUNDING

    def _join(self, a: Relations, b: Relations) -> LogicalExpr:
        """The join of two sets, the first one left."""
        known = self._made.get((a, b))
        if known is None:
            join = Join(JoinKind.INNER, self.region.across(a, b))
            inputs = (self.group_of(a), self.group_of(b))
            into, source = self.group_of(a | b), self.whole.id
            known = self._made[a, b] = self.search.memo.add_logical(join, inputs, into, PARTITION, source, unseen=True)
        return known

    def _count(self, s: Relations, parts: Sequence[Relations]) -> None:
        if s not in self._counted:
            self._counted.add(s)
            self.pairs += len(parts)
            if self.dominated:
                keys = self.region.keys
                keyed = len(parts) if self.region.plain else sum(1 for a in parts if keys.neighbours(a) & (s ^ a))
                self.search.counters.pruned["dominated"] += keyed
