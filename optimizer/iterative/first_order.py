"""A first join order of a join graph, as expressions of the memo: a plan before its splits are enumerated, or instead."""

from collections.abc import Callable, Sequence

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.trees import Tree
from optimizer.figures import Figures
from optimizer.joins.graph import Relations, bits, joins_of
from optimizer.joins.inner import InnerRegion, splitter
from optimizer.joins.policy import Enumeration, choice_of
from optimizer.joins.region_costing import smallest_first
from optimizer.memo.group import Group
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.transform.partition_joins import part
from optimizer.search.context import SearchContext
from optimizer.search.regions import region_of


def why_not_exact(search: SearchContext, mexpr: LogicalExpr) -> str:
    """Why the orders of a join graph are not all to be searched; empty when they are."""
    settings = search.context.settings
    if settings.enumeration != "adaptive":
        return ""
    choice = choice_of(region_of(search, mexpr), settings)
    return "" if choice.enumeration is Enumeration.EXACT else choice.why


def insert_first_order(search: SearchContext, mexpr: LogicalExpr, rule: str, unseen: bool) -> list[LogicalExpr]:
    """Insert the joins of one order of a join graph under the rule's name, each in both directions; what is new.

    They are joins that partitioning would find too. As there, each set of relations is a join graph before it is anything
    else, so that figures and offers of its group do not depend on who made it.
    """
    memo, region = search.memo, region_of(search, mexpr)
    leaves = [memo.binding_leaf(gid) for gid in mexpr.inputs]
    left_deep = search.context.settings.enumeration == "left_deep"
    new: list[LogicalExpr] = []
    partition = search.context.partition
    if partition is not None:
        joins = _first_splits(region, splitter(region, partition, left_deep, in_order=False))
    else:
        joins = _left_deep(region) if left_deep else _greedy(search, region, [memo.group(gid) for gid in mexpr.inputs])
    for a, b in joins:
        join = Join(JoinKind.INNER, region.across(a, b))
        into = mexpr.group
        whole = part(region, a | b, leaves)
        if a | b != region.graph.all and isinstance(whole, Tree):
            into, graphs = memo.insert(whole, None, rule, mexpr.id, within=memo.group(mexpr.group))
            new += graphs
        for one, other in ((a, b), (b, a)):
            tree = Tree(join, (part(region, one, leaves), part(region, other, leaves)))
            new += memo.insert(tree, into, rule, mexpr.id, unseen=unseen)[1]
    return new


def _greedy(search: SearchContext, region: InnerRegion, leaves: list[Group]) -> Sequence[tuple[Relations, Relations]]:
    """Smallest results first, by rows that are products of the selectivities between two relations."""
    figures = search.memo.figures
    assert isinstance(figures, Figures)
    rows = [leaf.stats.rows for leaf in leaves]
    return joins_of(smallest_first(region, figures.region_rows(region, leaves), rows))


def _first_splits(region: InnerRegion, splits: Callable[[Relations], list[Relations]]) -> Sequence[tuple[Relations, Relations]]:
    """The first split of each set, inputs first, of an enumerator that is not ours; nothing where a set has none."""
    joins: list[tuple[Relations, Relations]] = []
    stack = [region.graph.all]
    while stack:
        s = stack.pop()
        if s & (s - 1):
            parts = splits(s)
            if not parts:
                return []
            joins.append((parts[0], s ^ parts[0]))
            stack += joins[-1]
    return joins[::-1]


def _left_deep(region: InnerRegion) -> Sequence[tuple[Relations, Relations]]:
    """From the first relation on, the lowest that an edge leads to, of a conjunct if there is one."""
    joins = []
    joined: Relations = 1
    while joined != region.graph.all:
        following = next(bits(region.links.neighbours(joined) or region.graph.neighbours(joined)))
        joins.append((joined, following))
        joined |= following
    return joins
