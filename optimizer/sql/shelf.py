"""The columns that a clause computes over a tree: one Project for all of them, if there are any."""

from collections.abc import Iterable

from optimizer.algebra.building import reference
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.logical import Project, ProjectItem
from optimizer.algebra.scalars import Call, ColumnRef, Scalar
from optimizer.algebra.trees import Tree
from optimizer.sql.context import Context
from optimizer.sql.names import short_name


class Shelf:
    """The columns a Project over `tree` will have: those passed through and those computed, each scalar once."""

    def __init__(self, context: Context, tree: Tree) -> None:
        self._context, self._below = context, tree
        self._passed: dict[ColumnId, ProjectItem] = {}
        self._computed: dict[Scalar, ProjectItem] = {}

    def column(self, scalar: Scalar, label: str | None) -> ColumnId:
        """The id under which the Project gives `scalar`; a volatile one is computed anew for each use."""
        if isinstance(scalar, ColumnRef):
            self._passed.setdefault(scalar.id, ProjectItem(scalar.id, scalar))
            return scalar.id
        known = self._computed.get(scalar)
        if known is not None and not scalar.volatile:
            return known.id
        id = self._context.compute(label or short_name(scalar), scalar)
        if known is not None:
            self._passed[id] = ProjectItem(id, scalar)
        else:
            self._computed[scalar] = ProjectItem(id, scalar)
        match scalar:
            case Call(function="to_interval", args=(microseconds,)) if not scalar.volatile:
                self._context.durations[id] = self.column(microseconds, None)
        return id

    def keep(self, ids: Iterable[ColumnId]) -> None:
        """Pass columns of the tree through."""
        for id in ids:
            self.column(reference(id, self._context.columns), None)

    def tree(self) -> Tree:
        """The Project; the tree itself when nothing is computed."""
        items = (*self._passed.values(), *self._computed.values())
        if all(isinstance(item.value, ColumnRef) for item in items):
            return self._below
        return Tree(Project(items), (self._below,))
