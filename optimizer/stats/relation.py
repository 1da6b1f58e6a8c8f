"""What an estimator knows of the rows of one group."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Mapping
from math import inf, prod
from types import MappingProxyType
from typing import Any, NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import ColumnStats
from optimizer.stats.spread import FAR, Place, Spread

NONE_KNOWN: Mapping[Any, float] = MappingProxyType({})
CEILING = 1e100  # rows of a relation at most: what all pairs of two cost has to be finite


class ColumnFigures:
    """`ndv`: distinct non-NULL values of the column's domain (not reduced by filters on other columns).
    `null_fraction`: 0 to 1. `low`, `high`: bounds of the values as numbers, None when they have no numeric meaning.
    `frequent`: the most common values, each with its share of the values that are not NULL; empty when unknown. `spread`: the
    histogram of the other values. `buckets`: these in the form in which they are compared with another column's (`overlap`)."""

    __slots__ = ("buckets", "frequent", "high", "low", "ndv", "null_fraction", "spread", "width")

    def __init__(
        self, ndv: float, null_fraction: float = 0.0, low: float | None = None, high: float | None = None, width: float = 8.0,
        frequent: Mapping[Any, float] = NONE_KNOWN, spread: Spread | None = None,
    ) -> None:  # fmt: skip
        self.ndv, self.null_fraction, self.low, self.high, self.width = ndv, null_fraction, low, high, width
        self.frequent, self.spread = frequent, spread
        self.buckets: Any = None

    def with_nulls(self, fraction: float) -> ColumnFigures:
        """The same values with `fraction` of all rows NULL-extended on top."""
        nulls = 1.0 - (1.0 - self.null_fraction) * (1.0 - fraction)
        return ColumnFigures(self.ndv, nulls, self.low, self.high, self.width, self.frequent, self.spread)

    def each_once(self, rows: float | None) -> ColumnFigures:
        """The same values, none more common than others. `rows`: how many there are, NULL one of them, where this is known."""
        nulls = self.null_fraction if rows is None else min(self.null_fraction, 1.0 / max(1.0, rows))
        return ColumnFigures(self.ndv, nulls, self.low, self.high, self.width)


_ANY_VALUES = ColumnFigures(inf)


class Change(NamedTuple):
    """A join that is no inner one, and the relation on its right."""

    op: IndependentJoin
    right: RelationStats


class RelationStats:
    """`rows`: estimated rows, may be below 1, at most CEILING. `columns`: figures by column id.

    `base_rows`: rows before any filter, of a scan and what keeps its rows, else `rows`. `joined` and `predicate`: the relations
    that an inner-join region joins, by lowest column id, and its conjuncts in canonical order; None for another relation. These
    may have more columns than the region gives (`hides`): those of the right side of a semi-join, or left out by a projection.
    `distinct`: distinct combinations of stored columns of one table, as far as they were counted. `tree`: an expression that
    gives these rows, kept by estimators that look rows up. `props`: the relation's, where the default estimator made it.
    `equated`: what columns say where they are equated with others (`equality_class`), kept for all regions the relation is in.
    `equals`: of columns that are equal in every row the one that stands for them, in what `with_equals_as_one` gives.
    `changes`: the joins that made this relation of another one, `unchanged` (`join_changes`).
    """

    __slots__ = (
        "_as_one", "base_rows", "changes", "columns", "distinct", "equals", "equated", "hides", "joined", "keys",
        "predicate", "props", "rows", "tree", "unchanged",
    )  # fmt: skip

    def __init__(
        self, rows: float, columns: dict[ColumnId, ColumnFigures], base_rows: float | None = None, keys: tuple[int, ...] = (),
        joined: tuple[RelationStats, ...] | None = None, predicate: Predicate = (), hides: bool = False,
    ) -> None:  # fmt: skip
        self.rows = rows = min(rows, CEILING)
        self.columns = columns
        self.base_rows = rows if base_rows is None else base_rows
        self.keys = keys
        self.joined, self.predicate, self.hides = joined, predicate, hides
        self.distinct: Mapping[ColumnSet, float] = NONE_KNOWN
        self.equated: dict[ColumnSet, Any] = {}
        self.equals: Mapping[ColumnId, ColumnId] = {}
        self.tree: Tree | None = None
        self.props: LogicalProps | None = None
        self.changes: tuple[Change, ...] = ()
        self.unchanged: RelationStats | None = None
        self._as_one: tuple[object, RelationStats] | None = None

    @property
    def before(self) -> RelationStats:
        """The relation before its changes; one without any is that itself."""
        return self.unchanged or self

    @property
    def leaves(self) -> tuple[RelationStats, ...]:
        """The relations of its region; one that is no inner join is its own only leaf."""
        return (self,) if self.joined is None else self.joined

    def with_equals_as_one(self) -> RelationStats:
        """The relation as joins see it: of columns that are equal in every row one stands for all, with the fewest values of
        any, also in keys. So which of them a condition names says nothing."""
        classes = () if self.props is None else self.props.equivalences
        if not classes:
            return self
        if self._as_one is None or self._as_one[0] is not classes:  # those who share a relation may know more of it
            columns, equals = dict(self.columns), dict[ColumnId, ColumnId]()
            for members in classes:
                there = [c for c in column_ids(members) if c in columns]
                for c in there:
                    columns[c], equals[c] = self.figures(c), there[0]
            keys = dict.fromkeys(column_set(equals.get(c, c) for c in column_ids(key)) for key in self.keys)
            smallest = tuple(key for key in keys if not any(other & ~key == 0 for other in keys if other != key))
            one = RelationStats(self.rows, columns, self.base_rows, smallest)
            one.distinct = {column_set(equals.get(c, c) for c in column_ids(key)): ndv for key, ndv in self.distinct.items()}
            one.equals = equals
            self._as_one = classes, one
        return self._as_one[1]

    def ndvs(self, columns: Iterable[ColumnId]) -> list[float]:
        """Distinct counts of the columns, or of some of them together where their combinations were counted. Their product is
        how many combinations of values there may be."""
        wanted = column_set(columns)
        found = []
        for together in sorted(self.distinct, key=lambda each: (-each.bit_count(), each)):
            if not together & ~wanted:
                found.append(self.distinct[together])
                wanted &= ~together
        return [*found, *(self.columns[c].ndv for c in column_ids(wanted))]

    def combinations(self, *determining: ColumnSet) -> float:
        """How many combinations of values columns have, of which each of these sets determines all: the least product of
        distinct counts, columns taken to be independent, each by its equal with the fewest values; at least 1, and no bound is
        the number of rows."""
        return min(prod(max(1.0, self.figures(c).ndv) for c in column_ids(s)) for s in determining)

    def figures(self, column: ColumnId) -> ColumnFigures:
        """Those of a column, or of its equal that has the fewest values."""
        equal = 1 << column if self.props is None else self.props.equivalents(column)
        there = (self.columns[c] for c in column_ids(equal) if c in self.columns)
        return min(there, key=lambda figures: figures.ndv, default=_ANY_VALUES)

    def width(self, columns: ColumnSet) -> float:
        """Bytes of one row of the given columns (a bitset)."""
        return sum(figures.width for id, figures in self.columns.items() if columns >> id & 1)


def columns_of(leaves: Iterable[RelationStats]) -> dict[ColumnId, ColumnFigures]:
    """The columns of several relations."""
    return {c: figures for leaf in leaves for c, figures in leaf.columns.items()}


def limited(rows: float, offset: int, count: int | None) -> float:
    """How many are left of so many rows."""
    rows = max(0.0, rows - offset)
    return rows if count is None else min(rows, float(count))


def frequent_values(stats: ColumnStats | None, null_fraction: float) -> Mapping[Any, float]:
    """The most common values of a stored column with their shares of the values that are not NULL."""
    if stats is None or not stats.mcv or null_fraction >= 1.0:
        return NONE_KNOWN
    return {value: min(1.0, share / (1.0 - null_fraction)) for value, share in stats.mcv}


_NUMBERS = (int, float, decimal.Decimal)


def as_number(value: Any) -> float | None:
    """A value's place on a number line (days for dates and timestamps), or None."""
    if isinstance(value, _NUMBERS):
        return min(max(float(value), -FAR), FAR)
    if isinstance(value, datetime.datetime):
        return value.toordinal() + (value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) / 86400
    if isinstance(value, datetime.date):
        return float(value.toordinal())
    return None


def as_place(value: Any) -> Place | None:
    """A value's place where its column's histogram is: a number, or a text as it is; None for what has no order here."""
    return value if isinstance(value, str) else as_number(value)
