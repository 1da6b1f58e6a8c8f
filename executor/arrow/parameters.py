"""Parameters: what an outer reference becomes in a plan that runs once for each binding.

The plan is compiled once; a binding only changes what the cells hold. Unlike a literal a parameter may have another value in
the next run, so nothing may be derived from it when an expression is compiled. A scan, which looks at its literals to
skip row groups, asks for them anew in each run (`resolved`).
"""

from collections.abc import Callable, Mapping

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.scalar_trees import rewrite, walk
from optimizer.algebra.scalars import Literal, OuterRef, Scalar


class Cell:
    """The value of an outer column in the current run."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: pa.Scalar | None = None


class Parameter(Scalar):
    """The value of a cell, which is of the outer column `id`: the same for all rows of a run."""

    __slots__ = ("cell", "id")

    def __init__(self, cell: Cell, id: ColumnId, type: DataType) -> None:
        self._set(type, ())
        self.cell, self.id = cell, id

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return f"?{id(self.cell)}" if typed else label(self.id)


def parameterized(scalar: Scalar, cells: Mapping[ColumnId, Cell]) -> Scalar:
    """The scalar reading `cells` where it referred to their columns."""
    if not scalar.outer:
        return scalar
    return rewrite(scalar, lambda s: Parameter(cells[s.id], s.id, s.type) if isinstance(s, OuterRef) and s.id in cells else None)


def reads_parameters(scalar: Scalar) -> bool:
    return any(isinstance(part, Parameter) for part in walk(scalar))


def resolved(scalar: Scalar) -> Scalar:
    """The scalar with the current values as literals, where there are literals for them."""
    return rewrite(scalar, _current)


def _current(scalar: Scalar) -> Scalar | None:
    if not isinstance(scalar, Parameter):
        return None
    assert scalar.cell.value is not None, "a plan with parameters runs before they are bound"
    try:
        return Literal(scalar.cell.value.as_py(), scalar.type)
    except OverflowError:  # a date beyond the years that Python has
        return None
