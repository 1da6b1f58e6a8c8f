"""A join order for a region that is too large to be searched exactly: greedy, as expressions of the memo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Join
from optimizer.algebra.trees import Tree
from optimizer.joins.costing import COutCosting
from optimizer.joins.graph import Relations, joins_of
from optimizer.joins.greedy import greedy
from optimizer.joins.inner import InnerRegion, inner_region
from optimizer.joins.policy import Enumeration, choose
from optimizer.memo.group import LogicalExpr
from optimizer.stats.region import RegionRows

if TYPE_CHECKING:
    from optimizer.search.search import Search


def why_not_exact(search: Search, mexpr: LogicalExpr) -> str:
    """Why the orders of a join graph are not all to be searched; empty when they are."""
    settings = search.context.settings
    if settings.enumeration != "adaptive":
        return ""
    choice = choose(
        _region(search, mexpr).graph,
        exact_below=settings.exact_below,
        csgs=settings.exact_sets,
        linearized_up_to=settings.linearized_up_to,
    )
    return "" if choice.enumeration is Enumeration.EXACT else choice.why


def insert_greedy_order(search: Search, mexpr: LogicalExpr, rule: str) -> list[LogicalExpr]:
    """Insert the joins of a greedy order of a join graph, each in both directions, under the rule's name; those that are new.

    Greedy: smallest results first (GOO), by rows that are products of the selectivities between two relations.
    """
    memo, region = search.memo, _region(search, mexpr)
    leaves = [memo.group(gid) for gid in mexpr.inputs]
    rows = RegionRows([leaf.stats for leaf in leaves], region.predicate)
    single = [leaf.stats.rows for leaf in leaves]
    shares = {}
    for u, v in region.graph.edges():
        product = single[u] * single[v]
        shares[u, v] = min(1.0, rows.rows(1 << u | 1 << v) / product) if product else 1.0
    groups: dict[Relations, int] = {1 << i: leaf.id for i, leaf in enumerate(leaves)}
    new: list[LogicalExpr] = []
    for a, b in joins_of(greedy(region.graph, COutCosting(single, shares)).tree):
        join = Join(JoinKind.INNER, region.across(a, b))
        into = mexpr.group if a | b == region.graph.all else None
        for left, right in ((a, b), (b, a)):
            tree = Tree(join, (memo.binding_leaf(groups[left]), memo.binding_leaf(groups[right])))
            groups[a | b], added = memo.insert(tree, into, rule, mexpr.id)
            new += added
    return new


def _region(search: Search, mexpr: LogicalExpr) -> InnerRegion:
    assert isinstance(mexpr.op, JoinGraph), f"{mexpr.op.name} is not a join graph"
    columns = tuple(search.memo.group(gid).props.columns for gid in mexpr.inputs)
    return inner_region(columns, mexpr.op.predicate, search.context.settings.cross_products)
