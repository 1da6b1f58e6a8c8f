"""Regions within others: inner joins that are a part of a region that was compiled before, which has their rows already, and
regions of which some relations are joins themselves, so that the relations of these are the region's."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from optimizer.algebra.columns import column_ids, column_set, union
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate
from optimizer.stats.equality_class import Relations
from optimizer.stats.region import RegionRows
from optimizer.stats.relation import RelationStats, columns_of


class RegionParts:
    """The sets of relations of a region, by their leaves and conjuncts. `rows`: the region's."""

    def __init__(self, leaves: Sequence[RelationStats], predicate: Predicate, rows: RegionRows) -> None:
        self._leaves = {leaf: (1 << i, column_set(leaf.columns)) for i, leaf in enumerate(leaves)}
        self._predicate, self.rows = predicate, rows

    def part(self, leaves: Sequence[RelationStats], predicate: Predicate) -> Relations | None:
        """The set of these leaves, where just the conjuncts of `predicate` read nothing else; None where it is no such set."""
        s = columns = 0
        for leaf in leaves:
            if leaf not in self._leaves:
                return None
            relation, own = self._leaves[leaf]
            s |= relation
            columns |= own
        beyond = ~columns
        return s if tuple([each for each in self._predicate if not each.columns & beyond]) == predicate else None


def inner_parts(inputs: Sequence[RelationStats], predicate: Predicate) -> tuple[tuple[RelationStats, ...], Predicate]:
    """The relations of an inner join, by lowest column id, and its conjuncts. An input that hides columns which another has as
    well is one relation."""
    whole = set[RelationStats]()
    if any(stats.hides for stats in inputs):
        columns = [union(column_set(leaf.columns) for leaf in stats.leaves) for stats in inputs]
        for i, stats in enumerate(inputs):
            hidden = columns[i] & ~column_set(stats.columns)
            if hidden and any(hidden & other for j, other in enumerate(columns) if j != i):
                whole.add(stats)
    leaves = [leaf for stats in inputs for leaf in ((stats,) if stats in whole else stats.leaves)]
    below = [s for stats in inputs if stats not in whole for s in stats.predicate]
    return by_lowest_column(leaves), conjunction((*predicate, *below))


def by_lowest_column(leaves: Iterable[RelationStats]) -> tuple[RelationStats, ...]:
    return tuple(sorted(leaves, key=lambda leaf: min(leaf.columns, default=-1)))


def region_stats(rows: float, leaves: tuple[RelationStats, ...], predicate: Predicate, props: LogicalProps) -> RelationStats:
    """The figures of an inner join of so many rows, of those columns that it gives."""
    figures = columns_of(leaves)
    hides = len(figures) > props.columns.bit_count()
    if hides:
        figures = {c: f for c, f in figures.items() if props.columns >> c & 1}
    result = RelationStats(rows, figures, None, props.keys, leaves, predicate, hides)
    counted = [leaf.distinct for leaf in leaves if leaf.distinct]
    if counted:
        result.distinct = {columns: ndv for each in counted for columns, ndv in each.items()}
    return result


class WiderRows:
    """Rows of sets of `inputs`, some of which are joins of `leaves`, the relations of `region`."""

    def __init__(self, region: RegionRows, leaves: Sequence[RelationStats], inputs: Sequence[RelationStats]) -> None:
        place = {leaf: i for i, leaf in enumerate(leaves)}
        self._region, self._rows = region, [stats.rows for stats in inputs]
        self._masks = [column_set(place[leaf] for leaf in stats.leaves) for stats in inputs]

    def rows(self, s: Relations) -> float:
        if not s & (s - 1):
            return self._rows[s.bit_length() - 1]
        return self._region.rows(union(self._masks[i] for i in column_ids(s)))

    def vector(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        if max(self._masks) >= 1 << 62:
            return np.array([self.rows(s) for s in sets.tolist()])
        wide = np.zeros_like(sets)
        for i, mask in enumerate(self._masks):
            wide |= (sets >> i & 1) * mask
        rows = self._region.vector(wide)
        for i, own in enumerate(self._rows):
            rows[sets == 1 << i] = own
        return rows
