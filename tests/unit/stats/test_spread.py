"""Histograms as the estimator uses them: shares of ranges and of single values, and what filters leave."""

import random
from bisect import bisect_left, bisect_right

import pytest

from optimizer.catalog.histogram import Histogram
from optimizer.stats.relation import as_place
from optimizer.stats.spread import Spread, spread_of

BUCKETS = 20


def equi_depth(values: list[object]) -> Histogram:
    """An exact equi-depth histogram of all values, none of them taken for a common one."""
    ordered = sorted(values)  # type: ignore[type-var]
    ends = sorted({ordered[round(i * (len(ordered) - 1) / BUCKETS)] for i in range(1, BUCKETS + 1)})  # type: ignore[type-var]
    bounds, rows, ndvs, done = [ordered[0]], [], [], 0
    for end in ends:
        upto = bisect_right(ordered, end)  # type: ignore[type-var]
        if upto > done:
            bounds.append(end)
            rows.append(float(upto - done))
            ndvs.append(float(len(set(ordered[done:upto]))))
            done = upto
    return Histogram(tuple(bounds), tuple(rows), tuple(ndvs))


def spread(values: list[object]) -> Spread:
    found = spread_of(equi_depth(values), float(len(values)), as_place)
    assert found is not None
    return found


DICE = random.Random(1)
DATA = {
    "uniform": [float(DICE.randrange(10_000)) for _ in range(5_000)],
    "cycle": [float(i % 997) for i in range(5_000)],
    "skewed": [float(int(random.Random(i).paretovariate(0.8))) for i in range(5_000)],
    "few": [float(i % 7) for i in range(700)],
    "one": [3.0] * 100,
    "negative": [float(-i * i) for i in range(300)],
}


@pytest.mark.parametrize("name", DATA)
def test_ranges_are_within_two_buckets_of_the_truth(name: str) -> None:
    values = DATA[name]
    found, ordered = spread(list(values)), sorted(values)
    largest = max(found.shares)
    places = sorted({*values, *(v + 0.5 for v in values), -1e9, 1e9})[:: max(1, len(set(values)) // 100)]
    for place in places:
        below, upto = bisect_left(ordered, place) / len(ordered), bisect_right(ordered, place) / len(ordered)
        assert found.below(place, False) == pytest.approx(below, abs=largest + 1e-9)
        assert found.below(place, True) == pytest.approx(upto, abs=largest + 1e-9)
        assert found.below(place, False) <= found.below(place, True) + 1e-12
    assert found.below(ordered[-1], True) == pytest.approx(1.0)
    assert found.below(ordered[0], False) == 0.0


@pytest.mark.parametrize("name", DATA)
def test_shares_of_single_values_add_up(name: str) -> None:
    found = spread(list(DATA[name]))
    assert sum(found.at(value) for value in set(DATA[name])) == pytest.approx(1.0, rel=0.05)
    assert found.at(max(DATA[name]) + 1.0) == 0.0


def test_texts_are_placed_by_themselves() -> None:
    words = [f"customer#{i:05d}" for i in range(2_000)]
    found = spread(list(words))
    assert not found.numeric
    assert found.below("customer#01000", True) == pytest.approx(0.5, abs=2 / BUCKETS)
    assert found.below("a", True) == 0.0
    assert found.below("z", False) == pytest.approx(1.0)


def test_a_range_leaves_its_part_of_the_buckets() -> None:
    found = spread([float(i) for i in range(1_000)])
    left = found.between(250.0, 499.0, 1.0)
    assert left is not None
    assert left.total == pytest.approx(1.0)
    assert left.bounds[0] == 250.0 and left.bounds[-1] == 499.0
    assert sum(left.ndvs) == pytest.approx(250, rel=0.05)
    assert left.below(374.5, True) == pytest.approx(0.5, abs=0.02)
    assert found.between(5_000.0, 6_000.0, 1.0) is None


def test_a_histogram_without_places_or_rows_gives_nothing() -> None:
    assert spread_of(None, 10.0, as_place) is None
    assert spread_of(Histogram((b"a", b"b"), (3.0,), (2.0,)), 3.0, as_place) is None
    assert spread_of(Histogram((1, 2), (3.0,), (2.0,)), 0.0, as_place) is None
