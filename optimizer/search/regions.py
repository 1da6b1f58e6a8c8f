"""What becomes of each region of inner joins: decided when the query is in the memo, and anew when rules put joins beside it.

    EXPAND  all its joins become expressions of the memo, since a rule wants to look into them
    SPLITS  its sets of relations are goals whose ways are splits (`region_ways`); no rule looks into it

A join graph that rules make waits until all rules were applied around it, and is then decided in the same way.

How the splits are then searched - by the table of all sets, by tasks, or in one order that heuristics find - depends on their
number and is decided when the region is first opened (`region_start`).
"""

from enum import StrEnum
from typing import NamedTuple

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Scan
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.query_blocks import with_blocks_of
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import TraitSet
from optimizer.algebra.trees import Tree
from optimizer.cost.joins import JoinCosts
from optimizer.errors import SettingsError
from optimizer.figures import Figures
from optimizer.joins.collect import collect_join_graphs
from optimizer.joins.csg import count_connected_sets
from optimizer.joins.graph import Relations, bits
from optimizer.joins.inner import InnerRegion, inner_region
from optimizer.joins.join_order import read_join_order, subtrees
from optimizer.joins.placed_order import aliases_of, place_order
from optimizer.joins.region import JoinRegion
from optimizer.joins.set_table import Methods
from optimizer.memo.goal import Goal
from optimizer.memo.group import Group
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.implement.join_to_hash_join import JoinToHashJoin
from optimizer.rules.implement.join_to_merge_join import JoinToMergeJoin
from optimizer.rules.implement.one_to_one import JOIN_TO_NESTED_LOOP_JOIN
from optimizer.rules.transform.aggregate_pull_join import AggregatePullJoin, may_be_pulled
from optimizer.rules.transform.partition_joins import PartitionJoins
from optimizer.rules.transform.partition_region import PartitionRegion
from optimizer.search.context import OfSearch, SearchContext, Source
from optimizer.search.group_ways import GroupWays
from optimizer.search.missed_by_rules import missed_by_rules
from optimizer.search.region_start import start
from optimizer.search.region_ways import RegionWays
from optimizer.search.set_goals import PARTITION


class Method(StrEnum):
    EXPAND = "expand"
    SPLITS = "splits"


_RAISING = "whose condition may raise"
_REGROUPING = (  # rules that change the order of two joins
    "join_associate", "join_associate_left", "join_associate_reverse", "join_exchange_full", "join_exchange_inner",
    "join_exchange_left", "join_exchange_semi",
)  # fmt: skip


class Decision(NamedTuple):
    """`lost`: what is not searched, so that nothing is proven. `open`: rules have to see all splits."""

    method: Method
    why: str
    lost: str = ""
    open: bool = False


class Regions(OfSearch):
    """Which goals have which source (`context.Sources`). `wholes`: the join graphs of the query, with what was decided, and those
    made by rules whose splits are no expressions, unless they are parts of one."""

    def __init__(self, search: SearchContext) -> None:
        super().__init__(search)
        self.wholes: dict[LogicalExpr, Decision] = {}
        self.made: list[RegionWays] = []
        self.start = start  # how regions that are made from now on begin
        self.groups = GroupWays()
        self._waiting: list[LogicalExpr] = []  # join graphs that rules made
        self._by_goal: dict[int, int] = {}  # numbers of regions: these refer to both, and nothing is to hold itself
        self._by_group: dict[int, int] = {}
        rules = search.rules
        self.partitioning = [(bit, rule) for bit, rule in rules.numbered if isinstance(rule, PartitionJoins | PartitionRegion)]
        self._bit = rules.bits.get(PARTITION, 0)
        self._forms = False
        order = search.context.settings.join_order
        self._order = read_join_order(order) if order else None
        self._mixed = PartitionRegion.name in rules.bits
        self._too_many: set[Predicate] = set()  # of joins that are not inner, in regions too large to be ordered as a whole
        self._several = list[LogicalExpr]()  # regions of several kinds of more than expand_joins relations
        self._regrouping = sum(rules.bits.get(name, 0) for name in _REGROUPING)
        joins, loop = rules.joins, type(JOIN_TO_NESTED_LOOP_JOIN)
        known = joins <= {JoinToHashJoin, JoinToMergeJoin, loop}
        self._costs: JoinCosts | None = search.linear.join_costs() if known and search.linear is not None else None
        self._methods = Methods(JoinToHashJoin in joins, loop in joins, JoinToMergeJoin in joins)

    def collect(self, tree: Tree) -> Tree:
        """The query with every region of joins as one operator, where joins are ordered by partitioning. Raises SettingsError
        where the join order asked for is none of the query's."""
        if self._order is not None and not self._bit:
            raise SettingsError("join_order needs the rule partition_joins, which is off")
        context = self.search.context
        self.search.context = context = context._replace(blocks=with_blocks_of(tree, context.blocks))
        cross = context.settings.cross_products
        collected = collect_join_graphs(tree, self._takes, cross) if self._bit else tree
        centres = not (self._bit and self._mixed) and "aggregate_split_join" in self.search.rules.bits
        for why in missed_by_rules(tree, context, joins=not self._bit, centres=centres):
            self.search.counters.narrow(why)
        if self._order is not None:
            placed = place_order(self._order, collected, cross)
            self.search.context = context._replace(forced=placed)
        return collected

    def _takes(self, region: JoinRegion) -> bool:
        """Whether a region of several kinds of joins is ordered as a whole."""
        settings = self.search.context.settings
        if not self._mixed:
            return False
        if self._order is not None and any(left | right <= aliases_of(region.leaves) for left, right in subtrees(self._order)):
            return True
        if settings.enumeration != "adaptive" or len(region.leaves) < settings.exact_mixed_below:
            return True
        if count_connected_sets(region.graph, settings.exact_mixed_sets) <= settings.exact_mixed_sets:
            return True
        self._too_many |= {each.predicate for each in region.operators if each.operator.kind is not JoinKind.INNER}
        return False

    def decide(self, splits: bool = True) -> None:
        """Decide for each join graph of the query, or form of it, that has just been inserted; and anew for those there were, now
        that there is more around them. `splits`: the driver needs no expressions."""
        search = self.search
        self._waiting += [graph for graph in self.wholes if graph.rule is not None]
        for graph in self._waiting:
            self.wholes.pop(graph, None)
        by_cost = search.context.settings.decorrelate == "cost"
        self._forms = by_cost and search.memo.merges > 0  # trees of a choice have become one group
        most = search.context.settings.expand_joins
        self._several.clear()
        for group in search.memo.groups:
            graphs = [mexpr for mexpr in group.logical if isinstance(mexpr.op, JoinGraph) and mexpr.rule is None]
            self._several += [
                m for m in group.logical if isinstance(m.op, RegionGraph) and m.rule is None and len(m.inputs) > most
            ]
            if self.stay(group.logical):
                search.counters.narrow("joins of several kinds are too many to be tried in other orders")
            for mexpr in graphs:
                decision = self._decision(mexpr, len(graphs) > 1)
                self._decide(mexpr, decision)
                self._reckon(decision)
                n = len(mexpr.inputs)
                if n > most and AggregatePullJoin.name in search.rules.bits and self._pulled_in_part(mexpr):
                    search.counters.narrow(
                        f"no aggregate was pulled above some of {n} joined relations, which are more than expand_joins={most}"
                    )
                if splits and decision.method is not Method.EXPAND:
                    mexpr.barred |= self._bit  # rules do not see its splits
                elif mexpr.barred & self._bit:
                    self._waiting.append(mexpr)

    def _decide(self, graph: LogicalExpr, decision: Decision) -> None:
        self.wholes[graph] = decision
        if (trace := self.search.trace) is not None:
            group = self.search.memo.find(graph.group)
            trace.emit("region", mexpr=graph.id, group=group, method=decision.method.value, why=decision.why)

    def stay(self, made: list[LogicalExpr]) -> bool:
        """Keep those of the joins in their places that are of regions too large to be ordered as a whole, or made of these by
        rules; whether there are any."""
        if not self._too_many:
            return False
        kept = [each for each in made if isinstance(each.op, Join) and each.op.predicate in self._too_many]
        for each in kept:
            each.barred |= self._regrouping
        return bool(kept)

    def unseen(self, graph: LogicalExpr) -> bool:
        """Whether rules do not look into the joins of a join graph: as was decided for that of the query that it is part of."""
        return self._decided(graph).method is not Method.EXPAND

    def _decided(self, graph: LogicalExpr) -> Decision:
        whole = self._whole(graph)
        return self._decision(graph) if whole is None else self.wholes[whole]

    def _whole(self, graph: LogicalExpr) -> LogicalExpr | None:
        find = self.search.memo.find
        leaves = set(map(find, graph.inputs))
        return next((whole for whole in self.wholes if leaves <= set(map(find, whole.inputs))), None)

    def wait(self, made: list[LogicalExpr]) -> None:
        """Join graphs that rules make are not split before `looked_into` was asked, unless someone says how to search."""
        if self.search.context.settings.region != "auto":
            return
        for each in made:
            if isinstance(each.op, JoinGraph) and each.rule not in (None, PARTITION):
                each.barred |= self._bit
                self._waiting.append(each)

    def looked_into(self) -> list[LogicalExpr]:
        """Those of the join graphs whose splits are to be expressions, now that rules have found what is around them: a rule
        looks into them, or something would be lost else. Where there are none, those that wait are decided for good."""
        found, decided = self.overlooked(), dict[LogicalExpr, Decision]()
        for each in self._waiting:
            if each.dropped:
                continue
            decision = decided[each] = self._decided(each)
            alone = not any(isinstance(m.op, JoinGraph) and m is not each for m in self.search.memo.group(each.group).logical)
            if decision.method is Method.EXPAND or decision.lost or not alone:
                each.barred &= ~self._bit
                found.append(each)
        if not found:
            for each in sorted(decided, key=lambda graph: -len(graph.inputs)):
                if self._whole(each) is None:
                    self._decide(each, decided[each])
        self._waiting = [each for each in decided if each.barred & self._bit]
        return found

    def overlooked(self) -> list[LogicalExpr]:
        """Join graphs of the query that a rule looks into after all, by what rules have put beside them, and those that have some
        of their relations."""
        found, find, group = list[LogicalExpr](), self.search.memo.find, self.search.memo.group
        for region in self._several:
            if any(isinstance(m.op, Join) for gid in region.inputs for m in group(gid).logical):
                self.search.counters.narrow(
                    f"one of {len(region.inputs)} joined relations is made of joins, which were not tried among the others"
                )
        for graph, before in list(self.wholes.items()):
            if graph.rule is not None or graph.dropped or before.method is Method.EXPAND or before.lost:
                continue
            decision = self._decision(graph)
            if decision.method is Method.EXPAND or decision.lost:
                self._decide(graph, decision)
                self._reckon(decision)
            if decision.method is Method.EXPAND:
                leaves = set(map(find, graph.inputs))
                closed = [m for group in self.search.memo.live_groups() for m in group.logical if m.barred & self._bit]
                found += [m for m in closed if isinstance(m.op, JoinGraph) and leaves.issuperset(map(find, m.inputs))]
        for each in found:
            each.barred &= ~self._bit
        return found

    def _reckon(self, decision: Decision) -> None:
        self.search.open_splits |= decision.open
        if decision.lost:
            self.search.counters.narrow(decision.lost)

    def _decision(self, mexpr: LogicalExpr, several: bool = False) -> Decision:
        """`several`: its group has other join graphs, of other relations; a region is but one."""
        search = self.search
        memo, settings = search.memo, search.context.settings
        if "always" in search.rules.wishes:
            return Decision(Method.EXPAND, "a rule wants to see every join")
        why, lost, n = "", "", len(mexpr.inputs)
        leaves = [m for gid in mexpr.inputs for m in memo.group(gid).logical]
        small = "small" in search.rules.wishes
        lookups = small and settings.decorrelate == "cost" and self._looked_up(mexpr, leaves)
        beside = self._beside(mexpr, leaves) if small else ""
        if several:
            why = "the same rows come of other joins too"
        elif self._forms:
            why = "the query has other forms, of which this may be a part too"
        elif lookups:
            why = "a join may become a lookup in a table stored by the join column"
        elif small and any(self._may_be_pulled(m) for m in leaves):
            why = "an aggregate below may be pulled up"
        elif beside:
            why = f"another join {beside} may change places with these"
        elif small and n < settings.expand_joins and self._below_grouped(mexpr):
            why = "an aggregate between these and another join may be pulled up"
        if why and n <= settings.expand_joins and not (beside and self._too_many):
            return Decision(Method.EXPAND, why, open=beside == _RAISING)
        if several or lookups or self._forms or beside:
            how = "as lookups" if lookups else "beside others of the same rows" if several else "as parts of other forms"
            how = f"with a join {beside}" if beside else how
            lost = f"joins of {n} relations were not tried {how}"
        why = f"{why}, but there are more than {settings.expand_joins}" if why else "no rule looks into it"
        return Decision(Method.SPLITS, why, lost)

    def _beside(self, mexpr: LogicalExpr, leaves: list[LogicalExpr]) -> str:
        """Where a join is that these were not collected with: of another kind, or an inner one whose condition may raise."""
        above = [m.op for m in self.search.memo.group(mexpr.group).parents if isinstance(m.op, Join)]
        below = [m.op for m in leaves if isinstance(m.op, Join | RegionGraph)]
        if any(isinstance(op, Join) and op.kind is JoinKind.INNER for op in (*above, *below)):
            return _RAISING
        return "above" if above else "below" if below else ""

    def _pulled_in_part(self, mexpr: LogicalExpr) -> bool:
        """Whether an aggregate could be pulled above a join of it with one other of these relations, if that stood alone."""
        memo, context = self.search.memo, self.search.context
        region, leaves = region_of(self.search, mexpr), [memo.binding_leaf(gid) for gid in mexpr.inputs]
        for i, gid in enumerate(mexpr.inputs):
            for m in memo.group(gid).logical:
                if self._may_be_pulled(m):
                    aggregate = Tree(m.op, (memo.binding_leaf(m.inputs[0]),))
                    for j in bits(region.graph.neighbours(1 << i)):
                        join = Join(JoinKind.INNER, region.across(1 << i, j))
                        if AggregatePullJoin().apply(Tree(join, (aggregate, leaves[j.bit_length() - 1])), context):
                            return True
        return False

    def _below_grouped(self, mexpr: LogicalExpr) -> bool:
        """Whether groups of these joins are joined: pulled up, they leave these joins beside that one."""
        group = self.search.memo.group
        grouped = [m for m in group(mexpr.group).parents if self._may_be_pulled(m)]
        return any(isinstance(above.op, Join | JoinGraph | RegionGraph) for m in grouped for above in group(m.group).parents)

    def _may_be_pulled(self, mexpr: LogicalExpr) -> bool:
        return isinstance(mexpr.op, Aggregate) and may_be_pulled(mexpr.op, self.search.context)

    def _looked_up(self, mexpr: LogicalExpr, leaves: list[LogicalExpr]) -> bool:
        """Whether a relation is a table, or groups of one, stored by a column of the join's predicate."""
        assert isinstance(mexpr.op, JoinGraph)
        columns = predicate_columns(mexpr.op.predicate)
        grouped = [gid for m in leaves if isinstance(m.op, Aggregate) for gid in m.inputs]
        ops = [m.op for m in (*leaves, *(m for gid in grouped for m in self.search.memo.group(gid).logical))]
        return any(isinstance(op, Scan) and bool(op.order) and bool(columns >> op.order[0].column & 1) for op in ops)

    # -- sources ------------------------------------------------------------------------------------------------------------

    def of(self, goal: Goal) -> Source:
        number = self._by_goal.get(goal.id)
        return self.groups if number is None else self.made[number]

    def goal(self, search: SearchContext, group: Group, required: TraitSet) -> Goal:
        """A goal of a group for reduced traits, which it does not have yet."""
        placed = self._place(group)
        if placed is not None:
            return placed[0].goal(group, placed[1], required)
        lower = group.lower if search.use_bounds and search.explores_first else 0.0
        made = search.memo.new_goal(group.id, required, lower)
        search.emit_goal(made)
        return made

    def output(self, goal: Goal) -> tuple[ColumnSet, float]:
        return self.made[self._by_goal[goal.id]].output(goal)

    def group(self, goal: Goal) -> int:
        """The group of a goal; one is made for a set of relations that has none."""
        return goal.group if goal.group >= 0 else self.made[self._by_goal[goal.id]].group_of(goal.relations)

    def outgrown(self) -> bool:
        """Whether rules found other expressions for a region after it was taken for joins alone."""
        if self.search.exploration == "all":  # then all are found before
            return False
        return any(region.begun and region.found != region.found_now() for region in self.made)

    def methods(self) -> list[str]:
        """How each region of the query was searched: expand, table, tasks or one order."""
        expanded = [decision.method.value for decision in self.wholes.values() if decision.method is Method.EXPAND]
        return expanded + [region.method for region in self.made]

    def forget(self) -> None:
        """Goals and groups have changed: regions are made anew when they are asked for."""
        self.made.clear()
        self._by_goal.clear()
        self._by_group.clear()

    def _place(self, group: Group) -> tuple[RegionWays, Relations] | None:
        """The region and the set of relations that a group stands for, if its joins are not expressions."""
        number = self._by_group.get(group.id)
        if number is not None:
            known = self.made[number]
            return known, known.placed[group.id]
        graph = next((m for m in group.logical if isinstance(m.op, JoinGraph) and m.barred & self._bit), None)
        if graph is None:
            return None
        find = self.search.memo.find
        larger = sorted(self.wholes, key=lambda m: -len(m.inputs))
        for whole in [w for w in larger if self.wholes[w].method is Method.SPLITS and not w.dropped] + [graph]:
            if not set(map(find, graph.inputs)) <= set(map(find, whole.inputs)):
                continue
            region = next((each for each in self.made if each.whole is whole), None)
            if region is None:
                region = self._new_region(whole)
            assert isinstance(graph.op, JoinGraph)
            s = region.set_of([find(gid) for gid in graph.inputs], graph.op.predicate)
            if s is not None:
                self._by_group[group.id], region.placed[group.id] = region.number, s
                return region, s
        raise AssertionError(f"join graph {graph.id} is no part of any region")

    def _new_region(self, whole: LogicalExpr) -> RegionWays:
        search = self.search
        region = region_of(search, whole)
        correlated = bool(search.memo.group(whole.group).outer)  # some joins are evaluated once, some for each binding
        costs = self._costs if region.decided and not correlated else None
        figures = search.memo.figures
        assert isinstance(figures, Figures), "regions need the estimator's rows of sets"
        rows = figures.region_rows(region, [search.memo.group(gid) for gid in whole.inputs])
        made = RegionWays(search, whole, region, costs, self._methods, rows, self.start, (self._by_goal, self._by_group))
        made.number = len(self.made)
        self.made.append(made)
        return made


def region_of(search: SearchContext, graph: LogicalExpr) -> InnerRegion:
    """The relations and conjuncts of a join graph."""
    assert isinstance(graph.op, JoinGraph), f"{graph.op.name} is not a join graph"
    columns = tuple(search.memo.group(gid).props.columns for gid in graph.inputs)
    return inner_region(columns, graph.op.predicate, search.context.settings.cross_products, search.context.forced)
