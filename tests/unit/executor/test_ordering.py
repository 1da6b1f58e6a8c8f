"""Sorting by several keys at once gives the order that Arrow's kernel gives by one after the other."""

import math
import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from executor.arrow.ordering import sorted_rows, sorted_runs
from optimizer.algebra.traits import Collation, SortKey

VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [None, 1, 5, -7, 2**40]), (pa.int64(), [None, -(2**63), 0, 2**63 - 1]), (pa.int64(), [None]),
    (pa.int8(), [None, -128, 127, 0]), (pa.uint32(), [0, 2**32 - 1]),
    (pa.bool_(), [None, True, False]), (pa.int64(), [-(2**63), -(2**63) + 1, -(2**32), -1, 2**31, 2**32, 2**62, 2**63 - 1]),
    (pa.float64(), [None, 1.5, -2.5]), (pa.float64(), [None, 0.0, -0.0, math.inf, -math.inf, 5e-324, -5e-324, 1e300, -1e300]),
    (pa.float32(), [None, 1.5, -2.5, 1e-40, -1e38]), (pa.date32(), [None, date(1, 1, 1), date(2020, 1, 1)]),
    (pa.timestamp("us"), [None, datetime(1, 1, 1), datetime(2000, 1, 1)]),
    (pa.decimal128(9, 2), [None, Decimal("1.10"), Decimal("-5.00")]),
    (pa.decimal128(30, 2), [None, Decimal("1.10"), Decimal("-5.00")]), (pa.string(), [None, "", "a", "b", "\u00e9"]),
]  # fmt: skip


def _by_arrow(table: pa.Table, order: Collation) -> list[int]:
    """The row numbers (the last column), sorted by the last key first, each time with rows that are equal left as they are."""
    for key in reversed(order):
        where = "at_start" if key.nulls_first else "at_end"
        how = "descending" if key.descending else "ascending"
        keys = [("v", how, where), ("n", "ascending", "at_end")]
        table = table.take(pc.sort_indices(pa.table({"v": table[f"c{key.column}"], "n": np.arange(len(table))}), sort_keys=keys))
    found: list[int] = table.columns[-1].to_pylist()
    return found


@pytest.mark.parametrize("seed", range(20))
def test_keys_together_are_keys_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        chosen, rows = [rng.choice(VALUES) for _ in range(rng.randrange(1, 5))], rng.choice((1, 2, 9, 40))
        columns = {f"c{i}": pa.array([rng.choice(values) for _ in range(rows)], type) for i, (type, values) in enumerate(chosen)}
        table = pa.table({**columns, "row": range(rows)})
        table = pa.concat_tables([table.slice(0, rows // 2), table.slice(rows // 2)])
        order = tuple(SortKey(i, rng.random() < 0.5, rng.random() < 0.5) for i in range(len(chosen)))
        expected = _by_arrow(table, order)
        assert sorted_rows(table, order)["row"].to_pylist() == expected, (order, columns)
        assert sorted_rows(table, order, 3)["row"].to_pylist() == expected[:3]
        runs = np.sort(np.array([0, *(rng.randrange(3) for _ in range(rows - 1))]))
        runs = np.unique(runs, return_inverse=True)[1]
        place = dict(enumerate(runs.tolist()))
        assert sorted_runs(table, runs, order)["row"].to_pylist() == sorted(expected, key=place.__getitem__)


def test_nan_is_above_all_numbers_and_beside_null() -> None:
    values = [math.nan, None, 1.0, math.inf, -math.nan, -math.inf, -0.0, 0.0]
    table = pa.table({"c0": pa.array(values), "row": range(len(values))})
    rising, falling = [5, 6, 7, 2, 3, 0, 4], [0, 4, 3, 2, 6, 7, 5]
    for nulls_first in (False, True):
        for descending, rows in ((False, rising), (True, falling)):
            expected = [1, *rows] if nulls_first else [*rows, 1]
            assert sorted_rows(table, (SortKey(0, descending, nulls_first),))["row"].to_pylist() == expected


@pytest.mark.parametrize("distinct", [3, 3_000, 30_000])
@pytest.mark.parametrize("descending", [False, True])
def test_many_texts_whether_or_not_they_repeat(distinct: int, descending: bool) -> None:
    rng = random.Random(distinct)
    texts = [None if (i := rng.randrange(distinct)) == 1 else "x" * (i % 20) + str(i) for _ in range(30_000)]
    column = pa.chunked_array([pa.array(texts[:10_000]), pa.array([], pa.string()), pa.array(texts[10_000:])])
    table = pa.table({"c0": column, "row": range(len(texts))})
    found = sorted_rows(table, (SortKey(0, descending, True),))["row"].to_pylist()
    in_order = sorted({text for text in texts if text is not None}, reverse=descending)
    ranks: dict[str | None, int] = {text: rank for rank, text in enumerate(in_order)}
    assert found == sorted(range(len(texts)), key=lambda row: ranks.get(texts[row], -1))  # NULLs first
