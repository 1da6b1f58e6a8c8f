"""What all joins share once candidate pairs are known: residual condition, join kind, output rows.

A join goes through its *outer* input batch by batch and holds its *inner* input. For an outer batch, `Candidates` says which
inner rows each outer row meets; pairs are made in bounded portions, tested by the residual condition, and become output in
the order of the outer rows. A row without a pair that passes is unmatched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from executor.arrow.batches import Batches, column_name, select
from executor.arrow.context import Context
from executor.arrow.expressions import compile_predicate
from executor.arrow.key_index import KeyIndex
from executor.arrow.selection import filtered, flags, mask_of, taken
from optimizer.algebra.columns import ColumnSet, column_ids
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.scalars import Predicate
from optimizer.errors import ExecutionError

_FEW = 16  # candidates of a row that are tested at first, where one that passes is enough


@dataclass(frozen=True, slots=True)
class Candidates:
    """`counts`: how many inner rows each outer row meets, as flags where it is one at most. `inner_rows(outer, nth)`: for pairs
    given by outer row and number within that row, the inner rows; no pair twice, and ascending in each outer row where the plan
    asks the inner input for an order or groups."""

    counts: np.ndarray
    inner_rows: Callable[[np.ndarray, np.ndarray], np.ndarray]


def all_candidates(outer: pa.RecordBatch, inner: pa.RecordBatch) -> Candidates:
    """Each outer row meets every inner row."""
    return Candidates(np.full(outer.num_rows, inner.num_rows, np.int64), lambda rows, nth: nth)


def key_candidates(index: KeyIndex, keys: Sequence[pa.Array]) -> Candidates:
    """Each outer row meets the inner rows with its keys."""
    group = index.find(keys)
    if index.unique:
        return Candidates(group >= 0, lambda rows, nth: index.rows[group[rows]])
    counts, first = np.where(group >= 0, index.counts[group], 0), index.first[group]
    return Candidates(counts, lambda rows, nth: index.rows[first[rows] + nth])


class Matcher:
    """Joins outer batches with one inner batch. `outer_is_left` says which side of `kind` the outer input is.

    Several threads may call `join` at a time. Where unmatched or matched inner rows are part of the result, they come from
    `rest`, after the last outer batch.
    """

    def __init__(
        self, kind: JoinKind, outer_is_left: bool, inner: pa.RecordBatch, residual: Predicate, output: pa.Schema, context: Context
    ) -> None:
        self._context = context
        self._batch_rows = context.tuning.batch
        self._keeps_outer = kind.keeps_left if outer_is_left else kind.keeps_right
        self._keeps_inner = kind.keeps_right if outer_is_left else kind.keeps_left
        self._kind = kind
        self._outer_only = kind.left_only and outer_is_left
        self._inner_only = kind.left_only and not outer_is_left
        self._schema = output
        self._single = kind is JoinKind.SINGLE
        self._residual = _compile_residual(residual) if residual else None
        self._only_counted = all(pa.types.is_null(field.type) for field in output)
        self._hold(inner)

    def _hold(self, inner: pa.RecordBatch) -> None:
        self._inner = inner
        self._met = np.zeros(inner.num_rows, np.bool_) if self._keeps_inner or self._inner_only else None

    def over(self, inner: pa.RecordBatch) -> Matcher:
        """The same join with another inner batch."""
        other = copy(self)
        other._hold(inner)
        return other

    def testing(self, condition: Predicate) -> Matcher:
        """The same join, for outer rows whose candidates are to be tested by another condition."""
        other = copy(self)
        other._residual = _compile_residual(condition)
        return other

    @property
    def has_rest(self) -> bool:
        return self._met is not None

    @property
    def never_matches(self) -> bool:
        """No outer batch can give rows: there are no inner rows, and unmatched outer rows are not kept."""
        if self._inner.num_rows or self._keeps_outer:
            return False
        return not (self._outer_only and self._kind is JoinKind.ANTI)

    def join(self, outer: pa.RecordBatch, candidates: Candidates) -> Iterator[pa.RecordBatch]:
        """What `outer` gives, in the order of its rows. Raises ExecutionError for a row of a single join with two matches."""
        counts = candidates.counts
        if self._outer_only:
            yield self._chosen(outer, self._matched(outer, candidates) == (self._kind is JoinKind.SEMI))
            return
        if self._residual is None and self._single and bool((counts > 1).any()):
            raise _second_match()
        if self._residual is None and self._only_counted and self._met is None:
            yield self._unread(int((np.maximum(counts, 1) if self._keeps_outer else counts).sum()))
            return
        if self._residual is None and self._keeps_outer:
            # a row that meets nothing gets one pair, with no inner row
            for rows, nth in portions(np.maximum(counts, 1), self._context):
                none = counts[rows] == 0
                if none.any():
                    inner = np.full(len(rows), -1, np.int64)
                    inner[~none] = candidates.inner_rows(rows[~none], nth[~none])
                    self._meet(inner[~none])
                else:
                    inner = candidates.inner_rows(rows, nth)
                    self._meet(inner)
                yield self._output(outer, rows, inner)
            return
        matched = np.zeros(outer.num_rows, np.bool_) if self._keeps_outer else None
        ends = np.cumsum(counts) if self._keeps_outer else counts
        done = made = 0
        for rows, nth in portions(counts, self._context):
            inner = candidates.inner_rows(rows, nth)
            made += len(rows)
            rows, inner = self._passing(outer, rows, inner)
            self._meet(inner)
            if matched is not None:
                if self._single and (matched[rows].any() or (rows[1:] == rows[:-1]).any()):
                    raise _second_match()
                matched[rows] = True
                complete = int(np.searchsorted(ends, made, side="right"))
                rows, inner = _with_unmatched(rows, inner, done + np.flatnonzero(~matched[done:complete]))
                done = complete
            if not self._inner_only:
                yield self._output(outer, rows, inner)
        if matched is not None and done < outer.num_rows:
            rest = done + np.flatnonzero(~matched[done:])
            yield self._output(outer, rest, np.full(len(rest), -1, np.int64))

    def rest(self) -> Batches:
        """The inner rows that are results by themselves: unmatched, or for a semi join matched ones."""
        assert self._met is not None
        rows = np.flatnonzero(self._met if self._kind is JoinKind.SEMI else ~self._met)
        for start in range(0, len(rows), self._batch_rows):
            yield self._output(None, np.empty(0, np.int64), rows[start : start + self._batch_rows])

    def _matched(self, outer: pa.RecordBatch, candidates: Candidates) -> np.ndarray:
        if self._residual is None:
            return candidates.counts > 0
        matched = np.zeros(outer.num_rows, np.bool_)
        for rows, nth in rounds(candidates.counts, lambda rows: ~matched[rows], self._context):
            matched[self._passing(outer, rows, candidates.inner_rows(rows, nth))[0]] = True
        return matched

    def _passing(self, outer: pa.RecordBatch, rows: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._residual is None or len(rows) == 0:
            return rows, inner
        passes = self._residual(outer, self._inner, rows, inner)
        return rows[passes], inner[passes]

    def _meet(self, inner: np.ndarray) -> None:
        if self._met is not None:
            self._met[inner] = True  # only ever set, so threads do not disturb each other

    def _chosen(self, outer: pa.RecordBatch, mask: np.ndarray) -> pa.RecordBatch:
        return filtered(select(outer, self._schema), mask_of(mask))

    def _output(self, outer: pa.RecordBatch | None, rows: np.ndarray, inner: np.ndarray) -> pa.RecordBatch:
        """`inner` -1: no inner row. `outer` None: no outer rows."""
        if self._only_counted:
            return self._unread(len(inner))
        inner_rows = _indices(inner)
        whole = outer is not None and len(rows) == outer.num_rows and bool((np.diff(rows) == 1).all())
        outer_rows = None if whole else pa.array(rows)
        arrays = []
        for field in self._schema:
            at = self._inner.schema.get_field_index(field.name)
            if at >= 0:
                arrays.append(taken(self._inner.column(at), inner_rows))
            elif outer is None:
                arrays.append(pa.nulls(len(inner), field.type))
            else:
                column = outer.column(field.name)
                arrays.append(column if outer_rows is None else taken(column, outer_rows))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _unread(self, rows: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.nulls(rows) for _ in self._schema], schema=self._schema)


def _indices(inner: np.ndarray) -> pa.Array:
    missing = inner < 0
    return pa.array(inner, mask=missing) if missing.any() else pa.array(inner)


def portions(counts: np.ndarray, context: Context) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All pairs as (outer row, number within the row), in order, at most `pairs` of the tuning at a time. Raises Stopped."""
    size = context.tuning.pairs
    if counts.dtype == np.bool_ or counts.max(initial=0) <= 1:
        rows = np.flatnonzero(counts)
        for start in range(0, len(rows), size):
            context.go_on()
            part = rows[start : start + size]
            yield part, np.zeros(len(part), np.int64)
        return
    ends = np.cumsum(counts)
    starts, total = ends - counts, int(ends[-1]) if len(ends) else 0
    for start in range(0, total, size):
        context.go_on()
        end = min(start + size, total)
        low, high = np.searchsorted(ends, (start, end - 1), side="right")
        within = slice(low, high + 1)
        pairs = np.minimum(ends[within], end) - np.maximum(starts[within], start)
        yield np.repeat(np.arange(low, high + 1), pairs), np.arange(start, end) - np.repeat(starts[within], pairs)


def rounds(
    counts: np.ndarray, open: Callable[[np.ndarray], np.ndarray], context: Context
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The pairs of `portions`, the first few of each row first, then more and more of the rows that are still `open`."""
    rows, start, step = np.flatnonzero(counts), 0, _FEW
    while len(rows):
        for numbers, nth in portions(np.minimum(counts[rows] - start, step), context):
            yield rows[numbers], nth + start
        start, step = start + step, 4 * step
        rows = rows[(counts[rows] > start) & open(rows)]


def _with_unmatched(rows: np.ndarray, inner: np.ndarray, unmatched: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs and the unmatched outer rows (with inner row -1), by outer row."""
    if not len(unmatched):
        return rows, inner
    both = np.concatenate([rows, unmatched])
    order = np.argsort(both, kind="stable")
    return both[order], np.concatenate([inner, np.full(len(unmatched), -1, np.int64)])[order]


def _second_match() -> ExecutionError:
    return ExecutionError("More than one row returned by a subquery used as an expression: it can only return a single row")


def _compile_residual(residual: Predicate) -> Callable[[pa.RecordBatch, pa.RecordBatch, np.ndarray, np.ndarray], np.ndarray]:
    """Which pairs satisfy the residual condition."""
    columns = predicate_columns(residual)
    test = compile_predicate(residual)

    def passes(outer: pa.RecordBatch, inner: pa.RecordBatch, rows: np.ndarray, inner_rows: np.ndarray) -> np.ndarray:
        return flags(test(paired(columns, outer, inner, rows, inner_rows)))

    return passes


def paired(
    columns: ColumnSet, outer: pa.RecordBatch, inner: pa.RecordBatch, rows: np.ndarray, inner_rows: np.ndarray
) -> pa.RecordBatch:
    """Pairs of an outer and an inner row as rows with `columns` of both."""
    names = [column_name(id) for id in column_ids(columns)]
    outer_at, inner_at = pa.array(rows), pa.array(inner_rows)
    arrays = [
        taken(inner.column(name), inner_at) if inner.schema.get_field_index(name) >= 0 else taken(outer.column(name), outer_at)
        for name in names
    ]
    # the outer rows too, for a condition on no column at all, such as random() < 0.5
    return pa.RecordBatch.from_arrays([*arrays, outer_at], names=[*names, "row"])
