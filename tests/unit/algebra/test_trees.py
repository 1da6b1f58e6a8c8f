"""What a tree knows of itself without deriving all its properties; how many relations count towards the limits of a search."""

import pyarrow as pa
import pytest

from optimizer.algebra import ColumnRef, Filter, Join, Limit, Project, ProjectItem, Scan, ScanColumn, Tree, compare
from optimizer.algebra.flags import CROSS_PRODUCT, OUTER_JOIN
from optimizer.algebra.kinds import PLAIN_JOINS, JoinKind
from optimizer.algebra.logical import Aggregate
from optimizer.algebra.query_blocks import count_relations, with_blocks_of
from tests.unit.prepass.small_trees import scan

A, B = (Tree(Scan(name, name, (ScanColumn(i, "x"), ScanColumn(i + 1, "y")))) for i, name in ((0, "a"), (2, "b")))
ON = (compare("=", ColumnRef(0, pa.int64()), ColumnRef(2, pa.int64())),)


@pytest.mark.parametrize("kind", PLAIN_JOINS)
@pytest.mark.parametrize("on", [(), ON])
def test_joins_below(kind: JoinKind, on: tuple) -> None:
    joined = Tree(Join(kind, on), (A, B))
    for tree in (joined, Tree(Limit((), 0, 3), (Tree(Filter(ON), (joined,)),)), Tree(Join(JoinKind.SEMI, ON), (joined, B))):
        assert bool(tree.flags & OUTER_JOIN) == (kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL))
        assert bool(tree.flags & CROSS_PRODUCT) == (kind is JoinKind.INNER and not on)
        assert tree.columns == tree.props.columns == (0b11 if kind.left_only else 0b1111)
    assert not A.flags


def test_columns_end_at_a_projection() -> None:
    tree = Tree(
        Project((ProjectItem(3, ColumnRef(3, pa.int64())), ProjectItem(9, ON[0]))), (Tree(Join(JoinKind.INNER, ON), (A, B)),)
    )
    assert tree.columns == tree.props.columns == 1 << 3 | 1 << 9


def test_any_depth() -> None:
    tree = A
    for _ in range(5_000):
        tree = Tree(Filter(ON), (tree,))
    assert tree.columns == 0b11 and not tree.flags


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
        (0b00101, 0b11101, 2),  # parts of blocks, the rest of which is joined later, or is in another form of the query
        (0, 0b11111, 0),
    ],
)  # fmt: skip
def test_relations_of_a_block_count_as_one_beside_others(s: int, within: int, count: int) -> None:
    assert count_relations(s, within, (0b00111, 0b00011)) == count
