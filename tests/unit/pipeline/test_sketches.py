"""Sketches of columns: exact where they say so, within their bounds elsewhere, and the same however the rows are split."""

import datetime
import math
import random
from collections import Counter
from decimal import Decimal
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from experiments.pipeline.sketches import frequent
from experiments.pipeline.sketches.column import ColumnSketch, merge_sketches, sketch_of
from experiments.pipeline.sketches.counts import count_values
from experiments.pipeline.sketches.figures import column_stats, distinct_values, is_unique
from experiments.pipeline.sketches.hyperloglog import STANDARD_ERROR, counter_of, hashes
from experiments.pipeline.sketches.order import LONGEST, cut, ranked
from experiments.pipeline.sketches.stored import from_bytes, to_bytes
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import ColumnStats

NAN = math.nan


def split(array: pa.Array, parts: int, rng: random.Random) -> ColumnSketch:
    """Sketched in batches cut at random places (some may be empty), merged pair by pair or all at once."""
    cuts = sorted(rng.randint(0, len(array)) for _ in range(parts - 1))
    sketches = [sketch_of(array[a:b]) for a, b in zip([0, *cuts], [*cuts, len(array)], strict=True)]
    if rng.random() < 0.5:
        return merge_sketches(sketches)
    whole = sketches[0]
    for sketch in sketches[1:]:
        whole = merge_sketches([whole, sketch])
    return whole


def numbers(kind: str, rows: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        return rng.integers(0, rows, rows)
    if kind == "ascending":
        return np.sort(rng.integers(0, rows // 3, rows))
    if kind == "unique":
        return rng.permutation(rows) * 7
    if kind == "heavy":  # some values have a lot of rows, each in a place of its own
        return np.where(rng.random(rows) < 0.4, rng.integers(0, 30, rows) * rows, rng.integers(0, 40 * rows, rows))
    return np.minimum(rng.zipf(1.3, rows), 10**12)


def typed(values: np.ndarray, type: pa.DataType) -> pa.Array:
    """The same order and distinct values in another type."""
    if pa.types.is_string(type):
        return pa.array([f"value {v:020d}" for v in values.tolist()])
    if pa.types.is_binary(type):
        return pa.array([int(v).to_bytes(9, "big") for v in values.tolist()])
    if pa.types.is_decimal128(type):
        return pa.array([Decimal(v).scaleb(-2) for v in values.tolist()], type)
    if pa.types.is_timestamp(type):
        return pa.array(values * 1_000).view(type)
    if pa.types.is_date32(type):
        return pa.array((values % 900_000).astype(np.int32)).view(type)
    return pa.array(values).cast(type)


TYPES = [pa.int64(), pa.float64(), pa.string(), pa.binary(), pa.decimal128(30, 2), pa.decimal128(12, 2), pa.timestamp("us")]


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("distinct", [0, 1, 100, 1000, 30_000])
def test_hyperloglog_is_within_three_standard_errors(type: pa.DataType, distinct: int) -> None:
    sketch = counter_of(hashes(typed(np.arange(distinct) * 3, type)))
    assert abs(sketch.estimate() - distinct) <= max(0.5 * (distinct > 0), 3 * STANDARD_ERROR * distinct)


@pytest.mark.parametrize("distinct", [10**2, 10**3, 4 * 10**3, 10**4, 3 * 10**4, 10**5, 10**6])
def test_hyperloglog_has_no_bias_at_any_size(distinct: int) -> None:
    """The mean of many runs is near the truth, their spread what theory says, from few to a million values."""
    runs = 40 if distinct <= 10**5 else 4
    errors = []
    for run in range(runs):
        sketch = counter_of(hashes(pa.array(np.arange(distinct) + run * 10**8)))
        errors.append(sketch.estimate() / distinct - 1)
    assert abs(np.mean(errors)) < 3.5 * STANDARD_ERROR / math.sqrt(runs)
    assert np.std(errors) < 1.5 * STANDARD_ERROR and max(map(abs, errors)) < 4 * STANDARD_ERROR


def test_equal_values_have_equal_hashes() -> None:
    """0.0 and -0.0, all NaN; a decimal whatever the type's precision; NULL only NULL."""
    other_nan = np.array([0x7FF8000000000123], np.uint64).view(np.float64)[0]
    found = hashes(pa.array([0.0, -0.0, NAN, other_nan, None, None, 1.0]))
    assert found[0] == found[1] and found[2] == found[3] and found[4] == found[5] and len(set(found.tolist())) == 4
    pair = hashes(pa.array([1, 1, None, None, 2]), pa.array(["a", "a", "", None, None]))
    assert pair[0] == pair[1] and len(set(pair.tolist())) == 4
    assert hashes(pa.array([1, 2]), pa.array([2, 1])).tolist() != hashes(pa.array([2, 1]), pa.array([1, 2])).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_texts_sort_by_their_bytes(seed: int) -> None:
    rng = random.Random(seed)
    letters = rng.choice(["ab", "a\0", "ab\0é\U0001f600", "x"])
    start = rng.choice(["", "abcdefgh", "a" * 200])
    texts = [
        start * rng.randint(0, 1) + "".join(rng.choices(letters, k=rng.randint(0, rng.choice([2, 9, 300])))) for _ in range(150)
    ]
    ranks, distinct = ranked(pa.array(["before", *texts])[1:])  # with an offset
    assert distinct.to_pylist() == sorted(set(texts), key=str.encode)
    assert [distinct[rank].as_py() for rank in ranks] == texts


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_values_are_counted(type: pa.DataType) -> None:
    values = numbers("zipf", 3000, 1) % 500
    array = typed(values, type)
    counts, nans = count_values(pa.concat_arrays([array, pa.nulls(5, type)]))
    assert nans == 0 and counts.values.type == type
    assert dict(zip(counts.values.to_pylist(), counts.counts.tolist(), strict=True)) == Counter(array.to_pylist())
    assert counts.values.to_pylist() == sorted(counts.values.to_pylist())


@pytest.mark.parametrize("seed", range(12))
def test_splitting_changes_nothing_that_is_exact(seed: int) -> None:
    rng = random.Random(seed)
    type = TYPES[seed % len(TYPES)]
    array = typed(numbers(rng.choice(["uniform", "zipf", "unique", "ascending"]), 6000, seed) % 7000, type)
    array = pc.if_else(pa.array(np.random.default_rng(seed).random(len(array)) < 0.1), pa.scalar(None, type), array)
    whole, parts = sketch_of(array), split(array, rng.randint(2, 40), rng)
    assert (whole.rows, whole.nulls, whole.nans, whole.bytes) == (parts.rows, parts.nulls, parts.nans, parts.bytes)
    assert whole.bounds.equals(parts.bounds)
    assert np.array_equal(whole.distinct.registers, parts.distinct.registers)
    assert np.array_equal(whole.sample.hashes, parts.sample.hashes) and np.array_equal(whole.sample.counts, parts.sample.counts)
    assert parts.frequent.is_exact and column_stats(whole) == column_stats(parts)


def true_counts(array: pa.Array) -> Counter[Any]:
    return Counter(v for v in array.to_pylist() if v is not None)


@pytest.mark.parametrize("kind", ["uniform", "ascending", "unique", "heavy", "zipf"])
@pytest.mark.parametrize("parts", [1, 7, 60])
def test_common_values_are_bounded_from_both_sides(kind: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequent, "CAPACITY", 200)
    monkeypatch.setattr(frequent, "_SPANS", 16)
    array = pa.array(numbers(kind, 30_000, parts))
    sketch = split(array, parts, random.Random(parts))
    counts, found = true_counts(array), sketch.frequent
    kept = found.values.to_pylist()
    assert len(kept) <= 200 and len(found.spans) <= 16 and kept == sorted(set(kept))
    for value, lower, upper in zip(kept, found.lower.tolist(), found.upper.tolist(), strict=True):
        assert lower <= counts[value] <= upper
    others = sorted((count for value, count in counts.items() if value not in set(kept)), reverse=True)
    some, most = found.errors
    allowed = sorted([*some.tolist(), *[most] * len(others)], reverse=True)
    assert all(count <= bound for count, bound in zip(others, allowed, strict=False))


def test_values_of_stored_order_lose_nothing_by_merging() -> None:
    """Each batch has values of its own, so its error is not added to that of others."""
    array = pa.array(np.repeat(np.arange(40_000), 3))
    sketch = merge_sketches([sketch_of(array[i : i + 12_001]) for i in range(0, len(array), 12_001)])
    assert not sketch.frequent.is_exact
    assert max(degree for _, degree in column_stats(sketch).degrees) <= 6
    assert column_stats(sketch).degrees[-1][1] == 3


@pytest.mark.parametrize("kind", ["uniform", "ascending", "unique", "heavy", "zipf"])
@pytest.mark.parametrize("parts", [1, 5, 40])
def test_degrees_are_never_too_low(kind: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequent, "CAPACITY", 300)
    array = pa.array(numbers(kind, 30_000, 10 + parts))
    steps = column_stats(split(array, parts, random.Random(parts))).degrees
    assert 0 < len(steps) <= 32
    assert [degree for _, degree in steps] == sorted((degree for _, degree in steps), reverse=True)
    bounds = accumulate(degree for count, degree in steps for _ in range(count))
    truth = accumulate(sorted(true_counts(array).values(), reverse=True))
    pairs = list(zip(truth, bounds, strict=False))
    assert all(true <= bound for true, bound in pairs)
    assert len(pairs) == len(true_counts(array)) or pairs[-1][1] >= len(array)


@pytest.mark.parametrize("kind", ["uniform", "ascending", "unique", "heavy", "zipf"])
@pytest.mark.parametrize("parts", [1, 6, 70])
def test_ranks_hold_and_are_close(kind: str, parts: int) -> None:
    values = numbers(kind, 60_000, 20 + parts)
    ranks = split(pa.array(values), parts, random.Random(parts)).ranks
    ascending, points = np.sort(values), ranks.values.to_numpy()
    before, upto = np.searchsorted(ascending, points, "left"), np.searchsorted(ascending, points, "right")
    assert (ranks.before[:, 0] <= before).all() and (before <= ranks.before[:, 1]).all()
    assert (ranks.upto[:, 0] <= upto).all() and (upto <= ranks.upto[:, 1]).all()
    assert points[0] == ascending[0] and points[-1] == ascending[-1] and ranks.rows == len(values)
    at_points = max(int((bounds[:, 1] - bounds[:, 0]).max()) for bounds in (ranks.before, ranks.upto))
    between = int((ranks.before[1:, 1] - ranks.upto[:-1, 0]).max())
    assert max(at_points, between) / 2 <= len(values) / 500, "the middle of what is possible is no further off"


def up_to(stats: ColumnStats, rows: int, value: Any, share: float) -> float:
    """Rows up to `value`, which lies at `share` of its histogram bucket."""
    found = sum(part * rows for common, part in stats.mcv if common <= value)
    histogram = stats.histogram
    if histogram is None or value < histogram.bounds[0]:
        return found
    for low, high, inside in zip(histogram.bounds, histogram.bounds[1:], histogram.rows, strict=False):
        if value >= high:
            found += inside
        elif low < value < high:
            found += share * inside
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("type", [pa.int64(), pa.string(), pa.decimal128(14, 2)], ids=str)
@pytest.mark.parametrize("kind", ["uniform", "ascending", "unique", "heavy", "zipf"])
def test_ranges_are_off_by_two_buckets_at_most(kind: str, type: pa.DataType) -> None:
    """Whatever is assumed of the inside of a bucket: a range of values is at most 2/B of the rows off."""
    array = typed(numbers(kind, 40_000, 5) % 10**11, type)
    stats = column_stats(split(array, 9, random.Random(3)))
    rows, ascending = len(array), sorted(array.to_pylist())
    below = {value: i + 1 for i, value in enumerate(ascending)}
    assert stats.histogram is not None
    mass = sum(stats.histogram.rows) + rows * sum(share for _, share in stats.mcv)
    assert mass == pytest.approx(rows, rel=1e-3)
    distinct = sorted(below)
    rng = random.Random(1)
    for _ in range(300):
        low, high = sorted(rng.sample(distinct, 2))
        true = below[high] - below[low]
        for share in (0.0, 0.5, 1.0):
            estimate = up_to(stats, rows, high, share) - up_to(stats, rows, low, 1 - share)
            assert abs(estimate - true) <= 2 / 100 * rows + 2 * 1e-3 * rows, (low, high, estimate, true)


@pytest.mark.parametrize("kind", ["uniform", "unique", "heavy", "zipf", "ascending"])
@pytest.mark.parametrize("rows", [5000, 80_000])
def test_distinct_values_of_buckets(kind: str, rows: int) -> None:
    values = numbers(kind, rows, 8)
    stats = column_stats(split(pa.array(values), 5, random.Random(5)))
    true, ascending = len(np.unique(values)), np.unique(values)
    histogram = stats.histogram
    assert isinstance(histogram, Histogram) and len(histogram.rows) <= 100
    assert list(histogram.bounds) == sorted(set(histogram.bounds))
    assert stats.ndv == pytest.approx(true, rel=3 * STANDARD_ERROR)
    assert all(1 <= distinct <= inside for distinct, inside in zip(histogram.ndv, histogram.rows, strict=True))
    assert sum(histogram.ndv) + len(stats.mcv) == pytest.approx(stats.ndv, rel=0.05)
    edges = np.searchsorted(ascending, histogram.bounds, "right")
    edges[0] = np.searchsorted(ascending, histogram.bounds[0], "left")
    common = np.searchsorted(ascending, [value for value, _ in stats.mcv], "left")
    inside = np.diff(edges) - np.histogram(common, edges)[0]
    ratios = np.maximum(histogram.ndv, 1) / np.maximum(inside, 1)
    assert np.median(np.maximum(ratios, 1 / ratios)) < 1.25


def test_common_values_are_exact_where_all_distinct_values_fit() -> None:
    rng = np.random.default_rng(3)
    values = np.minimum(rng.zipf(1.5, 50_000), 3000)
    array = pa.concat_arrays([pa.array(values), pa.nulls(10_000, pa.int64())])
    stats = column_stats(split(array, 11, random.Random(2)))
    counts = Counter(values.tolist())
    average = len(values) / len(counts)
    expected = {v: c / 60_000 for v, c in counts.most_common(100) if c > 1.25 * average}
    assert dict(stats.mcv) == expected and stats.nulls == 10_000 and stats.ndv == len(counts)
    assert [share for _, share in stats.mcv] == sorted((share for _, share in stats.mcv), reverse=True)


def test_few_values_are_all_listed() -> None:
    stats = column_stats(sketch_of(pa.array(["a", "b", "b", None, "c"])))
    assert stats.mcv == (("b", 0.4), ("a", 0.2), ("c", 0.2)) and stats.histogram is None
    assert stats.degrees == ((1, 2), (2, 1)) and (stats.min, stats.max, stats.ndv, stats.avg_width) == ("a", "c", 3.0, 1.0)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([], pa.int64()), ColumnStats(nulls=0, ndv=0.0)),
        (pa.array([None, None], pa.string()), ColumnStats(nulls=2, ndv=0.0)),
        (pa.array([7, None]), ColumnStats(1, 7, 7, 1.0, 8.0, ((7, 0.5),), None, ((1, 1),))),
        (
            pa.array([True, False, True, None]),
            ColumnStats(1, False, True, 2.0, 0.125, ((True, 0.5), (False, 0.25)), None, ((1, 2), (1, 1))),
        ),
        (pa.array([0.0, -0.0, 5.0]), ColumnStats(0, 0.0, 5.0, 2.0, 8.0, ((0.0, 2 / 3), (5.0, 1 / 3)), None, ((1, 2), (1, 1)))),
        (pa.array([b"", b"\xff"]), ColumnStats(0, b"", b"\xff", 2.0, 0.5, ((b"", 0.5), (b"\xff", 0.5)), None, ((2, 1),))),
    ],
)
def test_small_columns(array: pa.Array, expected: ColumnStats) -> None:
    assert column_stats(sketch_of(array)) == expected
    assert column_stats(merge_sketches([sketch_of(array[:0]), sketch_of(array)])) == expected


def test_nan_is_one_value_and_no_bound() -> None:
    stats = column_stats(sketch_of(pa.array([NAN, 1.0, NAN, math.inf, None])))
    assert (stats.nulls, stats.min, stats.max, stats.ndv) == (1, 1.0, math.inf, 3.0)
    assert [(str(value), share) for value, share in stats.mcv] == [("nan", 0.4), ("1.0", 0.2), ("inf", 0.2)]
    assert stats.degrees == ((1, 2), (2, 1))
    only = column_stats(sketch_of(pa.array([NAN, NAN], pa.float32())))
    assert (only.ndv, only.min, only.histogram, only.degrees) == (1.0, None, None, ((1, 2),))
    many = column_stats(sketch_of(pa.array([NAN] * 50 + [float(i) for i in range(500)])))
    assert many.ndv == 501 and many.histogram is not None and sum(many.histogram.rows) == 500
    assert [(str(value), share) for value, share in many.mcv] == [("nan", 50 / 550)]


def test_long_texts_are_cut_to_bounds() -> None:
    texts = ["short", "a" * 5000, "é" * 4000, "\U0010ffff" * 3000, "\ud7ff" * 3000, "b" * LONGEST]
    for text, low, high in zip(texts, cut(pa.array(texts)).to_pylist(), cut(pa.array(texts), True).to_pylist(), strict=True):
        assert low.encode() <= text.encode() <= high.encode() and len(low.encode()) <= LONGEST
        assert len(text.encode()) > LONGEST or low == text == high
        assert len(high.encode()) <= LONGEST + 4 or text[0] == "\U0010ffff"
    binaries = [b"\xff" * 2000, b"a\xff" * 2000, b"x" * 3000]
    for value, low, high in zip(
        binaries, cut(pa.array(binaries)).to_pylist(), cut(pa.array(binaries), True).to_pylist(), strict=True
    ):
        assert low <= value <= high and len(low) <= LONGEST
    array = pa.array([f"{'x' * 3000}{i % 50}" for i in range(400)] + [f"{i}{'y' * 2000}" for i in range(400)])
    sketch = split(array, 4, random.Random(1))
    assert len(to_bytes(sketch)) < 400_000 and distinct_values(sketch, 1.0) == pytest.approx(450, rel=0.1)
    stats = column_stats(sketch)
    assert stats.min <= min(array.to_pylist()) and stats.max >= max(array.to_pylist()) and stats.mcv == ()
    assert stats.degrees[0][1] >= 8


@pytest.mark.parametrize("seed", range(60))
def test_uniqueness_is_never_wrong(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequent, "CAPACITY", rng_capacity := random.Random(seed).choice([5, 50, 8192]))
    rng = random.Random(seed)
    rows = rng.choice([0, 1, 20, 400])
    values = list(range(rows))
    if rng.random() < 0.5:
        rng.shuffle(values)
    if rows and rng.random() < 0.5:
        values[rng.randrange(rows)] = values[0]
    array = pa.array([*values, None, None], pa.int64())
    found = is_unique(split(array, rng.randint(1, 6), rng))
    truth = len(set(values)) == len(values)
    assert found is None or found is truth
    if rng_capacity == 8192 or (truth and values == sorted(values)):
        assert found is truth


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_stored_sketches_come_back(type: pa.DataType) -> None:
    array = typed(numbers("zipf", 30_000, 4) % 10**9, type)
    sketch = split(pa.concat_arrays([array, pa.nulls(3, type)]), 4, random.Random(1))
    again = from_bytes(ColumnSketch, to_bytes(sketch))
    assert column_stats(again) == column_stats(sketch) and to_bytes(again) == to_bytes(sketch)
    more = [sketch_of(array[:5000]), sketch_of(array[5000:5001])]
    assert column_stats(merge_sketches([again, *more])) == column_stats(merge_sketches([sketch, *more]))
    with pytest.raises((pa.ArrowException, KeyError, OSError)):
        from_bytes(ColumnSketch, to_bytes(sketch)[:200])


@pytest.mark.parametrize("kind", ["uniform", "unique", "zipf"])
def test_a_sample_of_rows_is_scaled_up(kind: str) -> None:
    values = numbers(kind, 200_000, 6) if kind != "uniform" else np.random.default_rng(6).integers(0, 20_000, 200_000)
    chosen = np.random.default_rng(7).random(len(values)) < 0.1
    sketch = sketch_of(pa.array(values[chosen]))
    stats = column_stats(sketch, len(values) / sketch.rows)
    true = len(np.unique(values))
    assert max(stats.ndv / true, true / stats.ndv) < (3 if kind == "zipf" else 1.2)
    assert stats.degrees == () and stats.nulls == 0
    histogram_rows = sum(stats.histogram.rows) if stats.histogram else 0.0
    assert histogram_rows + len(values) * sum(share for _, share in stats.mcv) == pytest.approx(len(values), rel=1e-3)
    counts = Counter(values.tolist())
    for value, share in stats.mcv[:3]:
        assert share == pytest.approx(counts[value] / len(values), rel=0.5)


def test_dates() -> None:
    start = datetime.date(2020, 1, 1)
    stats = column_stats(sketch_of(pa.array([start + datetime.timedelta(days=i % 300) for i in range(3000)])))
    assert stats.ndv == 300 and stats.min == start and stats.histogram is not None
    assert stats.histogram.bounds[0] == start and stats.histogram.bounds[-1] == stats.max and sum(stats.histogram.ndv) == 300


@pytest.mark.parametrize("rows", [50, 20_000])
@pytest.mark.parametrize("type", [pa.date32(), pa.timestamp("us")])
def test_infinite_dates_count_as_the_last_day(type: pa.DataType, rows: int) -> None:
    """What a file has for "infinity" cost a column its bounds, its common values and its histogram."""
    unit, far = (1, (1 << 31) - 1) if type == pa.date32() else (86_400_000_000, (1 << 63) - 1)
    numbers = [i % 9_000 * unit for i in range(rows)] + [-far] + [far] * 3_000 + [far - 1] * 2_000
    stats = column_stats(sketch_of(pa.array(numbers, pa.int32() if type == pa.date32() else pa.int64()).cast(type)))
    kind = datetime.date if type == pa.date32() else datetime.datetime
    assert (stats.min, stats.max) == (kind.min, kind.max)
    assert stats.ndv == pytest.approx(min(rows, 9_000) + 3, rel=0.05) and stats.degrees[:2] == ((1, 3_000), (1, 2_000))
    assert stats.mcv[0] == (kind.max, 5_000 / len(numbers))
    if rows > 50:
        assert stats.histogram is not None and stats.histogram.bounds[len(stats.histogram.bounds) // 2].year == 1980


def test_decimals_beyond_64_bits() -> None:
    """Batches of large and of small values, told apart and ordered as numbers."""
    type = pa.decimal128(38, 2)
    large = [Decimal(10**30 + i % 700) for i in range(5000)]
    small = [Decimal(i % 900 - 450).scaleb(-2) for i in range(5000)]
    stats = column_stats(merge_sketches([sketch_of(pa.array(small, type)), sketch_of(pa.array(large + small, type))]))
    assert (stats.ndv, stats.min, stats.max) == (1600, Decimal("-4.50"), Decimal(10**30 + 699))
    assert stats.histogram is not None and sum(stats.histogram.rows) + 15_000 * sum(s for _, s in stats.mcv) == pytest.approx(
        15_000
    )
    assert list(stats.histogram.bounds) == sorted(stats.histogram.bounds) and stats.degrees[0] == (500, 12)
