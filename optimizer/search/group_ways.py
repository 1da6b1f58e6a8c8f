"""The ways of a group: its expressions under the implementation rules and trait alternatives, and enforcers."""

from bisect import insort
from collections.abc import Sequence

from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.traits import ANY, Alternative, TraitSet
from optimizer.algebra.trees import Tree, postorder
from optimizer.errors import BoundRefuted
from optimizer.joins.collect import written_order
from optimizer.memo.goal import INFINITY, ROUNDING, Goal, Implementation, Split, Way
from optimizer.memo.group import Group
from optimizer.memo.mexpr import LogicalExpr, PhysicalExpr
from optimizer.rules.enforce.moves import enforcers
from optimizer.rules.transform.partition_joins import PartitionJoins
from optimizer.rules.transform.partition_region import PartitionRegion
from optimizer.search.context import SearchContext
from optimizer.search.tasks.explore_input import ExploreInput

ALMOST = 1.0 - 1e-9  # of a bound: costs below it are more than rounding
FIRST = ROUNDING * ROUNDING  # of the bound of what is implemented: it goes before expressions that may cost the same


class GroupWays:
    """A source (`context.Source`). An expression that was not costed for the goal yet is a way that waits for OptimizeMExpr."""

    each = 0
    bounded = False
    enough = -1.0

    def ready(self, search: SearchContext, goal: Goal, limit: float) -> bool:
        group = search.memo.group(goal.group)
        if search.exploration != "on_demand" or group.explored or group.exploring:
            return True
        search.ask(goal, limit)
        search.push(ExploreInput(group.id))
        return False

    def ways(self, search: SearchContext, goal: Goal) -> tuple[list[Way], float]:
        if goal.listed is None:
            group = search.memo.group(goal.group)
            if all(m.op.unordered for m in group.logical):  # rules may not split it any more
                if search.context.partition is None or _splits(search, group.logical[0]):
                    given(search, group)
                    search.arrived([])  # what was inserted may have united groups
        return within_bar(search, goal, listed(search, goal))

    def expressions(self, search: SearchContext, goal: Goal, way: Way) -> list[Way]:
        return []

    def costed(self, search: SearchContext, goal: Goal) -> list[Way]:
        ways = (goal.listed or {}).values()
        return [way for way in ways if isinstance(way.what, Implementation) and all(below.settled for below in way.inputs)]

    def implementation(self, search: SearchContext, goal: Goal, way: Way) -> Implementation:
        assert isinstance(way.what, Implementation)
        return way.what


def listed(search: SearchContext, goal: Goal) -> list[Way]:
    """Enforcers and the expressions of the goal's group, or the ways that it has kept, with what is known now of their inputs."""
    if goal.listed is not None:
        return [_rebound(search, way) for way in goal.listed.values()]
    found = enforcing(search, goal)
    for mexpr in search.memo.group(goal.group).logical:
        if not mexpr.op.unordered:  # regions have no order yet
            found.append(waiting_way(search, mexpr))
    goal.listed = {way.number: way for way in found}
    return found


def within_bar(search: SearchContext, goal: Goal, ways: list[Way]) -> tuple[list[Way], float]:
    """Ways in order of their bounds, without those above the goal's limit or not below its best plan; and the least bound cut."""
    dropped = INFINITY
    kept = []
    for way in ways:
        if search.cut(goal, way.bound):
            dropped = min(dropped, way.bound)
            mechanism = "group_bound" if isinstance(way.what, LogicalExpr | Split) else "predicted"
            search.counters.pruned[mechanism] += 1
            search.emit_prune(goal, way, mechanism, way.bound)
        else:
            kept.append(way)
    kept.sort()
    return kept, dropped


def _rebound(search: SearchContext, way: Way) -> Way:
    if isinstance(way.what, LogicalExpr):
        return way._replace(bound=search.expression_bound(way.what))
    return way._replace(bound=at_least(way.local, way.inputs) * FIRST)


def at_least(local: float, inputs: tuple[Goal, ...]) -> float:
    """What a plan over these inputs costs at least; added up as its cost is, so that rounding cannot put the bound above it."""
    for below in inputs:
        local += below.lower
    return local


def waiting_way(search: SearchContext, mexpr: LogicalExpr) -> Way:
    """An expression that was not costed yet as a way."""
    search.counters.ways += 1
    return Way(search.expression_bound(mexpr), search.counters.ways, 0.0, (), mexpr)


def implementation_way(
    search: SearchContext, goal: Goal, mexpr: LogicalExpr, physical: PhysicalExpr, alternative: Alternative
) -> Way:
    """A physical expression of a logical one with chosen input traits as a way. Raises BoundRefuted where it costs less than
    the least of any implementation."""
    inputs = tuple(map(search.goal, physical.inputs, alternative.inputs))
    local = search.local_cost(goal, physical, alternative.delivered)
    if search.use_bounds and local < search.least(mexpr) * ALMOST:
        raise BoundRefuted(search.cost.name, mexpr.least, f"{physical.op.name}, an implementation of {mexpr.op.name},", local)
    return _way(search, local, inputs, Implementation(physical.op, alternative, physical))


def enforcing(search: SearchContext, goal: Goal) -> list[Way]:
    """Moves from strictly weaker goals of the same group; none when nothing is required, or no enforcer may be used. A partial
    sort that costs as much as sorting a plan without any order is left out: its input costs no less than that plan."""
    group = search.memo.group(goal.group)
    found = []
    bar = INFINITY
    for op, needs, delivers in enforcers(goal.required, group.offers, group.props, search.rules.enforcers):
        local = search.local(group, op, delivers, [group])
        search.counters.costed += 1
        if needs == ANY:
            bar = local
        elif local >= bar and search.orders_cost:
            search.counters.pruned["dominated"] += 1
            continue
        below = search.goal(group.id, needs)
        if search.trace is not None:
            search.trace.emit("enforce", goal=goal.id, op=op.name, local=local, inputs=[below.id])
        found.append(_way(search, local, (below,), Implementation(op, Alternative((needs,), delivers), None)))
    return found


def _way(search: SearchContext, local: float, inputs: tuple[Goal, ...], what: Implementation) -> Way:
    search.counters.ways += 1
    return Way(at_least(local, inputs) * FIRST, search.counters.ways, local, inputs, what)


def add_way(search: SearchContext, goal: Goal, way: Way) -> None:
    """Add a way to a goal that is open."""
    if goal.listed is not None:
        goal.listed[way.number] = way
    insort(goal.ways, way, lo=goal.next)


def emit_alternatives(
    search: SearchContext, kind: str, goal: Goal, physical: PhysicalExpr, alternatives: Sequence[Alternative],
    index: int | None = None, offer: TraitSet | None = None,
) -> None:  # fmt: skip
    """Tell a trace what was passed through, or derived from the offer of input `index`."""
    if search.trace is None:
        return
    label = search.context.columns.label
    for alternative in alternatives:
        search.trace.emit(
            kind, goal=goal.id, mexpr=physical.id, required=goal.required.show(label), input=index,
            offered=None if offer is None else offer.show(label), delivered=alternative.delivered.show(label),
            inputs=[traits.show(label) for traits in alternative.inputs],
        )  # fmt: skip


def given(search: SearchContext, group: Group) -> LogicalExpr:
    """An expression of a group that leads to a complete plan in a few steps: that of the query, or a first order of its joins."""
    nary = next((m for m in group.logical if m.op.unordered), None)
    for mexpr in group.logical:
        if not mexpr.op.unordered and (mexpr.rule is None or nary is None):
            return mexpr
    assert nary is not None, f"group {group.id} has no expression"
    settings = search.context.settings
    few = settings.join_order or settings.enumeration == "left_deep" or search.context.partition is not None
    splits = _splits(search, nary) if few else ()  # one of the joins that may be; its inputs get theirs in turn
    tree = splits[0] if splits else written_order(search.memo.bound(nary))
    gid, new = search.memo.insert(tree, group.id)
    partition = _partition(nary)
    joins = [part for part in postorder(tree) if isinstance(part, Tree)]
    closed = [join.op for join in joins if partition.closed(join, None, search.context) is not None]
    for mexpr in new:
        if mexpr.op in closed:
            mexpr.barred |= search.barred(partition.name)  # as what partitioning makes
    return next(mexpr for mexpr in search.memo.group(gid).logical if mexpr.op == tree.op)


def _splits(search: SearchContext, nary: LogicalExpr) -> Sequence[Tree]:
    """The joins into which partitioning splits a region."""
    return _partition(nary).apply(search.memo.bound(nary), search.context)


def _partition(nary: LogicalExpr) -> PartitionJoins | PartitionRegion:
    return PartitionRegion() if isinstance(nary.op, RegionGraph) else PartitionJoins()
