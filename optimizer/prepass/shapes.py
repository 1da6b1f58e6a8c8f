"""Classes of trees that are equal up to the ids of the columns they make.

Two scans of one table are different operators, since each reads its own columns; so are two firings of a rule that computes a
fresh column. Here a column made in a tree is called by its place in it: the columns of the first input, in order, then those of
the second, then the operator's own. Equal shapes mean equal rows, column by column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.logical import LogicalOperator, Scan
from optimizer.algebra.predicates import compare
from optimizer.algebra.rebuild import defined_columns, map_scalars, renamed
from optimizer.algebra.scalar_trees import rewrite
from optimizer.algebra.scalars import Call, Scalar
from optimizer.algebra.spools import CteReference
from optimizer.algebra.trees import Leaf, Node, Tree, postorder

_Key: TypeAlias = tuple[LogicalOperator, ColumnSet, tuple[int, ...]]


class Shapes:
    """Numbers shapes from 0. Columns with ids below `fixed` keep them, and are told apart; the default renames all."""

    def __init__(self, fixed: int = 0) -> None:
        self._fixed = fixed
        self._numbers: dict[_Key, int] = {}
        self._of: dict[int, int] = {}  # id of a tree -> its shape
        self._columns: dict[int, tuple[ColumnId, ...]] = {}  # id of a tree -> columns made in it, by place
        self._trees: list[Node] = []  # whose ids these are

    def of(self, root: Tree) -> int:
        """The number of the tree's shape. Trees asked about are kept alive."""
        for node in postorder(root):
            if id(node) not in self._of:
                self._trees.append(node)
                self._add(node)
        return self._of[id(root)]

    def columns(self, root: Tree) -> tuple[ColumnId, ...]:
        """The columns that a tree of known shape makes, by place: those of two trees of one shape correspond."""
        return self._columns[id(root)]

    def _add(self, node: Node) -> None:
        if isinstance(node, Leaf):
            self._of[id(node)] = -1 - node.gid
            self._columns[id(node)] = ()
            return
        own = [column for column in _in_order(node) if column >= self._fixed]
        columns = tuple(column for below in node.inputs for column in self._columns[id(below)]) + tuple(own)
        places: dict[ColumnId, ColumnId] = {}
        for place, column in enumerate(columns):
            places.setdefault(column, self._fixed + place)
        op = map_scalars(renamed(_plain(node.op), places), _sorted)
        # columns of enclosing queries keep their ids, which may be equal to places
        key = (op, node.op.outer_columns(), tuple(self._of[id(below)] for below in node.inputs))
        self._of[id(node)] = self._numbers.setdefault(key, len(self._numbers))
        self._columns[id(node)] = columns


def _in_order(node: Tree) -> list[ColumnId]:
    """The columns an operator makes: those of a scan by their names in the table, those of others by id, which is the order in
    which they were made."""
    if isinstance(node.op, Scan):
        return [column.id for column in sorted(node.op.columns, key=lambda column: column.source)]
    return list(column_ids(defined_columns(node)))


def _sorted(scalar: Scalar) -> Scalar:
    """The scalar with operands whose order does not matter in the order of their texts, which depends on the names of columns."""

    def change(part: Scalar) -> Scalar | None:
        if isinstance(part, Call):
            if part.function in MIRRORED or part.function in ("is_distinct_from", "is_not_distinct_from"):
                return compare(part.function, *part.args)
            if part.function in ("and", "or"):
                return Call(part.function, tuple(sorted(part.args, key=lambda each: each.text)), part.type)
        return None

    return rewrite(scalar, change)


def _plain(op: LogicalOperator) -> LogicalOperator:
    """A scan without what its table says anyway and without its alias; likewise a reference to a spool."""
    if isinstance(op, CteReference):
        return replace(op, keys=(), not_null=0)
    if not isinstance(op, Scan):
        return op
    columns = tuple(sorted(op.columns, key=lambda column: column.source))
    return replace(op, alias="", columns=columns, keys=(), not_null=0, order=(), foreign_keys=())
