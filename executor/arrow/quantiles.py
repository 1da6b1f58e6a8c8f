"""Quantiles: the value at a fraction of sorted rows, of segments or of the frames of a window."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from executor.arrow import decimals
from executor.arrow.distinct import spread
from executor.arrow.ordering import sorted_places
from executor.arrow.segments import Direction, sorted_within
from executor.arrow.window_scans import ranked
from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_aggregates import between
from optimizer.algebra.types import TIMESTAMP

Places = tuple[np.ndarray, np.ndarray, np.ndarray]


class Quantile(NamedTuple):
    """`prepare(values)`: what is sorted. `places(sizes, fraction)`: which two of so many sorted rows lie around the fraction, and
    which part of the way between them lies before it. `value(low, high, part, type)`: what the two rows' values make. A fraction
    below 0 is one of the descending order."""

    prepare: Callable[[pa.Array], pa.Array]
    places: Callable[[np.ndarray, float], Places]
    value: Callable[[pa.Array, pa.Array, np.ndarray, DataType], pa.Array]

    def finish(self, columns: Sequence[pa.Array], offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
        """Of each segment; NULL where it is empty."""
        (fraction,) = constants
        (values,) = sorted_within([self.prepare(columns[0])], [0], [Direction(fraction < 0, False)], offsets)
        some = offsets[1:] > offsets[:-1]
        *rows, part = self.places(np.diff(offsets)[some], abs(fraction))
        low, high = (values.take(pa.array(offsets[:-1][some] + row)) for row in rows)
        return spread(self.value(low, high, part, type), pa.array(some))

    def of_ranges(
        self, values: pa.Array, lows: np.ndarray, highs: np.ndarray, constants: Sequence[Any], type: DataType
    ) -> pa.Array:
        """Of each column's ranges [low, high) of rows; NULL where they are empty."""
        (fraction,) = constants
        values, sizes = self.prepare(values), (highs - lows).sum(axis=0)
        order, some = sorted_places(values), sizes > 0
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        *rows, part = self.places(sizes[some], abs(fraction))
        if fraction < 0:
            rows = [sizes[some] - 1 - row for row in rows]
        low, high = (values.take(pa.array(order[ranked(ranks, lows[:, some], highs[:, some], row)])) for row in rows)
        return spread(self.value(low, high, part, type), pa.array(some))


def _first_with(sizes: np.ndarray, fraction: float) -> Places:
    place = np.maximum(1, sizes - np.floor(sizes - sizes * fraction).astype(np.int64)) - 1
    return place, place, np.zeros(len(sizes))


def _around(sizes: np.ndarray, fraction: float) -> Places:
    place = (sizes - 1) * fraction
    low = np.floor(place).astype(np.int64)
    return low, np.ceil(place).astype(np.int64), place - low


def _between_doubles(low: pa.Array, high: pa.Array, part: np.ndarray, type: DataType) -> pa.Array:
    a, b = low.to_numpy(), high.to_numpy()
    with np.errstate(all="ignore"):
        return pa.array(np.where(part == 0, a, a * (1.0 - part) + b * part)).cast(type, safe=False)


def _steps(values: pa.Array) -> pa.Array:
    """Valid decimals and times as numbers whose differences fit int64; as they are where those may not."""
    try:
        decimal = pa.types.is_decimal(values.type)
        steps = decimals.unscaled(values) if decimal else values.cast(TIMESTAMP).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:  # a date beyond the timestamps
        return values
    return pa.array(steps) if steps is not None and decimals.largest(steps) < 1 << 62 else values


def _between_steps(low: pa.Array, high: pa.Array, part: np.ndarray, type: DataType) -> pa.Array:
    if not pa.types.is_int64(low.type):
        return pa.array(list(map(between, low.to_pylist(), high.to_pylist(), part.tolist())), type)
    start = low.to_numpy()
    way = (high.to_numpy() - start) * part
    if pa.types.is_decimal(type):
        return decimals.from_unscaled(start + way.astype(np.int64), type, None)
    whole = np.floor(way)
    moment, rest = start + whole.astype(np.int64), way - whole
    moment += (rest > 0.5) | ((rest == 0.5) & (moment >= 0))  # half away from 1970
    return pa.array(moment, type)


DISCRETE = Quantile(lambda values: values, _first_with, lambda low, high, part, type: low)
CONTINUOUS = Quantile(lambda values: values.cast(pa.float64(), safe=False), _around, _between_doubles)
EXACT = Quantile(_steps, _around, _between_steps)  # of decimals and times, in whole steps of the type
