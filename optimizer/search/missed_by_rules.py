"""What rules that order joins do not try of a query, though partitioning its regions would: such a plan is not called proven."""

from collections.abc import Iterator

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.flags import CROSS_PRODUCT
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.joins.collect import collect_join_graphs
from optimizer.joins.region import JoinRegion
from optimizer.rules.interface import RuleContext
from optimizer.rules.transform.grouping_below_join import MOST_FOR_ALL, GroupingLimit
from optimizer.rules.transform.grouping_below_join import centres as centres_of
from optimizer.rules.transform.partition_region import region_part


def missed_by_rules(tree: Tree, context: RuleContext, joins: bool, centres: bool) -> Iterator[str]:
    """Why the space is smaller, in words. `joins`: rules order all joins. `centres`: rules order those of several kinds, and
    grouping goes below joins."""
    cross = context.settings.cross_products
    if joins and not cross and _crosses(tree):
        yield "cross products stay where they are without cross_products=true"
    if joins and _parts_conjuncts(tree):
        yield "no rule parts the conjuncts of a join that read the NULLs of an outer join from its others"
    if centres:
        regions = collect_join_graphs(tree, lambda region: True, cross)
        if _groups_centres(regions, GroupingLimit(context.settings.expand_joins, context.blocks)):
            yield "relations between others of several kinds of joins are not grouped below them"


def _crosses(tree: Tree) -> bool:
    """Whether a cross product is next to another join: no rule regroups the two."""
    if not tree.flags & CROSS_PRODUCT:
        return False
    joins = [(node.op, node) for node in postorder(tree) if isinstance(node, Tree) and isinstance(node.op, Join)]
    pairs = [
        (op, below.op) for op, node in joins for below in node.inputs if isinstance(below, Tree) and isinstance(below.op, Join)
    ]
    return any(op.kind is JoinKind.INNER and not op.predicate for pair in pairs for op in pair)


def _groups_centres(tree: Tree, limit: GroupingLimit) -> bool:
    """Whether below grouping there is a region within the limit with a part that has others between it, joined by inner joins:
    rules see that only where the inner joins at its top, as they are written, join whole parts."""
    known = set[int]()  # with such a region below
    for node in postorder(tree):
        if isinstance(node, Tree):
            below = any(id(side) in known for side in node.inputs)
            if below and isinstance(node.op, Aggregate):
                return True
            if below or (
                isinstance(node.op, RegionGraph)
                and limit.count(node.inputs) <= limit.most
                and _has_centre(node.op, node.inputs, limit)
            ):
                known.add(id(node))
    return False


def _has_centre(op: RegionGraph, leaves: tuple[Node, ...], limit: GroupingLimit) -> bool:
    region, leaf = op.region, {1 << i: each for i, each in enumerate(leaves)}
    assert isinstance(region, JoinRegion)
    others = [each.operator.relations for each in region.operators if each.operator.kind is not JoinKind.INNER]
    if limit.count(leaves) > MOST_FOR_ALL:
        return len(region.operators) - len(others) > 1  # then some part of it may
    for a, parts, predicate in centres_of(region, op.relations):
        if any(all(each & ~part for part in (a, *parts)) for each in others):
            props = region_part(region, a, leaf).props
            if not props.unique_on(predicate_columns(predicate) & props.columns):
                return True
    return False


def _parts_conjuncts(tree: Tree) -> bool:
    """Whether some of the conjuncts of inner joins read what an outer join below makes NULL, and others need not wait for it:
    (A ⟕ B) ⋈[p ∧ q] C  ≡  σ[q]((A ⋈p C) ⟕ B), q over B and C."""
    known: dict[int, tuple[ColumnSet, int, bool]] = {}  # of joins: columns made NULL, inner conjuncts, whether some read those
    for node in postorder(tree):
        if not isinstance(node, Tree) or not isinstance(join := node.op, Join):
            continue
        (nulls, count, reads), (more, others, read) = (known.get(id(side), (0, 0, False)) for side in node.inputs)
        nulls, count, reads = nulls | more, count + others, reads or read
        if join.kind is JoinKind.INNER:
            count, reads = count + len(join.predicate), reads or any(s.columns & nulls for s in join.predicate)
        for side, kinds in zip(node.inputs, ((JoinKind.RIGHT, JoinKind.FULL), (JoinKind.LEFT, JoinKind.FULL)), strict=True):
            nulls |= side.columns if join.kind in kinds else 0
        if reads and count > 1:
            return True
        known[id(node)] = nulls, count, reads
    return False
