"""What several comparisons of the same operands say together.

    x > 3 ∧ x > 5  ≡  x > 5        x = 1 ∨ x = 2  ≡  x IN (1, 2)        x <= y ∧ x <> y  ≡  x < y        x > 5 ∧ x < 3 : never

Comparisons of one term with constants that are not NULL are a set of values: an interval, a list, or all but a list. Comparisons
of the same two terms are a set of the outcomes less, equal, greater. AND intersects the sets, OR unites them, which is done as
the complement of an intersection of complements.

All comparisons of the same operands are NULL in the same rows, those where an operand is NULL, and so is what they become: the
result equals the conjunction (disjunction) in three-valued logic. Only where nothing (everything) is left there is no comparison
that says so; they are `Sets.decided`: FALSE (TRUE) of rows where the operands are not NULL.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from optimizer.algebra.evaluate_order import order_key
from optimizer.algebra.functions import MIRRORED, NEGATED
from optimizer.algebra.scalars import BOOL, Call, InList, Literal, Scalar
from optimizer.prepass.scalar_rewrite import plain

_OUTCOMES = {"<": 1, "=": 2, ">": 4, "<=": 3, ">=": 6, "<>": 5}  # less, equal, greater
_FUNCTIONS = {outcomes: function for function, outcomes in _OUTCOMES.items()}

Operands = tuple[Scalar, ...]


class Sets(NamedTuple):
    """The operands of an AND or OR after comparisons were put together. `decided`: the terms whose comparisons leave nothing, of
    an OR everything; those comparisons are still in `operands`."""

    operands: tuple[Scalar, ...]
    decided: tuple[Operands, ...]


def put_together(function: str, operands: Sequence[Scalar]) -> Sets | None:
    """AND or OR of `operands` with fewer comparisons; None where there is nothing to put together."""
    groups: dict[Operands, list[Scalar]] = {}
    for operand in operands:
        about = compared(operand)
        if about is not None:
            groups.setdefault(about, []).append(operand)
    if all(len(group) == 1 for group in groups.values()):
        return None
    merged: dict[Scalar, list[Scalar]] = {}  # the first comparison of a group -> what the group became
    gone: set[Scalar] = set()
    decided: list[Operands] = []
    for about, group in groups.items():
        if len(group) > 1:
            fewer = _together(function, about, group)
            if fewer is None:
                decided.append(about)
            elif set(fewer) != set(group):
                merged[group[0]] = fewer
                gone.update(group)
    if not merged and not decided:
        return None
    result: list[Scalar] = []
    for operand in operands:
        if operand in merged:
            result += merged.pop(operand)
        elif operand not in gone:
            result.append(operand)
    return Sets(tuple(dict.fromkeys(result)), tuple(decided))


def opposite(scalar: Scalar) -> Scalar | None:
    """NOT of a scalar without a NOT around it: for comparisons, tests for NULL, DISTINCT FROM and NOT itself. Exact in
    three-valued logic."""
    if not isinstance(scalar, Call):
        return None
    function = scalar.function
    if function == "not":
        return scalar.args[0]
    other = NEGATED.get(function) or _TWO_VALUED.get(function)
    return None if other is None else Call(other, scalar.args, BOOL)


_TWO_VALUED = {"is_null": "is_not_null", "is_distinct_from": "is_not_distinct_from"}
_TWO_VALUED |= {negation: function for function, negation in _TWO_VALUED.items()}


def compared(test: Scalar) -> Operands | None:
    """The operands of a comparison: one term, of a comparison with constants, or two; None: it is no such comparison."""
    if isinstance(test, Call) and test.function == "not":
        inner = test.args[0]
        if not isinstance(inner, InList):
            return None
        test = inner
    if isinstance(test, InList):
        if isinstance(test.arg, Literal) or not plain(test.arg) or not all(map(_is_constant, test.items)):
            return None
        return (test.arg,)
    if isinstance(test, Call) and test.function in _OUTCOMES:
        a, b = test.args
        if plain(a) and plain(b) and not isinstance(a, Literal):
            if _is_constant(b):
                return (a,)
            if not isinstance(b, Literal) and a is not b:
                return (a, b) if a.text < b.text else (b, a)
    return None


def _is_constant(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.value is not None


def _together(function: str, about: Operands, tests: list[Scalar]) -> list[Scalar] | None:
    if function == "and":
        return _intersection(about, tests)
    negated = _intersection(about, [_negated(test) for test in tests])
    return None if negated is None else [_negated(test) for test in negated]


def _negated(test: Scalar) -> Scalar:
    negated = opposite(test)
    return Call("not", (test,), BOOL) if negated is None else negated


def _intersection(about: Operands, tests: list[Scalar]) -> list[Scalar] | None:
    """Tests that are all TRUE exactly where all of `tests` are; None: nowhere."""
    if len(about) == 1:
        values = _Values(about[0])
        for test in tests:
            values.restrict(test)
        return values.tests()
    outcomes = 7
    for test in tests:
        assert isinstance(test, Call)
        outcomes &= _OUTCOMES[test.function if test.args == about else MIRRORED[test.function]]
    return [Call(_FUNCTIONS[outcomes], about, BOOL)] if outcomes else None


class _Bound(NamedTuple):
    key: Any
    literal: Literal
    inclusive: bool


class _Values:
    """The values a term may have: within two bounds, of a list, not of another list."""

    def __init__(self, term: Scalar) -> None:
        self.term = term
        self.low: _Bound | None = None
        self.high: _Bound | None = None
        self.allowed: dict[Any, Literal] | None = None
        self.excluded: dict[Any, Literal] = {}

    def restrict(self, test: Scalar) -> None:
        if isinstance(test, InList):
            self._allow(test.items)
        elif isinstance(test, Call) and test.function == "not":
            assert isinstance(test.args[0], InList)
            self._exclude(test.args[0].items)
        elif isinstance(test, Call):
            literal = test.args[1]
            assert isinstance(literal, Literal)
            bound = _Bound(order_key(literal.value), literal, test.function in ("<=", ">="))
            match test.function:
                case "=":
                    self._allow((literal,))
                case "<>":
                    self._exclude((literal,))
                case ">" | ">=":
                    if self.low is None or (bound.key, not bound.inclusive) > (self.low.key, not self.low.inclusive):
                        self.low = bound
                case _:
                    if self.high is None or (bound.key, bound.inclusive) < (self.high.key, self.high.inclusive):
                        self.high = bound

    def _allow(self, items: Iterable[Scalar]) -> None:
        new = _by_key(items)
        self.allowed = new if self.allowed is None else {k: v for k, v in self.allowed.items() if k in new}

    def _exclude(self, items: Iterable[Scalar]) -> None:
        for key, literal in _by_key(items).items():
            self.excluded.setdefault(key, literal)

    def _within(self, key: Any) -> bool:
        low, high = self.low, self.high
        if low is not None and (key < low.key or (key == low.key and not low.inclusive)):
            return False
        return high is None or key < high.key or (key == high.key and high.inclusive)

    def tests(self) -> list[Scalar] | None:
        term = self.term
        if self.allowed is not None:
            left = [v for k, v in self.allowed.items() if self._within(k) and k not in self.excluded]
            if not left:
                return None
            return [Call("=", (term, left[0]), BOOL) if len(left) == 1 else InList(term, tuple(left))]
        self._open_excluded_ends()
        if pa.types.is_integer(term.type) and self.low is not None and self.high is not None:
            only = self._narrow_integers()
            if only is not None:
                return only
        low, high = self.low, self.high
        if low is not None and high is not None:
            if low.key > high.key or (low.key == high.key and not (low.inclusive and high.inclusive)):
                return None
            if low.key == high.key:
                return [Call("=", (term, low.literal), BOOL)]
        found: list[Scalar] = []
        if low is not None:
            found.append(Call(">=" if low.inclusive else ">", (term, low.literal), BOOL))
        if high is not None:
            found.append(Call("<=" if high.inclusive else "<", (term, high.literal), BOOL))
        excluded = tuple(v for k, v in self.excluded.items() if self._within(k))
        if len(excluded) == 1:
            found.append(Call("<>", (term, excluded[0]), BOOL))
        elif excluded:
            found.append(Call("not", (InList(term, excluded),), BOOL))
        return found

    def _open_excluded_ends(self) -> None:
        """x >= 3 and x <> 3 is x > 3."""
        if self.low is not None and self.low.key in self.excluded:
            self.low = self.low._replace(inclusive=False)
        if self.high is not None and self.high.key in self.excluded:
            self.high = self.high._replace(inclusive=False)

    def _narrow_integers(self) -> list[Scalar] | None:
        """x > 3 and x < 5 is x = 4; between 3 and 4 there is nothing. None: more than one value is left, or none."""
        assert self.low is not None and self.high is not None
        low = self.low.key + (not self.low.inclusive)
        high = self.high.key - (not self.high.inclusive)
        while low <= high and low in self.excluded:
            low += 1
        while high >= low and high in self.excluded:
            high -= 1
        if low == high:
            return [Call("=", (self.term, Literal(low, self.term.type)), BOOL)]
        if low > high:
            self.low = _Bound(1, self.low.literal, False)
            self.high = _Bound(0, self.high.literal, False)
        return None


def _by_key(items: Iterable[Scalar]) -> dict[Any, Literal]:
    found: dict[Any, Literal] = {}
    for item in items:
        assert isinstance(item, Literal)
        found.setdefault(order_key(item.value), item)
    return found
