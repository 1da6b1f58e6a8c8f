"""Reference semantics of functions that few queries need: more of text, of numbers and bits, and of dates."""

import calendar
import math
import re
import unicodedata
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from optimizer.algebra.evaluate_dates import MICROSECONDS, MONTHS, as_timestamp, date_add, microseconds_between, months_since
from optimizer.algebra.evaluate_numbers import ROUNDING, fit, logarithm
from optimizer.errors import ExecutionError

MOST_TEXT = 1 << 24  # characters that repeat, lpad and rpad make at most

# -- text ------------------------------------------------------------------------------------------------------------------


def padded(text: str, length: int, fill: str, left: bool) -> str:
    """`text` cut or filled up to `length` characters."""
    missing = length - len(text)
    if missing <= 0:
        return text[: max(length, 0)]
    if not fill:
        raise ExecutionError(f"nothing to fill up {text!r} with")
    if length > MOST_TEXT:
        raise ExecutionError(f"a text of {length} characters is too long")
    filling = (fill * (missing // len(fill) + 1))[:missing]
    return filling + text if left else text + filling


def repeat(text: str, times: int) -> str:
    if len(text) * times > MOST_TEXT:
        raise ExecutionError(f"{text[:20]!r} repeated {times} times is too long")
    return text * max(times, 0)


def part(text: str, start: int, end: int) -> str:
    """From one place to another, both counted from 1, or from the end below 0."""
    start, end = (place + len(text) + 1 if place < 0 else place for place in (start, end))
    return text[max(start, 1) - 1 : max(end, 0)]


def right(text: str, count: int) -> str:
    """The last `count` characters; below 0: all but the first ones."""
    return text[max(len(text) - count, 0) :] if count >= 0 else text[-count:]


def character(code: int) -> str:
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ExecutionError(f"there is no character {code}")
    return chr(code)


def split_part(text: str, separator: str, number: int) -> str:
    """The part of that number, from 1, or from the end below 0; nothing where there is none."""
    parts = text.split(separator) if separator else list(text)
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if number and 0 <= place < len(parts) else ""


def translate(text: str, old: str, new: str) -> str:
    """Each character of `old` becomes the one at its place in `new`, or goes away."""
    table: dict[str, str] = {}
    for i, c in enumerate(old):
        table.setdefault(c, new[i : i + 1])
    return "".join(table.get(c, c) for c in text)


_GLOB = re.compile(rb"(?s:\*|\?|\\(.)|\[(!?)((?>.-.|.)(?>[^]]-.|[^]])*+)]|([^\[\\]))")


def glob(text: str, pattern: str) -> bool:
    """Whether a pattern of * (any run), ? (one byte), [a-z] and [!a] matches the text; a pattern without sense matches none."""
    form = _of_glob(pattern)
    return form is not None and form.fullmatch(text.encode()) is not None


@lru_cache(maxsize=256)
def _of_glob(pattern: str) -> re.Pattern[bytes] | None:
    """What is between two * is as many bytes everywhere, so that its first place will do: no other one is tried."""
    rest, between = pattern.encode(), [b""]
    while rest:
        part = _GLOB.match(rest)
        if part is None:
            return None
        rest = rest[part.end() :]
        if part[0] == b"*":
            between.append(b"")
            continue
        if part[3] is None:
            between[-1] += b"." if part[0] == b"?" else re.escape(part[1] or part[0])
            continue
        items = re.findall(rb"(?s)(.)-(.)|(.)", part[3])
        within = b"".join(re.escape(x) + b"-" + re.escape(y) if x else re.escape(one) for x, y, one in items if x <= y)
        between[-1] += b"[" + (b"^" if part[2] else b"") + within + b"]" if within else b"." if part[2] else b"(?!)"
    first, *others = between
    form = b"".join(b"(?>.*?%b)" % each for each in others[:-1]) + b".*" + others[-1] if others else b""
    return re.compile(first + form, re.DOTALL)


def levenshtein(a: str, b: str) -> int:
    """The fewest changes, insertions and removals of a byte that make one of the other."""
    other = b.encode()
    row = list(range(len(other) + 1))
    for i, x in enumerate(a.encode(), 1):
        before, row[0] = row[0], i
        for j, y in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def strip_accents(text: str) -> str:
    bases = (c for c in unicodedata.normalize("NFD", text) if not unicodedata.category(c).startswith("M"))
    return unicodedata.normalize("NFC", "".join(bases))


# -- numbers ---------------------------------------------------------------------------------------------------------------


def sign(x: Any) -> int:
    return int(x > 0) - int(x < 0)


def truncated(x: Any, digits: int = 0, *, type: Any) -> Any:
    """Without what stands after so many digits behind the point, before it when below 0."""
    if isinstance(x, float):
        scale = 10.0 ** abs(digits) if abs(digits) <= 308 else math.inf
        scaled = x / scale if digits < 0 else x * scale
        if not math.isfinite(scaled) or scale == math.inf:
            return x
        whole = math.copysign(math.trunc(scaled), x)
        return fit(whole * scale if digits < 0 else whole / scale, type)
    rest = ROUNDING.remainder(Decimal(x), Decimal(1).scaleb(max(-80, min(80, -digits))))
    return fit(ROUNDING.subtract(Decimal(x), rest), type)


def log10(x: float) -> float:
    logarithm(x)
    return math.log10(x)


def log2(x: float) -> float:
    logarithm(x)
    return math.log2(x)


def log_to(base: float, x: float) -> float:
    """The logarithm of x to `base`; to the base 1 it is refused."""
    divisor = log10(base)
    if divisor == 0:
        raise ExecutionError("there is no logarithm to base 1")
    return log10(x) / divisor


def trigonometric(name: str, x: float) -> float:
    """sin, cos, tan, cot; an infinite angle is refused."""
    if math.isinf(x) or (name == "cot" and x == 0):
        raise ExecutionError(f"{name} of {x} is out of range")
    return 1.0 / math.tan(x) if name == "cot" else float(getattr(math, name)(x))


def arc(name: str, x: float) -> float:
    """asin and acos."""
    if not (-1 <= x <= 1 or math.isnan(x)):
        raise ExecutionError(f"{name} is defined from -1 to 1, not for {x}")
    return float(getattr(math, name)(x))


def hyperbolic(name: str, x: float) -> float:
    """sinh to atanh; inf for -1 too has atanh in DuckDB."""
    if name == "atanh" and abs(x) >= 1:
        if abs(x) > 1:
            raise ExecutionError(f"atanh is defined from -1 to 1, not for {x}")
        return math.inf
    try:
        return float(getattr(math, name)(x))
    except OverflowError:
        return math.copysign(math.inf, x) if name == "sinh" else math.inf
    except ValueError:
        return math.nan


def factorial(n: int) -> Decimal:
    if not 0 <= n <= 33:
        raise ExecutionError(f"the factorial of {n} is out of range")
    return Decimal(math.factorial(n))


def even(x: float) -> float:
    """The next even number away from 0."""
    if not math.isfinite(x):
        return x
    whole = math.ceil(abs(x))
    return math.copysign(whole + whole % 2, x)


def shift_left(a: int, places: int, type: Any) -> int:
    """Refused where a bit would be lost, and of a number below 0."""
    bits = type.bit_width
    if places < 0 or places >= bits or a < 0:
        if a == 0 and places >= 0:
            return 0
        raise ExecutionError(f"{a} cannot be shifted left by {places}")
    return int(fit(a << places, type))


def shift_right(a: int, places: int, type: Any) -> int:
    return a >> places if 0 <= places < type.bit_width else 0


def hexadecimal(value: str | int) -> str:
    """Of the bytes of a text, or of a number in 64 bits."""
    return value.encode().hex().upper() if isinstance(value, str) else f"{value & (1 << 64) - 1:X}"


def binary(value: str | int) -> str:
    """Of the bytes of a text, or of a number in 64 bits."""
    return "".join(f"{b:08b}" for b in value.encode()) if isinstance(value, str) else f"{value & (1 << 64) - 1:b}"


def bit_not(a: int, type: Any) -> int:
    return ~a & (1 << type.bit_width) - 1 if str(type).startswith("u") else ~a


# -- dates -----------------------------------------------------------------------------------------------------------------


def last_day(value: date) -> date:
    return date(value.year, value.month, calendar.monthrange(value.year, value.month)[1])


def make_date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        raise ExecutionError(f"there is no date {year}-{month}-{day}") from None


def make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: float) -> datetime:
    """24:00:00 and second 60 are those of what follows."""
    try:
        part = (second - int(second)) * 1e6
        rest = int(second) * 1_000_000 + int(abs(part)) + (abs(part) % 1 >= 0.5)  # microseconds
        wrong = part <= -0.5 or min(hour, minute, int(second)) < 0 or minute > 59 or rest >= 61_000_000
        if wrong or (hour > 23 and (hour, minute, rest) != (24, 0, 0)):
            raise ValueError
        return datetime(year, month, day) + timedelta(hours=hour, minutes=minute, microseconds=rest)
    except (ValueError, OverflowError):
        raise ExecutionError(f"there is no moment {year}-{month}-{day} {hour}:{minute}:{second}") from None


def epoch(value: date) -> float:
    """Seconds since 1970."""
    return microseconds_between(as_timestamp(value), datetime(1970, 1, 1)) / 1e6


def boundaries(unit: str, start: datetime, end: datetime) -> int:
    """How many starts of a unit lie between."""
    if unit in MONTHS:
        return months_since(end) // MONTHS[unit] - months_since(start) // MONTHS[unit]
    if unit == "week":  # in DuckDB whole ones of the days between
        return whole_units(unit, as_timestamp(start.date()), as_timestamp(end.date()))
    since = datetime(1970, 1, 1)
    return microseconds_between(end, since) // MICROSECONDS[unit] - microseconds_between(start, since) // MICROSECONDS[unit]


def whole_units(unit: str, start: datetime, end: datetime) -> int:
    """How many whole ones of a unit lie between."""
    if start > end:
        return -whole_units(unit, end, start)
    if unit in MICROSECONDS:
        return microseconds_between(end, start) // MICROSECONDS[unit]
    months = months_since(end) - months_since(start)
    return (months - (date_add(start, pa.MonthDayNano((months, 0, 0))) > end)) // MONTHS[unit]
