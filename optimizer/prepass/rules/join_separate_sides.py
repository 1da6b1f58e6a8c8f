"""A comparison that mixes columns of both inputs of a join gets those of one input on each side.

    a.x - b.y = 1  ≡  a.x = b.y + 1                  abs(a.x - b.y) <= 1  ≡  a.x <= b.y + 1 ∧ a.x >= b.y - 1
    a.x + b.y < 5  ≡  a.x < 5 - b.y                  a.day - b.day < 7  ≡  a.day < b.day + 7
    a.t - b.t < INTERVAL 1 HOUR  ≡  a.t < b.t + INTERVAL 1 HOUR

So a hash join has keys, and a nested loop knows which pairs may match.

Kinds   all: the values of the condition are the same
NULLs   exact: both forms are NULL where a term is
Guards  whole numbers, days and microseconds; nothing in the comparison raises, before or after, by the bounds of its columns
        (arithmetic_within_bounds). The terms of an input are those of one relation: which side a third one belongs to depends
        on the order of the joins
"""

from functools import reduce
from typing import NamedTuple

import pyarrow as pa

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.scalars import Call, Literal, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.types import INT32, INTERVAL, integer_range, is_integer
from optimizer.algebra.value_ranges import Ranges
from optimizer.prepass.column_ranges import ColumnRanges
from optimizer.prepass.openings import SUM, openings
from optimizer.rules.interface import ANY, RuleContext, node, rewrite

_Comparison = tuple[str, Scalar, Scalar]

_ASKED = frozenset(("=", "<", "<=", ">", ">="))
_DAYS, _MICROSECONDS = 1 << 31, 1 << 53  # that an interval may have


@rewrite(node(IndependentJoin, ANY, ANY), openings=SUM)
def join_separate_sides(bound: Tree, context: RuleContext) -> Tree | None:
    join, (left, right) = bound.op, bound.inputs
    assert isinstance(join, IndependentJoin)
    ranges = Ranges(ColumnRanges(bound.inputs, context))
    found: list[Scalar] = []
    for conjunct in join.predicate:
        apart = [_apart(part, left, right, ranges) for part in _parts(conjunct)] if openings(conjunct) & SUM else [None]
        found += [conjunct] if None in apart else [part for part in apart if part is not None]
    predicate = conjunction(found)
    return None if predicate == join.predicate else Tree(join.with_predicate(predicate), bound.inputs)


def _parts(conjunct: Scalar) -> list[Scalar]:
    """abs(x) <= c as x <= c and x >= -c; any other conjunct alone."""
    match conjunct:
        case Call(
            function="<" | "<=" as function, args=(Call(function="abs", args=(inner,)), Literal(value=int() as most) as limit)
        ):
            if most >= 0 and not conjunct.raises:
                return [compare(function, inner, limit), compare(MIRRORED[function], inner, Literal(-most, limit.type))]
    return [conjunct]


class _Term(NamedTuple):
    sign: int
    value: Scalar


def _apart(conjunct: Scalar, left: Node, right: Node, ranges: Ranges) -> Scalar | None:
    """The comparison with the terms of `left` on one side and those of `right` on the other; None where it has no such form, or
    has it already."""
    if not isinstance(conjunct, Call) or conjunct.function not in _ASKED or conjunct.raises or conjunct.volatile:
        return None
    a, b = conjunct.args
    if not is_integer(a.type) or not (_mixed(a, left, right) or _mixed(b, left, right)):
        return None
    terms: list[_Term] = []
    constant = -(_collect(a, 1, terms) + _collect(b, -1, terms))
    if not all(_is_one_relation(each, conjunct.columns & each.columns) for each in (left, right)):
        return None
    found = _of_numbers(conjunct.function, terms, constant, left) or _of_moments(conjunct.function, terms, constant)
    if found is None:
        return None
    result = ranges.safe(compare(*found))
    return None if result.raises or any(_mixed(side, left, right) for side in found[1:]) else result


def _mixed(scalar: Scalar, left: Node, right: Node) -> bool:
    return bool(scalar.columns & left.columns and scalar.columns & right.columns)


def _is_one_relation(node: Node, columns: ColumnSet) -> bool:
    """Whether one input of the joins of `node` has all of these columns."""
    while isinstance(node, Tree) and isinstance(node.op, IndependentJoin):
        below = next((each for each in node.inputs if not columns & ~each.columns), None)
        if below is None:
            return False
        node = below
    return True


def _collect(scalar: Scalar, sign: int, terms: list[_Term]) -> int:
    """Adds the terms of a sum to `terms`; gives its constant."""
    match scalar:
        case Literal(value=int() as value):
            return sign * value
        case Call(function="+" | "-" as function, args=(a, b)):
            return _collect(a, sign, terms) + _collect(b, sign if function == "+" else -sign, terms)
        case Call(function="neg", args=(a,)):
            return _collect(a, -sign, terms)
    terms.append(_Term(sign, scalar))
    return 0


def _of_numbers(function: str, terms: list[_Term], constant: int, left: Node) -> _Comparison | None:
    """The sum of the terms, compared with a constant; the left terms stay where they are."""
    here = [term for term in terms if term.value.columns & left.columns]
    there = [_Term(-sign, value) for sign, value in terms if not value.columns & left.columns]
    if not here or not there:
        return None
    if all(term.sign < 0 for term in here):
        function, constant = MIRRORED[function], -constant
        here, there = ([_Term(-sign, value) for sign, value in each] for each in (here, there))
    a, b = _sum(here, 0), _sum(there, constant)
    return None if a is None or b is None else (function, a, b)


def _sum(terms: list[_Term], constant: int) -> Scalar | None:
    """None where the constant is no number of the type of the terms."""
    type = terms[0].value.type
    low, high = integer_range(type)
    if not low < constant <= high:
        return None
    added = [value for sign, value in terms if sign > 0]
    taken = [value for sign, value in terms if sign < 0]
    if constant > 0 or not added:
        added.append(Literal(constant, type))
    elif constant < 0:
        taken.append(Literal(-constant, type))
    result = reduce(lambda a, b: Call("+", (a, b), type), added)
    return reduce(lambda a, b: Call("-", (a, b), type), taken, result)


def _of_moments(function: str, terms: list[_Term], constant: int) -> _Comparison | None:
    """The time between two moments, compared with a constant: one of them is compared with the other and so much."""
    match terms:
        case [_Term(sign, Call(function="date_diff_days" | "microseconds_between" as unit, args=(a, b)))]:
            later, earlier = (a, b) if sign > 0 else (b, a)
            days = unit == "date_diff_days"
            if not constant:
                return function, later, earlier
            if abs(constant) < (_DAYS if days else _MICROSECONDS):
                apart = Literal(constant, INT32) if days else Literal(pa.MonthDayNano((0, 0, constant * 1000)), INTERVAL)
                return function, later, Call("date_add_days" if days else "date_add", (earlier, apart), earlier.type)
    return None
