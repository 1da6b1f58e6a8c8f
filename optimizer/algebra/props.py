"""Logical properties: what holds of every row of an expression, whichever plan computes it.

They are derived once per tree node or group from the operator and its inputs' properties, and used by rules (guards),
by trait satisfaction and by estimators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, is_subset, union


class Dependency(NamedTuple):
    """A functional dependency: rows that agree on `determinant` (NULL = NULL) agree on `dependent`. `nulls`: those of `dependent`
    that are NULL where all of `determinant` is; they stay determined where an outer join adds rows of NULLs."""

    determinant: ColumnSet
    dependent: ColumnSet
    nulls: ColumnSet = 0


class LogicalProps:
    """`columns`: produced columns. `not_null`: those without NULL. `keys`: column sets unique in the output with NULL as
    an ordinary value (the empty set: at most one row). `constants`: columns with one value in all rows.
    `equivalences`: disjoint sets of columns that are equal, and equally NULL, in every row. `dependencies`: what holds
    beyond that; among them every key that a later join may make repeat. Equal always means what SQL calls equal. `answers`: to
    what was asked before: the closures of column sets, the reduced forms of orders and what they are in an input (`traits`)."""

    __slots__ = ("answers", "columns", "constants", "dependencies", "equivalences", "keys", "not_null")

    def __init__(
        self, columns: ColumnSet, not_null: ColumnSet = 0, keys: tuple[ColumnSet, ...] = (), constants: ColumnSet = 0,
        equivalences: tuple[ColumnSet, ...] = (), dependencies: tuple[Dependency, ...] = (),
    ) -> None:  # fmt: skip
        self.columns, self.not_null, self.constants = columns, not_null, constants
        self.equivalences = equivalences
        self.keys = keys
        self.dependencies = dependencies
        self.answers: dict[Any, Any] = {}

    def other(self, props: LogicalProps) -> LogicalProps | None:
        """Other properties as a part of a key of `answers`: None for these themselves, which must not hold themselves."""
        return None if props is self else props

    def representative(self, column: ColumnId) -> ColumnId:
        """The lowest column equivalent to `column`."""
        for members in self.equivalences:
            if members >> column & 1:
                return (members & -members).bit_length() - 1
        return column

    def representatives(self, columns: ColumnSet) -> Iterator[ColumnId]:
        """Those of `columns`, each once."""
        while columns:
            members = self.equivalents((columns & -columns).bit_length() - 1)
            yield (members & -members).bit_length() - 1
            columns &= ~members

    def equivalents(self, column: ColumnId) -> ColumnSet:
        for members in self.equivalences:
            if members >> column & 1:
                return members
        return 1 << column

    def closure(self, known: ColumnSet) -> ColumnSet:
        """All columns determined by `known`: constants, equivalents, dependents, and everything once a key is known.

        Kept for each set asked about: the search asks about few sets, often.
        """
        answer: ColumnSet | None = self.answers.get(known)
        if answer is not None:
            return answer
        closed = known | self.constants
        while True:
            for members in self.equivalences:  # disjoint, so once is enough until something else leads on
                if members & closed:
                    closed |= members
            before = closed
            for determinant, dependent, _ in self.dependencies:
                if determinant & closed == determinant:
                    closed |= dependent
            if self.columns & ~closed:
                for key in self.keys:
                    if key & closed == key:
                        closed |= self.columns
                        break
            if closed == before:
                break
        self.answers[known] = closed
        return closed

    def without_determined(self, columns: ColumnSet, known: ColumnSet = 0) -> ColumnSet:
        """A part of `columns` that, where `known` is, determines all of them, none of its columns determined by the others.

        Columns that determine few of the others go first, then those with the highest ids: the same part on every run.
        """
        rest = columns & ~self.closure(known)
        if not rest & (rest - 1):
            return rest
        answer: ColumnSet | None = self.answers.get(("rest", columns, known))
        if answer is not None:
            return answer
        for column in sorted(column_ids(rest), key=lambda c: ((self.closure(1 << c) & columns).bit_count(), -c)):
            fewer = rest & ~(1 << column)
            if self.closure(known | fewer) >> column & 1:
                rest = fewer
        self.answers["rest", columns, known] = rest
        return rest

    def run_columns(self, columns: ColumnSet) -> ColumnSet:
        """Columns that tell runs of rows equal on `columns` apart: the same for all sets that determine the same, so that what
        is estimated of the runs does not depend on names. None is determined by the others, dropped as in `without_determined`.
        """
        closed = self.closure(columns) & self.columns
        answer: ColumnSet | None = self.answers.get(("runs", closed))
        if answer is None:
            # what leads to nothing else is in any such set, or in none
            answer = self._named(columns | self._leading()) & closed & ~self.closure(0)
            for column in sorted(column_ids(answer), key=lambda c: ((self.closure(1 << c) & closed).bit_count(), -c)):
                if self.closure(answer ^ 1 << column) >> column & 1:
                    answer ^= 1 << column
            self.answers["runs", closed] = answer
        return answer

    def finer(self, columns: ColumnSet) -> tuple[ColumnSet, ...]:
        """Other sets of columns that determine `columns`, where two or more of these gave way to one that determines them:
        rows have no more combinations of values of `columns` than of any of these."""
        if not columns & (columns - 1):
            return ()
        answer: tuple[ColumnSet, ...] | None = self.answers.get(("finer", columns))
        if answer is None:
            found = [columns]
            for column in column_ids(self._named(self._leading()) & self.columns & ~self.closure(columns)):
                closed = self.closure(1 << column)
                found += [each & ~closed | 1 << column for each in found if each & closed & ((each & closed) - 1)]
            answer = self.answers["finer", columns] = tuple(found[1:])
        return answer

    def _leading(self) -> ColumnSet:
        """Columns of keys and determinants."""
        return union((*self.keys, *(determinant for determinant, *_ in self.dependencies)))

    def _named(self, columns: ColumnSet) -> ColumnSet:
        """Each of them by the lowest name among its equals."""
        for members in self.equivalences:
            if columns & members:
                named = members & self.columns
                columns = columns & ~members | named & -named
        return columns

    def unique_on(self, columns: ColumnSet, keys: Sequence[ColumnSet] | None = None) -> bool:
        """Whether no two rows agree (NULL = NULL) on `columns`. `keys`: of an input, for whether they tell which row of it is in
        a joined row."""
        keys = self.keys if keys is None else keys
        if not keys:
            return False
        beyond = ~self.closure(columns)
        return any(not key & beyond for key in keys)

    @property
    def at_most_one_row(self) -> bool:
        return any(is_subset(key, self.constants) for key in self.keys)


def united(sets: Iterable[ColumnSet]) -> list[ColumnSet]:
    """Overlapping sets united into one; ordered by lowest member."""
    result: list[ColumnSet] = []
    seen = 0
    for members in sets:
        if members & seen:
            apart = []
            for other in result:
                if other & members:
                    members |= other
                else:
                    apart.append(other)
            result = apart
        result.append(members)
        seen |= members
    return sorted(result, key=lambda m: m & -m) if len(result) > 1 else result


def merge_equivalences(classes: Iterable[ColumnSet]) -> tuple[ColumnSet, ...]:
    """Unite overlapping classes; drop singletons; ordered by lowest member."""
    return tuple([members for members in united(classes) if members & (members - 1)])


def minimal_keys(keys: Iterable[ColumnSet], limit: int = 8) -> tuple[ColumnSet, ...]:
    """Without keys that contain another; at most `limit`, the smallest first."""
    unique = set(keys)
    if len(unique) < 2:
        return tuple(unique)
    result: list[ColumnSet] = []
    for key in sorted(unique, key=lambda k: (k.bit_count(), k)):
        if not any(is_subset(small, key) for small in result):
            result.append(key)
    return tuple(result[:limit])
