"""Simplified expressions mean the same: each rule alone and all together, on random ones and on whole small domains."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.scalars import Scalar, conjunction, predicate_scalar
from optimizer.errors import PlanscopeError
from optimizer.prepass.rules.arithmetic_simplify import simplified as arithmetic
from optimizer.prepass.rules.boolean_normalize import normalized
from optimizer.prepass.rules.case_simplify import simplified as cases
from optimizer.prepass.rules.comparison_simplify import simplified as comparisons
from optimizer.prepass.rules.comparison_unwrap import unwrapped
from optimizer.prepass.rules.constant_fold import fold
from optimizer.prepass.rules.like_simplify import simplified as likes
from optimizer.prepass.rules.not_null_simplify import simplified as never_null
from optimizer.prepass.rules.predicate_intersect import intersection
from optimizer.prepass.rules.predicate_weaken import weakened
from tests.rules.random_scalars import RandomScalars

VALUE_RULES: dict[str, Callable[[Scalar], Scalar]] = {
    "constant_fold": fold,
    "boolean_normalize": normalized,
    "comparison_simplify": comparisons,
    "case_simplify": cases,
    "like_simplify": likes,
    "arithmetic_simplify": arithmetic,
    "comparison_unwrap": unwrapped,
}
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
    changed = check_values(1, 2500)
    assert all(changed[name] > 20 for name in VALUE_RULES), changed


def test_filters_keep_the_same_rows() -> None:
    changed = check_filters(2, 2000)
    assert changed["weaken"] > 50 and changed["intersect"] > 50, changed


def test_values_of_columns_that_are_never_null_stay() -> None:
    assert check_not_null(3, 2500) > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 16))
def test_values_and_filters_stay_on_many(seed: int) -> None:
    check_values(seed, 12_000)
    check_filters(100 + seed, 12_000)
    check_not_null(200 + seed, 12_000)
