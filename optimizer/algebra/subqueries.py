"""Subqueries as scalars: what the binder makes of them, until subquery removal turns each into an Apply.

Two forms say everything SQL can (algorithms of Neumann, Leis and Kemper, BTW 2017):

    ScalarSubquery        the value of one column of the tree's only row; NULL without rows, an error with more than one
    AnySubquery           x θ ANY (tree), three-valued; EXISTS has nothing to compare and is never UNKNOWN

    x IN Q  ≡  x = ANY Q        x NOT IN Q  ≡  ¬(x = ANY Q)        x θ ALL Q  ≡  ¬(x ¬θ ANY Q)

The tree reads columns of the query around it as `OuterRef`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.flags import REFERENCE, SUBQUERY
from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.predicates import rows_compared
from optimizer.algebra.scalar_trees import parts_of
from optimizer.algebra.scalars import BOOL, Scalar
from optimizer.algebra.trees import Node, Tree, postorder


class Subquery(Scalar):
    """Base of both forms: `tree` is the subquery. `columns` and `outer` hold all columns of queries around that it reads."""

    __slots__ = ("tree",)
    flag = SUBQUERY
    tree: Tree

    def _set_tree(self, type: DataType, children: tuple[Scalar, ...], tree: Tree) -> None:
        self._set(type, children, volatile=tree.volatile, raises=True)
        self.tree = tree
        self.outer |= tree.outer
        self.columns |= tree.outer
        self.flags |= tree.flags & REFERENCE

    def with_tree(self, tree: Tree) -> Subquery:
        raise AssertionError(f"{self.__class__.__name__} does not say how its tree is replaced")


class ScalarSubquery(Subquery):
    """The value of `column` in the only row of `tree`; NULL when it has none."""

    __slots__ = ("column",)

    def __init__(self, tree: Tree, column: ColumnId, type: DataType) -> None:
        self._set_tree(type, (), tree)
        self.column = column

    def with_tree(self, tree: Tree) -> Subquery:
        return ScalarSubquery(tree, self.column, self.type)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return f"(subquery {label(self.column)})"


class AnySubquery(Subquery):
    """`left θ ANY (SELECT right FROM tree)`, θ one of the comparisons; rows of several values only with = and <>.

    Without `left` and `right` it is EXISTS (tree).
    """

    __slots__ = ("function", "left", "right")

    def __init__(self, function: str, left: tuple[Scalar, ...], right: tuple[Scalar, ...], tree: Tree) -> None:
        assert len(left) == len(right), "rows of one length are compared"
        self._set_tree(BOOL, left, tree)
        self.function, self.left, self.right = function, left, right

    @property
    def never_null(self) -> bool:
        return not self.left

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        return AnySubquery(self.function, children, self.right, self.tree)

    def with_tree(self, tree: Tree) -> Subquery:
        return AnySubquery(self.function, self.left, self.right, tree)

    @property
    def condition(self) -> Scalar:
        """What is asked of a pair of an outer row and a row of the tree, over columns of both."""
        return rows_compared(self.function, self.left, self.right)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        names = ", ".join(r._render(label, typed) for r in self.right)
        if not self.left:
            return "EXISTS (subquery)"
        left = ", ".join(s._render(label, typed) for s in self.left)
        return f"({left if len(self.left) == 1 else f'({left})'} {self.function} ANY (subquery {names}))"


def subqueries_of(scalars: Iterable[Scalar]) -> list[Subquery]:
    """The subqueries in some scalars, not those inside other subqueries, each once."""
    return parts_of(Subquery, scalars)


def operators_of(root: Node) -> Iterator[LogicalOperator]:
    """Those of a tree, inputs first, and after each those of the subqueries in its scalars."""
    return (node.op for node in trees_of(root))


def trees_of(root: Node) -> Iterator[Tree]:
    """Of these operators the trees."""
    for node in postorder(root):
        if isinstance(node, Tree):
            yield node
            for subquery in subqueries_of(node.op.scalars()):
                yield from trees_of(subquery.tree)


def has_subquery(scalar: Scalar) -> bool:
    return bool(scalar.flags & Subquery.flag)
