"""Union, intersection and difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, ColumnSet, column_set
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Label
from optimizer.algebra.physical.operator import PhysicalOperator


@dataclass(frozen=True, slots=True)
class UnionAll(PhysicalOperator):
    """The rows of all inputs, one after the other, under the output's columns."""

    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]
    name: ClassVar[str] = "union_all"

    def describe(self, label: Label) -> str:
        return ", ".join(label(c) for c in self.columns)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _setop_columns(self.columns, self.sources, output)


@dataclass(frozen=True, slots=True)
class HashSetOp(PhysicalOperator):
    """INTERSECT or EXCEPT of two inputs by hashing whole rows (NULL = NULL); `all`: min, or difference, of multiplicities."""

    kind: SetOpKind
    all: bool
    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]
    name: ClassVar[str] = "hash_set_op"

    def describe(self, label: Label) -> str:
        return f"{self.kind.value}{' all' if self.all else ''} ({', '.join(label(c) for c in self.columns)})"

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _setop_columns(self.columns, self.sources, column_set(self.columns))  # every column decides membership


def _setop_columns(columns: tuple[ColumnId, ...], sources: tuple[tuple[ColumnId, ...], ...], output: ColumnSet) -> ColumnSet:
    used = 0
    for source in sources:
        used |= column_set(below for out, below in zip(columns, source, strict=True) if output >> out & 1)
    return used
