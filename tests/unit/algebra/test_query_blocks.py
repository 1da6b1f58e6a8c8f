"""How many relations count towards the limits of a search."""

import pytest

from optimizer.algebra import Join, JoinKind, Tree
from optimizer.algebra.logical import Aggregate, Limit, Project
from optimizer.algebra.query_blocks import count_relations, with_blocks_of
from tests.unit.prepass.small_trees import scan


def joined(*inputs: Tree) -> Tree:
    first, *others = inputs
    for each in others:
        first = Tree(Join(JoinKind.INNER, ()), (first, each))
    return first


def test_blocks_are_what_is_below_groups_and_limits() -> None:
    a, b, c, d = (scan(number) for number in (0, 10, 20, 30))
    grouped = Tree(Aggregate((0,), ()), (joined(a, b),))
    first = Tree(Limit((), 0, 3), (joined(grouped, c),))
    tree = joined(Tree(Project(()), (joined(first, d),)), scan(40))
    assert with_blocks_of(tree) == (1 | 1 << 10 | 1 << 20, 1 | 1 << 10)
    assert with_blocks_of(grouped, with_blocks_of(tree)) == with_blocks_of(tree)


@pytest.mark.parametrize(
    ("s", "within", "count"),
    [
        (0b11111, 0b11111, 3),  # the outer block and two others
        (0b00111, 0b11111, 1), (0b00001, 0b11111, 1), (0b00100, 0b11111, 1), (0b01100, 0b11111, 2),
        (0b00111, 0b00111, 2),  # the inner block and another
        (0b00011, 0b00111, 1), (0b00011, 0b00011, 2),
        (0b00101, 0b11101, 1),  # a part of both blocks, after one of them was pulled up
        (0, 0b11111, 0),
    ],
)  # fmt: skip
def test_relations_of_a_block_count_as_one_beside_others(s: int, within: int, count: int) -> None:
    assert count_relations(s, within, (0b00111, 0b00011)) == count
