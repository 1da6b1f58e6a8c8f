"""When two results are the same.

A result is a list of tuples of Python values. Integers and decimals are equal by number, whatever their width or scale;
floats within 1e-9 relative (NaN equals NaN); everything else must be equal and of the same kind, so that TRUE is not 1
and a date is no timestamp. Every function raises AssertionError with what is missing and what is too much.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from optimizer.algebra.evaluate_order import order_key

RELATIVE = 1e-9
Row = tuple[Any, ...]


class OrderKey(NamedTuple):
    """Result column `index` (from 0) is sorted, with NULLs first or last."""

    index: int
    descending: bool = False
    nulls_first: bool = False


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table, by position: column names may repeat."""
    columns = [table.column(i).to_pylist() for i in range(table.num_columns)]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def kind(type: pa.DataType) -> str:
    """What a user would call the type: two engines must agree on this, not on widths and scales."""
    t = pa.types
    for name, test in _KINDS:
        if test(type):
            return name
    return "text" if t.is_string(type) or t.is_large_string(type) else str(type)


_KINDS: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("boolean", pa.types.is_boolean), ("exact number", lambda type: pa.types.is_integer(type) or pa.types.is_decimal(type)),
    ("float", pa.types.is_floating), ("date", pa.types.is_date), ("timestamp", pa.types.is_timestamp), ("list", pa.types.is_list),
)  # fmt: skip


def assert_same_kinds(expected: pa.Table, actual: pa.Table) -> None:
    """Column by column; the type of a column without values says nothing (DuckDB makes `NULL || x` an integer)."""
    assert expected.num_columns == actual.num_columns, f"expected {expected.num_columns} columns, got {actual.num_columns}"
    for i, (a, b) in enumerate(zip(expected.schema, actual.schema, strict=True)):
        if expected.column(i).null_count < expected.num_rows or actual.column(i).null_count < actual.num_rows:
            assert kind(a.type) == kind(b.type), f"column {i} ({a.name}): expected {a.type}, got {b.type}"


def same_value(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, _NUMBERS) or not isinstance(b, _NUMBERS):
            return False
        x, y = float(a), float(b)
        return (math.isnan(x) and math.isnan(y)) or x == y or math.isclose(x, y, rel_tol=RELATIVE, abs_tol=1e-300)
    return _exact(a) == _exact(b)


_NUMBERS = (int, float, Decimal)


def _exact(value: Any) -> Any:
    """A hashable that is equal for equal values only: numbers by number, other things with their class."""
    return value if isinstance(value, int | Decimal) and not isinstance(value, bool) else (value.__class__.__name__, value)


def same_row(a: Row, b: Row) -> bool:
    return len(a) == len(b) and all(map(same_value, a, b))


def difference(expected: Sequence[Row], actual: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """(missing, too many) as bags. Rows are bucketed by what is exact in them; floats are then matched within a bucket."""
    missing: list[Row] = []
    extra: list[Row] = []
    buckets: defaultdict[Any, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    floating = {i for rows in (expected, actual) for row in rows for i, value in enumerate(row) if isinstance(value, float)}
    for side, rows in enumerate((expected, actual)):
        for row in rows:
            key = (len(row), *((v is None if i in floating else _exact(v)) for i, v in enumerate(row)))
            buckets[key][side].append(row)
    for wanted, got in buckets.values():
        wanted.sort(key=_float_key)
        got.sort(key=_float_key)
        if len(wanted) == len(got) and all(map(same_row, wanted, got)):
            continue
        left = list(got)
        for row in wanted:
            found = next((i for i, other in enumerate(left) if same_row(row, other)), None)
            if found is None:
                missing.append(row)
            else:
                del left[found]
        extra += left
    return missing, extra


def _float_key(row: Row) -> tuple[Any, ...]:
    return tuple(order_key(float(v)) for v in row if isinstance(v, _NUMBERS))


def assert_same_bag(expected: Sequence[Row], actual: Sequence[Row]) -> None:
    """The same rows, each as often, in any order."""
    missing, extra = difference(expected, actual)
    assert not missing and not extra, (
        f"expected {len(expected)} rows, got {len(actual)}\n{_listed('missing', missing)}\n{_listed('too many', extra)}"
    )


def assert_same_list(expected: Sequence[Row], actual: Sequence[Row]) -> None:
    assert_same_bag(expected, actual)
    for i, (a, b) in enumerate(zip(expected, actual, strict=True)):
        assert same_row(a, b), f"the same rows in another order: row {i} should be {show(a)}, is {show(b)}"


def assert_sorted(rows: Sequence[Row], order: Sequence[OrderKey]) -> None:
    """No row is before one that it should follow; rows equal in all keys may come in any order."""
    for i in range(1, len(rows)):
        for key in order:
            sign = _compare(rows[i - 1][key.index], rows[i][key.index], key)
            assert sign <= 0, (
                f"rows {i - 1} and {i} are in the wrong order by column {key.index}: {show(rows[i - 1])}, {show(rows[i])}"
            )
            if sign < 0:
                break


def _compare(a: Any, b: Any, key: OrderKey) -> int:
    if a is None or b is None:
        return (int(b is None) - int(a is None)) * (1 if key.nulls_first else -1)
    left, right = order_key(a), order_key(b)
    sign = int(left > right) - int(left < right)
    return -sign if key.descending else sign


def assert_contained(everything: Sequence[Row], actual: Sequence[Row], count: int) -> None:
    """`actual` is any `count` rows of the bag `everything`."""
    assert len(actual) == count, f"expected {count} rows, got {len(actual)}: {_listed('rows', list(actual))}"
    _, extra = difference(everything, actual)
    assert not extra, f"rows that are not in the result without LIMIT\n{_listed('too many', extra)}"


def assert_result(
    expected: Sequence[Row],
    actual: Sequence[Row],
    order: Sequence[OrderKey],
    total: bool = False,
    everything: Sequence[Row] | None = None,
) -> None:
    """The rows of a query that asks for `order`; `total`: rows that are equal in its ORDER BY are equal altogether.

    `everything`: the result without the outermost LIMIT, where there is one. Whatever was chosen among equals, the keys of row i
    are those of row i of any right result.
    """
    if total:
        assert_same_list(expected, actual)
    elif everything is not None:
        assert_contained(everything, actual, len(expected))
        keys = [key.index for key in order]
        assert_same_list([tuple(row[k] for k in keys) for row in expected], [tuple(row[k] for k in keys) for row in actual])
    else:
        assert_same_bag(expected, actual)
    assert_sorted(actual, order)


def show(row: Row) -> str:
    """A row as a person would write it."""
    return "(" + ", ".join(_show_value(v) for v in row) + ")"


def _show_value(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime | date | Decimal):
        return str(value)
    return repr(value)


def _listed(title: str, rows: list[Row]) -> str:
    counts = Counter(show(row) for row in rows)
    lines = [f"  {text}" + (f"  x {n}" if n > 1 else "") for text, n in counts.items()]
    if len(lines) > 10:
        lines[10:] = [f"  and {len(lines) - 10} more"]
    return f"{title}: {len(rows)}\n" + "\n".join(lines) if rows else f"{title}: none"
