"""Reference semantics of aggregates: from the values of a group, in row order and without NULLs, to one value.

A function takes a list for each argument, all of one length and never empty, and then the constants. Those of statistics go
through the data twice, first for the means, then for the sums of powers of the distances from them. Where DuckDB refuses a result
that is infinite or no number, so do they.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from optimizer.algebra.evaluate_dates import as_timestamp
from optimizer.algebra.evaluate_numbers import ROUNDING
from optimizer.algebra.evaluate_order import order_key
from optimizer.errors import ExecutionError

Doubles = Sequence[float]


def central_moment(values: Doubles, power: int) -> float:
    """The sum of the distances from the mean, to a power; 0 for one value, be it infinite."""
    if len(values) == 1:
        return 0.0
    middle = mean(values)
    return fsum([_power(x - middle, power) for x in values])


def squares(values: Doubles, function: str) -> float:
    """The sum of the squared distances from the mean; refused where it is not finite."""
    return finite(central_moment(values, 2), function)


def co_moment(a: Doubles, b: Doubles) -> float:
    """The sum of the products of the distances from the two means."""
    mean_a, mean_b = mean(a), mean(b)
    return fsum([(x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)])


def mean(values: Doubles) -> float:
    return fsum(values) / len(values)


def fsum(values: Doubles) -> float:
    """math.fsum, which refuses infinities of both signs and sums that overflow."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return sum(values)


def _power(x: float, power: int) -> float:
    try:
        return float(x**power)
    except OverflowError:
        return math.inf if power % 2 == 0 or x > 0 else -math.inf


def finite(value: float, function: str) -> float:
    if not math.isfinite(value):
        raise ExecutionError(f"{function} is out of range: its result would be {value}")
    return value


def var_pop(values: Doubles) -> float:
    return squares(values, "var_pop") / len(values)


def var_samp(values: Doubles) -> float | None:
    return squares(values, "var_samp") / (len(values) - 1) if len(values) > 1 else None


def stddev_pop(values: Doubles) -> float:
    return math.sqrt(squares(values, "stddev_pop") / len(values))


def stddev_samp(values: Doubles) -> float | None:
    return math.sqrt(squares(values, "stddev_samp") / (len(values) - 1)) if len(values) > 1 else None


def sem(values: Doubles) -> float:
    return math.sqrt(squares(values, "sem") / len(values)) / math.sqrt(len(values))


def skewness(values: Doubles) -> float | None:
    """NaN where all values are one."""
    n = len(values)
    if n <= 2:
        return None
    second, third = central_moment(values, 2) / n, central_moment(values, 3) / n
    if second == 0:
        return math.nan
    return finite(math.sqrt(n * (n - 1)) / (n - 2) * third / _power(second, 3) ** 0.5, "skewness")


def kurtosis(values: Doubles) -> float | None:
    """NULL where all values are one."""
    n = len(values)
    if n <= 3:
        return None
    second, fourth = central_moment(values, 2), central_moment(values, 4)
    if second == 0:
        return None
    ratio = n * fourth / _power(second, 2)
    return finite((n - 1) * ((n + 1) * ratio - 3 * (n - 1)) / ((n - 2) * (n - 3)), "kurtosis")


def kurtosis_pop(values: Doubles) -> float | None:
    n = len(values)
    second, fourth = central_moment(values, 2), central_moment(values, 4)
    if n <= 1 or second == 0:
        return None
    return finite(n * fourth / _power(second, 2) - 3, "kurtosis_pop")


def covar_samp(y: Doubles, x: Doubles) -> float | None:
    return co_moment(y, x) / (len(y) - 1) if len(y) > 1 else None


def corr(y: Doubles, x: Doubles) -> float:
    """NaN where all values of a side are one."""
    n = len(y)
    deviations = [math.sqrt(squares(side, "corr") / n) for side in (y, x)]
    product = deviations[0] * deviations[1]
    return co_moment(y, x) / n / product if product else math.nan


def regr_slope(y: Doubles, x: Doubles) -> float:
    """NaN where all x are one."""
    spread = squares(x, "regr_slope")
    return co_moment(y, x) / spread if spread else math.nan


def regr_intercept(y: Doubles, x: Doubles) -> float | None:
    slope = regr_slope(y, x)
    return None if math.isnan(slope) else mean(y) - slope * mean(x)


def regr_r2(y: Doubles, x: Doubles) -> float | None:
    """NULL where all x are one, 1 where all y are."""
    if squares(x, "regr_r2") == 0:
        return None
    if squares(y, "regr_r2") == 0:
        return 1.0
    return corr(y, x) ** 2


def mode(values: Sequence[Any]) -> Any:
    """The value that is there most often; of several the one that comes first."""
    counts = Counter(map(order_key, values))
    most = max(counts.values())
    return next(value for value in values if counts[order_key(value)] == most)


def quantile_disc(values: Sequence[Any], fraction: float) -> Any:
    """A value that is there, so many of the others before it; a fraction below 0 counts from the largest."""
    ordered = sorted(values, key=order_key, reverse=fraction < 0)
    n = len(ordered)
    return ordered[max(1, n - math.floor(n - n * abs(fraction))) - 1]


def quantile_cont(values: Sequence[Any], fraction: float) -> Any:
    """The same, between two values where it falls between them: a double of integers, a timestamp of dates."""
    ordered = sorted(values, key=order_key, reverse=fraction < 0)
    place = (len(ordered) - 1) * abs(fraction)
    low, high, part = ordered[math.floor(place)], ordered[math.ceil(place)], place - math.floor(place)
    if isinstance(low, Decimal | date):
        return between(low, high, part)
    a, b = float(low), float(high)
    return a if place == math.floor(place) else a * (1.0 - part) + b * part


def between(low: Any, high: Any, part: float) -> Any:
    """What lies a part of the way from one to the other: of decimals cut towards the first, of times rounded to microseconds."""
    if isinstance(low, Decimal):
        steps = int(ROUNDING.subtract(high, low).scaleb(places := -int(low.as_tuple().exponent), ROUNDING))
        return ROUNDING.add(low, Decimal(int(steps * part)).scaleb(-places, ROUNDING))
    return _moment_between(as_timestamp(low), as_timestamp(high), part)


def _moment_between(low: datetime, high: datetime, part: float) -> datetime:
    """Rounded half away from 1970."""
    steps = (high - low) // _MICROSECOND * part
    whole = math.floor(steps)
    moment = low + whole * _MICROSECOND
    up = steps - whole > 0.5 or (steps - whole == 0.5 and moment >= _EPOCH)
    return moment + up * _MICROSECOND


_MICROSECOND, _EPOCH = timedelta(microseconds=1), datetime(1970, 1, 1)


def arg_extreme(of: Callable[..., int], values: Sequence[Any], keys: Sequence[Any]) -> Any:
    """The value beside the key that `of`, min or max, picks, the first of several."""
    return values[of(range(len(keys)), key=lambda i: order_key(keys[i]))]


def entropy(values: Sequence[Any]) -> float:
    """In bits, of the distribution of the values."""
    n = len(values)
    return fsum([count / n * math.log2(n / count) for count in Counter(map(order_key, values)).values()])
