"""Sorting by a collation: stable, NULLs where each key wants them, NaN above every other number.

Arrow keeps NaN at the end of either direction; a float key that has NaN is therefore preceded by a key that says so.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import column_name
from optimizer.algebra.traits import Collation


def sorted_rows(table: pa.Table, order: Collation, limit: int | None = None) -> pa.Table:
    """The rows in order; with `limit` only the first so many."""
    if table.num_rows == 0 or not order:
        return table.slice(0, limit)
    columns: dict[str, pa.ChunkedArray] = {}
    keys = []
    for key in order:
        values = table[column_name(key.column)]
        direction = "descending" if key.descending else "ascending"
        nulls = "at_start" if key.nulls_first else "at_end"
        if pa.types.is_null(values.type):
            continue
        if pa.types.is_floating(values.type):
            is_nan = pc.is_nan(values)
            if pc.any(is_nan).as_py():
                columns[f"k{len(keys)}"] = is_nan.cast(pa.int8())
                keys.append((f"k{len(keys)}", direction, nulls))
        columns[f"k{len(keys)}"] = values
        keys.append((f"k{len(keys)}", direction, nulls))
    if not keys:
        return table.slice(0, limit)
    indices = pc.sort_indices(pa.table(columns), sort_keys=keys)
    return table.take(indices if limit is None else indices.slice(0, limit))


def may_precede(batch: pa.RecordBatch, bound: pa.Scalar, order: Collation) -> pa.Array | None:
    """Rows whose first key is not after `bound`, and perhaps others; None when that cannot be said."""
    key = order[0]
    values = batch.column(column_name(key.column))
    if pa.types.is_null(values.type):
        return None
    if not bound.is_valid:
        return pc.is_null(values) if key.nulls_first else None
    after = pc.less(values, bound) if key.descending else pc.greater(values, bound)
    # comparisons with NaN are FALSE, so such rows stay
    return pc.fill_null(pc.invert(after), key.nulls_first)
