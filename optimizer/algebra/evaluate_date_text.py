"""Reference semantics of `strftime` and `strptime`: a date or timestamp as text and back, by DuckDB's letters, in English."""

import calendar
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
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
# numbers that are read: how many digits at most, the least and the greatest value
_READ = {
    "Y": (4, 0, 9999), "y": (2, 0, 99), "m": (2, 1, 12), "d": (2, 1, 31), "j": (3, 1, 366), "H": (2, 0, 23), "I": (2, 1, 12),
    "M": (2, 0, 59), "S": (2, 0, 59), "f": (6, 0, 999_999), "g": (3, 0, 999),
}  # fmt: skip
_WORDS = {
    **dict.fromkeys("bh", calendar.month_abbr[1:]), "B": calendar.month_name[1:], "a": calendar.day_abbr[:],
    "A": calendar.day_name[:], "p": ["AM", "PM"],
}  # fmt: skip
_LONG = {"%T": "%H:%M:%S", "%X": "%H:%M:%S", "%x": "%Y-%m-%d", "%c": "%Y-%m-%d %H:%M:%S"}
_PIECES = re.compile(r"(\s+)|([^%\s]+)|(%(-?)(.?))", re.ASCII | re.DOTALL)


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


def read(text: str, form: str) -> datetime:
    """The moment that `text` is by the format. Raises ExecutionError where it is none."""
    moment = read_or_null(text, form)
    if moment is None:
        raise ExecutionError(f"{text!r} cannot be read as {form!r}; try_strptime gives NULL for it")
    return moment


def read_or_null(text: str, form: str) -> datetime | None:
    """As `read`, None where the text is no moment. What the format leaves out is that of 1900-01-01 00:00:00."""
    letters, pattern = _reading(form)
    found = pattern.fullmatch(text)
    if found is None:
        return None
    at = {"Y": 1900, "m": 1, "d": 1, "H": 0, "M": 0, "S": 0, "f": 0}
    for letter, part in zip(letters, found.groups(), strict=True):
        if letter in _WORDS:
            number = [word.lower() for word in _WORDS[letter]].index(part.lower())
        else:
            number = int(part)
            if not _READ[letter][1] <= number <= _READ[letter][2]:
                return None
        match letter:
            case "b" | "h" | "B":
                at["m"] = number + 1
            case "y":
                at["Y"] = number + (1900 if number >= 69 else 2000)
            case "I":
                at["H"] = number
            case "f" | "g":
                at["f"] = int(part.ljust(6, "0"))
            case _:
                at[letter] = number
    if "p" in at:
        if at["H"] > 12:
            return None
        at["H"] = at["H"] % 12 + 12 * at["p"]
    by_day = "j" in at and not {"m", "d"} & set(letters)  # the day of the year yields to numbers of month and day
    try:
        day = datetime(at["Y"], 1, 1) + timedelta(at["j"] - 1) if by_day else datetime(at["Y"], at["m"], at["d"])
    except (ValueError, OverflowError):
        return None
    return day.replace(hour=at["H"], minute=at["M"], second=at["S"], microsecond=at["f"])


@lru_cache(maxsize=256)
def _reading(form: str) -> tuple[list[str], re.Pattern[str]]:
    """The letters of a format and the pattern of its texts, with a group for each; a run of spaces is any run of spaces."""
    letters, pattern = [], r"\s*+"
    if not form:
        raise ExecutionError("the format of strptime is empty")
    for space, text, found, short, letter in _PIECES.findall(re.sub("%.", lambda m: _LONG.get(m[0], m[0]), form)):
        if not found:
            pattern += r"\s++" if space else re.escape(text)
        elif letter == "%" and not short:
            pattern += "%"
        elif letter in _READ and (not short or letter in _NUMBERS) and (letter != "j" or "j" not in letters):
            pattern += rf"(\d{{1,{_READ[letter][0]}}}+)"
            letters.append(letter)
        elif letter in _WORDS and not short:
            pattern += f"((?i:{'|'.join(_WORDS[letter])}))"
            letters.append(letter)
        else:
            known = "".join(sorted({*_READ, *_WORDS, *(long[1] for long in _LONG), "%"}))
            raise ExecutionError(f'strptime does not know "{found}" there; what it knows is % and one of {known}')
    return letters, re.compile(pattern + r"\s*", re.ASCII)
