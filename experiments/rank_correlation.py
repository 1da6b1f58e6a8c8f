"""How well estimated costs order plans by measured time.

Source: Gu, Soliman and Waas, Testing the accuracy of query optimizers, DBTest 2012.
"""

from collections.abc import Iterator, Sequence
from math import hypot, sqrt

import numpy as np
import numpy.typing as npt


def kendall_tau(estimates: Sequence[float], actuals: Sequence[float]) -> float | None:
    """Kendall's τ-b: 1 where the two order all pairs alike, -1 where oppositely; tied pairs are taken out of the norm.

    None where it says nothing: fewer than two values, or all equal on one side. Quadratic in the number of values.
    """
    agree = 0
    pairs = [0, 0]  # not tied by estimate, by actual
    for (e, a), (f, b) in _pairs(estimates, actuals):
        by_estimate, by_actual = _sign(f - e), _sign(b - a)
        agree += by_estimate * by_actual
        pairs[0] += by_estimate != 0
        pairs[1] += by_actual != 0
    return agree / sqrt(pairs[0] * pairs[1]) if pairs[0] and pairs[1] else None


def spearman(estimates: Sequence[float], actuals: Sequence[float]) -> float | None:
    """Spearman's ρ: Pearson's correlation of the ranks, tied values sharing their mean rank. None as for τ."""
    x, y = mean_ranks(estimates).tolist(), mean_ranks(actuals).tolist()
    mean = (len(x) + 1) / 2
    covariance = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    spread = sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y)
    return covariance / sqrt(spread) if spread else None


def mean_ranks(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """From 1; equal values have the mean of the places they take."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: npt.NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return ranks


def weighted_correlation(estimates: Sequence[float], actuals: Sequence[float]) -> float | None:
    """Like τ, but a pair counts the more the faster its plans and the further they are apart; between -1 and 1.

    With times a ascending, pair m < n has weight (a_1/a_m)·(a_1/a_n)·d, where d is the distance of the two points after
    estimates and times were scaled to ranges of 1. Misjudging slow plans or close ones so costs little. None as for τ.
    """
    if not actuals or max(actuals) == min(actuals) or max(estimates) == min(estimates):
        return None
    fastest = min(actuals)
    time_range, cost_range = max(actuals) - fastest, max(estimates) - min(estimates)
    signed = total = 0.0
    for (e, a), (f, b) in _pairs(estimates, actuals):
        if a > 0 and b > 0:
            weight = fastest / a * fastest / b * hypot((b - a) / time_range, (f - e) / cost_range)
            signed += weight * _sign(f - e)
            total += weight
    return signed / total if total else None


def _pairs(estimates: Sequence[float], actuals: Sequence[float]) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """All pairs of (estimate, actual), the one with the smaller actual first."""
    points = sorted(zip(estimates, actuals, strict=True), key=lambda point: point[1])
    return ((points[m], points[n]) for n in range(len(points)) for m in range(n))


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
