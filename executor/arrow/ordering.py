"""Sorting by a collation: stable, NULLs where each key wants them, NaN above every other number.

Numbers of 64 bits, and what is stored as such, are sorted as digits (`_row_numbers`), other rows by Arrow. It keeps NaN at the
end of either direction; a float key that has NaN is therefore preceded by a key that says so.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import column_name, single_array
from executor.arrow.intervals import comparable
from executor.arrow.key_words import is_ordered, key_words, rows_by
from executor.arrow.selection import taken
from optimizer.algebra.traits import Collation, SortKey

_Key = tuple[str, str, str]  # column, direction, where NULLs are
_NUMBER, _WORDS = 8, 24  # bytes of a row's number, and of the words that are made of its keys
_HALF, _ALL_BUT_SIGN = np.uint64(32), np.int64((1 << 63) - 1)
_SAMPLE = 1 << 13  # rows that show whether texts repeat


def sorting_bytes(rows: pa.Table) -> int:
    """What sorting holds: the rows as they come, and first words to sort by, then a number for each row and the rows in order."""
    return rows.nbytes + max(_WORDS * rows.num_rows, _NUMBER * rows.num_rows + rows.nbytes)


def sorted_rows(table: pa.Table, order: Collation, limit: int | None = None) -> pa.Table:
    """The rows in order; with `limit` only the first so many."""
    if table.num_rows == 0 or not order:
        return table.slice(0, limit)
    columns, keys = _sort_keys(table, order)
    if not keys:
        return table.slice(0, limit)
    return table.take(_row_numbers(columns, keys).slice(0, limit))


def sorted_runs(table: pa.Table, runs: np.ndarray, order: Collation) -> pa.Table:
    """The rows of each run in order, the runs as they stand. `runs`: a number for each row, ascending without gaps."""
    columns, keys = _sort_keys(table, order)
    if not keys or len(runs) == 0 or runs[-1] - runs[0] + 1 == len(runs):
        return table
    by_run = {"run": pa.chunked_array([pa.array(runs)]), **columns}
    return table.take(_row_numbers(by_run, [("run", "ascending", "at_end"), *keys]))


def sorted_places(values: pa.Array) -> np.ndarray:
    """The rows of `values`, the smallest first, NULLs at the end."""
    columns, keys = _sort_keys(pa.table([values], [column_name(0)]), (SortKey(0),))
    return _row_numbers(columns, keys).to_numpy() if keys else np.arange(len(values))


def _sort_keys(table: pa.Table, order: Collation) -> tuple[dict[str, pa.ChunkedArray], list[_Key]]:
    """The columns to sort by, and the sort keys that name them."""
    columns: dict[str, pa.ChunkedArray] = {}
    keys: list[_Key] = []
    for key in order:
        values = table[column_name(key.column)]
        direction = "descending" if key.descending else "ascending"
        nulls = "at_start" if key.nulls_first else "at_end"
        if pa.types.is_null(values.type):
            continue
        if pa.types.is_interval(values.type):
            values = comparable(single_array(values))
        if pa.types.is_floating(values.type):
            is_nan = pc.is_nan(values)
            if pc.any(is_nan).as_py():
                columns[f"k{len(keys)}"] = is_nan.cast(pa.int8())
                keys.append((f"k{len(keys)}", direction, nulls))
        columns[f"k{len(keys)}"] = _ranks(values) if pa.types.is_string(values.type) else values
        keys.append((f"k{len(keys)}", direction, nulls))
    return columns, keys


def _ranks(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers in the order of the texts, which are compared sooner; the texts themselves where hardly any of them repeats."""
    some = texts.slice(len(texts) // 2, _SAMPLE)
    if len(some) < _SAMPLE or 2 * len(some.unique()) > len(some):
        return texts
    chunks = texts.dictionary_encode().chunks
    distinct = chunks[-1].dictionary  # of all chunks
    rank = np.empty(len(distinct), np.int32)
    rank[pc.sort_indices(distinct).to_numpy()] = np.arange(len(distinct))
    return pa.chunked_array([taken(pa.array(rank), chunk.indices) for chunk in chunks])


def _row_numbers(columns: dict[str, pa.ChunkedArray], keys: list[_Key]) -> pa.Array:
    """The rows in order. They are sorted by one digit after the other, the last one first, each time as words."""
    rows = len(columns[keys[0][0]])
    digits = _all_digits(columns, keys, 1 << 63 - rows.bit_length()) if rows < 1 << 31 else None
    if digits is None:
        return pc.sort_indices(pa.table(columns), sort_keys=keys)
    order: np.ndarray | None = None
    while digits:
        number = digits.pop().number
        if order is not None:
            number = number[order]
        place = rows_by(number)
        order = place if order is None else order[place]
    return pa.array(order)


class _Digit(NamedTuple):
    """A number below `places` for each row."""

    number: np.ndarray
    places: int


def _all_digits(columns: dict[str, pa.ChunkedArray], keys: list[_Key], most: int) -> list[_Digit] | None:
    """What orders the rows as `keys` do, the first digit first, none with more than `most` places. None where a key is of a type
    without digits."""
    digits: list[_Digit] = []
    for name, direction, nulls in keys:
        found = _digits(single_array(columns[name]), direction == "descending", nulls == "at_start", most)
        if found is None:
            return None
        for digit in found:
            if digits and digits[-1].places * digit.places <= most:
                before = digits.pop()
                number = before.number.astype(np.int64, copy=False)
                number *= digit.places
                number += digit.number
                digit = _Digit(number, before.places * digit.places)
            digits.append(digit)
    return digits


def _digits(values: pa.Array, descending: bool, nulls_first: bool, most: int) -> list[_Digit] | None:
    """None where the values are no numbers of 64 bits or the like."""
    floating = pa.types.is_floating(values.type)
    if not (floating or is_ordered(values.type)) or values.null_count == len(values):
        return None
    (word,), valid = key_words([values])
    if floating:  # the bits of negative numbers ascend as the numbers fall
        word = word ^ (word >> 63 & _ALL_BUT_SIGN)
    some = word if valid is None else word[valid]
    low, high = int(some.min()), int(some.max())
    number = high - word if descending else word - low  # may wrap around, and is without a sign then
    places = high - low + 1
    if places < most:
        if valid is None:
            return [_Digit(number, places)]
        if nulls_first:
            number += 1
        number[~valid] = 0 if nulls_first else places
        return [_Digit(number, places + 1)]
    last, bits = number.astype(np.uint32), number.view(np.uint64)
    bits >>= _HALF
    digits = [_Digit(half, 1 << 32) for half in (bits.astype(np.uint32), last)]
    if valid is None:
        return digits
    for digit in digits:
        digit.number[~valid] = 0
    return [_Digit((valid if nulls_first else ~valid).astype(np.int64), 2), *digits]


def may_precede(batch: pa.RecordBatch, bound: pa.Scalar, order: Collation) -> pa.Array | None:
    """Rows whose first key is not after `bound`, and perhaps others; None when that cannot be said."""
    key = order[0]
    values = batch.column(column_name(key.column))
    if pa.types.is_null(values.type) or pa.types.is_interval(values.type):
        return None
    if not bound.is_valid:
        return pc.is_null(values) if key.nulls_first else None
    after = pc.less(values, bound) if key.descending else pc.greater(values, bound)
    # comparisons with NaN are FALSE, so such rows stay
    return pc.fill_null(pc.invert(after), key.nulls_first)
