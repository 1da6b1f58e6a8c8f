"""`evaluate` against DuckDB, and compiled scalars against `evaluate`, function by function, over grids of values with NULL, zero,
extremes, NaN and odd text."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Context, Decimal
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from executor.arrow.decimals import to_double
from executor.arrow.expressions import compile_predicate, compile_scalar
from optimizer.algebra.evaluate import evaluate, holds
from optimizer.algebra.evaluate_more import glob
from optimizer.algebra.evaluate_numbers import to_float32
from optimizer.algebra.evaluate_strings import lower, upper
from optimizer.algebra.scalars import BOOL, Call, Case, Cast, ColumnRef, InList, Literal, Scalar
from optimizer.errors import ExecutionError
from tests.reference.compiled import batch_of, call, check_compiled
from tests.reference.values import (
    BIGS,
    BOOL_TEXTS,
    BOOLS,
    DATE,
    DATE_PARTS,
    DATE_TEXTS,
    DATE_UNITS,
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

FLOATS = [None, 0.0, 1.5, -2.5, math.nan, math.inf]
INTERVAL = pa.month_day_nano_interval()
TEXTS = [*NUMBER_TEXTS, *BOOL_TEXTS, *DATE_TEXTS, *TIME_TEXTS]
RAISES = object()


@functools.cache
def oracle() -> duckdb.DuckDBPyConnection:
    """One for all tests of this file: to connect takes longer than most of them."""
    return duckdb.connect(config={"threads": 1})


def rows_of(sql: str, columns: list[tuple[pa.DataType, list]], expected_type: pa.DataType) -> Iterator[tuple[tuple, object]]:
    """Each combination of the columns' values (named a, b, c in `sql`) with DuckDB's answer, or RAISES."""
    combinations = list(itertools.product(*(values for _, values in columns)))
    arrays = [pa.array([row[i] for row in combinations], type) for i, (type, _) in enumerate(columns)]
    names = "abc"[: len(columns)]
    connection = oracle()
    connection.register("input", pa.table([pa.array(range(len(combinations))), *arrays], names=["i", *names]))
    connection.execute("create or replace table t as select * from input order by i")

    def ask(where: str) -> list:
        # materialized first, so that nothing is computed for other rows
        query = f"with one as materialized (select * from t {where}) select {sql} from one order by i"
        table = connection.execute(query).to_arrow_table()
        assert table.schema.field(0).type == expected_type, f"{sql} is {table.schema.field(0).type}"
        return table.column(0).to_pylist()

    try:
        answers = ask("")
    except duckdb.Error:
        answers = []
        for i in range(len(combinations)):
            try:
                answers += ask(f"where i = {i}")
            except duckdb.Error:
                answers.append(RAISES)
    yield from zip(combinations, answers, strict=True)


def outcome(scalar: Scalar, row: tuple) -> object:
    try:
        return evaluate(scalar, dict(enumerate(row)))
    except ExecutionError:
        return RAISES


def agree(ours: object, theirs: object, close: bool) -> bool:
    if close and isinstance(ours, float) and isinstance(theirs, float) and math.isfinite(ours):
        return math.isclose(ours, theirs, rel_tol=1e-14)
    return ours is theirs or repr(ours) == repr(theirs)  # repr tells 1 from True, -0.0 from 0.0, 1.50 from 1.5


def check(
    sql: str,
    result: pa.DataType,
    make: Callable[..., Scalar],
    *columns: tuple[pa.DataType, list],
    close: bool = False,
    close_to_duckdb: bool = False,
    except_for: Callable[[tuple], bool] = lambda row: False,
) -> None:
    """`evaluate` gives DuckDB's value or error, but for rows that are excepted; the executor's compiled scalar gives its."""
    scalar = make(*(ColumnRef(i, type) for i, (type, _) in enumerate(columns)))
    assert scalar.type == result
    wrong = [
        f"{sql} of {row!r}: {'error' if (ours := outcome(scalar, row)) is RAISES else repr(ours)}, "
        f"DuckDB {'error' if theirs is RAISES else repr(theirs)}"
        for row, theirs in rows_of(sql, list(columns), result)
        if not agree(outcome(scalar, row), theirs, close or close_to_duckdb) and not except_for(row)
    ]
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:12])
    check_compiled(make, *columns, close=close)


def asked(duckdb_too: bool, sql: str, result: pa.DataType, make: Callable[..., Scalar], *columns: Any) -> None:
    if duckdb_too:
        check(sql, result, make, *columns)
    else:
        check_compiled(make, *columns)


def to(type: pa.DataType, lenient: bool = False) -> Callable[..., Scalar]:
    return lambda arg: Cast(arg, type, lenient)


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (I8, TINY), (I32, INTS), (pa.uint64(), [None, 0, 1, 2**63, 2**64 - 1]), (dec(9, 2), DECS),
        (dec(38, 2), extremes(dec(38, 2))), (F64, DOUBLES), (F32, FLOATS), (STR, STRINGS), (DATE, DATES), (BOOL, BOOLS),
        (TS, TIMES),
    ],
)  # fmt: skip
def test_comparisons(type: pa.DataType, values: list) -> None:
    for function in ("=", "<>", "<", "<=", ">", ">="):
        check(f"a {function} b", BOOL, call(function, BOOL), (type, values), (type, values))
    check("a is distinct from b", BOOL, call("is_distinct_from", BOOL), (type, values), (type, values))
    check("a is not distinct from b", BOOL, call("is_not_distinct_from", BOOL), (type, values), (type, values))
    check("a is null", BOOL, call("is_null", BOOL), (type, values))
    check("a is not null", BOOL, call("is_not_null", BOOL), (type, values))
    check("coalesce(a, b)", type, call("coalesce", type), (type, values), (type, values))
    check("greatest(a, b)", type, call("greatest", type), (type, values), (type, values), except_for=_two_zeros)
    check("least(a, b)", type, call("least", type), (type, values), (type, values), except_for=_two_zeros)
    few = values[:6]
    check("a in (b, c)", BOOL, lambda a, b, c: InList(a, (b, c)), (type, few), (type, few), (type, few))
    values = [*values[:2], -0.0, *values[2:]] if type == F32 else values  # of which DuckDB's greatest makes 0.0
    for function in ("=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from"):
        for constant in values[:4] + values[-2:]:
            check_compiled(lambda a, f=function, c=constant: Call(f, (a, Literal(c, type)), BOOL), (type, values))
            check_compiled(lambda a, f=function, c=constant: Call(f, (Literal(c, type), a), BOOL), (type, values))
            check_compiled(lambda a, f=function, c=constant: Call(f, (Literal(c, type),) * 2, BOOL), (type, [None]))
    for function in ("coalesce", "greatest", "least"):
        check_compiled(call(function, type), (type, values), (type, values), (type, values[:3]))
    check_compiled(lambda a: InList(a, tuple(Literal(v, type) for v in values[1:4])), (type, values))
    check_compiled(lambda a: InList(a, tuple(Literal(v, type) for v in (values[1], None, values[-2]))), (type, values))
    check_compiled(lambda a: Call("not", (InList(a, (Literal(None, type),)),), BOOL), (type, values))


def _two_zeros(row: tuple) -> bool:
    """Which of 0.0 and -0.0 is the greatest is nobody's business."""
    return row[0] == row[1] == 0


def test_texts_are_joined_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two by two, a text would be written again for each of those behind it."""
    joined, kernel, concat = [], pc.binary_join_element_wise, call("concat", STR)
    monkeypatch.setattr(pc, "binary_join_element_wise", lambda *args, **how: joined.append(len(args)) or kernel(*args, **how))
    texts = (STR, ["", "é", "ab", None])
    check_compiled(lambda a, b, c: concat(concat(concat(a, Literal("-", STR)), b), c), texts, texts, texts)
    assert set(joined) == {5}  # a, -, b, c and the separator


def test_three_valued_logic() -> None:
    three = [(BOOL, BOOLS)] * 3
    check("a and b and c", BOOL, call("and", BOOL), *three)
    check("a or b or c", BOOL, call("or", BOOL), *three)
    check("not a", BOOL, call("not", BOOL), (BOOL, BOOLS))
    check("case when a then b else c end", BOOL, lambda a, b, c: Case(((a, b),), c, BOOL), *three)


@pytest.mark.parametrize(
    ("type", "values"), [(I8, TINY), (I32, INTS), (I64, BIGS), (F64, DOUBLES), (F32, [None, 0.0, 1.5, -2.5])]
)
def test_arithmetic(type: pa.DataType, values: list) -> None:
    two = [(type, values), (type, values)]
    for function in ("+", "-", "*", "//", "%"):
        check(f"a {function} b", type, call(function, type), *two)
    check("-a", type, call("neg", type), (type, values))
    check("abs(a)", type, call("abs", type), (type, values))
    for function in ("+", "-", "*", "//", "%"):
        check_compiled(lambda a, f=function: Call(f, (a, Literal(values[3], type)), type), (type, values))
    check_compiled(call("sign", I8), (type, values))
    check_compiled(lambda a: Call("sign", (Literal(values[3], type),), I8), (type, values))
    for digits in (-25, -3, -1, 0, 1):
        check_compiled(lambda a, d=digits: Call("round", (a, Literal(d, I32)), type), (type, values))


def test_float_arithmetic() -> None:
    two = [(F64, DOUBLES), (F64, DOUBLES)]
    check("a / b", F64, call("/", F64), *two)
    check("power(a, b)", F64, call("power", F64), *two, close=True)
    for function in ("floor", "ceil", "sqrt"):
        check(f"{function}(a)", F64, call(function, F64), (F64, DOUBLES))
    for function in ("ln", "exp"):
        check(f"{function}(a)", F64, call(function, F64), (F64, DOUBLES), close=True)


@pytest.mark.parametrize("digits", [-400, -20, -3, -1, 0, 1, 2, 3, 20, 400])
def test_round(digits: int) -> None:
    places = Literal(digits, I32)
    check(f"round(a, {digits})", F64, lambda a: Call("round", (a, places), F64), (F64, DOUBLES), close_to_duckdb=True)
    if abs(digits) <= 20:
        small = [v for v in INTS if v is None or abs(v) <= 100]  # DuckDB wraps around silently near the limits
        check(f"round(a, {digits})", I32, lambda a: Call("round", (a, places), I32), (I32, small))
        result = dec(9, min(2, max(digits, 0)))
        known = [v for v in DECS if v is not None]  # DuckDB's answer to NULL is 0 when all digits go
        check(f"round(a, {digits})", result, lambda a: Call("round", (a, places), result), (dec(9, 2), known))
    small_floats = [to_float32(v) for v in (1.005, 2.675, -1.005, 1234.5, 3.4e38, math.inf)]  # computed as doubles
    check(f"round(a, {digits})", F32, lambda a: Call("round", (a, places), F32), (F32, [None, *small_floats]))


def test_round_that_overflows_raises() -> None:
    assert outcome(Call("round", (Literal(127, I8), Literal(-1, I32)), I8), ()) is RAISES


DECIMALS = [  # two types, and those of their sums and products
    (dec(9, 2), dec(9, 2), dec(10, 2), dec(18, 4)), (dec(9, 2), dec(6, 4), dec(12, 4), dec(15, 6)),
    (dec(18, 2), dec(18, 2), dec(18, 2), dec(18, 4)), (dec(30, 2), dec(18, 4), dec(33, 4), dec(38, 6)),
    (dec(38, 2), dec(38, 2), dec(38, 2), dec(38, 4)),
]  # fmt: skip
OTHER_DECIMALS = [  # some of which DuckDB does not multiply
    (dec(15, 2), dec(16, 2), dec(17, 2), dec(31, 4)), (dec(31, 4), dec(16, 2), dec(33, 4), dec(38, 6)),
    (dec(38, 10), dec(38, 30), dec(38, 30), dec(38, 38)), (dec(12, 6), dec(12, 6), dec(14, 6), dec(20, 8)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "total", "product"), DECIMALS + OTHER_DECIMALS)
def test_decimal_arithmetic(left: pa.DataType, right: pa.DataType, total: pa.DataType, product: pa.DataType) -> None:
    """DuckDB is asked of the first types; of all what it is not asked, such as constants."""
    columns, whole = [(left, extremes(left)), (right, extremes(right))], dec(left.precision, 0)
    known = (left, right, total, product) in DECIMALS
    for function, result in (("+", total), ("-", total), ("*", product)):
        asked(known, f"a {function} b", result, call(function, result), *columns)
        for constant in extremes(right):
            check_compiled(lambda a, f=function, c=constant, t=result: Call(f, (a, Literal(c, right)), t), columns[0])
    asked(known, "-a", left, call("neg", left), columns[0])
    for function, result in (("abs", left), ("floor", whole), ("ceil", whole)):
        asked(known, f"{function}(a)", result, call(function, result), columns[0])
    check("a % b", dec(9, 2), call("%", dec(9, 2)), (dec(9, 2), DECS), (dec(9, 2), DECS))
    two, three = (Literal(Decimal(n).scaleb(-type.scale), type) for n, type in ((2, left), (3, right)))
    check_compiled(lambda a: Call("*", (two, three), product), columns[0])
    check_compiled(call("*", product), (left, extremes(left)[:6]), (right, extremes(right)[:6]))
    check_compiled(call("%", left), columns[0], columns[0])
    check_compiled(call("//", left), *[(left, extremes(left)[:5])] * 2)
    check_compiled(call("sign", I8), columns[0])
    for digits in (-41, -2, -1, 0, 1, 2, 5):
        result = dec(left.precision, min(left.scale, max(digits, 0)))
        check_compiled(lambda a, d=digits, t=result: Call("round", (a, Literal(d, I32)), t), columns[0])


def test_casts_between_numbers() -> None:
    numbers: list[tuple[pa.DataType, list]] = [
        (BOOL, BOOLS), (I8, TINY), (I32, INTS), (I64, BIGS), (dec(9, 2), DECS), (F64, DOUBLES),
    ]  # fmt: skip
    targets = {"boolean": BOOL, "tinyint": I8, "integer": I32, "bigint": I64, "double": F64, "float": F32}
    targets |= {f"decimal({p},{s})": dec(p, s) for p, s in ((9, 2), (4, 1), (38, 0), (2, 2))}
    for (source, values), (name, target) in itertools.product(numbers, targets.items()):
        # DuckDB makes 0.01 of TRUE as decimal(2,2), having no place for the 1
        odd = source == BOOL and name == "decimal(2,2)"
        kept = [v for v in values if not (odd and v)]
        check(f"cast(a as {name})", target, to(target), (source, kept))
        check(f"try_cast(a as {name})", target, to(target, lenient=True), (source, kept))


def test_decimal_casts_round_half_away() -> None:
    values = decimals(None, "0.005", "-0.005", "0.015", "9.995", "-9.995", "9.994", "0.004", "-0.004", "1.500", "2.500", "-2.500")
    targets = {"decimal(3,2)": dec(3, 2), "decimal(6,1)": dec(6, 1), "decimal(3,0)": dec(3, 0), "int": I32, "double": F64}
    for name, target in targets.items():
        check(f"cast(a as {name})", target, to(target), (dec(6, 3), values))
    wide = decimals("12345678901234567890.123456789", "0.000000001", "99999999999999999999999999999.999999999")
    check("cast(a as double)", F64, to(F64), (dec(38, 9), wide), close=True)


def test_numbers_from_text() -> None:
    targets = {"int": I32, "bigint": I64, "decimal(9,2)": dec(9, 2), "decimal(3,0)": dec(3, 0), "double": F64, "float": F32}
    for name, target in targets.items():
        check(f"try_cast(a as {name})", target, to(target, lenient=True), (STR, NUMBER_TEXTS), except_for=_odd_number)
        check(f"cast(a as {name})", target, to(target), (STR, ["1", "x", None, "3.7"]))


def _odd_number(row: tuple) -> bool:
    """The sign of a NaN, and slips of DuckDB's: 99e-100 is 0.01, 12345e-3 has too many digits for decimal(3,0), +-1 is -1.0."""
    return row[0] in ("-nan", "99e-100", "12345e-3", "+-1")


def test_booleans_and_dates_from_text_and_each_other() -> None:
    check("cast(a as date)", DATE, to(DATE), (TS, TIMES))
    check("cast(a as timestamp)", TS, to(TS), (DATE, DATES))
    check("try_cast(a as boolean)", BOOL, to(BOOL, lenient=True), (STR, BOOL_TEXTS))
    check("try_cast(a as date)", DATE, to(DATE, lenient=True), (STR, DATE_TEXTS))
    check("try_cast(a as timestamp)", TS, to(TS, lenient=True), (STR, TIME_TEXTS))


def test_casts_to_text() -> None:
    floats = [to_float32(v) for v in DOUBLES if v is not None]
    for type, values in [(BOOL, BOOLS), (I32, INTS), (I64, BIGS), (dec(9, 2), DECS), (F64, DOUBLES), (DATE, DATES), (TS, TIMES)]:
        check("cast(a as varchar)", STR, to(STR), (type, values))
    check("cast(a as varchar)", STR, to(STR), (F32, [*floats, 16777216.0, to_float32(3.3e38)]))
    check("cast(a as varchar)", STR, to(STR), (dec(2, 2), decimals("0.50", "-0.50", "0.00", "-0.01")))
    check("cast(a as varchar)", STR, to(STR), (dec(38, 10), decimals("0.5", "-0.0000000001", "1234567890123456789012345678.5")))


def test_string_functions() -> None:
    check("a || b", STR, call("concat", STR), (STR, STRINGS), (STR, STRINGS))
    for function in ("upper", "lower", "trim", "ltrim", "rtrim"):
        check(f"{function}(a)", STR, call(function, STR), (STR, STRINGS))
    check("length(a)", I64, call("length", I64), (STR, STRINGS))
    check("starts_with(a, b)", BOOL, call("starts_with", BOOL), (STR, STRINGS), (STR, STRINGS))
    check("strpos(a, b)", I64, call("strpos", I64), (STR, STRINGS), (STR, STRINGS))
    some = [None, "", "a", "b", "ab", "aaa", "äab", "abcabc"]
    check("replace(a, b, c)", STR, call("replace", STR), (STR, some), (STR, some), (STR, some))
    places = [None, *range(-8, 9)]
    check("substring(a, b, c)", STR, call("substring", STR), (STR, [None, "", "hello", "äßc"]), (I64, places), (I64, places))
    check("substring(a, b)", STR, call("substring", STR), (STR, [None, "", "hello", "äßc"]), (I64, places))


def test_like() -> None:
    check("a like b", BOOL, call("like", BOOL), (STR, LIKE_TEXTS), (STR, PATTERNS))
    check("a ilike b", BOOL, call("ilike", BOOL), (STR, LIKE_TEXTS), (STR, PATTERNS))
    escaped = ["a#%c", "a#_c", "a##c", "#a#b", "abc#", "a#", "%#", "%#%", "#", "%#%c", "_#%_", "%c#", "%b#"]
    for escape in ("#", "", "%", "_"):
        word = Literal(escape, STR)
        match = lambda a, b, word=word: Call("like", (a, b, word), BOOL)  # noqa: E731
        check(f"a like b escape '{escape}'", BOOL, match, (STR, LIKE_TEXTS), (STR, escaped))
    assert outcome(Call("like", (Literal("a", STR), Literal("a", STR), Literal("##", STR)), BOOL), ()) is RAISES


def test_case_of_every_letter() -> None:
    letters = [chr(i) for i in (*range(1, 0xD800), *range(0x10000, 0x1F000))]
    connection = duckdb.connect()
    connection.register("input", pa.table({"i": list(range(len(letters))), "c": letters}))
    answers = connection.execute("select c, upper(c), lower(c) from input order by i").fetchall()
    wrong = [(c, upper(c), up, lower(c), low) for c, up, low in answers if (upper(c), lower(c)) != (up, low)]
    # a few scripts whose letter case is newer than the Unicode tables of one side or the other
    assert len(wrong) < 60, wrong[:20]
    assert all(ord(c) > 0x0250 for c, *_ in wrong), wrong[:20]


@pytest.mark.parametrize("part", DATE_PARTS)
def test_date_parts(part: str) -> None:
    check(f"extract({part} from a)", I64, call(part, I64), (DATE, DATES))
    check(f"extract({part} from a)", I64, call(part, I64), (TS, TIMES))


@pytest.mark.parametrize("unit", DATE_UNITS)
def test_date_trunc(unit: str) -> None:
    word = Literal(unit, STR)
    check(f"date_trunc('{unit}', a)", TS, lambda a: Call("date_trunc", (word, a), TS), (TS, TIMES))
    recent = [d for d in DATES if d is None or d.year >= 1000]
    check(f"date_trunc('{unit}', a)", TS, lambda a: Call("date_trunc", (word, Cast(a, TS, False)), TS), (DATE, recent))


def test_date_trunc_names_a_unit_that_it_does_not_know() -> None:
    with pytest.raises(ExecutionError, match="date_trunc does not know the unit 'fortnight'"):
        evaluate(Call("date_trunc", (Literal("fortnight", STR), Literal(datetime(2024, 5, 6), TS)), TS), {})


def test_date_arithmetic() -> None:
    for months, days, seconds in [(1, 0, 0), (-1, 0, 0), (12, 0, 0), (13, 1, 90000), (0, -90, 0), (-25, 3, -1), (0, 0, 0)]:
        interval = Literal(pa.MonthDayNano([months, days, seconds * 10**9]), pa.month_day_nano_interval())
        text = f"interval ({months}) month + interval ({days}) day + interval ({seconds}) second"
        early_or_late = [d for d in DATES if d is None or 1 < d.year < 9999]
        check(f"a + ({text})", TS, lambda a, i=interval: Call("date_add", (Cast(a, TS, False), i), TS), (DATE, early_or_late))
        check(f"a + ({text})", TS, lambda a, i=interval: Call("date_add", (a, i), TS), (TS, TIMES))
    days = [None, 0, 1, -1, 400, -400]
    check("a + b", DATE, call("date_add_days", DATE), (DATE, [d for d in DATES if d is None or 10 < d.year < 9990]), (I32, days))
    check("a - b", I64, call("date_diff_days", I64), (DATE, DATES), (DATE, DATES))
    far = Literal(pa.MonthDayNano([120000, 0, 0]), pa.month_day_nano_interval())
    assert outcome(Call("date_add", (Literal(datetime(2020, 1, 1), TS), far), TS), ()) is RAISES
    assert outcome(Call("date_add_days", (Literal(date(9999, 12, 31), DATE), Literal(1, I32)), DATE), ()) is RAISES


def test_branches_that_are_not_taken_cannot_fail() -> None:
    bad = Cast(Literal("x", STR), I32, False)
    zero = Call("=", (ColumnRef(0, I32), Literal(0, I32)), BOOL)
    guarded = Case(((zero, Literal(1, I32)),), bad, I32)
    assert evaluate(guarded, {0: 0}) == 1
    assert outcome(guarded, (1,)) is RAISES
    assert evaluate(Call("coalesce", (Literal(1, I32), bad), I32), {}) == 1


def test_random_is_in_its_range() -> None:
    assert all(0 <= evaluate(Call("random", (), F64), {}) < 1 for _ in range(100))


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_a_cast_of_integers_to_decimals_may_fail_exactly_where_digits_are_missing(bits: int, signed: bool) -> None:
    source = getattr(pa, f"{'int' if signed else 'uint'}{bits}")()
    ends = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    for digits, scale in itertools.product(range(1, 26), (0, 3)):
        target = pa.decimal128(digits + scale, scale)
        raises = any(len(str(abs(end))) > digits for end in ends)
        assert Cast(ColumnRef(0, source), target, False).raises == raises
        if not raises:
            check_compiled(lambda x, target=target: Cast(x, target, False), (source, [*ends, None]))


@pytest.mark.parametrize("source", [pa.int8(), pa.int32(), pa.int64(), pa.decimal128(38, 2)], ids=str)
def test_a_cast_of_numbers_to_booleans_never_fails(source: pa.DataType) -> None:
    assert not Cast(ColumnRef(0, source), BOOL, False).raises
    check_compiled(lambda x: Cast(x, BOOL, False), (source, pa.array([0, 1, -3, None]).cast(source).to_pylist()))


def test_glob_tries_no_second_place() -> None:
    """With every place of every a tried again it would take years."""
    assert not glob("a" * 100 + "c", "*a" * 30 + "*b") and glob("a" * 100 + "b", "*a" * 30 + "*b")


# -- compiled scalars against `evaluate`: what DuckDB is not asked, such as constants ---------------------------------------


def test_a_large_batch_of_products_mixes_small_and_wide_values() -> None:
    # no Arrow type holds the product of the two largest values, yet each row's product fits
    big, one = Decimal("9" * 38), Decimal(1)
    run = compile_scalar(Call("*", (ColumnRef(0, dec(38, 0)), ColumnRef(1, dec(38, 0))), dec(38, 0)))
    assert run(batch_of([(big, one), (one, big)], [dec(38, 0)] * 2)).to_pylist() == [big, big]


def test_compiled_casts_between_numbers() -> None:
    numbers: list[tuple[pa.DataType, list]] = [
        (BOOL, BOOLS), (I8, TINY), (I32, INTS), (I64, BIGS), (dec(9, 2), DECS), (F64, DOUBLES),
        (dec(38, 20), extremes(dec(38, 20))), (F32, [None, 0.0, 1.5, 2.5, -2.5, 300.0]),
    ]  # fmt: skip
    targets = [BOOL, I8, I32, I64, dec(9, 2), dec(4, 1), dec(38, 0), dec(38, 20), dec(2, 2), F64, F32, STR]
    for (source, values), target in itertools.product(numbers, targets):
        for lenient in (False, True):
            check_compiled(lambda a, t=target, x=lenient: Cast(a, t, x), (source, values), close=True)


def test_compiled_casts_from_text() -> None:
    for target in (I8, I32, I64, F64, F32, BOOL, dec(9, 2), dec(3, 0), DATE, TS):
        for text in (*TEXTS[::4], "0xFF", "0XFFFFFFFFFFFFFFFF"):
            for lenient in (False, True):
                check_compiled(lambda a, t=target, x=lenient: Cast(a, t, x), (STR, [text]))
        check_compiled(lambda a, t=target: Cast(a, t, True), (STR, TEXTS))
    check_compiled(lambda a: Cast(a, dec(38, 0), True), (STR, ["9" * 38, "9" * 39]))


def test_casts_of_odd_types() -> None:
    check_compiled(lambda a: Cast(a, STR, False), (dec(5, 0), decimals("5", "-5")))
    check_compiled(lambda a: Cast(a, I32, False), (pa.null(), [None, None]))


def test_substrings_from_afar_and_of_constants() -> None:
    places = [None, *range(-8, 9), 2**40, -(2**40)]
    words = [None, "", "hello", "äßc"]
    check_compiled(call("substring", STR), (STR, words), (I64, places), (I64, places))
    check_compiled(call("substring", STR), (STR, words), (I64, places))
    check_compiled(lambda a: Call("substring", (a, Literal(2, I64), Literal(3, I64)), STR), (STR, STRINGS))
    check_compiled(call("array_slice", STR), (STR, words), (I64, places), (I64, places))
    for start, end in itertools.product(places, repeat=2):
        check_compiled(lambda a, x=start, y=end: Call("array_slice", (a, Literal(x, I64), Literal(y, I64)), STR), (STR, words))


def test_like_of_constants() -> None:
    for function in ("like", "ilike"):
        for pattern in PATTERNS:
            check_compiled(lambda a, f=function, p=pattern: Call(f, (a, Literal(p, STR)), BOOL), (STR, LIKE_TEXTS))
    for escape, pattern in itertools.product(
        ("#", "", "%", "_", "##"), ("a#%c", "a#_c", "a##c", "abc#", "a#", "%#", "#", "%#%c", None)
    ):
        check_compiled(
            lambda a, e=escape, p=pattern: Call("like", (a, Literal(p, STR), Literal(e, STR)), BOOL), (STR, LIKE_TEXTS)
        )


def test_date_functions() -> None:
    for unit in ("week", "month", "quarter", "year", "decade"):
        check_compiled(
            lambda a, u=unit: Call("date_trunc", (Literal(u, STR), a), DATE),
            (DATE, [d for d in DATES if d is None or d.year > 10]),
        )
    intervals = [
        pa.MonthDayNano(v)
        for v in ((1, 0, 0), (-1, 0, 0), (13, 1, 90_000 * 10**9), (0, -90, 0), (-25, 3, -(10**9)), (0, 0, 1500), (120_000, 0, 0))
    ]
    for interval in intervals:
        check_compiled(lambda a, i=interval: Call("date_add", (a, Literal(i, INTERVAL)), TS), (TS, TIMES))
        check_compiled(lambda a, i=interval: Call("date_add", (Cast(a, TS, False), Literal(i, INTERVAL)), TS), (DATE, DATES))
    check_compiled(call("date_add", TS), (TS, TIMES), (INTERVAL, [None, *intervals[:6]]))
    check_compiled(call("date_add_days", DATE), (DATE, DATES), (I32, [None, 0, 1, -1, 400, 2**31 - 1]))
    check_compiled(call("date_add_days", DATE), (DATE, DATES), (I64, [None, 0, 5, 2**62]))


def test_what_is_not_reached_cannot_fail() -> None:
    a, b = ColumnRef(0, I32), ColumnRef(1, I32)
    zero = Call("=", (a, Literal(0, I32)), BOOL)
    product = Call("*", (b, Literal(2**30, I32)), I32)  # overflows but for small b
    values = (I32, [None, 0, 1]), (I32, [None, 0, 1, 5])
    check_compiled(lambda *_: Case(((zero, Literal(1, I32)),), product, I32), *values)
    check_compiled(lambda *_: Case(((Call("is_null", (b,), BOOL), a), (zero, product)), Literal(None, I32), I32), *values)
    check_compiled(lambda *_: Call("coalesce", (a, product, Literal(7, I32)), I32), *values)
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


def test_a_decimal_has_one_double_whatever_is_beside_it() -> None:
    values = [Decimal(n) / 100 for n in range(-500, 500)]
    beside = pa.array([None, *values, Decimal("1234567890.1234567890")], pa.decimal128(20, 10))
    assert to_double(beside).to_pylist()[:-1] == [None, *map(float, values)]
    assert to_double(beside.slice(3)).to_pylist()[:-1] == list(map(float, values[2:]))


@pytest.mark.parametrize("scale", [18, 19, 22, 23, 38])
def test_decimals_of_many_digits_after_the_point_become_doubles(scale: int) -> None:
    values = [Decimal(n).scaleb(-scale, Context(prec=60)) for n in (2**63 - 1, -(2**53) - 1, -1, 0)]
    made = to_double(pa.array([*values, None], pa.decimal128(38, scale))).to_pylist()
    assert made[:4] == pytest.approx(list(map(float, values)), rel=1e-15, abs=0.0) and made[4] is None
