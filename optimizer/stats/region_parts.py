"""Inner joins that are a part of a region that was compiled before: the region has their rows already."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.columns import column_set
from optimizer.algebra.scalars import Predicate
from optimizer.stats.region import RegionRows, Relations
from optimizer.stats.relation import RelationStats


class RegionParts:
    """The sets of relations of a region, by their leaves and conjuncts. `rows`: the region's."""

    __slots__ = ("_leaves", "_predicate", "rows")

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
