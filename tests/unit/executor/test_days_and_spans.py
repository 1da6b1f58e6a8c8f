"""Functions of moments, computed by the column, against the reference: at the ends of the years, of months, days and units."""

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest

from executor.arrow.days import OF_DAY
from executor.arrow.expressions import compile_scalar
from optimizer.algebra.evaluate_dates import DAY, MICROSECONDS, MONTHS
from optimizer.algebra.scalars import Call, ColumnRef, Literal, Scalar
from optimizer.errors import ExecutionError
from tests.reference.compiled import batch_of
from tests.reference.compiled import check_compiled as check
from tests.reference.values import BIGS, DATE, DATES, F64, I64, STR, TIMES, TS

_START, _TICK = datetime(1970, 1, 1), timedelta(microseconds=1)
_ODD = [
    datetime(y, m, 1) + d for y, m in ((2024, 3), (2001, 1), (1970, 1), (1900, 3), (5, 1)) for d in (-_TICK, 0 * _TICK, _TICK)
]
_EVERYWHERE = [_START + random.Random(i).randrange(-60_000 * DAY, 60_000 * DAY) * _TICK for i in range(20)]
MOMENTS = [*TIMES, *_ODD, *_EVERYWHERE, datetime.min, datetime.max, datetime(2023, 1, 31, 5), datetime(2024, 2, 29, 5)]
FORMATS = (
    *(f"%{letter}" for letter in "dmyHIMSjaAwubhBYpfngUWGVcxXTzZ%"),
    *("%Y-%m", "%Y-%m-%d %H:%M:%S", "on %-d. %B%%Y", "%H%%H%j%M%S.%f", "%%", "é", "%T %-I\n%p", "%Y%Q", "%-Y", "%H%", "%"),
)
TYPES = dict.fromkeys(OF_DAY, I64) | {"dayname": STR, "monthname": STR, "last_day": DATE, "epoch": F64}
OF_MOMENT = [(name, (), type) for name, type in (TYPES | {"microsecond": I64, "millisecond": I64}).items()]
OF_MOMENT += [("strftime", (Literal(form, STR),), STR) for form in FORMATS]


def refuses_what_is_far(make: Callable[[Scalar], Scalar]) -> None:
    for type, size in ((TS, 64), (DATE, 32)):
        number = pa.int64() if size == 64 else pa.int32()
        run = compile_scalar(make(ColumnRef(0, type)))
        beyond = [date.min.toordinal() - _START.toordinal() - 1, date.max.toordinal() - _START.toordinal() + 1]
        edges = [beyond[0] * DAY + DAY - 1, beyond[1] * DAY] if size == 64 else beyond
        for far in (*edges, (1 << size - 1) - 1, 1 - (1 << size - 1)):
            batch = pa.record_batch([pa.array([0, far, None], number).cast(type)], ["c0"])
            with pytest.raises(ExecutionError, match="a date is out of range"):
                run(batch)


@pytest.mark.parametrize(("name", "further", "type"), OF_MOMENT, ids=[f"{n} {f[0].value if f else ''}" for n, f, _ in OF_MOMENT])
def test_of_a_moment(name: str, further: tuple[Scalar, ...], type: pa.DataType) -> None:
    check(lambda a: Call(name, (a, *further), type), (TS, MOMENTS))
    check(lambda a: Call(name, (a, *further), type), (DATE, DATES))
    for constant in MOMENTS[:3]:
        check(lambda a, c=constant: Call(name, (Literal(c, TS), *further), type), (I64, [1, 2]))
    if "Q" not in str(further):
        refuses_what_is_far(lambda a: Call(name, (a, *further), type))


@pytest.mark.parametrize("function", ["date_diff", "date_sub"])
@pytest.mark.parametrize("unit", [*MICROSECONDS, *MONTHS])
def test_between_moments(function: str, unit: str) -> None:
    def count(a: Scalar, b: Scalar) -> Scalar:
        return Call(function, (Literal(unit, STR), a, b), I64)

    check(count, (TS, MOMENTS), (TS, MOMENTS))
    for constant in (None, datetime(2024, 2, 29, 12), datetime.max):
        check(lambda a, c=constant: count(a, Literal(c, TS)), (TS, MOMENTS))
        check(lambda a, c=constant: count(Literal(c, TS), a), (TS, MOMENTS))
        check(lambda a, c=constant: count(Literal(c, TS), Literal(MOMENTS[1], TS)), (I64, [1, 2]))
    refuses_what_is_far(lambda a: count(a, Literal(MOMENTS[1], TS)))
    refuses_what_is_far(lambda a: count(Literal(MOMENTS[1], TS), a))


def test_intervals() -> None:
    type = pa.month_day_nano_interval()
    check(lambda a: Call("to_interval", (a,), type), (I64, [*BIGS, DAY, DAY - 1, -DAY, 1 - DAY, -DAY - 1, 3 * DAY + 5]))
    check(lambda a: Call("to_interval", (Literal(-DAY - 1, I64),), type), (I64, [1, 2]))
    wide = Call("to_interval", (ColumnRef(0, I64),), type)
    assert compile_scalar(wide)(batch_of([(None,)] * 3, [I64])).null_count == 3
