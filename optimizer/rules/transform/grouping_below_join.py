"""When rows may be grouped before a join instead of after it: what the rules that move aggregates and joins share.

Rows of an input that agree on the columns K⁺ which the join predicate and the grouping above read are alike for the join:
they have the same partners. So a group of them may go through the join as one row.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import or_
from typing import NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union
from optimizer.algebra.congruence import has_one_form
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import AggregateItem
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import combined, predicate_columns
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.query_blocks import Blocks, count_relations
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.trees import Leaf, Node, Tree
from optimizer.joins.graph import Relations, bits, subsets
from optimizer.joins.inner import InnerRegion, inner_region
from optimizer.joins.region import JoinRegion
from optimizer.rules.interface import RuleContext
from optimizer.rules.transform.partial_aggregates import may_overflow
from optimizer.rules.transform.partition_joins import part
from optimizer.rules.transform.partition_region import region_part

KEPT_LEFT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)  # left rows reach the output unchanged, or not at all
VIEWED = (Join, JoinGraph, RegionGraph)  # where `join_views` finds parts
MOST_FOR_ALL = 4  # up to here every connected set of relations may be grouped, beyond only single ones, and all but one


class JoinView(NamedTuple):
    """A join as one of two parts: `a`, which may be grouped, with `b`. `rest`: the leaves of `b` in a join graph; or, with
    `steps`, parts that are joined to `a` one after the other, each on its predicate."""

    join: Join
    a: Node
    b: Node
    rest: tuple[Node, ...] = ()
    within: Predicate = ()
    steps: tuple[Predicate, ...] = ()

    def over(self, a: Tree) -> Tree:
        """The join with `a` in the place of the part `a`."""
        if self.steps:
            for predicate, each in zip(self.steps, self.rest, strict=True):
                a = Tree(Join(JoinKind.INNER, predicate), (a, each))
            return a
        if not self.rest:
            return Tree(self.join, (a, self.b))
        return Tree(JoinGraph(combined((*self.join.predicate, *self.within))), (a, *self.rest))


class GroupingLimit(NamedTuple):
    """Up to how many relations (`most`) a join may have for its parts to be grouped."""

    most: int
    blocks: Blocks

    def count(self, leaves: Iterable[Node]) -> int:
        together = union(leaf.relations for leaf in leaves)
        return count_relations(together, together, self.blocks)

    def allows(self, a: ColumnSet, b: ColumnSet) -> bool:
        """Whether relations `a` may be grouped where they are joined with `b`."""
        n = count_relations(a | b, a | b, self.blocks)
        one = n > MOST_FOR_ALL and any(count_relations(each, a | b, self.blocks) == 1 for each in (a, b))
        return n <= self.most and (n <= MOST_FOR_ALL or one)


def join_views(below: Node, context: RuleContext) -> Iterator[JoinView]:
    """The parts of a join that may be grouped. A binary join shows its left input (its mirror image is in its group too), a join
    graph every part it has few enough relations for, and a region of several kinds, or of rules that order joins, those that no
    binary join has for an input; none where there are more than the setting expand_joins. Relations are counted as in the query,
    so that the parts are the same however they were joined first."""
    limit = GroupingLimit(context.settings.expand_joins, context.blocks)
    match below:
        case Tree(RegionGraph(JoinRegion() as several, s), leaves):
            inner = several.inner_predicate(s)
            if inner is None:
                if limit.count(leaves) <= min(limit.most, MOST_FOR_ALL):
                    leaf = dict(zip(bits(s), leaves, strict=True))
                    for centre, parts, inner in centres(several, s):
                        whole = Join(JoinKind.INNER, inner)
                        others = tuple(region_part(several, each, leaf) for each in parts)
                        yield JoinView(whole, region_part(several, centre, leaf), Tree(JoinGraph(()), others), others)
                return
            below = Tree(JoinGraph(inner), leaves)
    match below:
        case Tree(Join(kind) as join, (a, b)) if kind in KEPT_LEFT:
            if limit.allows(a.relations, b.relations):
                yield JoinView(join, a, b)
            if context.join_graph is not None and kind is JoinKind.INNER and isinstance(b, Leaf):
                yield from _between_pairs(context.join_graph(below), b, context.settings.cross_products, limit)
        case Tree(JoinGraph(predicate), leaves) if limit.count(leaves) <= limit.most:
            yield from _views_of_graph(predicate, leaves, context.settings.cross_products, context.forced, limit)


@lru_cache(maxsize=64)
def _views_of_graph(
    predicate: Predicate, leaves: tuple[Node, ...], cross: bool, forced: tuple[ColumnSet, ...], limit: GroupingLimit
) -> tuple[JoinView, ...]:
    """Those of a join graph; kept, since every rule asks for them, and derives properties of the parts."""
    region = inner_region(tuple(leaf.columns for leaf in leaves), predicate, cross, forced)
    found = []
    for s in _parts(region, leaves, limit):
        if region.forced.allows(s):
            rest = region.graph.all & ~s
            join = Join(JoinKind.INNER, region.across(s, rest))
            others = tuple(leaf for i, leaf in enumerate(leaves) if rest >> i & 1)
            found.append(JoinView(join, part(region, s, leaves), part(region, rest, leaves), others, region.within(rest)))
    return tuple(found)


def _parts(region: InnerRegion, leaves: Sequence[Node], limit: GroupingLimit) -> Iterator[Relations]:
    """The parts of a join graph that may be grouped."""
    for s in range(1, region.graph.all):
        inside, outside = (union(leaves[i].relations for i in column_ids(each)) for each in (s, region.graph.all ^ s))
        if limit.allows(inside, outside) and region.graph.connected(s):
            yield s


def _between_pairs(graph: Tree | None, last: Leaf, cross: bool, limit: GroupingLimit) -> Iterator[JoinView]:
    """Parts that no join of a graph has for an input, since they alone link the others. One of its joins shows them for all: the
    one with the first relation without which the others are linked."""
    match graph:
        case Tree(JoinGraph(predicate), leaves) if limit.count(leaves) <= limit.most:
            region = inner_region(tuple(leaf.columns for leaf in leaves), predicate, cross)
            all_ = region.graph.all
            first = next(i for i in range(region.n) if region.graph.connected(all_ ^ 1 << i))
            if leaves[first] != last or any(conjunct.raises for conjunct in predicate):
                return
            for s in _parts(region, leaves, limit):
                rest = region.graph.components(all_ ^ s)
                if len(rest) > 1:
                    a, *others = (_one_order(region, each, leaves) for each in (s, *rest))
                    joined = accumulate((s, *rest), or_)
                    steps = tuple(map(region.across, joined, rest))
                    whole = Join(JoinKind.INNER, region.across(s, all_ ^ s))
                    yield JoinView(whole, a, part(region, all_ ^ s, leaves), tuple(others), steps=steps)


def _one_order(region: InnerRegion, s: Relations, leaves: Sequence[Node]) -> Node:
    """A connected set as joins of two inputs, in any order."""
    joined = s & -s
    tree = leaves[joined.bit_length() - 1]
    while joined != s:
        following = next(bits(region.graph.neighbours(joined) & s))
        tree = Tree(Join(JoinKind.INNER, region.across(joined, following)), (tree, leaves[following.bit_length() - 1]))
        joined |= following
    return tree


def centres(region: JoinRegion, s: Relations) -> Iterator[tuple[Relations, list[Relations], Predicate]]:
    """Parts with which others, that nothing links to each other, are joined by inner joins: together they are one join graph."""
    for a in subsets(s):
        parts = region.graph.components(s ^ a)
        if len(parts) < 2 or not all(region.buildable(each) and region.forced.allows(each) for each in (a, *parts)):
            continue
        joins, together = [], a
        for each in parts:
            joins.append(region.joins(together, each))
            together |= each
        inner = [made.join for made in joins if made is not None and made.join.kind is JoinKind.INNER and not made.filter]
        predicate = combined([conjunct for join in inner for conjunct in join.predicate])
        if len(inner) == len(parts) and not any(conjunct.raises for conjunct in predicate):
            yield a, parts, predicate


def lower_keys(join: Join, keys: Iterable[ColumnId], side: Node, context: RuleContext) -> tuple[ColumnId, ...]:
    """K⁺: the columns of `side` that the predicate or the `keys` above read, ascending.

    Empty where there are none (a group without keys would be a row even over no input), and where the join may tell apart
    what a group does not: a volatile predicate, or one over floats (-0.0 and 0.0 are one group) or intervals.
    """
    read = predicate_columns(join.predicate) & side.columns
    if any(s.volatile for s in join.predicate) or not all(has_one_form(context.columns[id].type) for id in column_ids(read)):
        return ()
    return tuple(column_ids((read | column_set(keys)) & side.columns))


def may_see_more_rows(items: Iterable[AggregateItem]) -> bool:
    """Whether the aggregates may run on rows that a join would have removed: none is volatile, may raise or overflow."""
    return not any(item.call.volatile or item.call.raises or may_overflow(item.call) for item in items)


def determined_in_pairs(pairs: LogicalProps, left: LogicalProps, right: LogicalProps, known: ColumnSet) -> ColumnSet:
    """The columns that `known` fixes in the `pairs`, by the equalities of the join and by the keys of both inputs."""
    while True:
        closed = pairs.closure(known)
        for side in (left, right):
            closed |= side.closure(closed & side.columns)
        if closed == known:
            return known
        known = closed
