"""The runner of rewrites: no question asked twice, errors of ours passed on, one firing for a region of many joins."""

from collections import Counter
from functools import reduce
from itertools import pairwise

import pytest

from optimizer.algebra import ColumnRef, Filter, Limit, Literal, LogicalOperator, Tree, compare, conjunction
from optimizer.algebra.printing import show_tree
from optimizer.errors import SqlError
from optimizer.prepass.functions import rewrite
from optimizer.prepass.hep import Batch
from optimizer.prepass.rules.filter_push_join import filter_push_join
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node
from tests.unit.prepass.small_trees import BIG, columns_of, count, cross, limit, run, scan, steps


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
        rows = count(bound)
        assert rows is not None
        return limit(rows - 1, bound.inputs[0]) if rows > 3 else None


def test_rules_fire_until_none_does_and_no_tree_is_asked_about_twice() -> None:
    lower, look = Lower(), LookAtAll()
    tower = limit(6, limit(6, limit(6, limit(6, scan(0)))))
    result = run(tower, Batch("all", (look, lower)), Batch("again", (lower, look)))
    assert sorted(steps(result)) == ["lower 4>3"] * 4 + ["lower 5>4"] * 4 + ["lower 6>5"] * 4
    assert result.converged
    assert set(lower.asked.values()) == {1} and set(look.asked.values()) == {1}


def test_errors_of_ours_pass() -> None:
    @rewrite(node(Limit, ANY))
    def refuse(tree: Tree, context: RuleContext) -> Tree | None:
        raise SqlError("no good")

    with pytest.raises(SqlError, match="no good"):
        run(limit(2, scan(0)), Batch("all", (refuse,)))


def test_a_filter_goes_through_all_joins_at_once() -> None:
    """One firing for a region of 600 relations: local conjuncts reach their scans, the others the lowest join."""
    columns, tree = columns_of(600), reduce(cross, map(scan, range(600)))
    refs = [ColumnRef(i, BIG) for i in range(600)]
    local = [compare(">", ref, Literal(7, BIG)) for ref in refs[::3]]
    links = [compare("=", a, b) for a, b in pairwise(refs)]
    result = run(Tree(Filter(conjunction([*local, *links])), (tree,)), Batch("all", (filter_push_join,)), columns=columns)
    assert [firing.rule for firing in result.firings] == ["filter_push_join"]
    text = show_tree(result.tree, columns)
    assert text.count("filter") == 200 and text.count("inner on") == 599 and "cross" not in text
