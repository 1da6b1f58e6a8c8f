"""Reference semantics of `strftime`: a date or timestamp as text, by DuckDB's letters, in English."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache

from optimizer.algebra.evaluate_dates import as_timestamp
from optimizer.errors import ExecutionError

# digits, filled up with 0; with - before the letter as few as can be
_NUMBERS: dict[str, tuple[int, Callable[[datetime], int]]] = {
    "d": (2, lambda t: t.day),
    "m": (2, lambda t: t.month),
    "y": (2, lambda t: t.year % 100),
    "H": (2, lambda t: t.hour),
    "I": (2, lambda t: (t.hour - 1) % 12 + 1),
    "M": (2, lambda t: t.minute),
    "S": (2, lambda t: t.second),
    "j": (3, lambda t: t.timetuple().tm_yday),
}
_TEXTS: dict[str, Callable[[datetime], str]] = {
    "a": lambda t: calendar.day_abbr[t.weekday()],
    "A": lambda t: calendar.day_name[t.weekday()],
    "w": lambda t: str(t.isoweekday() % 7),
    "u": lambda t: str(t.isoweekday()),
    "b": lambda t: calendar.month_abbr[t.month],
    "h": lambda t: calendar.month_abbr[t.month],
    "B": lambda t: calendar.month_name[t.month],
    "Y": lambda t: f"{t.year:04}",
    "p": lambda t: "AM" if t.hour < 12 else "PM",
    "f": lambda t: f"{t.microsecond:06}",
    "n": lambda t: f"{t.microsecond:06}000",
    "g": lambda t: f"{t.microsecond // 1000:03}",
    "U": lambda t: f"{(t.timetuple().tm_yday + 6 - t.isoweekday() % 7) // 7:02}",
    "W": lambda t: f"{(t.timetuple().tm_yday + 6 - t.weekday()) // 7:02}",
    "G": lambda t: f"{t.isocalendar().year:04}",
    "V": lambda t: f"{t.isocalendar().week:02}",
    "c": lambda t: t.isoformat(" ", "seconds"),
    "x": lambda t: t.date().isoformat(),
    "X": lambda t: t.time().isoformat("seconds"),
    "T": lambda t: t.time().isoformat("seconds"),
    "z": lambda t: "+00",
    "Z": lambda t: "",
    "%": lambda t: "%",
}


def formatted(moment: date | datetime, form: str) -> str:
    """`moment` as the format says. Raises ExecutionError for a letter that is none."""
    return "".join(part if isinstance(part, str) else part(as_timestamp(moment)) for part in _parts(form))


def _number(number: Callable[[datetime], int], digits: int) -> Callable[[datetime], str]:
    return lambda t: f"{number(t):0{digits}}"


@lru_cache(maxsize=256)
def _parts(form: str) -> list[str | Callable[[datetime], str]]:
    parts: list[str | Callable[[datetime], str]] = []
    if not form:
        raise ExecutionError("the format of strftime is empty")
    for text, found, short, letter in re.findall("([^%]+)|(%(-?)(.?))", form, re.DOTALL):
        if not found:
            parts.append(text)
        elif letter in _NUMBERS:
            digits, number = _NUMBERS[letter]
            parts.append(_number(number, 1 if short else digits))
        elif letter in _TEXTS and not short:
            parts.append(_TEXTS[letter])
        else:
            known = "".join(sorted({*_NUMBERS, *_TEXTS}))
            raise ExecutionError(f'strftime does not know "{found}"; what it knows is % and one of {known}')
    return parts
