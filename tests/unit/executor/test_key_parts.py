"""Rows in parts by the hash of their keys: equal keys are together and in order, and every row is there once."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from executor.arrow.context import Tuning
from executor.arrow.key_parts import by_key_parts

KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "integers": (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63), None]),
    "small": (pa.int8(), [0, 1, -128, None]),
    "booleans": (pa.bool_(), [True, False, None]),
    "floats": (pa.float64(), [0.0, 1.5, float("inf"), float("nan"), None]),
    "decimals": (pa.decimal128(9, 2), [Decimal("0.00"), Decimal("1.50"), Decimal("-1.50"), None]),
    "wide": (pa.decimal128(38, 0), [Decimal(0), Decimal(10**37), Decimal(-(10**37)), Decimal(7), None]),
    "texts": (pa.string(), ["", "a", "b", "a" * 30, "a" * 30 + "b", "ä", None]),
    "dates": (pa.date32(), [datetime.date(1970, 1, 1), datetime.date(9999, 12, 31), None]),
    "moments": (pa.timestamp("us"), [datetime.datetime(1970, 1, 1), datetime.datetime(2030, 1, 1), None]),
    "nothing": (pa.null(), [None]),
}


@pytest.mark.parametrize(
    "names", [*((name,) for name in KEYS), ("integers", "texts"), ("floats", "nothing", "wide")], ids="-".join
)
def test_equal_keys_are_in_one_part_in_order(names: tuple[str, ...]) -> None:
    random = np.random.default_rng(5)
    keys = {
        name: pa.array([KEYS[name][1][i] for i in random.integers(0, len(KEYS[name][1]), 500)], KEYS[name][0]) for name in names
    }
    table = pa.table({**keys, "row": pa.array(range(500))})
    tables = [table.slice(0, 7), table.slice(7, 0), table.slice(7, 300), table.slice(307)]
    parts: list[pa.Table] = []

    def work(part: pa.Table) -> pa.Table:
        parts.append(part)
        return part

    whole = by_key_parts(tables, names, work, Tuning(batch=64, part=20, workers=1))
    assert tables == []
    assert sorted(whole["row"].to_pylist()) == list(range(500))
    seen: set[str] = set()
    for part in parts:
        rows = part["row"].to_pylist()
        assert rows == sorted(rows)
        own = {repr(tuple(row.values())) for row in part.select(names).to_pylist()}
        assert not own & seen
        seen |= own
    distinct = len({repr(tuple(row.values())) for row in table.select(names).to_pylist()})
    assert len(seen) == distinct
    assert len(parts) > 1 or distinct == 1


def test_few_rows_and_no_keys_are_one_part() -> None:
    table = pa.table({"k": pa.array(range(40))})
    for keys, part in ((["k"], 21), ([], 1)):
        sizes: list[int] = []
        by_key_parts([table], keys, lambda each, sizes=sizes: sizes.append(each.num_rows) or each, Tuning(part=part, workers=1))
        assert sizes == [40]
