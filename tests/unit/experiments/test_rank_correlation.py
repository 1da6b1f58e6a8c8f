"""Rank correlations of estimates and measurements."""

from random import Random

import pytest

from experiments.rank_correlation import kendall_tau, spearman, weighted_correlation


@pytest.mark.parametrize(
    ("estimates", "actuals", "tau"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [40, 30, 20, 10], -1.0),
        ([1, 2, 3, 4], [10, 20, 40, 30], 4 / 6),
        ([3, 1, 2], [1, 3, 2], -1.0),
        ([12, 2, 1, 12, 2], [1, 4, 7, 1, 0], -0.4714045207910316),  # with ties, an example of SciPy's documentation
        ([1, 1], [1, 2], None),
        ([1], [1], None),
        ([], [], None),
    ],
)
def test_kendall_tau(estimates: list[float], actuals: list[float], tau: float | None) -> None:
    assert kendall_tau(estimates, actuals) == (None if tau is None else pytest.approx(tau))
    assert kendall_tau(actuals, estimates) == (None if tau is None else pytest.approx(tau))


@pytest.mark.parametrize(
    ("estimates", "actuals", "rho"),
    [
        ([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], 0.8207826816681233),  # with a tie, an example of SciPy's documentation
        ([1, 2, 3], [1, 4, 9], 1.0),
        ([1, 2, 3], [9, 4, 1], -1.0),
        ([1, 1, 2, 2], [3, 3, 3, 4], 1 / 3**0.5),
        ([1, 1], [1, 2], None),
        ([1], [1], None),
        ([], [], None),
    ],
)
def test_spearman(estimates: list[float], actuals: list[float], rho: float | None) -> None:
    assert spearman(estimates, actuals) == (None if rho is None else pytest.approx(rho))
    assert spearman(actuals, estimates) == (None if rho is None else pytest.approx(rho))


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
