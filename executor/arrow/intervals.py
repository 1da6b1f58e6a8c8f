"""Intervals as numbers that compare as they do: months of 30 days, days of 24 hours. Arrow neither compares nor sorts them."""

import numpy as np
import pyarrow as pa

from executor.arrow.decimals import validity_of

LAYOUT = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])  # Arrow's
_DAY = 86_400_000_000_000  # nanoseconds
_DAY_BITS = 47  # that hold the nanoseconds of a day


def comparable(intervals: pa.Array) -> pa.Array:
    """128-bit integers, as decimals: days, then the nanoseconds left over, in one number."""
    rows = len(intervals)
    if rows == 0:
        return pa.array([], pa.decimal128(38, 0))
    parts = np.frombuffer(intervals.buffers()[1], LAYOUT)[intervals.offset : intervals.offset + rows]
    whole, rest = np.divmod(parts["nanoseconds"], _DAY)
    days = parts["months"].astype(np.int64) * 30 + parts["days"] + whole
    words = np.empty(2 * rows, np.int64)
    words[0::2], words[1::2] = days << _DAY_BITS | rest, days >> (64 - _DAY_BITS)
    return pa.Array.from_buffers(pa.decimal128(38, 0), rows, [validity_of(intervals), pa.py_buffer(words)])
