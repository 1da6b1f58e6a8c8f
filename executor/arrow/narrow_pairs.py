"""Nested loops that do not look at every pair: the inner rows that an outer row may match, found before the condition is tested.

Two forms of a conjunct say enough. Of an OR in which every part has an equality of both sides, each part's equality is looked up
in an index, and what any of them finds is met. Of comparisons of both sides (`r.first <= l.at AND r.last >= l.at`) the inner
values are put in zones, and these in larger ones (`Zones`). The whole condition is tested on what is left, so a row may be let
through in doubt. Where a value of a side raises, another conjunct may keep its row from every pair: nothing is narrowed then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.context import Tuning
from executor.arrow.expressions import compile_scalar
from executor.arrow.join_pairs import Candidates, all_candidates
from executor.arrow.key_index import KeyIndex
from executor.arrow.key_words import rises, rising_words
from executor.arrow.parameters import reads_parameters
from executor.arrow.pipeline import made_once
from executor.arrow.selection import flags
from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.predicates import comparison_sides, conjuncts, equality_sides
from optimizer.algebra.scalars import Call, Predicate, Scalar
from optimizer.errors import ExecutionError

_WIDTH = 16  # rows in a zone, and zones in a larger one


class _Finder(Protocol):
    @property
    def nbytes(self) -> int: ...

    def find(self, outer: pa.RecordBatch) -> Candidates | None:
        """None: the batch's pairs are too many to be made at a time."""


class NarrowPairs:
    """Candidates of outer batches among the rows of `inner`. What finds them is made by the first batch that has many pairs.
    Several threads may ask at a time."""

    def __init__(
        self, condition: Predicate, columns: tuple[ColumnSet, ColumnSet], inner: pa.RecordBatch, as_it_is: bool, tuning: Tuning,
        held: Callable[[int], None],
    ) -> None:  # fmt: skip
        """`columns`: of outer and inner rows. `as_it_is`: an outer row has to meet its rows in the order of `inner`. `held` is
        told how many bytes are held besides these."""
        self._inner = inner
        self._few = tuning.pairs // 4  # are tested sooner than an index is made
        self._found = made_once(lambda: _finder(condition, *columns, inner, as_it_is, tuning.pairs, held))
        self._rows = 1 << 62  # that could be looked up at a time so far

    def __call__(self, outer: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, Candidates]]:
        """The batch in parts, each with its candidates."""
        finder = self._found() if outer.num_rows * self._inner.num_rows > self._few else None
        if finder is None:
            yield outer, all_candidates(outer, self._inner)
            return
        start = 0
        while start < outer.num_rows:
            part = outer.slice(start, self._rows)
            try:
                candidates = finder.find(part)
            except ExecutionError:
                candidates = all_candidates(part, self._inner)
            if candidates is None and part.num_rows > 1:
                self._rows = max(1, part.num_rows // 4)
                continue
            yield part, candidates or all_candidates(part, self._inner)
            start += part.num_rows


def _finder(
    condition: Predicate, outer: ColumnSet, inner_columns: ColumnSet, inner: pa.RecordBatch, as_it_is: bool, most: int,
    held: Callable[[int], None],
) -> _Finder | None:  # fmt: skip
    """None: no conjunct says anything, or one raises. `most`: pairs, or places of zones, that are made at a time."""
    try:
        finder = _made(condition, outer, inner_columns, inner, as_it_is, most)
    except ExecutionError:
        return None
    if finder is not None:
        held(finder.nbytes)
    return finder


def _made(
    condition: Predicate, outer: ColumnSet, inner_columns: ColumnSet, inner: pa.RecordBatch, as_it_is: bool, most: int
) -> _Finder | None:
    for conjunct in condition:
        if isinstance(conjunct, Call) and conjunct.function == "or":
            parts = [_keys(part, outer, inner_columns) for part in conjunct.args]
            if all(parts):
                return EitherKey(parts, inner, most)
    bounds = list(_bounds(condition, outer, inner_columns))
    return Zones(bounds, inner, as_it_is, most) if bounds else None


def _keys(part: Scalar, outer: ColumnSet, inner: ColumnSet) -> list[tuple[Scalar, Scalar]]:
    sides = [equality_sides(conjunct, outer, inner) for conjunct in conjuncts(part)]
    return [pair for pair in sides if pair is not None and not _moves(pair)]


def _moves(pair: tuple[Scalar, Scalar]) -> bool:
    """Whether a side has another value each time, or the inner one in each run."""
    return pair[0].volatile or pair[1].volatile or reads_parameters(pair[1])


class EitherKey:
    """Inner rows that have an outer row's keys in one of several indexes."""

    def __init__(self, parts: Sequence[Sequence[tuple[Scalar, Scalar]]], inner: pa.RecordBatch, most: int) -> None:
        self._rows, self._most = inner.num_rows, most
        self._indexes = [
            ([compile_scalar(a) for a, _ in keys], KeyIndex([compile_scalar(b)(inner) for _, b in keys])) for keys in parts
        ]

    @property
    def nbytes(self) -> int:
        return sum(index.nbytes for _, index in self._indexes)

    def find(self, outer: pa.RecordBatch) -> Candidates | None:
        total, found = 0, []
        for keys, index in self._indexes:
            group = index.find([key(outer) for key in keys])
            rows = np.flatnonzero(group >= 0)
            total += int(index.counts[group[rows]].sum())
            found.append((index, rows, group[rows]))
        if total > self._most and outer.num_rows > 1:
            return None
        pairs = []
        for index, rows, group in found:
            place, inner_rows = index.pairs(group)
            pairs.append(rows[place] * self._rows + inner_rows)
        distinct = np.unique(np.concatenate(pairs))
        return _as_found(distinct // self._rows, distinct % self._rows, outer.num_rows)


class _Bound(NamedTuple):
    """`outer` has to be at most `inner` where `below`, else at least `inner`."""

    outer: Scalar
    inner: Scalar
    below: bool


def _bounds(condition: Predicate, outer: ColumnSet, inner: ColumnSet) -> Iterator[_Bound]:
    for conjunct in condition:
        match comparison_sides(conjunct, outer, inner):
            case function, a, b if rises(a.type) and not _moves((a, b)):
                if function in ("<", "<=", "="):
                    yield _Bound(a, b, True)
                if function in (">", ">=", "="):
                    yield _Bound(a, b, False)


class Zones:
    """The least and the greatest inner values of 16 rows, of 16 such zones, and so on up. Outer rows go down from the top, each
    into the zones that may have a row within its bounds. Rows are sorted by the first value before, so that a zone's values lie
    close together.

    A bound is tested with "or equal" on numbers that never fall where the values rise: of long decimals the upper half.
    """

    def __init__(self, bounds: Sequence[_Bound], inner: pa.RecordBatch, as_it_is: bool, most: int) -> None:
        self._most = most
        self._bounds = [(compile_scalar(bound.outer), bound.below) for bound in bounds]
        least, greatest = zip(*(_ends(compile_scalar(bound.inner)(inner)) for bound in bounds), strict=True)
        self._as_it_is, self._rows = as_it_is, np.argsort(least[0], kind="stable")
        self._levels = [_Level(*([values[self._rows] for values in each] for each in (least, greatest)))]
        while len(self._levels[-1].least[0]) > _WIDTH:
            self._levels.append(self._levels[-1].above())

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes + sum(each.nbytes for level in self._levels for part in level for each in part)

    def find(self, outer: pa.RecordBatch) -> Candidates | None:
        values = [value(outer) for value, _ in self._bounds]
        words = [rising_words(value) for value in values]
        rows = np.flatnonzero(~np.any([flags(pc.is_null(value)) for value in values], axis=0))
        zones = np.zeros(len(rows), np.int64)
        for level in reversed(self._levels):
            if len(rows) * _WIDTH > self._most and outer.num_rows > 1:
                return None
            size = len(level.least[0])
            rows, zones = np.repeat(rows, _WIDTH), (zones[:, None] * _WIDTH + np.arange(_WIDTH)).ravel()
            fits = zones < size
            rows, zones = rows[fits], zones[fits]
            for word, (_, below), least, greatest in zip(words, self._bounds, level.least, level.greatest, strict=True):
                fits = word[rows] <= greatest[zones] if below else word[rows] >= least[zones]
                rows, zones = rows[fits], zones[fits]
        inner = self._rows[zones]
        return _as_found(rows, inner[np.lexsort((inner, rows))] if self._as_it_is else inner, outer.num_rows)


class _Level(NamedTuple):
    """Of each bound's inner value the least and the greatest in each zone."""

    least: Sequence[np.ndarray]
    greatest: Sequence[np.ndarray]

    def above(self) -> _Level:
        starts = np.arange(0, len(self.least[0]), _WIDTH)
        return _Level(
            [np.minimum.reduceat(values, starts) for values in self.least],
            [np.maximum.reduceat(values, starts) for values in self.greatest],
        )


def _ends(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The values as numbers twice; NULL, which nothing matches, as the greatest and as the least there is."""
    words = rising_words(values)
    if not values.null_count:
        return words, words
    null = flags(pc.is_null(values))
    low, high = (-np.inf, np.inf) if words.dtype == np.float64 else (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
    return np.where(null, high, words), np.where(null, low, words)


def _as_found(rows: np.ndarray, inner: np.ndarray, outer_rows: int) -> Candidates:
    """The pairs, by outer row, as candidates."""
    counts = np.bincount(rows, minlength=outer_rows)
    first = np.cumsum(counts) - counts
    return Candidates(counts, lambda rows, nth: inner[first[rows] + nth])
