"""Groups found by place: the same groups and values as Arrow's grouping, and None where they would not be. Rows in parts
by their keys: what is made of the parts is seen by the tests of aggregates and set operations."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from executor.arrow.context import Tuning
from executor.arrow.key_parts import by_key_parts
from executor.arrow.key_places import groups_by_place
from executor.arrow.place_groups import grouped_by_place

DEC = pa.decimal128(15, 2)
SUM = pa.decimal128(38, 2)
KEYS = {
    "integers": pa.array([5, -3, 5, None, 7, -3, None, 5]),
    "extremes": pa.array([2**63 - 1, 2**63 - 2, 2**63 - 1, None, 2**63 - 1, 2**63 - 2, None, 2**63 - 3]),
    "dates": pa.array([date(1, 1, 1), None, date(1, 1, 2), date(1, 1, 1), date(1, 2, 1), None, date(1, 1, 1), date(1, 1, 2)]),
    "decimals": pa.array(
        [Decimal("1.10"), Decimal("-1"), None, Decimal("1.10"), Decimal(0), Decimal(0), None, Decimal("-1")], DEC
    ),
    "booleans": pa.array([True, False, None, True, None, False, True, True]),
    "small": pa.array([1, 2, 1, 2, 1, 2, 1, 2], pa.int8()),
}
NUMBERS = pa.array([1, None, -5, None, 2**40, None, 3, 0])
AMOUNTS = pa.array([None if i in (1, 5) else Decimal(i) / 4 for i in range(8)], DEC)
FLOATS = pa.array([0.5, -0.0, float("nan"), None, 1e300, None, float("inf"), -0.0])
DAYS = pa.array([date(2020, 1, i + 1) if i % 3 else None for i in range(8)])
TIMES = pa.array([datetime(2020, 1, 1, i) if i % 3 else None for i in range(8)], pa.timestamp("us"))
STEPS = {  # column: function, values, type
    "rows": ("count_all", None, pa.int64()),
    "some": ("count", FLOATS, pa.int64()),
    "total": ("sum", NUMBERS, pa.decimal128(38, 0)),
    "amount": ("sum", AMOUNTS, SUM),
    "float": ("sum", FLOATS, pa.float64()),
    "least": ("min", NUMBERS, pa.int64()),
    "most": ("max", AMOUNTS, DEC),
    "first": ("min", DAYS, pa.date32()),
    "last": ("max", TIMES, pa.timestamp("us")),
    "byte": ("max", pa.array([-128, None, 127, 3, None, None, 0, 1], pa.int8()), pa.int8()),
}


def _by_arrow(table: pa.Table, keys: list[str]) -> pa.Table:
    calls = [([] if f == "count_all" else name, f) for name, (f, _, _) in STEPS.items()]
    made = table.group_by(keys, use_threads=False).aggregate(calls)
    columns = [made["count_all" if f == "count_all" else f"{name}_{f}"].cast(type) for name, (f, _, type) in STEPS.items()]
    return pa.table([*(made[key] for key in keys), *columns], [*keys, *STEPS])


@pytest.mark.parametrize("names", [*([name] for name in KEYS), ["small", "integers"], ["booleans", "dates", "decimals"]], ids=str)
@pytest.mark.parametrize("repeat", [1, 50])
def test_the_same_as_arrows_groups(names: list[str], repeat: int) -> None:
    values = {name: column for name, (_, column, _) in STEPS.items() if column is not None}
    table = pa.concat_tables([pa.table({**{name: KEYS[name] for name in names}, **values})] * repeat)
    steps = [(function, name) for name, (function, _, _) in STEPS.items()]
    types = {name: type for name, (_, _, type) in STEPS.items()}
    made = grouped_by_place(table, names, steps, types)
    assert made is not None and made.column_names == [*names, *STEPS]
    made.validate(full=True)
    expected = _by_arrow(table, names)
    assert made.schema.types == expected.schema.types
    # as texts, which tell -0.0 from 0.0 and NaN from nothing else; Arrow's groups come in another order
    assert sorted(map(repr, made.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_distinct_rows_have_no_values() -> None:
    table = pa.table({"a": [1, 2, 1, None], "b": [1, 1, 1, 1]})
    made = grouped_by_place(table, ["a", "b"], (), {})
    assert made is not None and made.to_pylist() == [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": None, "b": 1}]


@pytest.mark.parametrize(
    "key",
    [
        pa.array([0, 2**40]), pa.array([-(2**63), 2**63 - 1]), pa.array([0.5, 1.5]), pa.array(["a", "b"]),
        pa.array([Decimal(1), Decimal(2)], pa.decimal128(30, 2)), pa.nulls(2, pa.int64()),
        pa.nulls(2),
    ],
    ids=lambda key: f"{key.type} {key[0]}",
)  # fmt: skip
def test_keys_that_have_no_places(key: pa.Array) -> None:
    assert groups_by_place([key]) is None
    assert groups_by_place([pa.array([1, 1]), key]) is None


@pytest.mark.parametrize(
    ("function", "values", "type"),
    [
        ("sum", pa.array([2**62, 2**62]), pa.decimal128(38, 0)),  # beyond 64 bits
        ("sum", pa.array([Decimal(10) ** 19, Decimal(1)], pa.decimal128(30, 0)), pa.decimal128(38, 0)),
        ("sum", pa.array([Decimal(1), Decimal(2)], pa.decimal128(38, 0)), pa.decimal256(76, 0)),
        ("min", pa.array(["a", "b"]), pa.string()),
        ("max", pa.array([1.0, 2.0]), pa.float64()),
        ("max", pa.array([True, False]), pa.bool_()),
    ],
)
def test_values_that_are_left_to_arrow(function: str, values: pa.Array, type: pa.DataType) -> None:
    assert grouped_by_place(pa.table({"k": [1, 1], "v": values}), ["k"], [(function, "v")], {"v": type}) is None


def test_groups_are_numbered_in_the_order_of_their_first_rows() -> None:
    keys = np.random.default_rng(3).integers(-50, 50, 1000)
    made = groups_by_place([pa.array(keys)])
    assert made is not None
    order = list(dict.fromkeys(keys.tolist()))
    assert keys[made.first].tolist() == order and [order[g] for g in made.group] == keys.tolist()


@pytest.mark.parametrize(("keys", "part", "several"), [(["k", "null"], 20, True), (["k"], 21, False), ([], 1, False)])
def test_rows_stay_in_order_and_few_are_one_part(keys: list[str], part: int, several: bool) -> None:
    table = pa.table({"k": [i % 7 for i in range(40)], "null": pa.nulls(40), "row": range(40)})
    parts: list[list[int]] = []

    def work(each: pa.Table) -> pa.Table:
        parts.append(each["row"].to_pylist())
        return each

    by_key_parts([table.slice(0, 7), table.slice(7, 0), table.slice(7)], keys, work, Tuning(batch=8, part=part, workers=1))
    assert parts == [sorted(rows) for rows in parts] and (len(parts) > 1) == several
