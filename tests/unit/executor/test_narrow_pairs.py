"""Nested loops by ranges, and by one of several equalities: all rows that match, and few others."""

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hand_made_plans import DATE, DEC, F64, I64, SIZES, STR, TUNINGS, TwoTables, bag, equal, less, values
from test_arrow_joins import wanted

from executor.arrow.batches import column_name
from executor.arrow.context import Tuning
from executor.arrow.narrow_pairs import NarrowPairs
from optimizer.algebra import NestedLoopJoin, compare, conjunction
from optimizer.algebra.kinds import PLAIN_JOINS, JoinKind
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Scalar
from planscope import Session

TYPES = [I64, DEC, F64, DATE, STR, pa.decimal128(30, 2), pa.bool_()]


def both(*scalars: Scalar) -> Scalar:
    return Call("and", scalars, BOOL)


def either(*scalars: Scalar) -> Scalar:
    return Call("or", scalars, BOOL)


# a, b, x are columns of the left rows, c, d, y of the right ones; x and y are numbers
CONDITIONS: dict[str, Callable[..., list[Scalar]]] = {
    "one range": lambda a, b, x, c, d, y: [less(a, c)],
    "between": lambda a, b, x, c, d, y: [compare(">=", a, c), compare("<=", a, d)],
    "around": lambda a, b, x, c, d, y: [compare("<=", a, c), compare(">=", b, c)],
    "meets": lambda a, b, x, c, d, y: [compare("<=", a, d), compare(">=", b, c), less(x, y)],
    "equal": lambda a, b, x, c, d, y: [equal(a, c), compare("<>", b, d)],
    "either": lambda a, b, x, c, d, y: [either(equal(a, c), equal(b, d))],
    "one of three": lambda a, b, x, c, d, y: [either(either(equal(a, c), equal(b, d)), both(equal(a, d), less(x, y)))],
    "either of two": lambda a, b, x, c, d, y: [either(both(equal(a, c), equal(b, d)), both(equal(b, c), less(x, y)))],
    "either or a range": lambda a, b, x, c, d, y: [either(equal(a, c), less(x, y)), compare("<=", b, d)],
}  # fmt: skip


@pytest.mark.few(9)
@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("kind", PLAIN_JOINS)
def test_all_that_match(tmp_path: Path, kind: JoinKind, type: pa.DataType) -> None:
    rng = random.Random(f"{kind}{type}")
    for sizes, (name, make) in product(SIZES, CONDITIONS.items()):
        tables = TwoTables(tmp_path, rng, (type, type), sizes)
        predicate = conjunction(make(*map(tables.plans.ref, range(6))))
        plan = tables.plan(NestedLoopJoin(kind, predicate), tables.columns(kind))
        want = bag(values(wanted(kind, tables, predicate), plan.columns))
        for tuning in TUNINGS:
            assert bag(tables.plans.run(plan, tuning)) == want, (name, sizes)


def pairs_left(conjuncts: list[Scalar], outer: dict[int, Any], inner: dict[int, Any], tuning: Tuning) -> int:
    sides = [pa.record_batch({column_name(id): pa.array(values) for id, values in side.items()}) for side in (outer, inner)]
    columns = tuple(sum(1 << id for id in side) for side in (outer, inner))
    narrow = NarrowPairs(conjunction(conjuncts), (columns[0], columns[1]), sides[1], False, tuning, lambda bytes: None)
    return sum(int(candidates.counts.sum()) for _, candidates in narrow(sides[0]))


def test_few_others_are_looked_at() -> None:
    rng = np.random.default_rng(1)
    rows = 3000
    a, b, _, c, d, y = (ColumnRef(id, I64) for id in range(6))
    start = rng.permutation(rows) * 10
    outer = {0: rng.integers(0, 10 * rows, rows), 1: np.arange(rows), 2: np.arange(rows)}
    inner = {3: start, 4: start + 9, 5: rng.permutation(rows)}
    for tuning in (Tuning(), Tuning(pairs=1000)):
        assert pairs_left([compare(">=", a, c), compare("<=", a, d)], outer, inner, tuning) == rows
        assert pairs_left([compare("<=", b, c), compare(">=", Call("+", (b, b), I64), d)], outer, inner, tuning) < rows * rows / 2
        assert pairs_left([either(equal(b, y), equal(a, c))], outer, inner, tuning) < 2 * rows
        assert pairs_left([either(equal(b, y), less(a, c))], outer, inner, tuning) == rows * rows


def test_where_a_key_fails_the_other_conjuncts_decide() -> None:
    """`1 // y` fails for the one row of the right that no pair reaches."""
    left = pa.table({"a": list(range(400))})
    right = pa.table({"b": list(range(400)), "y": ["x" if i == 7 else str(i) for i in range(400)]})
    session = Session({"l": left, "r": right})
    query = "select count(*) from l join r on b <> 7 and (a = cast(y as bigint) or a = b + 1)"
    assert session.sql(query).table.to_pylist() == [{"count_star()": 797}]
