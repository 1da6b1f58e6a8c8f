"""Window functions that are no aggregates: numbers of rows, and values picked from other rows."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.window_frames import Piece
from executor.arrow.window_layout import Layout
from executor.arrow.window_sums import prefix_sums
from optimizer.errors import ExecutionError

NUMBERS: dict[str, Callable[[Layout], pa.Array]] = {
    "row_number": lambda layout: pa.array(layout.at - layout.start + 1),
    "rank": lambda layout: pa.array(layout.peer_start - layout.start + 1),
    "dense_rank": lambda layout: pa.array(layout.peers - layout.peers[layout.start] + 1),
    "percent_rank": lambda layout: pa.array((layout.peer_start - layout.start) / np.maximum(layout.end - layout.start - 1, 1)),
    "cume_dist": lambda layout: pa.array((layout.peer_end - layout.start) / (layout.end - layout.start)),
}


def ntile(layout: Layout, buckets: pa.Array) -> pa.Array:
    """The bucket of each row when its partition is dealt out to so many, the first ones taking one row more where it does not
    go up evenly; NULL for NULL."""
    if pc.any(pc.less_equal(buckets, 0)).as_py():
        raise ExecutionError("the number of buckets must be above 0")
    count, place = layout.end - layout.start, layout.at - layout.start
    number = np.minimum(buckets.fill_null(1).to_numpy(), count)
    size, larger = np.divmod(count, number)
    in_larger = larger * (size + 1)
    bucket = np.where(place < in_larger, place // (size + 1), larger + (place - in_larger) // size)
    return pa.array(bucket + 1, mask=pc.is_null(buckets).to_numpy(zero_copy_only=False))


def shifted(
    layout: Layout, values: pa.Array, steps: pa.Array, default: pa.Array | None, ignore_nulls: bool, back: bool
) -> pa.Array:
    """The value so many rows further on, or `back`; `default` where the partition ends before, NULL for NULL steps. With
    `ignore_nulls` only rows with a value are counted; no step at all stays where it is."""
    known = pc.is_valid(steps).to_numpy(zero_copy_only=False)
    step = steps.fill_null(0).to_numpy().clip(-layout.rows - 1, layout.rows + 1)
    step = -step if back else step
    if ignore_nulls:
        places, before = _valid_places(values)
        # the rows with a value are numbered; those up to the current one are skipped, or those from it on
        target = np.where(step > 0, before[layout.at + 1] + step - 1, before[layout.at] + step)
        inside = (target >= before[layout.start]) & (target < before[layout.end])
        source = _at(places, target, inside)
        source, inside = np.where(step == 0, layout.at, source), inside | (step == 0)
    else:
        source = layout.at + step
        inside = (source >= layout.start) & (source < layout.end)
    taken = _picked(values, source, inside & known)
    return taken if default is None else pc.if_else(pa.array(~inside & known), default, taken)


def nth_value(pieces: Sequence[Piece], values: pa.Array, numbers: np.ndarray, ignore_nulls: bool) -> pa.Array:
    """The value of the row `numbers` (from 1; less: NULL) of each frame; with `ignore_nulls` rows with a value are counted."""
    places, before = _valid_places(values) if ignore_nulls else _all_places(values)
    left = numbers - 1
    found = left < 0
    source, inside = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.bool_)
    for low, high in pieces:
        first, count = before[low], before[high] - before[low]
        here = ~found & (left < count)
        source[here] = places[(first + left)[here]]
        inside |= here
        found |= here
        left = np.where(found, left, left - count)
    return _picked(values, source, inside)


def first_value(pieces: Sequence[Piece], values: pa.Array, ignore_nulls: bool) -> pa.Array:
    return nth_value(pieces, values, np.ones(len(pieces[0][0]), np.int64), ignore_nulls)


def last_value(pieces: Sequence[Piece], values: pa.Array, ignore_nulls: bool) -> pa.Array:
    places, before = _valid_places(values) if ignore_nulls else _all_places(values)
    source, inside = np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    for low, high in reversed(pieces):
        here = ~inside & (before[high] > before[low])
        source[here] = places[(before[high] - 1)[here]]
        inside |= here
    return _picked(values, source, inside)


def _all_places(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(len(values)), np.arange(len(values) + 1)


def _valid_places(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The rows with a value, and how many of them are before row 0, 1, 2, …"""
    valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
    return np.flatnonzero(valid), prefix_sums(valid)


def _at(places: np.ndarray, numbers: np.ndarray, inside: np.ndarray) -> np.ndarray:
    result = np.zeros(len(numbers), np.int64)
    result[inside] = places[numbers[inside]]
    return result


def _picked(values: pa.Array, source: np.ndarray, inside: np.ndarray) -> pa.Array:
    """The values of the rows `source`, NULL where not `inside`."""
    return values.take(pa.array(source, mask=~inside))
