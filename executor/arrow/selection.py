"""Rows that a mask chooses, by their numbers: these are found once, and then every column is taken by them.

Arrow's filter walks through the mask again for each column. Of 65,536 rows half of which are chosen it takes 90 µs for a column
of integers; to find the numbers takes 35 µs, and to take a column by them 15.
"""

from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Columns = TypeVar("Columns", pa.Array, pa.RecordBatch)


def flags(mask: pa.Array) -> np.ndarray:
    """A boolean array without NULLs as one of NumPy: seven times as fast as Arrow's conversion."""
    start = mask.offset & 7
    packed = np.frombuffer(mask.buffers()[1], np.uint8)[mask.offset >> 3 : (mask.offset + len(mask) + 7) >> 3]
    return np.unpackbits(packed, count=start + len(mask), bitorder="little")[start:].view(np.bool_)


def mask_of(flags: np.ndarray) -> pa.Array:
    """The other way round."""
    return pa.Array.from_buffers(pa.bool_(), len(flags), [None, pa.py_buffer(np.packbits(flags, bitorder="little"))], 0)


def row_numbers(mask: pa.Array | np.ndarray) -> np.ndarray:
    """The rows that a mask without NULLs chooses, ascending."""
    return np.flatnonzero(mask if isinstance(mask, np.ndarray) else flags(mask))


def taken(values: Columns, rows: np.ndarray | pa.Array) -> Columns:
    """The rows with these numbers, all of which there are; NULL for a number that is NULL."""
    return pc.take(values, rows if isinstance(rows, pa.Array) else pa.array(rows), boundscheck=False)


def filtered(batch: pa.RecordBatch, mask: pa.Array) -> pa.RecordBatch:
    """The rows that a mask without NULLs chooses."""
    if mask.true_count == batch.num_rows:
        return batch
    return taken(batch, row_numbers(mask)) if batch.num_columns else batch.filter(mask)  # which keeps count without columns


def where_true(mask: pa.Array, values: pa.Array) -> pa.Array:
    """The values where a mask without NULLs is TRUE, NULL elsewhere: of the values nothing is copied."""
    t, type = pa.types, values.type
    if values.offset or type.num_fields or t.is_null(type) or t.is_dictionary(type):
        return pc.if_else(mask, values, pa.scalar(None, type))
    kept = pc.and_(mask, pc.is_valid(values)) if values.null_count else mask
    if kept.offset:
        kept = pa.concat_arrays([kept])  # a bitmap of its own begins at its first bit
    return pa.Array.from_buffers(type, len(values), [kept.buffers()[1], *values.buffers()[1:]])
