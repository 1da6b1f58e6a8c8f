"""What is certain of the rows of a relation: never too few rows, never too small a number of repetitions.

Sound figures are row counts, numbers of NULLs, least and greatest values, declared keys, and degree sequences
(`ColumnStats.degrees`). The shares of common values and the rows of histogram buckets may be estimates, and distinct counts
nearly always are: common values are used where a degree sequence shows that all rows were counted, the others never.
"""

from collections.abc import Callable
from typing import NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids
from optimizer.algebra.props import LogicalProps
from optimizer.stats.degrees import Steps, capped, first, most, one_value, unique, with_value
from optimizer.stats.relation import RelationStats


class ColumnBounds(NamedTuple):
    """`degrees`: of the values that are not NULL. `nulls`: rows with NULL, at most. `values`: distinct values, at most."""

    degrees: Steps
    nulls: float
    values: float


class Bounds:
    """`rows`: at most so many. What is known of a column is found when it is asked for: `describe` says it, None for nothing."""

    __slots__ = ("_describe", "_found", "props", "rows")

    def __init__(self, rows: float, props: LogicalProps, describe: Callable[[ColumnId], ColumnBounds | None]) -> None:
        self.rows, self.props, self._describe = rows, props, describe
        self._found: dict[ColumnId, ColumnBounds] = {}

    def column(self, id: ColumnId) -> ColumnBounds:
        found = self._found.get(id)
        if found is None:
            known = self._describe(id)
            if known is None:
                known = ColumnBounds(one_value(self.rows), self.rows, self.rows)
            degrees = capped(known.degrees, self.rows)
            if most(degrees) > 1 and self.props.unique_on(1 << id):
                degrees = unique(self.rows)
            nulls = 0.0 if self.props.not_null >> id & 1 else min(known.nulls, self.rows)
            if self.props.constants >> id & 1:
                degrees = first(degrees, 1.0)
            values = 1.0 if self.props.constants >> id & 1 else min(known.values, self.rows)
            found = self._found[id] = ColumnBounds(degrees, nulls, values)
        return found

    def repeated(self, columns: ColumnSet, nulls_match: ColumnSet = 0) -> float:
        """Rows that agree on `columns`, at most: where none of them is NULL, but for those of `nulls_match`."""
        if not columns:
            return self.rows
        found = self.rows
        for id in column_ids(columns):
            column = self.column(id)
            found = min(found, max(most(column.degrees), column.nulls if nulls_match >> id & 1 else 0.0))
        return min(found, 1.0) if self.props.unique_on(columns) else found

    def degrees(self, id: ColumnId, nulls_match: bool) -> Steps:
        """The degree sequence of a join column; `nulls_match`: NULL is a value like others there."""
        column = self.column(id)
        if not nulls_match or not column.nulls:
            return column.degrees
        return capped(with_value(column.degrees, column.nulls), self.rows)

    def combinations(self, columns: ColumnSet) -> float:
        """Distinct combinations of columns, NULL being a value, at most."""
        found = 1.0
        for id in column_ids(columns):
            column = self.column(id)
            found *= column.values + (1.0 if column.nulls else 0.0)
            if found >= self.rows:
                return self.rows
        return found


class BoundedStats(RelationStats):
    """Figures of a relation whose `rows` are an upper bound; `bounds` says what else is certain."""

    __slots__ = ("bounds",)

    def __init__(self, stats: RelationStats, bounds: Bounds) -> None:
        """`stats`: the figures otherwise, estimated as usual."""
        for name in RelationStats.__slots__:
            setattr(self, name, getattr(stats, name))
        self.rows = bounds.rows
        self.base_rows = max(stats.base_rows, bounds.rows)
        self.bounds = bounds


def bounds_of(stats: RelationStats) -> Bounds:
    assert isinstance(stats, BoundedStats), "upper bounds come from upper bounds"
    return stats.bounds
