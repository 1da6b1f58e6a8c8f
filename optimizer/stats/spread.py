"""The histogram of a column as estimators use it: shares of values between places on a line.

Places are numbers where values have a numeric meaning (`as_number`), else the texts themselves. Within a bucket values are
taken to be spread evenly (System R's assumption, but for a hundredth of the values); a text's place in its bucket is taken
to be the middle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from optimizer.catalog.histogram import Histogram

Place = Any  # float, or str: never both in one column
FAR = 1e300  # where numbers beyond are taken to be, infinity too, so that distances are finite


class Spread:
    """Bucket i holds the values v with bounds[i] < v ≤ bounds[i + 1], the first one also bounds[0]. `shares[i]`: their part of
    the column's values that are not NULL (0 to 1); `ndvs[i]`: how many of them differ, 1 at least. All three are of B, B and B
    + 1 items."""

    __slots__ = ("_below", "bounds", "ndvs", "shares")

    def __init__(self, bounds: Sequence[Any], shares: Sequence[float], ndvs: Sequence[float]) -> None:
        self.bounds, self.shares, self.ndvs = tuple(bounds), tuple(shares), tuple(ndvs)
        self._below = (0.0, *accumulate(self.shares))

    @property
    def total(self) -> float:
        """The share of all buckets together."""
        return self._below[-1]

    @property
    def numeric(self) -> bool:
        return not isinstance(self.bounds[0], str)

    def below(self, place: Place, included: bool) -> float:
        """Share of the values that are less than `place`, or equal to it where that is `included`."""
        bounds = self.bounds
        if place < bounds[0] or (place == bounds[0] and not included):
            return 0.0
        i = (bisect_right(bounds, place) if included else bisect_left(bounds, place)) - 1
        # equal bounds make buckets of one value: `included` is behind the last of them, else before the first
        if i >= len(self.shares):
            return self.total
        if included and i > 0 and place == bounds[i]:
            return self._below[i]
        return self._below[i] + self.shares[i] * self._within(i, place, included)

    def _within(self, i: int, place: Place, included: bool) -> float:
        """The part of bucket i below `place`, which lies in it. Its upper bound is one of its values."""
        low, high, one = self.bounds[i], self.bounds[i + 1], 1.0 / max(1.0, self.ndvs[i])
        if place == high:
            return 1.0 if included else 1.0 - one
        if isinstance(low, str) or high <= low:
            return 0.5
        part = float((place - low) / (high - low))
        if i == 0:  # its lower bound is one of its values as well
            return one + max(0.0, 1.0 - 2.0 * one) * part
        return max(0.0, 1.0 - one) * part

    def at(self, place: Place) -> float:
        """Share of the values that equal `place`, if it is a value at all: an equal part of its bucket."""
        bounds = self.bounds
        if place < bounds[0] or place > bounds[-1]:
            return 0.0
        first = max(0, bisect_left(bounds, place) - 1)
        last = max(first, min(bisect_right(bounds, place) - 1, len(self.shares) - 1))
        single = [i for i in range(first, last + 1) if bounds[i] == bounds[i + 1] == place]
        if single:
            return sum(self.shares[i] for i in single)
        return self.shares[first] / max(1.0, self.ndvs[first])

    def between(self, low: Place | None, high: Place | None, total: float) -> Spread | None:
        """What is left of the buckets within low ≤ v ≤ high, with shares that add up to `total`; None when nothing is left."""
        bounds: list[Any] = []
        shares: list[float] = []
        ndvs: list[float] = []
        for i, part in enumerate(self.shares):
            start, end = self.bounds[i], self.bounds[i + 1]
            new_start = start if low is None or start >= low else low
            new_end = end if high is None or end <= high else high
            if new_end < new_start or (new_end == new_start and start != end and i):
                continue
            kept = 1.0
            if (new_start, new_end) != (start, end):
                kept = (new_end - new_start) / (end - start) if not isinstance(start, str) and end > start else 0.5
            if kept <= 0.0:
                continue
            if not bounds:
                bounds.append(new_start)
            bounds.append(new_end)
            shares.append(part * kept)
            ndvs.append(max(1.0, self.ndvs[i] * kept))
        whole = sum(shares)
        return Spread(bounds, [share * total / whole for share in shares], ndvs) if whole > 0.0 else None


def spread_of(histogram: Histogram | None, present: float, place: Any) -> Spread | None:
    """The spread of a stored column with `present` values that are not NULL; `place` maps a value to its place or None. What is
    FAR is taken to be as far from the other bounds as these lie apart."""
    if histogram is None or not histogram.rows or present <= 0.0:
        return None
    bounds = [place(bound) for bound in histogram.bounds]
    if any(bound is None for bound in bounds) or any(a > b for a, b in pairwise(bounds)):
        return None
    if near := [bound for bound in bounds if not isinstance(bound, str) and abs(bound) < FAR]:
        apart = near[-1] - near[0]
        bounds = [min(max(bound, near[0] - apart), near[-1] + apart) for bound in bounds]
    shares = [min(1.0, rows / present) for rows in histogram.rows]
    return Spread(bounds, shares, [max(1.0, ndv) for ndv in histogram.ndv])
