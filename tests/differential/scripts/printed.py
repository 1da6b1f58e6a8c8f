"""Whether rows are those that a script expects: printed values are compared by what they mean, rows as a bag."""

import hashlib
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.differential.scripts.steps import Expected
from tests.reference.compare import Row

_MOST_ROWS = 2_000  # rows are matched in pairs


def agrees(expected: Expected, rows: Sequence[Row]) -> bool | None:
    """None: there is too much of it to tell."""
    if expected.digest is not None:
        return _digest(expected, rows) == expected.digest
    wanted = list(expected.rows)
    if expected.flat:
        values = [text for (text,) in wanted]
        width = len(rows[0]) if rows else len(expected.types)
        if expected.sort == "valuesort":
            return _same_bag(expected, [(v,) for v in values], [(v,) for row in rows for v in row])
        wanted = [tuple(values[i : i + width]) for i in range(0, len(values), width)]
    return _same_bag(expected, wanted, rows)


def _same_bag(expected: Expected, wanted: Sequence[tuple[str, ...]], rows: Sequence[Row]) -> bool | None:
    if len(wanted) != len(rows):
        return False
    if len(rows) > _MOST_ROWS:
        return None
    left = list(rows)
    for texts in wanted:
        found = next((i for i, row in enumerate(left) if _same_row(expected, texts, row)), None)
        if found is None:
            return False
        del left[found]
    return True


def _same_row(expected: Expected, texts: tuple[str, ...], row: Row) -> bool:
    return len(texts) == len(row) and all(_same_value(expected, t, v) for t, v in zip(texts, row, strict=True))


def _same_value(expected: Expected, text: str, value: Any) -> bool:
    if value is None:
        return text == expected.null
    if isinstance(value, bool):
        return text.lower() in (("true", "1") if value else ("false", "0"))
    if isinstance(value, int | float | Decimal):
        try:
            number = float(text)
        except ValueError:
            return False
        # a script prints some digits of a number
        digits = len(text.partition(".")[2]) if "e" not in text.lower() else 16
        return (
            (math.isnan(number) and math.isnan(value))
            or math.isclose(number, value, rel_tol=1e-6)
            or (isinstance(value, float) and digits > 0 and abs(number - value) <= 0.51 * 10.0**-digits)
        )
    written = _interval(value) if isinstance(value, pa.MonthDayNano) else str(value)
    return text.strip() == written.strip() or (text == "(empty)" and written == "")


def _interval(value: pa.MonthDayNano) -> str:
    """As DuckDB prints it: `1 year 2 months -3 days 04:05:06.789`."""
    years, months = divmod(abs(value.months), 12)
    sign = -1 if value.months < 0 else 1
    parts = [
        f"{n} {unit}{'' if abs(n) == 1 else 's'}"
        for n, unit in ((sign * years, "year"), (sign * months, "month"), (value.days, "day"))
        if n
    ]
    if value.nanoseconds or not parts:
        seconds, rest = divmod(abs(value.nanoseconds) // 1000, 1_000_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        parts.append(("-" if value.nanoseconds < 0 else "") + clock + (f".{rest:06}".rstrip("0") if rest else ""))
    return " ".join(parts)


def _digest(expected: Expected, rows: Sequence[Row]) -> tuple[int, str]:
    """The MD5 of the values as sqllogictest prints them: I as an integer, R with three decimals, T as text."""
    printed = [tuple(_printed(v, kind) for v, kind in zip(row, expected.types, strict=False)) for row in rows]
    if expected.sort == "rowsort":
        printed.sort()
    values = [text for row in printed for text in row]
    if expected.sort == "valuesort":
        values.sort()
    return len(values), hashlib.md5("".join(f"{text}\n" for text in values).encode(), usedforsecurity=False).hexdigest()


def _printed(value: Any, kind: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        value = int(value)
    if kind == "I" and isinstance(value, int | float | Decimal):
        return str(int(value))
    if kind == "R" and isinstance(value, int | float | Decimal):
        return f"{value:.3f}"
    return str(value) or "(empty)"
