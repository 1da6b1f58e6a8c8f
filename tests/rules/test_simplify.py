"""Simplified expressions mean the same: each rule alone and all together, on random ones and on whole small domains."""

import math
from collections import Counter
from collections.abc import Callable
from datetime import datetime, time, timedelta
from decimal import Decimal
from itertools import combinations_with_replacement, product
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from optimizer.algebra import Project, ProjectItem, Tree, Values, conjunction, predicate_scalar, value_ranges
from optimizer.algebra.columns import Columns, DataType
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.scalars import BOOL, Call, Cast, ColumnRef, InList, Literal, Scalar
from optimizer.algebra.types import DATE, DOUBLE, INT32, INT64, STRING, TIMESTAMP, arithmetic_type
from optimizer.algebra.value_ranges import Range, Ranges
from optimizer.errors import PlanscopeError
from optimizer.prepass.column_ranges import ColumnRanges
from optimizer.prepass.rules.arithmetic_simplify import arithmetic_simplify
from optimizer.prepass.rules.boolean_normalize import boolean_normalize
from optimizer.prepass.rules.case_simplify import case_simplify
from optimizer.prepass.rules.comparison_simplify import comparison_simplify
from optimizer.prepass.rules.comparison_unwrap import comparison_unwrap
from optimizer.prepass.rules.constant_fold import constant_fold
from optimizer.prepass.rules.like_simplify import like_simplify
from optimizer.prepass.rules.not_null_simplify import simplified as never_null
from optimizer.prepass.rules.predicate_intersect import intersection
from optimizer.prepass.rules.predicate_weaken import weakened
from optimizer.rules.interface import RuleContext
from optimizer.settings import DEFAULTS
from tests.rules.random_scalars import CASTS, DAY, DEC, FLOAT, TINY, VALUES, WIDE, RandomScalars

likes, arithmetic, unwrapped = like_simplify.simplify, arithmetic_simplify.simplify, comparison_unwrap.simplify
VALUE_RULES: dict[str, Callable[[Scalar], Scalar]] = {
    rule.name: rule.simplify
    for rule in (
        constant_fold, boolean_normalize, comparison_simplify, case_simplify, like_simplify, arithmetic_simplify,
        comparison_unwrap,
    )
}  # fmt: skip
RAISED = "raised"


def value(scalar: Scalar, row: dict[int, Any]) -> Any:
    try:
        return evaluate(scalar, row)
    except PlanscopeError:
        return RAISED


def same(a: Any, b: Any) -> bool:
    """The same value to the last bit: 0.0 is not -0.0, 1 is not TRUE; NaN is NaN."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return type(a) is type(b) and a == b


def all_rules(scalar: Scalar) -> Scalar:
    """All rules for values until none changes anything; they must come to an end."""
    for _ in range(50):
        before = scalar
        for rule in VALUE_RULES.values():
            scalar = rule(scalar)
        if scalar is before:
            return scalar
    raise AssertionError(f"rules undo each other on {before} and {scalar}")


def all_filter_rules(scalar: Scalar) -> Scalar:
    """All rules for predicates until none changes anything."""
    predicate = conjunction([scalar])
    for _ in range(50):
        before = predicate
        for rule in (*VALUE_RULES.values(), weakened):
            predicate = conjunction(map(rule, predicate))
        predicate = intersection(predicate)
        if predicate == before:
            return predicate_scalar(predicate)
    raise AssertionError(f"rules undo each other on {before} and {predicate}")


def assert_same_value(name: str, before: Scalar, after: Scalar, row: dict[int, Any]) -> None:
    """What raises goes on raising, what does not does not begin to."""
    expected, found = value(before, row), value(after, row)
    shown = {c: v for c, v in row.items() if before.columns >> c & 1}
    assert same(expected, found), f"{name}: {before}\nbecame {after}\nwhich is {found!r}, not {expected!r}, of {shown}"


def expressions(seed: int, count: int, boolean: bool = False) -> list[tuple[RandomScalars, Scalar]]:
    random = Random(seed)
    made = RandomScalars(random)
    types = sorted({ref.type for ref in made.refs}, key=str)
    return [
        (made, made.condition(random.choice((1, 2, 3))) if boolean or i % 2 else made.of(random.choice(types), 3))
        for i in range(count)
    ]


def check_values(seed: int, count: int) -> Counter[str]:
    changed: Counter[str] = Counter()
    for made, scalar in expressions(seed, count):
        rows = [made.row() for _ in range(12)]
        for name, rule in (*VALUE_RULES.items(), ("all", all_rules)):
            after = rule(scalar)
            if after is scalar:
                continue
            changed[name] += 1
            assert after.type == scalar.type
            assert not after.columns & ~scalar.columns
            for row in rows:
                assert_same_value(name, scalar, after, row)
    return changed


def check_filters(seed: int, count: int) -> Counter[str]:
    changed: Counter[str] = Counter()
    for made, scalar in expressions(seed, count, boolean=True):
        rows = [made.row() for _ in range(12)]
        alone = [("weaken", weakened(scalar)), ("intersect", predicate_scalar(intersection(conjunction([scalar]))))]
        for name, after in (*alone, ("all", all_filter_rules(scalar))):
            if after is scalar:
                continue
            changed[name] += 1
            for row in rows:
                before, now = value(scalar, row), value(after, row)
                if RAISED not in (before, now):
                    assert (before is True) == (now is True), f"{name}: {scalar}\nbecame {after}\nof {row}"
    return changed


def check_not_null(seed: int, count: int) -> int:
    changed = 0
    for made, scalar in expressions(seed, count):
        known = sum(1 << ref.id for ref in made.refs if made.random.random() < 0.6)
        after = never_null(scalar, known & scalar.columns)
        if after is not scalar:
            changed += 1
            for _ in range(12):
                assert_same_value("not_null", scalar, after, made.row(known))
    return changed


def test_values_stay() -> None:
    changed = check_values(1, 1600)
    assert all(changed[name] > 20 for name in VALUE_RULES), changed


def test_filters_keep_the_same_rows() -> None:
    changed = check_filters(2, 1200)
    assert changed["weaken"] > 50 and changed["intersect"] > 50, changed


def test_values_of_columns_that_are_never_null_stay() -> None:
    assert check_not_null(3, 2500) > 50


def all_of(type: DataType) -> list[Any]:
    return [None, *VALUES[type]]


@pytest.mark.few(2)
@pytest.mark.parametrize("type", [INT32, DOUBLE, DEC, STRING, BOOL], ids=str)
def test_all_pairs_of_comparisons_of_a_term(type: DataType) -> None:
    """x = 1 AND x < 2, x IN (1, 2) OR x <> 3 and so on: the same of every value, NaN, -0.0 and NULL among them."""
    x = ColumnRef(0, type)
    literals = [Literal(value, type) for value in VALUES[type][:5]]
    tests: list[Scalar] = [Call(function, (x, literal), BOOL) for function in COMPARISONS for literal in literals]
    lists = [InList(x, tuple(literals[:2])), InList(x, tuple(literals[1:4])), InList(x, (literals[0], Literal(None, type)))]
    tests += [*lists, *(Call("not", (test,), BOOL) for test in lists)]
    tests += [Call(function, (x,), BOOL) for function in ("is_null", "is_not_null")]
    for number, (function, pair) in enumerate(product(("and", "or"), combinations_with_replacement(tests, 2))):
        scalar = Call(function, pair if number % 2 else pair[::-1], BOOL)  # each pair in one order
        after, filtered = all_rules(scalar), all_filter_rules(scalar)
        sure = never_null(scalar, 1)
        for each in all_of(type):
            row = {0: each}
            expected = evaluate(scalar, row)
            assert same(expected, evaluate(after, row)), f"{scalar} became {after}, another of {each}"
            assert (expected is True) == (evaluate(filtered, row) is True), f"{scalar} became {filtered}, another of {each}"
            assert each is None or same(expected, evaluate(sure, row)), f"{scalar} became {sure}, another of {each}"


def test_all_pairs_of_comparisons_of_two_terms() -> None:
    x, y = ColumnRef(0, DOUBLE), ColumnRef(1, DOUBLE)
    tests = [Call(function, sides, BOOL) for function in COMPARISONS for sides in ((x, y), (y, x))]
    for function, a, b in product(("and", "or"), tests, tests):
        scalar = Call(function, (a, b), BOOL)
        after, filtered = all_rules(scalar), all_filter_rules(scalar)
        for values in product(all_of(DOUBLE), repeat=2):
            row = dict(enumerate(values))
            expected = evaluate(scalar, row)
            assert same(expected, evaluate(after, row))
            assert (expected is True) == (evaluate(filtered, row) is True)


@pytest.mark.parametrize("type", [TINY, INT64, DEC, FLOAT, DOUBLE], ids=str)
def test_arithmetic_with_every_constant(type: DataType) -> None:
    """Nothing changes the sign of a zero, hides an overflow or loses a NaN."""
    x = ColumnRef(0, type)
    for function in ("+", "-", "*", *(("//",) if type != DEC else ()), *(("/",) if pa.types.is_floating(type) else ())):
        for literal in (Literal(value, type) for value in VALUES[type]):
            for args in ((x, literal), (literal, x)):
                scalar = Call(function, args, type)
                for inner in (scalar, Call("neg", (Call("neg", (scalar,), type),), type)):
                    after = arithmetic(inner)
                    for each in all_of(type) if after is not inner else ():
                        assert_same_value("arithmetic", inner, after, {0: each})


@pytest.mark.few(3)
@pytest.mark.parametrize("outer", ["+", "-", "*"])
def test_chains_of_integers_raise_for_the_same_rows(outer: str) -> None:
    """Two constants become one only where neither an overflow nor a value is lost."""
    x = ColumnRef(0, TINY)
    constants = [Literal(value, TINY) for value in (-128, -100, -3, -1, 0, 1, 2, 3, 100, 127)]
    for inner, first, second in product(("+", "-", "*"), constants, constants):
        for inside in (Call(inner, (x, first), TINY), Call(inner, (first, x), TINY)):
            for args in ((inside, second), (second, inside)):
                before = Call(outer, args, TINY)
                after = arithmetic(before)
                for each in range(-128, 128) if after is not before else ():
                    assert_same_value("arithmetic", before, after, {0: each})


def test_every_chain_of_casts() -> None:
    changed = 0
    for source, targets in CASTS.items():
        for through, target in product(targets, VALUES):
            x = ColumnRef(0, source)
            for lenient in (False, True):
                scalar = Cast(Cast(x, through, False), target, lenient)
                after = arithmetic(scalar)
                changed += after is not scalar
                for each in all_of(source) if after is not scalar else ():
                    assert_same_value("casts", scalar, after, {0: each})
    assert changed > 20


def test_every_pattern_on_every_text() -> None:
    x = ColumnRef(0, STRING)
    alphabet = ("a", "%", "_", "!", "é")
    patterns = ["".join(p) for length in range(4) for p in product(alphabet, repeat=length)]
    texts = [None, *("".join(t) for length in range(4) for t in product("a%!é", repeat=length))]
    for pattern, escape in product(patterns, (None, "!", "a", "%")):
        args = (x, Literal(pattern, STRING)) if escape is None else (x, Literal(pattern, STRING), Literal(escape, STRING))
        scalar = Call("like", args, BOOL)
        after = likes(scalar)
        for text in texts if after is not scalar else ():
            assert_same_value("like", scalar, after, {0: text})


@pytest.mark.few(4)
@pytest.mark.parametrize("type", [TINY, DEC, DATE, TIMESTAMP], ids=str)
def test_monotone_expressions_against_every_constant(type: DataType) -> None:
    """Near every step of the expression: the values of the column around the constants, and the ends of its type."""
    x = ColumnRef(0, type)
    terms: list[Scalar] = []
    if type in (DATE, TIMESTAMP):
        terms = [Call("year", (x,), INT64), Call("date_trunc", (Literal("month", STRING), x), type)]
        terms.append(Cast(x, TIMESTAMP if type == DATE else DATE, False))
    else:
        wide = Cast(x, WIDE, False)
        two, three = (Literal(Decimal(number).quantize(Decimal("0.001")), WIDE) for number in (2, -3))
        terms = [wide, Cast(x, DOUBLE, False), Cast(x, FLOAT, False), Call("floor", (wide,), pa.decimal128(12, 0))]
        terms += [Call("-", (two, wide), arithmetic_type("-", WIDE, WIDE)), Call("*", (wide, three), pa.decimal128(24, 6))]
        terms += [Cast(x, INT32, False), Call("neg", (wide,), WIDE)]
    values = sorted({*VALUES[type], *around(type)})
    changed = 0
    for term in terms:
        constants = {evaluate(term, {0: value}) for value in values}
        for function, constant in product(COMPARISONS, constants):
            scalar = Call(function, (term, Literal(constant, term.type)), BOOL)
            after, filtered = unwrapped(scalar), weakened(scalar)
            changed += after is not scalar
            for each in [None, *values]:
                assert_same_value("unwrapped", scalar, after, {0: each})
                assert (evaluate(scalar, {0: each}) is True) == (evaluate(filtered, {0: each}) is True)
    assert changed > 100


def around(type: DataType) -> list[Any]:
    if type == TINY:
        return list(range(-128, 128, 9))
    if type == DEC:
        return [Decimal(cents).scaleb(-2) for cents in range(-310, 310, 31)]
    days = [DAY + timedelta(days) for days in range(-70, 70, 3)]
    return days if type == DATE else [datetime.combine(day, time(hour)) for day in days for hour in (0, 13)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 13))
def test_values_and_filters_stay_on_many(seed: int) -> None:
    check_values(seed, 12_000)
    check_filters(100 + seed, 12_000)
    check_not_null(200 + seed, 12_000)


def test_the_rows_of_a_list_are_looked_at_once_for_all_columns_made_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Range | None] = []
    monkeypatch.setattr(value_ranges, "united", lambda a, b: looked_at.append(a) or Range(a.low, b.high))
    rows = Values((0,), (INT64,), tuple((Literal(number, INT64),) for number in range(100)))
    sums = [Call("+", (ColumnRef(0, INT64), Literal(number, INT64)), INT64) for number in range(8)]
    made = tuple(ProjectItem(1 + number, sum) for number, sum in enumerate(sums))
    ranges = ColumnRanges((Tree(Project(made), (Tree(rows),)),), RuleContext(Columns(), DEFAULTS))
    assert [ranges(1 + number) for number in range(8)] == [Range(number, 99 + number) for number in range(8)]
    assert len(looked_at) == 99


def test_what_is_safe_within_bounds_is_unwrapped_for_all_values_there() -> None:
    """Towards the ends of the type the expression raises, and counts as more, or less, than every constant."""
    random, fired = Random(9), 0
    column = ColumnRef(0, TINY)
    for _ in range(1500):
        low = random.choice([-128, -100, -3, 0, 60, 120])
        high = min(127, low + random.choice([0, 3, 40]))
        scalar: Scalar = column
        for _ in range(random.choice([1, 1, 2])):
            other = Literal(random.choice([-100, -3, -1, 1, 2, 3, 90, 127]), TINY)
            operands = (scalar, other) if random.random() < 0.7 else (other, scalar)
            scalar = Call("neg", (scalar,), TINY) if random.random() < 0.2 else Call(random.choice("+-*"), operands, TINY)
        ends = Range(low, high)
        ranges = Ranges(lambda _, ends=ends: ends)
        constants = [Literal(value, TINY) for value in random.sample([-128, -127, -5, 0, 1, 7, 100, 126, 127], 2)]
        test = InList(ranges.safe(scalar), tuple(constants))
        if random.random() < 0.8:
            test = Call(random.choice(COMPARISONS), (ranges.safe(scalar), constants[0]), BOOL)
        if test.raises:
            continue
        after = all_filter_rules(test)
        fired += after is not test
        for number in (None, *range(low, high + 1)):
            expected, found = evaluate(test, {0: number}), value(after, {0: number})
            assert (found is True) == (expected is True), f"{test} became {after}, of {number}"
    assert fired > 300
