"""The pre-pass on random join trees below filters, projections and aggregates: it changes and drops joins, never rows."""

from collections import Counter
from random import Random

import pytest

from optimizer.algebra import Aggregate, AggregateItem, Filter, Project, ProjectItem, Tree, column_ids, compare, conjunction
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, ColumnRef, Literal, Scalar
from optimizer.prepass.hep import run_program
from optimizer.prepass.program import PROGRAM
from optimizer.rules.interface import RuleContext
from optimizer.settings import Settings
from tests.reference.compare import assert_same_bag
from tests.reference.naive import run
from tests.rules.join_trees import INT, JoinTree, comparison, join_tree

RULES = ("outer_join_simplify", "outer_join_to_anti", "outer_join_remove", "foreign_key_join_remove")


def topped(tree: JoinTree, random: Random) -> Tree:
    """The tree below a filter or none, and below what ends most of its columns."""
    columns, top = tree.query.columns, tree.query.tree

    def some() -> ColumnRef:
        return ColumnRef(random.choice(list(column_ids(top.columns))), INT)

    if random.random() < 0.6:
        a, compared = some(), list(column_ids(top.op.used_columns() & top.columns))
        tests: list[Scalar] = [
            Call("is_null", (ColumnRef(random.choice(compared), INT),), BOOL),
            Call("is_null", (ColumnRef(random.choice(compared), INT),), BOOL),
            Call("is_not_null", (a,), BOOL),
            compare("=", a, Literal(1, INT)),
            comparison(random, top.columns, top.columns, 50),
            Call("or", (compare("=", a, Literal(1, INT)), compare("<", some(), Literal(2, INT))), BOOL),
            compare("<", Call("+", (a, some()), INT), Literal(3, INT)),
        ]
        top = Tree(Filter(conjunction(random.sample(tests, random.choice([1, 1, 2])))), (top,))
    kept = tuple(dict.fromkeys(some().id for _ in range(random.choice([1, 1, 2, 5]))))
    match random.randrange(4):
        case 0:
            return Tree(Aggregate(kept, ()), (top,))
        case 1:
            call = AggregateCall("max", (some(),), False, None, INT)
            return Tree(Aggregate(kept[:1], (AggregateItem(columns.new("m", INT, True).id, call),)), (top,))
        case 2:
            call = AggregateCall("count", (), False, None, INT)
            return Tree(Aggregate(kept[:1], (AggregateItem(columns.new("n", INT, False).id, call),)), (top,))
    return Tree(Project(tuple(ProjectItem(id, ColumnRef(id, INT)) for id in kept)), (top,))


@pytest.mark.few(2)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_rows_stay(n: int) -> None:
    fired: Counter[str] = Counter()
    for seed in range(250):
        tree = join_tree(n, seed, strict=85, wide=10)
        before = topped(tree, Random(seed))
        rewritten = run_program(PROGRAM, before, RuleContext(tree.query.columns, Settings()))
        assert rewritten.converged
        fired.update(firing.rule for firing in rewritten.firings)
        ids = list(column_ids(before.columns))
        for tables in tree.tables:
            expected, actual = (run(t, tree.query.columns, tables) for t in (before, rewritten.tree))
            assert_same_bag([tuple(r[c] for c in ids) for r in expected], [tuple(r[c] for c in ids) for r in actual])
    assert all(fired[rule] for rule in RULES), f"a rule was not tried: {fired}"


def test_deep_trees_need_no_deep_stack() -> None:
    tree = join_tree(2, 0)
    deep = tree.query.tree
    for _ in range(3000):
        deep = Tree(Filter(()), (deep,))
    column = next(column_ids(deep.columns))
    top = Tree(Project((ProjectItem(column, ColumnRef(column, INT)),)), (deep,))
    assert run_program(PROGRAM, top, RuleContext(tree.query.columns, Settings(prepass_limit=100_000))).converged
