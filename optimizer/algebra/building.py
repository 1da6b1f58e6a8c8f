"""Parts of trees that are built everywhere."""

from collections.abc import Iterable
from typing import TypeVar

from optimizer.algebra.columns import ColumnId, Columns, column_ids
from optimizer.algebra.logical import Filter, ProjectItem, Window, WindowItem
from optimizer.algebra.scalars import ColumnRef, Predicate, WindowCall
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.types import INT64

N = TypeVar("N", bound=Node)


def reference(id: ColumnId, columns: Columns) -> ColumnRef:
    """The column `id` as a scalar."""
    return ColumnRef(id, columns[id].type)


def passed(ids: Iterable[ColumnId], columns: Columns) -> tuple[ProjectItem, ...]:
    """Items of a projection that passes these columns on."""
    return tuple(ProjectItem(id, reference(id, columns)) for id in ids)


def passed_as(ids: Iterable[ColumnId], sources: Iterable[ColumnId], columns: Columns) -> tuple[ProjectItem, ...]:
    """Items of a projection that passes the columns `sources` on, each under another id."""
    return tuple(ProjectItem(id, reference(source, columns)) for id, source in zip(ids, sources, strict=True))


def passed_all(node: Node, columns: Columns) -> tuple[ProjectItem, ...]:
    """Items of a projection that passes all columns of `node` on."""
    return passed(column_ids(node.columns), columns)


def filtered(predicate: Predicate, node: N) -> N | Tree:
    """The rows of `node` that satisfy the predicate; `node` itself where it is TRUE."""
    return Tree(Filter(predicate), (node,)) if predicate else node


def numbered(node: Node, partition: tuple[ColumnId, ...], order: Collation, columns: Columns) -> tuple[Tree, ColumnRef]:
    """The rows of `node`, each with its number in its partition, from 1 in this order; and the column of the numbers."""
    number = ColumnRef(columns.new("row_number", INT64, False).id, INT64)
    call = WindowCall("row_number", (), False, None, False, None, INT64)
    return Tree(Window(partition, order, (WindowItem(number.id, call),)), (node,)), number


def tree_of(node: Node) -> Tree:
    """The node, which is a tree: before there is a memo, all are."""
    assert isinstance(node, Tree), "a group of the memo where a tree was expected"
    return node
