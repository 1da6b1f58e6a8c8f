"""Whether two plans of one query gave the same result.

As bags: the same rows, each as often; and in the same order by the sort keys that the result shows. Doubles may differ by
1e-9 relative, since sums depend on the order of their terms; NaN equals NaN, NULL equals NULL.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from optimizer.errors import many

RELATIVE = 1e-9
MOST = 1000  # rows that differ are counted


def difference(expected: pa.Table, actual: pa.Table, keys: Sequence[int] = ()) -> str | None:
    """In which way `actual` is another result, in words; None when it is the same.

    `keys`: positions of columns on which the result is sorted. Rows equal in all keys may come in any order, so the keys of
    two right results agree row by row.
    """
    if expected.schema.types != actual.schema.types:
        return f"columns of types {', '.join(map(str, actual.schema.types))}, not {', '.join(map(str, expected.schema.types))}"
    if expected.num_rows != actual.num_rows:
        return f"{many(actual.num_rows, 'row')}, not {expected.num_rows:,}"
    try:
        same = _same_in_order(_sorted(expected), _sorted(actual))
    except (pa.ArrowTypeError, pa.ArrowNotImplementedError):  # a list, an interval: values without an order
        same = False
    if not same and (missing := _unmatched(expected, actual)):
        return f"other rows: {missing:,}{' or more' * (missing == MOST)} of {expected.num_rows:,} differ"
    for position in keys:
        if not _same_in_order(expected.select([position]), actual.select([position])):
            return f"the same rows in another order: column {position + 1} is not sorted alike"
    return None


def _sorted(table: pa.Table) -> pa.Table:
    """The rows in one order, columns that must be equal first, so that doubles that differ a little move few rows."""
    names = [f"c{i}" for i in range(table.num_columns)]
    named = table.rename_columns(names)
    exact = sorted(names, key=lambda name: pa.types.is_floating(named.schema.field(name).type))
    return named.take(pc.sort_indices(named, [(name, "ascending") for name in exact])) if names else named


def _same_in_order(expected: pa.Table, actual: pa.Table) -> bool:
    return all(_same_column(a, b) for a, b in zip(expected.columns, actual.columns, strict=True))


def _same_column(a: pa.ChunkedArray, b: pa.ChunkedArray) -> bool:
    nulls, others = pc.is_null(a).to_numpy(), pc.is_null(b).to_numpy()
    if not np.array_equal(nulls, others):
        return False
    a, b = pc.drop_null(a), pc.drop_null(b)
    if not pa.types.is_floating(a.type):
        return bool(a.equals(b))
    left, right = a.to_numpy(), b.to_numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.all(np.isclose(left, right, rtol=RELATIVE, atol=1e-300, equal_nan=True)))


def _unmatched(expected: pa.Table, actual: pa.Table) -> int:
    """Rows of `expected` without a partner in `actual`, up to MOST, row by row: rows are compared within what must be equal of
    them."""
    buckets: defaultdict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for side, table in enumerate((expected, actual)):
        columns = [column.to_pylist() for column in table.columns]
        for row in zip(*columns, strict=True):
            doubles: list[float] = []
            buckets[_exact(row, doubles)][side].append(doubles)
    missing = 0
    for wanted, found in buckets.values():
        found.sort()
        for doubles in sorted(wanted):
            at = next((i for i, other in enumerate(found) if all(map(_close, doubles, other))), None)
            if at is not None:
                del found[at]
            elif (missing := missing + 1) == MOST:
                return missing
    return missing


def _exact(value: Any, doubles: list[float]) -> Any:
    """What must be equal of a value or a row; its doubles are added to `doubles`."""
    if isinstance(value, float):
        doubles.append(value)
        return float
    if isinstance(value, list | tuple | dict):
        return tuple(_exact(each, doubles) for each in (value.items() if isinstance(value, dict) else value))
    return value


def _close(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=RELATIVE, abs_tol=1e-300)
