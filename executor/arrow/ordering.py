"""Sorting by a collation: stable, NULLs where each key wants them, NaN above every other number.

Arrow keeps NaN at the end of either direction; a float key that has NaN is therefore preceded by a key that says so.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import column_name, single_array
from executor.arrow.intervals import comparable
from optimizer.algebra.traits import Collation, SortKey

_NUMBER = 8  # bytes of a row's number


def sorting_bytes(rows: pa.Table) -> int:
    """What sorting holds: the rows as they come, a number for each, and the rows in order."""
    return 2 * rows.nbytes + _NUMBER * rows.num_rows


def sorted_rows(table: pa.Table, order: Collation, limit: int | None = None) -> pa.Table:
    """The rows in order; with `limit` only the first so many."""
    if table.num_rows == 0 or not order:
        return table.slice(0, limit)
    columns, keys = _sort_keys(table, order)
    if not keys:
        return table.slice(0, limit)
    indices = pc.sort_indices(pa.table(columns), sort_keys=keys)
    return table.take(indices if limit is None else indices.slice(0, limit))


def sorted_runs(table: pa.Table, runs: np.ndarray, order: Collation) -> pa.Table:
    """The rows of each run in order, the runs as they stand. `runs`: a number for each row, ascending without gaps."""
    columns, keys = _sort_keys(table, order)
    if not keys or len(runs) == 0 or runs[-1] - runs[0] + 1 == len(runs):
        return table
    indices = pc.sort_indices(pa.table({"run": runs, **columns}), sort_keys=[("run", "ascending"), *keys])
    return table.take(indices)


def sorted_places(values: pa.Array) -> np.ndarray:
    """The rows of `values`, the smallest first, NULLs at the end."""
    columns, keys = _sort_keys(pa.table([values], [column_name(0)]), (SortKey(0),))
    return pc.sort_indices(pa.table(columns), sort_keys=keys).to_numpy() if keys else np.arange(len(values))


def _sort_keys(table: pa.Table, order: Collation) -> tuple[dict[str, pa.ChunkedArray], list[tuple[str, str, str]]]:
    """The columns to sort by, and the sort keys that name them."""
    columns: dict[str, pa.ChunkedArray] = {}
    keys: list[tuple[str, str, str]] = []
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
        columns[f"k{len(keys)}"] = values
        keys.append((f"k{len(keys)}", direction, nulls))
    return columns, keys


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
