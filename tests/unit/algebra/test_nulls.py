"""Which predicates reject NULLs: never a wrong yes on random scalars, and yes where it matters."""

from itertools import product
from random import Random

import pyarrow as pa
import pytest

from optimizer.algebra import column_ids, compare
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.nulls import CAN_BE_FALSE, CAN_BE_NULL, CAN_BE_TRUE, outcomes, rejects_nulls
from optimizer.algebra.scalars import BOOL, FALSE, TRUE, Call, Case, Cast, ColumnRef, InList, Literal, Scalar

INT = pa.int64()
A, B, C = (ColumnRef(i, INT) for i in range(3))
NULL, ONE = Literal(None, INT), Literal(1, INT)


def call(function: str, *args: Scalar) -> Scalar:
    return Call(function, args, BOOL)


def number(random: Random, depth: int) -> Scalar:
    if depth == 0 or random.random() < 0.4:
        return random.choice([A, B, C, ONE, NULL])
    match random.randrange(5):
        case 0:
            return Call("coalesce", (number(random, depth - 1), number(random, depth - 1)), INT)
        case 1:
            return Call(random.choice(["//", "%"]), (number(random, depth - 1), number(random, depth - 1)), INT)
        case 2:
            return Call(random.choice(["greatest", "least"]), (number(random, depth - 1), number(random, depth - 1)), INT)
        case 3:
            return Case(((boolean(random, depth - 1), number(random, depth - 1)),), number(random, depth - 1), INT)
    return Cast(Cast(number(random, depth - 1), pa.int32(), True), INT, False)


def boolean(random: Random, depth: int) -> Scalar:
    if depth == 0:
        return random.choice([TRUE, FALSE, Literal(None, BOOL), compare("=", A, B), compare("<", B, C)])
    below = depth - 1
    match random.randrange(8):
        case 0 | 1:
            return call(random.choice(["and", "or"]), boolean(random, below), boolean(random, below), boolean(random, below))
        case 2:
            return call("not", boolean(random, below))
        case 3:
            return call(random.choice(["is_null", "is_not_null"]), random.choice([number, boolean])(random, below))
        case 4:
            return call(random.choice(["is_distinct_from", "is_not_distinct_from"]), number(random, below), number(random, below))
        case 5:
            return InList(number(random, below), tuple(number(random, below) for _ in range(random.randrange(1, 3))))
        case 6:
            return Case(((boolean(random, below), boolean(random, below)),), boolean(random, below), BOOL)
    return compare(random.choice(["=", "<", "<>"]), number(random, below), number(random, below))


@pytest.mark.parametrize("part", range(4))
def test_what_comes_out_was_among_the_outcomes(part: int) -> None:
    random = Random(part)
    exact = 0
    for _ in range(1500):
        scalar, nulls = boolean(random, 3), random.randrange(8)
        said = outcomes(scalar, nulls)
        seen = 0
        read = list(column_ids(scalar.columns))
        for values in product(*((None,) if nulls >> c & 1 else (None, 0, 1, 2) for c in read)):
            value = evaluate(scalar, dict(zip(read, values, strict=True)))
            seen |= CAN_BE_NULL if value is None else CAN_BE_TRUE if value else CAN_BE_FALSE
        assert not seen & ~said, f"{scalar} with {nulls:03b} NULL gives {seen:03b}, not {said:03b}"
        exact += seen == said
    assert exact > 1000, "the answers are nearly always exact"


@pytest.mark.parametrize(
    ("conjunct", "expected"),
    [
        (compare("=", A, C), True),
        (call("or", compare("=", A, ONE), compare("<", B, C)), True),
        (call("or", compare("=", A, ONE), call("is_null", C)), False),
        (call("and", call("is_null", A), compare("=", B, C)), True),
        (call("not", call("is_null", A)), True),
        (compare("=", Call("coalesce", (A, B), INT), ONE), True),
        (compare("=", Call("coalesce", (A, C), INT), ONE), False),
        (call("is_not_distinct_from", A, ONE), True),
        (call("is_not_distinct_from", A, C), False),
        (call("is_distinct_from", A, B), True),
        (InList(A, (ONE, C)), True),
        (Case(((call("is_null", A), FALSE),), TRUE, BOOL), True),
        (compare("=", C, ONE), False),
        (FALSE, False),  # says nothing of the columns
        (compare("<", Call("+", (A, Cast(Call("random", (), pa.float64()), INT, False)), INT), ONE), False),  # volatile
    ],
)
def test_rejection(conjunct: Scalar, expected: bool) -> None:
    """All of A and B are NULL, C may be anything."""
    assert rejects_nulls((conjunct,), A.columns | B.columns) is expected
