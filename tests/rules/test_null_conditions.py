"""Every condition of the reordering rules: where a rule fires both sides are equal, and where it does not they differ somewhere.

Three relations of one column, all pairs of predicates that reject NULLs on both sides, the left, the right or neither, and all
databases of a few rows of 1, 2 and NULL.
"""

from collections import Counter
from functools import cache
from itertools import product

import pyarrow as pa
import pytest

from optimizer.algebra import Columns, Join, JoinKind, Tree, Values, compare, conjunction
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Literal, Predicate
from optimizer.prepass.compiled import fits
from optimizer.rules.interface import RuleContext, TransformationRule
from optimizer.rules.transform.join_associate_left import JoinAssociateLeft
from optimizer.rules.transform.join_exchange_full import JoinExchangeFull
from optimizer.rules.transform.join_exchange_left import JoinExchangeLeft
from optimizer.rules.transform.join_exchange_semi import JoinExchangeSemi
from optimizer.settings import Settings
from tests.reference.naive import Row, join_rows

INT = pa.int64()
J, S, A, L, R, F = JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL
COLUMNS = Columns()
X, Y, Z = (ColumnRef(COLUMNS.new(name, INT, True).id, INT) for name in "xyz")
LEAVES = [Tree(Values((c.id,), (INT,), tuple((Literal(v, INT),) for v in (None, 1, 2)))) for c in (X, Y, Z)]
BAGS = ((), (1,), (None,), (1, 1), (1, 2), (1, None))
REJECTING = ("both", "left", "right", "neither")


def predicate(left: ColumnRef, right: ColumnRef, rejecting: str) -> Predicate:
    """`left = right`, or TRUE also of NULLs on the sides that it does not reject."""
    lenient = [column for column, side in ((left, "left"), (right, "right")) if rejecting not in ("both", side)]
    equal = compare("=", left, right)
    if not lenient:
        return (equal,)
    either = Call("or", (equal, *(Call("is_null", (column,), BOOL) for column in lenient)), BOOL)
    strict = [Call("is_not_null", (column,), BOOL) for column in (left, right) if column not in lenient]
    return conjunction([either, *strict])


@cache
def rows(tree: Tree, database: tuple[tuple[int | None, ...], ...]) -> tuple[tuple[tuple[int, int | None], ...], ...]:
    if isinstance(tree.op, Values):
        column = tree.op.columns[0]
        return tuple(((column, value),) for value in database[column])
    left, right = (list(map(dict, rows(below, database))) for below in tree.inputs)
    columns = [[c.id for c in (X, Y, Z) if below.columns >> c.id & 1] for below in tree.inputs]
    found: list[Row] = join_rows(tree.op, left, right, *columns)
    return tuple(tuple(sorted(row.items())) for row in found)


def always_equal(one: Tree, other: Tree) -> bool:
    return all(Counter(rows(one, database)) == Counter(rows(other, database)) for database in product(BAGS, repeat=3))


def join(kind: JoinKind, on: Predicate, left: Tree, right: Tree) -> Tree:
    return Tree(Join(kind, on), (left, right))


RULES: tuple[TransformationRule, ...] = (JoinExchangeLeft(), JoinExchangeFull(), JoinExchangeSemi(), JoinAssociateLeft())
CONTEXT = RuleContext(COLUMNS, Settings())


def results(tree: Tree) -> list[Tree]:
    return [result for rule in RULES if fits(tree, rule.pattern) for result in rule.apply(tree, CONTEXT)]


@pytest.mark.few(3)
@pytest.mark.parametrize(("lower", "upper"), [pair for pair in product((J, S, A, L, F), repeat=2) if pair != (J, J)])
def test_exchange(lower: JoinKind, upper: JoinKind) -> None:
    """(e1 a12 e2) b13 e3 ≡ (e1 b13 e3) a12 e2."""
    e1, e2, e3 = LEAVES
    for first, second in product(REJECTING, repeat=2):
        p, q = predicate(X, Y, first), predicate(X, Z, second)
        before = join(upper, q, join(lower, p, e1, e2), e3)
        after = join(lower, p, join(upper, q, e1, e3), e2)
        assert bool(results(before)) == always_equal(before, after), f"a rejects {first}, b rejects {second}"
        for result in results(before):
            assert rows(result, BAGS[-3:]) == rows(after, BAGS[-3:])


def test_associativity_of_left_joins() -> None:
    """(e1 a12 e2) b23 e3 ≡ e1 a12 (e2 b23 e3), from either side."""
    e1, e2, e3 = LEAVES
    for first, second in product(REJECTING, repeat=2):
        p, q = predicate(X, Y, first), predicate(Y, Z, second)
        left = join(L, q, join(L, p, e1, e2), e3)
        right = join(L, p, e1, join(L, q, e2, e3))
        mirrored = join(R, p, join(L, q, e2, e3), e1)
        equal = always_equal(left, right)
        assert equal == (second in ("both", "left"))
        assert bool(results(left)) == equal == bool(results(mirrored))
        for result in (*results(left), *results(mirrored)):
            assert always_equal(result, left)


def test_a_full_join_below_a_left_join_needs_a_predicate_that_rejects_its_first_input() -> None:
    """Rejecting the other input is not enough: e1 = {1}, e2 = {2}, e3 = {5}, where p13 is TRUE of a NULL row of e1."""
    e1, e2, e3 = LEAVES
    p, q = predicate(X, Y, "both"), predicate(X, Z, "right")
    before = join(L, q, join(F, p, e1, e2), e3)
    after = join(F, p, join(L, q, e1, e3), e2)
    database = ((1,), (2,), (5,))
    assert Counter(rows(before, database)) == Counter([((0, 1), (1, None), (2, None)), ((0, None), (1, 2), (2, 5))])
    assert Counter(rows(after, database)) == Counter([((0, 1), (1, None), (2, None)), ((0, None), (1, 2), (2, None))])
    assert not results(before)
