"""How the values of equated columns meet: common values one by one, the others histogram bucket by histogram bucket.

For columns c1..ck of k relations, with f_i(v) the share of relation i's rows that have v, the join's share of the cross
product is Σ_v Π_i f_i(v): a sum that knows no order of joins. Values that are common in any column are summed one by one.
The others are cut into pieces at all columns' bucket bounds; in a piece where column i has d_i values, min d_i of them are
taken to be in all columns (containment, as in System R's 1/max formula), each with the mean frequency of its column there.
Cutting a piece in two changes nothing, so a set of columns has one answer, whichever columns are looked at beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from optimizer.stats.relation import ColumnFigures, as_place

MOST_BUCKETS = 50  # of a column: neighbours are put together beyond


class Overlap:
    """Equated columns, one of each relation: `columns[i]` is member i."""

    def __init__(self, columns: Sequence[ColumnFigures]) -> None:
        rests = [_rest(f) for f in columns]
        self._informed = np.array([f.spread is not None or bool(f.frequent) for f in columns])
        self._plain = [1.0 / max(1.0, f.ndv) for f in columns]
        values = list(dict.fromkeys(value for rest in rests for value in rest.points))
        self._common = np.zeros((len(columns), len(values)), bool)
        self._frequency = np.zeros((len(columns), len(values)))
        places = [as_place(value) for value in values]
        numeric = np.array([isinstance(place, float) for place in places], bool)
        numbers = np.array([place if isinstance(place, float) else 0.0 for place in places])
        for i, rest in enumerate(rests) if values else ():
            own = list(map(rest.points.get, values))
            self._common[i] = [share is not None for share in own]
            others = rest.frequencies(numbers, numeric)
            self._frequency[i] = [other if share is None else share for share, other in zip(own, others.tolist(), strict=True)]
        self._bounded = [rest.ends is not None for rest in rests]
        cuts = np.unique(np.concatenate([rest.ends for rest in rests if rest.ends is not None] or [np.zeros(1)]))
        pieces = [rest.pieces(cuts) for rest in rests]
        self._distinct = np.array([distinct for distinct, _ in pieces])
        self._mean = np.array([mean for _, mean in pieces])
        self._left = [(rest.distinct, rest.share) for rest in rests]
        self._known: dict[tuple[int, ...], float] = {}

    def correction(self, members: Sequence[int]) -> float:
        """The share of the members' cross product that joins, over what 1/ndv of all columns but the one with the fewest values
        gives; 1 where fewer than two of them have anything but a distinct count."""
        rows = tuple(members)
        known = self._known.get(rows)
        if known is None:
            known = self._known[rows] = self._correction(list(rows))
        return known

    def _correction(self, rows: list[int]) -> float:
        if self._informed[rows].sum() < 2:
            return 1.0
        common = self._common[rows].any(axis=0)
        share = float(self._frequency[rows][:, common].prod(axis=0).sum())
        if all(self._bounded[i] for i in rows):
            share += float((self._distinct[rows].min(axis=0) * self._mean[rows].prod(axis=0)).sum())
        else:
            left = [self._left[i] for i in rows]
            fewest = min(distinct for distinct, _ in left)
            for distinct, part in left:
                fewest *= part / distinct if distinct else 0.0
            share += fewest
        plain = sorted((self._plain[i] for i in rows), reverse=True)
        base = float(np.prod(plain[1:]))
        return share / base if base > 0.0 else 1.0


overlap_of = lru_cache(maxsize=256)(Overlap)  # kept: groups of one query and queries over the same tables ask for it again


def _rest(figures: ColumnFigures) -> _Rest:
    if figures.buckets is None:
        figures.buckets = _Rest(figures)
    rest: _Rest = figures.buckets
    return rest


class _Rest:
    """A column's values: `points` one by one with their shares; the others, `distinct` values with `share` together, in buckets
    between `ends` (None: nobody knows where they are)."""

    __slots__ = ("distinct", "each", "ends", "high", "low", "ndvs", "points", "share")

    def __init__(self, figures: ColumnFigures) -> None:
        self.points: dict[Any, float] = dict(figures.frequent)
        self.low, self.high = figures.low, figures.high
        self.ends: np.ndarray[Any, Any] | None = None
        spread = figures.spread
        if spread is not None and spread.numeric:
            buckets = []
            for i, share in enumerate(spread.shares):
                low, high = spread.bounds[i], spread.bounds[i + 1]
                if high > low:
                    buckets.append((low, high, share, spread.ndvs[i]))
                else:
                    self.points[low] = self.points.get(low, 0.0) + share
            step = -(-len(buckets) // MOST_BUCKETS) if buckets else 1
            parts = [buckets[i : i + step] for i in range(0, len(buckets), step)]
            if parts:
                self.ends = np.array([parts[0][0][0], *(part[-1][1] for part in parts)], float)
                self.ndvs = np.array([sum(b[3] for b in part) for part in parts])
                self.each = np.array([sum(b[2] for b in part) for part in parts]) / self.ndvs
            self.share, self.distinct = sum(b[2] for b in buckets), sum(b[3] for b in buckets)
            return
        self.share = max(0.0, 1.0 - sum(self.points.values()))
        self.distinct = max(1.0, figures.ndv - len(self.points))
        if self.share < 1e-9:
            self.share = self.distinct = 0.0
            self.ends, self.ndvs, self.each = np.zeros(1), np.zeros(0), np.zeros(0)
        elif self.low is not None and self.high is not None and self.low < self.high:
            self.ends = np.array([self.low, self.high])
            self.ndvs, self.each = np.array([self.distinct]), np.array([self.share / self.distinct])

    def frequencies(self, places: np.ndarray[Any, Any], numeric: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The share of each of some values that are no points of this column, by their places; not `numeric`: they have none."""
        unplaced = self.share / self.distinct if self.distinct else 0.0
        if self.ends is None:
            return np.full(len(places), unplaced)
        if not len(self.each):
            return np.where(numeric, 0.0, unplaced)
        buckets = np.where(places == self.ends[0], 0, np.searchsorted(self.ends, places) - 1)
        inside = (buckets >= 0) & (buckets < len(self.each))
        return np.where(numeric, np.where(inside, self.each[np.where(inside, buckets, 0)], 0.0), unplaced)

    def pieces(self, cuts: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """(distinct values, share of one value) in each piece between two cuts."""
        count = max(0, len(cuts) - 1)
        if self.ends is None or not len(self.each) or not count:
            return np.zeros(count), np.zeros(count)
        buckets = np.searchsorted(self.ends, (cuts[:-1] + cuts[1:]) / 2) - 1
        inside = (buckets >= 0) & (buckets < len(self.each))
        at = np.where(inside, buckets, 0)
        part = (cuts[1:] - cuts[:-1]) / (self.ends[at + 1] - self.ends[at])
        return np.where(inside, self.ndvs[at] * part, 0.0), np.where(inside, self.each[at], 0.0)
