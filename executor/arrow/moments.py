"""Statistics of groups from their central moments, which merge.

Kept of each group, of one argument x: n, mean, M2, M3, M4, where Mk = Σ (x - mean)^k; of two, y and x: n, both means, both M2 and
Σ (y - mean)(x - mean). Merging groups, with d = its mean - the merged mean, is adding up

    M2 + n·d²        M3 + 3·d·M2 + n·d³        M4 + 4·d·M3 + 6·d²·M2 + n·d⁴

(Pébay, Formulas for Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical Moments, 2008). A row is
a group with moments 0. The mean is corrected by the mean of what is left, so that equal values have no spread at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from executor.arrow.segments import segment_of
from optimizer.algebra.columns import DataType
from optimizer.errors import ExecutionError

Columns = list[pa.Array]
Finish = Callable[[Columns, np.ndarray, Sequence[Any], DataType], pa.Array]


def start(columns: Columns) -> Columns:
    return [pa.array(np.ones(len(columns[0]))), columns[0], *(pa.array(np.zeros(len(columns[0]))) for _ in range(3))]


def start_pairs(columns: Columns) -> Columns:
    zeros = pa.array(np.zeros(len(columns[0])))
    return [pa.array(np.ones(len(columns[0]))), *columns, zeros, zeros, zeros]


def merge(columns: Columns, offsets: np.ndarray) -> Columns:
    n, mean, m2, m3, m4 = (column.to_numpy() for column in columns)
    starts, segment = offsets[:-1], segment_of(offsets)
    with np.errstate(all="ignore"):
        total, merged = _means(n, mean, starts, segment)
        d = _distance(n, mean, merged, segment)
        sums = (m2 + n * d * d, m3 + 3 * d * m2 + n * d * d * d, m4 + 4 * d * m3 + 6 * d * d * m2 + n * d * d * d * d)
        return [pa.array(total), pa.array(merged), *(pa.array(_added(each, starts)) for each in sums)]


def merge_pairs(columns: Columns, offsets: np.ndarray) -> Columns:
    n, mean_y, mean_x, yy, xx, yx = (column.to_numpy() for column in columns)
    starts, segment = offsets[:-1], segment_of(offsets)
    with np.errstate(all="ignore"):
        total, merged_y = _means(n, mean_y, starts, segment)
        _, merged_x = _means(n, mean_x, starts, segment)
        dy = mean_y - merged_y[segment]  # an infinite value is at no distance from itself: NaN
        dx = mean_x - merged_x[segment]
        alone_y, alone_x = _distance(n, mean_y, merged_y, segment), _distance(n, mean_x, merged_x, segment)
        sums = (yy + n * alone_y * alone_y, xx + n * alone_x * alone_x, yx + n * dy * dx)
        return [pa.array(total), pa.array(merged_y), pa.array(merged_x), *(pa.array(_added(each, starts)) for each in sums)]


def _added(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


def _means(n: np.ndarray, mean: np.ndarray, starts: np.ndarray, segment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows and the mean of each segment."""
    total = _added(n, starts)
    merged = _added(n * mean, starts) / total
    left = _added(n * (mean - merged[segment]), starts) / total
    return total, np.where(np.isfinite(left), merged + left, merged)


def _distance(n: np.ndarray, mean: np.ndarray, merged: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """Of each part's mean from its segment's; 0 where the part is the segment, be it infinite."""
    alone = np.bincount(segment, minlength=len(merged))[segment] == 1
    return np.where(alone, 0.0, mean - merged[segment])


def _finish(compute: Callable[..., tuple[np.ndarray, np.ndarray | bool]], checked: str = "") -> Finish:
    """`compute` gives of the moments the values and where there are none; NULL too where a segment is empty. `checked`: the name
    of a function that refuses results which are not finite."""

    def finish(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
        full = offsets[1:] > offsets[:-1]
        with np.errstate(all="ignore"):
            values, missing = compute(*(column.to_numpy() for column in columns))
        result, valid = np.zeros(len(full)), full.copy()
        result[full], valid[full] = values, ~np.broadcast_to(missing, values.shape)
        if checked:
            _finite(result[valid], checked)
        return pa.array(result, mask=~valid)

    return finish


def counts(columns: Columns, offsets: np.ndarray, constants: Sequence[Any], type: DataType) -> pa.Array:
    full = offsets[1:] > offsets[:-1]
    result = np.zeros(len(full), np.int64)
    result[full] = columns[0].to_numpy()
    return pa.array(result).cast(type)


def _finite(values: np.ndarray, name: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ExecutionError(f"{name} is out of range: its result would be {values[~np.isfinite(values)][0]}")
    return values


def _skewness(n: Any, mean: Any, m2: Any, m3: Any, m4: Any) -> Any:
    """NaN where all values are one, also where another's would be refused."""
    few = n <= 2
    value = np.sqrt(n * (n - 1)) / (n - 2) * (m3 / n) / (m2 / n) ** 1.5
    _finite(value[~few & (m2 != 0)], "skewness")
    return np.where(m2 == 0, np.nan, value), few


def _kurtosis(n: Any, mean: Any, m2: Any, m3: Any, m4: Any) -> Any:
    return (n - 1) * ((n + 1) * (n * m4 / m2**2) - 3 * (n - 1)) / ((n - 2) * (n - 3)), (n <= 3) | (m2 == 0)


def _corr(n: Any, y: Any, x: Any, yy: Any, xx: Any, yx: Any) -> Any:
    spread = np.sqrt(_finite(yy / n, "corr")) * np.sqrt(_finite(xx / n, "corr"))
    return np.where(spread == 0, np.nan, yx / n / spread), False


def _slope(n: Any, y: Any, x: Any, yy: Any, xx: Any, yx: Any) -> Any:
    return np.where(_finite(xx, "regr_slope") == 0, np.nan, yx / xx), False


def _intercept(n: Any, y: Any, x: Any, yy: Any, xx: Any, yx: Any) -> Any:
    slope = _slope(n, y, x, yy, xx, yx)[0]
    return y - slope * x, np.isnan(slope)


def _r2(n: Any, y: Any, x: Any, yy: Any, xx: Any, yx: Any) -> Any:
    _finite(xx, "regr_r2")
    some = xx != 0
    _finite(yy[some], "regr_r2")
    return np.where(yy == 0, 1.0, (yx / n / (np.sqrt(yy / n) * np.sqrt(xx / n))) ** 2), ~some


FINISH: dict[str, Finish] = {
    "var_pop": _finish(lambda n, mean, m2, m3, m4: (m2 / n, False), "var_pop"),
    "var_samp": _finish(lambda n, mean, m2, m3, m4: (m2 / (n - 1), n == 1), "var_samp"),
    "stddev_pop": _finish(lambda n, mean, m2, m3, m4: (np.sqrt(m2 / n), False), "stddev_pop"),
    "stddev_samp": _finish(lambda n, mean, m2, m3, m4: (np.sqrt(m2 / (n - 1)), n == 1), "stddev_samp"),
    "sem": _finish(lambda n, mean, m2, m3, m4: (np.sqrt(m2 / n) / np.sqrt(n), False), "sem"),
    "skewness": _finish(_skewness),
    "kurtosis": _finish(_kurtosis, "kurtosis"),
    "kurtosis_pop": _finish(lambda n, mean, m2, m3, m4: (n * m4 / m2**2 - 3, (n <= 1) | (m2 == 0)), "kurtosis_pop"),
}
FINISH_PAIRS: dict[str, Finish] = {
    "covar_pop": _finish(lambda n, y, x, yy, xx, yx: (yx / n, False)),
    "covar_samp": _finish(lambda n, y, x, yy, xx, yx: (yx / (n - 1), n == 1)),
    "corr": _finish(_corr),
    "regr_avgx": _finish(lambda n, y, x, yy, xx, yx: (x, False)),
    "regr_avgy": _finish(lambda n, y, x, yy, xx, yx: (y, False)),
    "regr_sxx": _finish(lambda n, y, x, yy, xx, yx: (xx, False), "regr_sxx"),
    "regr_syy": _finish(lambda n, y, x, yy, xx, yx: (yy, False), "regr_syy"),
    "regr_sxy": _finish(lambda n, y, x, yy, xx, yx: (yx, False)),
    "regr_slope": _finish(_slope),
    "regr_intercept": _finish(_intercept),
    "regr_r2": _finish(_r2),
}
