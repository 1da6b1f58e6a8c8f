"""Reference semantics of CAST: every pair of types that the binder lets through, with DuckDB's roundings and formats.

Numbers round half away from zero, except float to integer, which rounds half to even. Text is read loosely (blanks
around it, `_` between digits, exponents); what cannot be read or does not fit raises ExecutionError.
"""

import math
import re
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_dates import as_timestamp
from optimizer.algebra.evaluate_numbers import ROUNDING, fit, fit_decimal, round_half_away, to_float32
from optimizer.algebra.types import FALSE_TEXTS, TRUE_TEXTS, is_string
from optimizer.errors import ExecutionError

_BLANKS = " \t\n\v\f\r"
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_NUMBER = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX = re.compile(r"0[xX]([0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)")
_BINARY = re.compile(r"0[bB]([01]+(?:_[01]+)*)")
_SPECIAL = re.compile(r"[+-]?(?:nan(?:\([0-9a-z_]*\))?|inf|infinity)", re.IGNORECASE)
_DATE = re.compile(r"([0-9]+)([ /\\-])([0-9]{1,2})\2([0-9]{1,2})(?![0-9])(?! +\([bB][cC]\))")
_TIME = re.compile(r"0*([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?(?:Z| UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?\s*)?")
_NOT_PLAIN = b"\\'\""  # in the text of bytes


def cast(value: Any, source: DataType, target: DataType) -> Any:
    """`value` of type `source`, not NULL, as a value of type `target`; ExecutionError where there is none."""
    t = pa.types
    if source == target:
        return value
    if is_string(target):
        return to_text(value, source)
    if is_string(source):
        return from_text(value, target)
    if t.is_boolean(target) and not t.is_temporal(source):
        return bool(value)
    if t.is_temporal(source) or t.is_temporal(target):
        return _between_dates(value, source, target)
    if t.is_integer(target):
        return fit(_to_integer(value, target), target)
    if t.is_decimal(target):
        return _float_to_decimal(value, target) if isinstance(value, float) else fit_decimal(value, target)
    if t.is_float32(target):
        return _to_float32(value)
    if t.is_float64(target):
        return float(value)
    raise _impossible(source, target)


def _impossible(source: DataType, target: DataType) -> ExecutionError:
    return ExecutionError(f"there is no cast from {source} to {target}")


def _to_integer(value: int | float | Decimal, target: DataType) -> int:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ExecutionError(f"{value} cannot be cast to {target}")
        return round(value)  # half to even
    return int(Decimal(value).to_integral_value("ROUND_HALF_UP"))


def _float_to_decimal(value: float, target: DataType) -> Decimal:
    """Scaled by a power of ten in floating point, then rounded: 1.005 to two places is 1.00."""
    scaled = round_half_away(value * 10.0**target.scale)
    if not math.isfinite(scaled) or abs(scaled) >= 10.0**target.precision:
        raise ExecutionError(f"{value} does not fit decimal({target.precision}, {target.scale})")
    return fit_decimal(ROUNDING.scaleb(Decimal(int(scaled)), -target.scale), target)


def _to_float32(value: Any) -> float:
    result = to_float32(float(value))
    if math.isinf(result) and not math.isinf(value):
        raise ExecutionError(f"{value} does not fit a 4-byte float")
    return result


def _between_dates(value: Any, source: DataType, target: DataType) -> Any:
    t = pa.types
    if t.is_date(target) and t.is_timestamp(source):
        return value.date()
    if t.is_timestamp(target) and t.is_date(source):
        return as_timestamp(value)
    if t.is_timestamp(target) and t.is_timestamp(source):
        unit = {"s": 1_000_000, "ms": 1_000}.get(target.unit, 1)
        return value.replace(microsecond=value.microsecond // unit * unit)
    raise _impossible(source, target)


def to_text(value: Any, source: DataType) -> str:
    """The canonical text of a value: `true`, `1.50`, `1e+20`, `2020-01-31 00:00:00`."""
    t = pa.types
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(_shortest_float32(value) if t.is_float32(source) else value)
    if isinstance(value, Decimal):
        text = f"{value:.{source.scale}f}"
        # a type without digits before the point prints none
        return text.replace("0.", ".", 1) if source.precision == source.scale else text
    if isinstance(value, datetime):
        text = value.isoformat(" ")
        return text.rstrip("0") if value.microsecond else text
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | str):
        return str(value)
    if isinstance(value, bytes):
        return "".join(chr(b) if 32 <= b < 127 and b not in _NOT_PLAIN else f"\\x{b:02X}" for b in value)
    raise _impossible(source, pa.string())


def _shortest_float32(value: float) -> float:
    """The float of fewest digits that rounds to the same float32."""
    if not math.isfinite(value):
        return value
    return next(short for digits in range(1, 18) if to_float32(short := float(f"{value:.{digits}g}")) == value)


def from_text(text: str, target: DataType) -> Any:
    """Raises ExecutionError where `text` is no `target`, or one out of range."""
    t = pa.types
    stripped = text.strip(_BLANKS)
    if t.is_boolean(target):
        if text.lower() in (*TRUE_TEXTS, *FALSE_TEXTS):
            return text.lower() in TRUE_TEXTS
    elif t.is_integer(target) or t.is_decimal(target):
        number = read_exact(text, t.is_integer(target))
        if number is not None and t.is_decimal(target):
            return fit_decimal(number, target)
        if number is not None:
            return fit(int(number.to_integral_value("ROUND_HALF_UP")) if number.adjusted() < 40 else number, target)
    elif t.is_floating(target):
        if _NUMBER.fullmatch(stripped) or _SPECIAL.fullmatch(stripped):
            result = float(stripped.partition("(")[0].replace("_", ""))  # nan(1) is NaN
            return to_float32(result) if t.is_float32(target) else result
    elif t.is_date(target):
        return _read_date(stripped, text)[0]
    elif t.is_timestamp(target):
        return _read_timestamp(text)
    else:
        raise _impossible(pa.string(), target)
    raise _unreadable(text, target)


def _unreadable(text: str, target: DataType) -> ExecutionError:
    return ExecutionError(f"{text!r} cannot be read as {target}")


def read_exact(text: str, with_bases: bool) -> Decimal | None:
    """The number that a text is, in any size; `with_bases`: also one such as 0xFF or 0b101."""
    text = text.strip(_BLANKS)
    if with_bases:
        for pattern, base in ((_HEX, 16), (_BINARY, 2)):
            if match := pattern.fullmatch(text):
                return Decimal(int(match[1].replace("_", ""), base))
    with suppress(InvalidOperation):  # an exponent of more than 18 digits, which DuckDB does not read either
        return Decimal(text.replace("_", "")) if _NUMBER.fullmatch(text) else None
    return None


def _read_date(stripped: str, text: str) -> tuple[date, str]:
    """The date at the start of the text, and what follows it (DuckDB ignores that when casting to a date)."""
    if stripped.lower() == "epoch":
        return date(1970, 1, 1), ""
    match = _DATE.match(stripped)
    if match is not None:
        try:
            return date(int(match[1]), int(match[3]), int(match[4])), stripped[match.end() :]
        except (ValueError, OverflowError):
            pass
    raise _unreadable(text, pa.date32())


def _read_timestamp(text: str) -> datetime:
    """A date alone, with nothing after it, or with a time after a `T` or blanks.

    A zone may follow the seconds; it is ignored, as in DuckDB.
    """
    day, rest = _read_date(text.lstrip(_BLANKS), text)
    if not rest:
        return as_timestamp(day)
    match = _TIME.fullmatch(rest[1:].lstrip(_BLANKS)) if rest[0] == "T" or rest[0] in _BLANKS else None
    if match is not None:
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        microsecond = int(f"{match[4] or '':0<6}"[:6])
        if (hour, minute, second, microsecond) == (24, 0, 0, 0):
            return as_timestamp(day) + timedelta(days=1)
        if hour < 24 and minute < 60 and second < 60:
            return as_timestamp(day).replace(hour=hour, minute=minute, second=second, microsecond=microsecond)
    raise _unreadable(text, pa.timestamp("us"))
