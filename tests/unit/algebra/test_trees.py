"""What a tree knows of itself without deriving all its properties."""

import pyarrow as pa
import pytest

from optimizer.algebra import ColumnRef, Filter, Join, Limit, Project, ProjectItem, Scan, ScanColumn, Tree, compare
from optimizer.algebra.flags import CROSS_PRODUCT, OUTER_JOIN
from optimizer.algebra.kinds import PLAIN_JOINS, JoinKind

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
