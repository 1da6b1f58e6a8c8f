"""Rank correlations of estimates and measurements."""

from collections.abc import Callable
from random import Random

import pytest

from experiments.rank_correlation import kendall_tau, spearman, weighted_correlation

Correlation = Callable[[list[float], list[float]], float | None]


@pytest.mark.parametrize(
    ("correlation", "estimates", "actuals", "expected"),
    [
        (kendall_tau, [1, 2, 3, 4], [10, 20, 40, 30], 4 / 6),
        (kendall_tau, [3, 1, 2], [1, 3, 2], -1.0),
        (kendall_tau, [12, 2, 1, 12, 2], [1, 4, 7, 1, 0], -0.4714045207910316),  # with ties, an example of SciPy's documentation
        (spearman, [1, 2, 3, 4, 5], [5, 6, 7, 8, 7], 0.8207826816681233),  # with a tie, an example of SciPy's documentation
        (spearman, [1, 1, 2, 2], [3, 3, 3, 4], 1 / 3**0.5),
        *((either, [1, 2, 3], [1, 4, 9], 1.0) for either in (kendall_tau, spearman)),
        *((either, [1, 2, 3], [9, 4, 1], -1.0) for either in (kendall_tau, spearman)),
        *((either, each, each[::-1], None) for either in (kendall_tau, spearman) for each in ([], [1])),
        *((either, [1, 1], [1, 2], None) for either in (kendall_tau, spearman)),
    ],
)
def test_rank_correlations(
    correlation: Correlation, estimates: list[float], actuals: list[float], expected: float | None
) -> None:
    for found in (correlation(estimates, actuals), correlation(actuals, estimates)):
        assert found == (None if expected is None else pytest.approx(expected))


def test_weighted_correlation() -> None:
    assert weighted_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1.0)
    assert weighted_correlation([3, 2, 1], [10, 20, 30]) == pytest.approx(-1.0)
    assert weighted_correlation([1, 1], [1, 2]) is None
    assert weighted_correlation([1, 2], [1, 1]) is None
    assert weighted_correlation([], []) is None
    times = [1.0, 2.0, 50.0, 60.0]
    slow_swapped = weighted_correlation([1.0, 2.0, 60.0, 50.0], times)
    fast_swapped = weighted_correlation([2.0, 1.0, 50.0, 60.0], times)
    assert slow_swapped is not None and fast_swapped is not None
    assert -1 < fast_swapped < slow_swapped < 1, "to misjudge fast plans weighs more"


def test_correlations_lie_within_their_bounds() -> None:
    random = Random(0)
    for _ in range(200):
        n = random.randrange(2, 12)
        estimates, actuals = ([random.choice([0.5, 1.0, 2.0, 7.0]) for _ in range(n)] for _ in range(2))
        for found in (kendall_tau(estimates, actuals), weighted_correlation(estimates, actuals)):
            assert found is None or -1 - 1e-12 <= found <= 1 + 1e-12
