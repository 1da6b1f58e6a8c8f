"""General unnesting against the meaning of Apply, on random trees of the algebra: no SQL, no rules, no executors."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from optimizer.algebra import Apply, Columns, Tree, column_ids, postorder
from optimizer.algebra.evaluate_order import group_key
from optimizer.algebra.printing import show_tree
from optimizer.decorrelate.alternatives import alternatives
from optimizer.decorrelate.general import General
from optimizer.decorrelate.quick import quick
from optimizer.decorrelate.value_generator import ValueGenerator
from optimizer.rules.interface import RuleContext
from optimizer.settings import DEFAULTS
from tests.conftest import blocks, quick_and_slow
from tests.decorrelate.random_applies import RandomApplies
from tests.reference.naive import run

Rewrite = Callable[[Tree, Columns], Tree]


def general(substitute: bool) -> Rewrite:
    return lambda tree, columns: General(columns, substitute).decorrelate(tree)


def by_quick_rules(tree: Tree, columns: Columns) -> Tree:
    return quick(tree, RuleContext(columns, DEFAULTS)).tree


def applies(tree: Tree) -> int:
    return sum(isinstance(node, Tree) and isinstance(node.op, Apply) for node in postorder(tree))


def check(seed: int, *rewrites: Rewrite) -> tuple[int, int]:
    """How many Applies the tree had, and how many there are in all after the rewrites; raises when one changes its rows."""
    random_applies = RandomApplies(seed)
    tree, columns = random_applies.query(), random_applies.columns

    def bag(tree: Tree) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(group_key(row[c]) for c in wanted) for row in run(tree, columns, {}))

    wanted = list(column_ids(tree.columns))
    expected, left = bag(tree), 0
    for rewrite in rewrites:
        plain = rewrite(tree, columns)
        got = bag(plain)
        assert got == expected, (
            f"seed {seed}\n{show_tree(tree, columns)}\n->\n{show_tree(plain, columns)}\n"
            f"missing {expected - got}\ntoo many {got - expected}"
        )
        left += applies(plain)
    return applies(tree), left


def check_unnested(seed: int) -> int:
    before, left = check(seed, general(substitute=True), general(substitute=False))
    assert not left, f"seed {seed}: an apply stays"
    return before


@pytest.mark.few(2)
@pytest.mark.parametrize("seeds", quick_and_slow(blocks(0, 800, 100), blocks(10_000, 20_000, 1000)), ids=str)
def test_unnested_trees_have_the_same_rows(seeds: range) -> None:
    assert sum(map(check_unnested, seeds)) >= len(seeds)


@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize(
    ("rewrite", "least"),
    [(lambda tree, columns: ValueGenerator(columns).decorrelate(tree), 30), (by_quick_rules, 10)],
    ids=["value_generator", "quick"],
)
def test_methods_that_do_not_take_every_form_keep_the_rows(rewrite: Rewrite, least: int, block: int) -> None:
    """Forms that a method does not take stay Applies; of these trees at least so many have none left."""
    assert sum(not check(seed, rewrite)[1] for seed in range(block * 100, block * 100 + 100)) >= least


@pytest.mark.parametrize("seed", range(60))
def test_the_trees_of_a_choice_have_the_same_rows(seed: int) -> None:
    check(seed, lambda root, columns: alternatives(root, columns, 6))  # the evaluator compares the trees of each choice
