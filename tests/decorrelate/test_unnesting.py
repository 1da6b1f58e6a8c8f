"""General unnesting against the meaning of Apply, on random trees of the algebra: no SQL, no rules, no executors."""

from __future__ import annotations

from collections import Counter

import pytest

from optimizer.algebra.columns import column_ids
from optimizer.algebra.evaluate_order import group_key
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.printing import show_tree
from optimizer.algebra.trees import Tree, postorder
from optimizer.decorrelate.alternatives import alternatives
from optimizer.decorrelate.general import General
from optimizer.decorrelate.quick import quick
from optimizer.decorrelate.value_generator import ValueGenerator
from optimizer.rules.interface import RuleContext
from optimizer.settings import DEFAULTS
from tests.decorrelate.random_applies import RandomApplies
from tests.reference.naive import run


def bag(tree: Tree, wanted: list[int], columns) -> Counter:
    return Counter(tuple(group_key(row[c]) for c in wanted) for row in run(tree, columns, {}))


def check(seed: int) -> int:
    """How many Applies the tree had; raises when unnesting changes its rows or leaves an Apply."""
    random_applies = RandomApplies(seed)
    tree, columns = random_applies.query(), random_applies.columns
    wanted = list(column_ids(tree.columns))
    expected = bag(tree, wanted, columns)
    for substitute in (True, False):
        general = General(columns, substitute)
        plain = general.decorrelate(tree)
        left = [node for node in postorder(plain) if isinstance(node, Tree) and isinstance(node.op, Apply)]
        assert not left, f"seed {seed}: an apply stays: {[s.note for s in general.steps]}"
        got = bag(plain, wanted, columns)
        assert got == expected, (
            f"seed {seed}, substitute {substitute}\n{show_tree(tree, columns)}\n->\n{show_tree(plain, columns)}\n"
            f"missing {expected - got}\ntoo many {got - expected}"
        )
    return sum(isinstance(node, Tree) and isinstance(node.op, Apply) for node in postorder(tree))


@pytest.mark.few(2)
@pytest.mark.parametrize("block", range(8))
def test_unnested_trees_have_the_same_rows(block: int) -> None:
    assert sum(check(seed) for seed in range(block * 100, block * 100 + 100)) >= 100


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_unnested_trees_have_the_same_rows(block: int) -> None:
    for seed in range(10_000 + block * 1000, 11_000 + block * 1000):
        check(seed)


@pytest.mark.parametrize("block", range(4))
def test_value_generators_keep_the_rows(block: int) -> None:
    """Forms that the method does not take stay Applies; most are taken."""
    removed = 0
    for seed in range(block * 100, block * 100 + 100):
        random_applies = RandomApplies(seed)
        tree, columns = random_applies.query(), random_applies.columns
        wanted = list(column_ids(tree.columns))
        generator = ValueGenerator(columns)
        plain = generator.decorrelate(tree)
        assert bag(plain, wanted, columns) == bag(tree, wanted, columns), (
            f"seed {seed}\n{show_tree(tree, columns)}\n->\n{show_tree(plain, columns)}"
        )
        removed += not any(isinstance(node, Tree) and isinstance(node.op, Apply) for node in postorder(plain))
    assert removed >= 30


@pytest.mark.parametrize("block", range(4))
def test_quick_rules_keep_the_rows(block: int) -> None:
    removed = 0
    for seed in range(block * 100, block * 100 + 100):
        random_applies = RandomApplies(seed)
        tree, columns = random_applies.query(), random_applies.columns
        wanted = list(column_ids(tree.columns))
        plain, _ = quick(tree, RuleContext(columns, DEFAULTS))
        trees = f"seed {seed}\n{show_tree(tree, columns)}\n->\n{show_tree(plain, columns)}"
        assert bag(plain, wanted, columns) == bag(tree, wanted, columns), trees
        removed += not any(isinstance(node, Tree) and isinstance(node.op, Apply) for node in postorder(plain))
    assert removed >= 10


@pytest.mark.parametrize("seed", range(60))
def test_the_trees_of_a_choice_have_the_same_rows(seed: int) -> None:
    random_applies = RandomApplies(seed)
    tree, columns = random_applies.query(), random_applies.columns
    wanted = list(column_ids(tree.columns))
    expected = bag(tree, wanted, columns)
    assert bag(alternatives(tree, columns), wanted, columns) == expected  # the evaluator compares the trees of each choice
