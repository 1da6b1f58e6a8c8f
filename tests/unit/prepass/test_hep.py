"""The runner of rewrites: order, fixpoints, limits, and no question asked twice."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest

from optimizer.algebra.columns import Columns
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, Limit, LogicalOperator, Scan, ScanColumn
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.printing import show_tree
from optimizer.algebra.scalars import ColumnRef, Literal
from optimizer.algebra.trees import Node, Tree
from optimizer.errors import InternalError, SqlError
from optimizer.prepass.hep import Batch, run_program
from optimizer.prepass.rules.filter_push_join import FilterPushJoin
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node
from optimizer.settings import DEFAULTS, Settings


class LookAtAll(RewriteRule):
    """Counts what it was asked."""

    name = "look_at_all"
    pattern = node(LogicalOperator)

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.seen: list[Tree] = []

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        self.asked[id(bound)] += 1
        self.seen.append(bound)
        return None


class Lower(LookAtAll):
    """A limit above 3 becomes one less."""

    name = "lower"
    pattern = node(Limit, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        super().apply(bound, context)
        assert isinstance(bound.op, Limit) and bound.op.count is not None
        if bound.op.count <= 3:
            return None
        return Tree(Limit((), 0, bound.op.count - 1), bound.inputs)


def scans(count: int) -> tuple[Columns, list[Tree]]:
    columns = Columns()
    ids = [columns.new(f"x{i}", pa.int64(), True).id for i in range(count)]
    return columns, [Tree(Scan(f"t{i}", f"t{i}", (ScanColumn(id, "x"),))) for i, id in enumerate(ids)]


def run(tree: Tree, *batches: Batch, settings: Settings = DEFAULTS, columns: Columns | None = None):
    return run_program(batches, tree, RuleContext(columns or Columns(), settings))


def tower(levels: int, count: int) -> Tree:
    _, (tree,) = scans(1)
    for _ in range(levels):
        tree = Tree(Limit((), 0, count), (tree,))
    return tree


def counts(tree: Node) -> list[int | None]:
    found = []
    while isinstance(tree, Tree) and isinstance(tree.op, Limit):
        found.append(tree.op.count)
        tree = tree.inputs[0]
    return found


def test_rules_fire_until_none_does_and_no_tree_is_asked_about_twice() -> None:
    lower, look = Lower(), LookAtAll()
    result = run(tower(4, 6), Batch("all", (look, lower)), Batch("again", (lower, look)))
    assert counts(result.tree) == [3, 3, 3, 3]
    assert [firing.rule for firing in result.firings] == ["lower"] * 12
    assert result.converged
    assert set(lower.asked.values()) == {1} and set(look.asked.values()) == {1}


def test_nothing_recurses() -> None:
    result = run(tower(5_000, 4), Batch("all", (Lower(),)))
    assert counts(result.tree) == [3] * 5_000


def test_the_limit_stops_in_the_middle_and_says_so() -> None:
    result = run(tower(4, 6), Batch("all", (Lower(),)), settings=Settings(prepass_limit=5))
    assert not result.converged and len(result.firings) == 5
    assert counts(result.tree) == [3, 4, 6, 6]


def test_a_batch_without_fixpoint_passes_once_and_disabled_rules_do_not_fire() -> None:
    assert counts(run(tower(2, 9), Batch("once", (Lower(),), fixpoint=False)).tree) == [3, 3]
    assert run(tower(2, 9), Batch("all", (Lower(),)), settings=Settings(disable=("lower",))).firings == ()


def test_a_failing_rule_is_named_and_errors_of_ours_pass() -> None:
    class Broken(RewriteRule):
        name = "broken"
        pattern = node(Scan)

        def __init__(self, error: Exception) -> None:
            self.error = error

        def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
            raise self.error

    with pytest.raises(InternalError, match="rule broken failed in the pre-pass: KeyError"):
        run(tower(1, 2), Batch("all", (Broken(KeyError("x")),)))
    with pytest.raises(SqlError, match="no good"):
        run(tower(1, 2), Batch("all", (Broken(SqlError("no good")),)))


def test_a_filter_goes_through_all_joins_at_once() -> None:
    """One firing for a region of 600 relations: local conjuncts reach their scans, the others the lowest join."""
    columns, leaves = scans(600)
    tree = leaves[0]
    for leaf in leaves[1:]:
        tree = Tree(Join(JoinKind.INNER, ()), (tree, leaf))
    refs = [ColumnRef(i, pa.int64()) for i in range(600)]
    local = [compare(">", ref, Literal(7, pa.int64())) for ref in refs[::3]]
    links = [compare("=", a, b) for a, b in pairwise(refs)]
    result = run(Tree(Filter(conjunction([*local, *links])), (tree,)), Batch("all", (FilterPushJoin(),)), columns=columns)
    assert [firing.rule for firing in result.firings] == ["filter_push_join"]
    text = show_tree(result.tree, columns)
    assert text.count("filter") == 200 and text.count("inner on") == 599 and "cross" not in text
