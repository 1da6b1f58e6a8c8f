"""Compiled scalars against the reference semantics: what `test_evaluate` does not ask of them, such as constants."""

import itertools
import math
from decimal import Context, Decimal
from random import Random

import pyarrow as pa
import pytest

from executor.arrow.decimals import to_double
from executor.arrow.expressions import compile_predicate, compile_scalar
from optimizer.algebra.evaluate import holds
from optimizer.algebra.scalars import BOOL, Call, Case, Cast, ColumnRef, InList, Literal
from optimizer.errors import ExecutionError
from tests.reference.compiled import batch_of, call
from tests.reference.compiled import check_compiled as check
from tests.reference.values import (
    BIGS,
    BOOL_TEXTS,
    BOOLS,
    DATE,
    DATE_TEXTS,
    DATES,
    DECS,
    DOUBLES,
    F32,
    F64,
    I8,
    I32,
    I64,
    INTS,
    LIKE_TEXTS,
    NUMBER_TEXTS,
    PATTERNS,
    STR,
    STRINGS,
    TIME_TEXTS,
    TIMES,
    TINY,
    TS,
    dec,
    decimals,
    extremes,
)

INTERVAL = pa.month_day_nano_interval()
TEXTS = [*NUMBER_TEXTS, *BOOL_TEXTS, *DATE_TEXTS, *TIME_TEXTS]


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (I32, INTS), (dec(9, 2), DECS), (F64, DOUBLES), (F32, [None, 0.0, -0.0, 1.5, math.nan, math.inf]), (STR, STRINGS),
        (DATE, DATES), (BOOL, BOOLS), (TS, TIMES),
    ],
)  # fmt: skip
def test_comparisons(type: pa.DataType, values: list) -> None:
    two = (type, values), (type, values)
    for function in ("=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from"):
        for constant in values[:4] + values[-2:]:
            check(lambda a, f=function, c=constant: Call(f, (a, Literal(c, type)), BOOL), (type, values))
            check(lambda a, f=function, c=constant: Call(f, (Literal(c, type), a), BOOL), (type, values))
    for function in ("coalesce", "greatest", "least"):
        check(call(function, type), *two, (type, values[:3]))
    check(lambda a: InList(a, tuple(Literal(v, type) for v in values[1:4])), (type, values))
    check(lambda a: InList(a, tuple(Literal(v, type) for v in (values[1], None, values[-2]))), (type, values))
    check(lambda a: Call("not", (InList(a, (Literal(None, type),)),), BOOL), (type, values))


@pytest.mark.parametrize(
    ("type", "values"), [(I8, TINY), (I32, INTS), (I64, BIGS), (F64, DOUBLES), (F32, [None, 0.0, 1.5, -2.5])]
)
def test_arithmetic(type: pa.DataType, values: list) -> None:
    for function in ("+", "-", "*", "//", "%"):
        check(lambda a, f=function: Call(f, (a, Literal(values[3], type)), type), (type, values))
    check(call("sign", I8), (type, values))
    check(lambda a: Call("sign", (Literal(values[3], type),), I8), (type, values))
    for digits in (-25, -3, -1, 0, 1):
        check(lambda a, d=digits: Call("round", (a, Literal(d, I32)), type), (type, values))


@pytest.mark.parametrize(
    ("left", "right", "total", "product"),
    [
        (dec(9, 2), dec(9, 2), dec(10, 2), dec(18, 4)), (dec(9, 2), dec(6, 4), dec(12, 4), dec(15, 6)),
        (dec(18, 2), dec(18, 2), dec(18, 2), dec(18, 4)), (dec(15, 2), dec(16, 2), dec(17, 2), dec(31, 4)),
        (dec(31, 4), dec(16, 2), dec(33, 4), dec(38, 6)), (dec(38, 2), dec(38, 2), dec(38, 2), dec(38, 4)),
        (dec(38, 10), dec(38, 30), dec(38, 30), dec(38, 38)), (dec(12, 6), dec(12, 6), dec(14, 6), dec(20, 8)),
    ],
)  # fmt: skip
def test_decimal_arithmetic(left: pa.DataType, right: pa.DataType, total: pa.DataType, product: pa.DataType) -> None:
    columns = [(left, extremes(left)), (right, extremes(right))]
    check(call("+", total), *columns)
    check(call("-", total), *columns)
    check(call("*", product), *columns)
    for constant in extremes(right):
        for function, result in (("+", total), ("-", total), ("*", product)):
            check(lambda a, f=function, c=constant, t=result: Call(f, (a, Literal(c, right)), t), columns[0])
    check(
        lambda a: Call(
            "*", (Literal(Decimal(2).scaleb(-left.scale), left), Literal(Decimal(3).scaleb(-right.scale), right)), product
        ),
        columns[0],
    )
    small = [(left, extremes(left)[:6]), (right, extremes(right)[:6])]
    check(call("*", product), *small)
    check(call("%", left), *((left, extremes(left)), (left, extremes(left))))
    check(call("//", left), *((left, extremes(left)[:5]), (left, extremes(left)[:5])))
    check(call("neg", left), columns[0])
    check(call("abs", left), columns[0])
    check(call("sign", I8), columns[0])
    whole = dec(left.precision, 0)
    check(call("floor", whole), columns[0])
    check(call("ceil", whole), columns[0])
    for digits in (-41, -2, -1, 0, 1, 2, 5):
        result = dec(left.precision, min(left.scale, max(digits, 0)))
        check(lambda a, d=digits, t=result: Call("round", (a, Literal(d, I32)), t), columns[0])


def test_a_large_batch_of_products_mixes_small_and_wide_values() -> None:
    # no Arrow type holds the product of the two largest values, yet each row's product fits
    big, one = Decimal("9" * 38), Decimal(1)
    run = compile_scalar(Call("*", (ColumnRef(0, dec(38, 0)), ColumnRef(1, dec(38, 0))), dec(38, 0)))
    assert run(batch_of([(big, one), (one, big)], [dec(38, 0)] * 2)).to_pylist() == [big, big]


def test_casts_between_numbers() -> None:
    numbers: list[tuple[pa.DataType, list]] = [
        (BOOL, BOOLS), (I8, TINY), (I32, INTS), (I64, BIGS), (dec(9, 2), DECS), (F64, DOUBLES),
        (dec(38, 20), extremes(dec(38, 20))), (F32, [None, 0.0, 1.5, 2.5, -2.5, 300.0]),
    ]  # fmt: skip
    targets = [BOOL, I8, I32, I64, dec(9, 2), dec(4, 1), dec(38, 0), dec(38, 20), dec(2, 2), F64, F32, STR]
    for (source, values), target in itertools.product(numbers, targets):
        for lenient in (False, True):
            check(lambda a, t=target, x=lenient: Cast(a, t, x), (source, values), close=True)


def test_casts_from_text() -> None:
    for target in (I8, I32, I64, F64, F32, BOOL, dec(9, 2), dec(3, 0), DATE, TS):
        for text in TEXTS[::4]:
            for lenient in (False, True):
                check(lambda a, t=target, x=lenient: Cast(a, t, x), (STR, [text]))
        check(lambda a, t=target: Cast(a, t, True), (STR, TEXTS))
    check(lambda a: Cast(a, dec(38, 0), True), (STR, ["9" * 38, "9" * 39]))


def test_casts_of_odd_types() -> None:
    check(lambda a: Cast(a, STR, False), (dec(5, 0), decimals("5", "-5")))
    check(lambda a: Cast(a, I32, False), (pa.null(), [None, None]))


def test_substrings_from_afar_and_of_constants() -> None:
    places = [None, *range(-8, 9), 2**40, -(2**40)]
    words = [None, "", "hello", "äßc"]
    check(call("substring", STR), (STR, words), (I64, places), (I64, places))
    check(call("substring", STR), (STR, words), (I64, places))
    check(lambda a: Call("substring", (a, Literal(2, I64), Literal(3, I64)), STR), (STR, STRINGS))
    check(call("array_slice", STR), (STR, words), (I64, places), (I64, places))
    for start, end in itertools.product(places, repeat=2):
        check(lambda a, x=start, y=end: Call("array_slice", (a, Literal(x, I64), Literal(y, I64)), STR), (STR, words))


def test_like() -> None:
    for function in ("like", "ilike"):
        for pattern in PATTERNS:
            check(lambda a, f=function, p=pattern: Call(f, (a, Literal(p, STR)), BOOL), (STR, LIKE_TEXTS))
    for escape, pattern in itertools.product(
        ("#", "", "%", "_", "##"), ("a#%c", "a#_c", "a##c", "abc#", "a#", "%#", "#", "%#%c", None)
    ):
        check(lambda a, e=escape, p=pattern: Call("like", (a, Literal(p, STR), Literal(e, STR)), BOOL), (STR, LIKE_TEXTS))


def test_date_functions() -> None:
    for unit in ("week", "month", "quarter", "year", "decade"):
        check(
            lambda a, u=unit: Call("date_trunc", (Literal(u, STR), a), DATE),
            (DATE, [d for d in DATES if d is None or d.year > 10]),
        )
    intervals = [
        pa.MonthDayNano(v)
        for v in ((1, 0, 0), (-1, 0, 0), (13, 1, 90_000 * 10**9), (0, -90, 0), (-25, 3, -(10**9)), (0, 0, 1500), (120_000, 0, 0))
    ]
    for interval in intervals:
        check(lambda a, i=interval: Call("date_add", (a, Literal(i, INTERVAL)), TS), (TS, TIMES))
        check(lambda a, i=interval: Call("date_add", (Cast(a, TS, False), Literal(i, INTERVAL)), TS), (DATE, DATES))
    check(call("date_add", TS), (TS, TIMES), (INTERVAL, [None, *intervals[:6]]))
    check(call("date_add_days", DATE), (DATE, DATES), (I32, [None, 0, 1, -1, 400, 2**31 - 1]))
    check(call("date_add_days", DATE), (DATE, DATES), (I64, [None, 0, 5, 2**62]))


def test_what_is_not_reached_cannot_fail() -> None:
    a, b = ColumnRef(0, I32), ColumnRef(1, I32)
    zero = Call("=", (a, Literal(0, I32)), BOOL)
    product = Call("*", (b, Literal(2**30, I32)), I32)  # overflows but for small b
    values = (I32, [None, 0, 1]), (I32, [None, 0, 1, 5])
    check(lambda *_: Case(((zero, Literal(1, I32)),), product, I32), *values)
    check(lambda *_: Case(((Call("is_null", (b,), BOOL), a), (zero, product)), Literal(None, I32), I32), *values)
    check(lambda *_: Call("coalesce", (a, product, Literal(7, I32)), I32), *values)
    positive = Call(">", (product, Literal(0, I32)), BOOL)
    run = compile_scalar(Call("or", (zero, positive), BOOL))
    assert run(batch_of([(0, 5), (1, 1), (None, 0)], [I32, I32])).to_pylist() == [True, True, None]
    with pytest.raises(ExecutionError, match="out of range"):
        run(batch_of([(None, 5)], [I32, I32]))
    repeated = Call("repeat", (Literal("ab", STR), Cast(b, I64, False)), STR)
    unless_large = Case(((Call("<", (b, Literal(3, I32)), BOOL), Call("length", (repeated,), I64)),), Literal(-1, I64), I64)
    assert compile_scalar(unless_large)(batch_of([(0, 1), (0, 2**31 - 1)], [I32, I32])).to_pylist() == [2, -1]


@pytest.mark.parametrize("reached", [1, 7, 8, 9, 16])
def test_a_row_that_is_not_reached_may_fail_beside_any_number_that_are(reached: int) -> None:
    here, b = ColumnRef(0, BOOL), ColumnRef(1, I32)
    rows = [(i < reached, 3 if i < reached else 2**31 - 1) for i in range(64)]
    batch = batch_of(rows, [BOOL, I32])
    sum = Call("+", (b, Literal(1, I32)), I32)
    wanted = [4] * reached + [None] * (64 - reached)
    assert compile_scalar(Case(((here, sum),), Literal(None, I32), I32))(batch).to_pylist() == wanted
    of_four = Call("=", (sum, Literal(4, I32)), BOOL)
    assert compile_scalar(Call("and", (here, of_four), BOOL))(batch).to_pylist() == [here for here, _ in rows]
    assert compile_predicate((here, of_four))(batch).to_pylist() == [here for here, _ in rows]
    with pytest.raises(ExecutionError, match="out of range"):
        compile_predicate((of_four,))(batch)


def test_predicates_keep_true_rows_and_guard_raising_conjuncts() -> None:
    a, b = ColumnRef(0, I32), ColumnRef(1, I32)
    predicate = (
        Call(">", (Call("*", (b, Literal(2**30, I32)), I32), Literal(0, I32)), BOOL),
        Call("<", (b, Literal(2, I32)), BOOL),
        Call("<>", (a, Literal(0, I32)), BOOL),
    )
    rows = [(x, y) for x in (None, 0, 1) for y in (None, -1, 0, 1, 5)]
    want = [y != 5 and holds(predicate, {0: x, 1: y}) for x, y in rows]
    assert compile_predicate(predicate)(batch_of(rows, [I32, I32])).to_pylist() == want
    assert compile_predicate(())(batch_of(rows, [I32, I32])).to_pylist() == [True] * len(rows)


def test_random_differs_by_row() -> None:
    values = compile_scalar(Call("random", (), F64))(batch_of([(1,)] * 100, [I32])).to_pylist()
    assert len(set(values)) > 90 and all(0 <= v < 1 for v in values)


@pytest.mark.parametrize(("digits", "scale"), [(15, 2), (18, 0), (18, 3), (18, 9), (38, 10)])
def test_decimals_of_many_digits_become_the_nearest_double(digits: int, scale: int) -> None:
    random = Random(digits * scale)
    values = [Decimal(random.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale, Context(prec=60)) for _ in range(999)]
    made = to_double(pa.array([*values, None], pa.decimal128(digits, scale)))
    assert made.to_pylist() == [*map(float, values), None]


@pytest.mark.parametrize("scale", [18, 19, 22, 23, 38])
def test_decimals_of_many_digits_after_the_point_become_doubles(scale: int) -> None:
    values = [Decimal(n).scaleb(-scale, Context(prec=60)) for n in (2**63 - 1, -(2**53) - 1, -1, 0)]
    made = to_double(pa.array([*values, None], pa.decimal128(38, scale))).to_pylist()
    assert made[:4] == pytest.approx(list(map(float, values)), rel=1e-15, abs=0.0) and made[4] is None
