"""Functions of the day that a moment lies in, and its texts; semantics as in `algebra.evaluate_more` and `evaluate_date_text`."""

import calendar
import re
from collections.abc import Callable, Sequence
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.dates import days_of
from executor.arrow.distinct import Value, as_array, by_reference
from executor.arrow.spans import since_1970
from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_date_text import formatted
from optimizer.algebra.evaluate_dates import DAY

_DAY_NAMES, _MONTH_NAMES = pa.array(list(calendar.day_name)), pa.array(list(calendar.month_name))  # no month has number 0

OF_DAY: dict[str, Callable[[pa.Array], pa.Array]] = {
    "dayname": lambda day: _DAY_NAMES.take(pc.day_of_week(day)),
    "monthname": lambda day: _MONTH_NAMES.take(pc.month(day)),
    "isodow": lambda day: pc.day_of_week(day, count_from_zero=False),
    "isoyear": pc.iso_year,
    "yearweek": lambda day: pc.add(pc.multiply(pc.iso_year(day), 100), pc.iso_week(day)),
    "decade": lambda day: pc.divide(pc.year(day), 10),
    "century": lambda day: pc.divide(pc.add(pc.year(day), 99), 100),
    "millennium": lambda day: pc.divide(pc.add(pc.year(day), 999), 1000),
    "last_day": lambda day: _day_before(pc.ceil_temporal(day, unit="month", ceil_is_strictly_greater=True)),
}


def by_day(name: str, args: Sequence[Value], rows: int, type: DataType) -> pa.Array:
    return pc.cast(OF_DAY[name](days_of(as_array(args[0], rows))), type)


def _day_before(number: pa.Array) -> pa.Array:
    return pc.subtract(number.cast(pa.int32()), pa.scalar(1, pa.int32())).cast(pa.date32())


def _time_within(whole: int, step: int) -> Callable[[pa.Array], pa.Array]:
    """The last of the steps, in microseconds, since the whole one that a moment lies in began."""
    return lambda moments: since_1970(lambda n: n % whole // step * step, moments, len(moments), pa.timestamp("us"))


_LETTERS = re.compile("^[^%]+|%-?(.?)[^%]*", re.DOTALL)  # of a format, each with the text behind it
_PARTS: dict[str | None, Callable[[pa.Array], pa.Array]] = {  # what they depend on, others on the day
    **dict.fromkeys((None, *"YymbhB"), lambda moments: pc.floor_temporal(days_of(moments), unit="month")),
    "d": lambda moments: _day_before(pc.day(days_of(moments))),
    **dict.fromkeys("HIMp", _time_within(DAY, 60_000_000)),
    **dict.fromkeys("TX", _time_within(DAY, 1_000_000)),
    "S": _time_within(60_000_000, 1_000_000),
    **dict.fromkeys("cfgn", lambda moments: moments),
}


def strftime(moment: Value, form: Value, rows: int, type: DataType) -> pa.Array:
    """By the reference, letters that depend on one part of the moment together: a part has few values."""
    if not isinstance(form, pa.Scalar) or not form.as_py():
        return by_reference(formatted, (moment, form), rows, type)
    moments = as_array(moment, rows)
    texts = [
        by_reference(formatted, (part(moments), pa.scalar("".join(letter[0] for letter in letters))), rows, type)
        for part, letters in groupby(_LETTERS.finditer(form.as_py()), lambda letter: _PARTS.get(letter[1], days_of))
    ]
    return pc.binary_join_element_wise(*texts, "")
