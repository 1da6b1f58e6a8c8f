"""The sub-plans of a query by the aliases of their relations, with the rows that the search takes them to have."""

from collections.abc import Iterable

from optimizer.algebra.columns import column_ids
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import Scan
from optimizer.algebra.predicates import combined, compare
from optimizer.algebra.props import merge_equivalences
from optimizer.algebra.scalars import ColumnRef, Predicate, Scalar
from optimizer.errors import Unsupported
from optimizer.figures import Figures
from optimizer.joins.graph import JoinGraph as Links
from optimizer.joins.graph import Relations
from optimizer.joins.inner import InnerRegion, inner_region
from optimizer.memo.group import Group
from optimizer.pipeline import OptimizedQuery
from optimizer.prepass.known import equalities
from optimizer.stats.relation import RelationStats

JOINS_ALONE = (  # rules to be off, so that no relation disappears, and no aggregate or lookup comes between the joins
    "foreign_key_join_remove", "aggregate_pull_join", "aggregate_push_join", "aggregate_split_join", "join_to_apply",
    "join_to_apply_grouped",
)  # fmt: skip


class SubPlans:
    """Of a planned query whose FROM is one region of inner joins of tables. `aliases`: its relations, in lower case. Rows are
    those that the query was planned with, also once its memo has been costed under others."""

    def __init__(self, query: OptimizedQuery) -> None:
        """Raises Unsupported when there is anything but tables to join."""
        memo = query.memo
        region = max((g for g in memo.live_groups() if g.region is not None), key=_relations, default=None)
        groups = memo.live_groups() if region is None or region.region is None else list(map(memo.group, region.region.leaves))
        found = {scan.alias.lower(): group for group in groups if (scan := scan_of(group)) is not None}
        if len(found) != (1 if region is None else len(groups)):
            raise Unsupported("estimates of sub-plans are shown for inner joins of tables only")
        assert isinstance(memo.figures, Figures), "estimates come from the figures of a search"
        self.aliases = tuple(found)
        self._leaves, self._figures = list(found.values()), memo.figures
        self._stats = [leaf.stats for leaf in self._leaves]
        self._bit = {alias: 1 << i for i, alias in enumerate(found)}
        predicate = region.region.predicate if region is not None and region.region is not None else ()
        self._region = inner_region(tuple(leaf.props.columns for leaf in self._leaves), predicate, False)
        self._rows = memo.figures.region_rows(self._region, self._leaves).rows
        self._equal = _equated_columns(predicate)

    @property
    def graph(self) -> Links:
        """The join graph; its relations are numbered as `aliases` are."""
        return self._region.graph

    def rows(self, aliases: Iterable[str]) -> float:
        """Estimated rows of the join of these relations under all predicates among them, filters of each included.

        Where only an equality that others imply connects them (a = b for a = c and c = b), it is added: the search does not
        ask for such a set, whoever counted the rows did.
        """
        s = self._set(aliases)
        if not s & (s - 1):
            return self._stats[s.bit_length() - 1].rows
        if self._region.graph.connected(s) and not self._region.cross:
            return self._rows(s)
        members = [leaf for i, leaf in enumerate(self._leaves) if s >> i & 1]
        predicate = combined([*self._region.within(s), *self._implied(members, self._region.within(s))])
        implied = InnerRegion(tuple(leaf.props.columns for leaf in members), predicate)
        return self._figures.region_rows(implied, members).rows(implied.graph.all)

    def stats(self, aliases: Iterable[str]) -> RelationStats:
        """What the search knows of the rows of a set that is joined."""
        s = self._set(aliases)
        members = [i for i in range(len(self._leaves)) if s >> i & 1]
        if len(members) == 1:
            return self._stats[members[0]]
        graph = JoinGraph(self._region.within(s))
        props = graph.derive_props([self._leaves[i].props for i in members])
        return self._figures.estimate(graph, props, [self._stats[i] for i in members])

    def _set(self, aliases: Iterable[str]) -> Relations:
        s = 0
        for alias in aliases:
            s |= self._bit[alias]
        return s

    def _implied(self, members: list[Group], within: Predicate) -> list[Scalar]:
        """Equalities that connect what the region equates by way of relations that are no members."""
        home = {column: i for i, leaf in enumerate(members) for column in column_ids(leaf.props.columns)}
        linked = {column: part for part in _equated_columns(within) for column in part}
        added: list[Scalar] = []
        for equal in self._equal:
            here = sorted((c for c in equal if c.id in home), key=lambda c: c.id)
            reached = set(linked.get(here[0], [here[0]])) if here else set()
            for column in here[1:]:
                if column not in reached:
                    added.append(compare("=", here[0], column))
                    reached |= set(linked.get(column, [column]))
        return added


def _relations(group: Group) -> int:
    return len(group.region.leaves) if group.region is not None else 0


def scan_of(group: Group) -> Scan | None:
    """The scan that a group of one table has."""
    return next((e.op for e in group.logical if isinstance(e.op, Scan)), None)


def _equated_columns(predicate: Predicate) -> list[tuple[ColumnRef, ...]]:
    """The columns that equalities of a predicate make equal, class by class."""
    columns = {each.id: each for conjunct in predicate for each in conjunct.children if isinstance(each, ColumnRef)}
    return [tuple(columns[id] for id in column_ids(members)) for members in merge_equivalences(equalities(predicate))]
