"""What is known of the rows of a relation: equal columns, constants, dependencies, keys; and what an order then means.

Column sets are ints used as bitsets. Written from the definitions, for the brute force alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Key(NamedTuple):
    """One key of an order."""

    column: int
    descending: bool = False
    nulls_first: bool = False


Order = tuple[Key, ...]


def mask(columns: Iterable[int]) -> int:
    result = 0
    for column in columns:
        result |= 1 << column
    return result


def members(columns: int) -> Iterator[int]:
    while columns:
        low = columns & -columns
        yield low.bit_length() - 1
        columns ^= low


def columns_of(order: Order) -> int:
    return mask(key.column for key in order)


class Known:
    """`columns`: those that can be named. `equal`: pairs of columns that are equal in every row. `depends`: (a, b): rows equal on
    the set a are equal on the set b (NULL = NULL). `parts`: for each relation joined its keys; a row is told from all others
    where a key of every part is. Columns that cannot be named any more still take part in what follows from what."""

    def __init__(
        self,
        columns: int,
        not_null: int,
        constant: int,
        equal: tuple[tuple[int, int], ...],
        depends: tuple[tuple[int, int], ...],
        parts: tuple[tuple[int, ...], ...],
    ) -> None:
        self.columns, self.not_null, self.constant = columns, not_null, constant
        self.equal, self.depends, self.parts = equal, depends, parts
        self._same: dict[int, int] = {}
        for a, b in equal:
            both = self.same(a) | self.same(b)
            for column in members(both):
                self._same[column] = both
        self._closures: dict[int, int] = {}

    def same(self, column: int) -> int:
        """All columns equal to one, itself among them."""
        return self._same.get(column, 1 << column)

    def name(self, column: int) -> int:
        """The lowest column equal to one that can be named."""
        named = self.same(column) & self.columns
        return (named & -named).bit_length() - 1 if named else column

    def never_null(self, column: int) -> bool:
        return bool(self.same(column) & self.not_null)

    def closure(self, columns: int) -> int:
        """All columns on which rows are equal that are equal on `columns`."""
        known = self._closures.get(columns)
        if known is None:
            known, before = columns | self.constant, -1
            while known != before:
                before = known
                for column in members(known):
                    known |= self.same(column)
                for determinant, dependent in self.depends:
                    if determinant & ~known == 0:
                        known |= dependent
            self._closures[columns] = known
        return known

    def unique(self, columns: int) -> bool:
        """Whether no two rows are equal on `columns`."""
        known = self.closure(columns)
        return all(any(key & ~known == 0 for key in keys) for keys in self.parts)

    def reduced(self, order: Order) -> Order:
        """The shortest order that says the same of these rows, each column under its lowest name."""
        result: list[Key] = []
        known = self.closure(0)
        for column, descending, nulls_first in order:
            if not known >> column & 1:
                result.append(Key(self.name(column), descending, nulls_first and not self.never_null(column)))
                known = self.closure(known | 1 << column)
        return tuple(result)

    def gives(self, have: Order, want: Order) -> bool:
        """Whether rows sorted by `have` are sorted by `want`."""
        wanted = self.reduced(want)
        return self.reduced(have)[: len(wanted)] == wanted

    def joined(self, other: Known, equal: tuple[tuple[int, int], ...], compared: int = 0) -> Known:
        """Each row with those of `other` that have equal values, so no NULL, in the columns of each pair of `equal`, and no NULL
        in the columns `compared` otherwise."""
        not_null = self.not_null | other.not_null | mask(c for pair in equal for c in pair) | compared
        return Known(
            self.columns | other.columns, not_null, self.constant | other.constant, (*self.equal, *other.equal, *equal),
            (*self.depends, *other.depends), (*self.parts, *other.parts),
        )  # fmt: skip

    def shown(self, columns: int, renamed: tuple[tuple[int, int], ...] = (), constant: int = 0) -> Known:
        """The same rows with only `columns` to name; `renamed`: (new name, old name); `constant`: new constants."""
        return Known(columns, self.not_null, self.constant | constant, (*self.equal, *renamed), self.depends, self.parts)

    def grouped(self, keys: int, computed: int, counts: int = 0) -> Known:
        """One row for each combination of `keys`, with the columns `computed`, of which `counts` are never NULL; without keys one
        row."""
        constant = self.constant if keys else self.constant | computed
        return Known(keys | computed, self.not_null | counts, constant, self.equal, (*self.depends, (keys, computed)), ((keys,),))
