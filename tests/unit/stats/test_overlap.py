"""Joins by common values and histograms, against counted joins."""

import random
from collections import Counter
from itertools import combinations
from math import inf, prod

import pytest

from optimizer.stats.overlap import Overlap
from optimizer.stats.relation import ColumnFigures, as_place
from optimizer.stats.spread import spread_of
from tests.unit.stats.test_spread import equi_depth


def figures(values: list[float], common: int = 20) -> ColumnFigures:
    counts = Counter(values)
    frequent = {value: count / len(values) for value, count in counts.most_common(common)}
    rest = [value for value in values if value not in frequent]
    spread = spread_of(equi_depth(rest), float(len(values)), as_place) if rest else None
    return ColumnFigures(float(len(counts)), 0.0, min(values), max(values), 8.0, frequent, spread)


def zipf(seed: int, rows: int, values: int, power: float) -> list[float]:
    pick = random.Random(seed)
    weights = [1 / (rank + 1) ** power for rank in range(values)]
    return [float(v) for v in pick.choices(range(values), weights, k=rows)]


def truth(columns: list[list[float]]) -> float:
    """The share of the cross product in which all values are equal."""
    counts = [Counter(values) for values in columns]
    matches = sum(prod(c[value] for c in counts) for value in counts[0])
    return matches / prod(len(values) for values in columns)


def estimate(columns: list[list[float]], members: list[int] | None = None) -> float:
    found = [figures(values) for values in columns]
    members = members or list(range(len(columns)))
    plain = sorted(found[i].ndv for i in members)
    return Overlap(found).correction(members) / prod(plain[1:])


@pytest.mark.parametrize(
    ("columns", "expected", "within"),
    [
        *(([zipf(seed, 20_000, 3_000, power), zipf(seed + 100, 8_000, 3_000, power)], None, 0.25)
          for power in (0.3, 0.8, 1.2) for seed in range(3)),  # two skewed columns
        ([zipf(s, 10_000, 2_000, 0.8) for s in range(3)], None, 0.3),
        ([[float(i % 500) for i in range(5_000)], [1_000.0 + i % 500 for i in range(5_000)]], 0.0, 0.0),  # ranges do not meet
        ([[float(i % 1_000) for i in range(10_000)], [800.0 + i % 1_000 for i in range(10_000)]], None, 0.2),  # in part
        ([[float(i) for i in range(3_000)], zipf(1, 20_000, 3_000, 1.0)], 1 / 3_000, 0.05),  # a key, as its distinct count says
    ],
    ids=range(13),
)  # fmt: skip
def test_joins_of_columns(columns: list[list[float]], expected: float | None, within: float) -> None:
    assert estimate(columns) == pytest.approx(truth(columns) if expected is None else expected, rel=within, abs=1e-9)


def test_a_subset_has_one_estimate_whatever_is_beside_it() -> None:
    """Bounds of groups depend on it: the estimate of a set must not depend on the query around it."""
    columns = [zipf(s, 4_000, 500 * (s + 1), 0.5 + 0.2 * s) for s in range(4)]
    for size in (2, 3, 4):
        for members in combinations(range(4), size):
            alone = [columns[i] for i in members]
            assert estimate(columns, list(members)) == pytest.approx(estimate(alone), rel=1e-9)
            assert estimate(alone[::-1]) == pytest.approx(estimate(alone), rel=1e-9)


def test_infinities_are_as_far_out_as_the_others_lie_apart() -> None:
    """The share was no number, so that no join of such columns could be planned."""
    values = [float(v) for v in range(300)]
    with_ends = [-inf, *values, *values, inf]
    rows = estimate([[-inf, *values, inf], with_ends])
    assert rows == pytest.approx(truth([[-inf, *values, inf], with_ends]), rel=0.2)


def test_without_common_values_and_histograms_the_distinct_counts_decide() -> None:
    plain = [ColumnFigures(100.0, 0.0, 0.0, 99.0), ColumnFigures(50.0, 0.0, 0.0, 99.0)]
    known = [plain[0], figures(zipf(1, 1_000, 100, 1.0))]
    assert Overlap(plain).correction([0, 1]) == Overlap(known).correction([0, 1]) == 1.0
