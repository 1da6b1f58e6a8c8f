"""Union, intersection and difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Label, LogicalOperator, SetOp
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import Alternative, Collation, TraitSet, ascending, restrict_collation, sequences


@dataclass(frozen=True, slots=True)
class _Union(PhysicalOperator):
    """Base of both: the rows of all inputs under the output's columns."""

    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]

    def describe(self, label: Label) -> str:
        return ", ".join(label(c) for c in self.columns)


@dataclass(frozen=True, slots=True)
class UnionAll(_Union):
    """The rows of all inputs, one after the other."""

    name: ClassVar[str] = "union_all"

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _setop_columns(self.columns, self.sources, output)


@dataclass(frozen=True, slots=True)
class MergeUnion(_Union):
    """The rows of all inputs, merged: every input comes in one order, and so does the output. The plan node's traits say
    which order was chosen; its columns need not be read above, so every column is read. `alone`: no other operator makes this
    union, so that it also has to be merged where no order is asked for."""

    alone: bool = False
    name: ClassVar[str] = "merge_union"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if required.grouping:
            return tuple(self._merging(ascending(each)) for each in sequences(list(column_ids(required.grouping))))
        if required.collation:
            return (self._merging(required.collation),)
        return tuple(self._merging(ascending([column])) for column in self.columns if self.alone)  # more keys cost no less

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        outer = dict(zip(self.sources[index], self.columns, strict=True))
        order = restrict_collation(delivered.collation, column_set(outer), inputs[index])
        return (self._merging(tuple(k._replace(column=outer[k.column]) for k in order)),) if order else ()

    def _merging(self, order: Collation) -> Alternative:
        below = []
        for source in self.sources:
            inner = dict(zip(self.columns, source, strict=True))
            below.append(TraitSet(tuple(k._replace(column=inner[k.column]) for k in order)))
        return Alternative(tuple(below), TraitSet(order))

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _setop_columns(self.columns, self.sources, column_set(self.columns))


@dataclass(frozen=True, slots=True)
class HashSetOp(PhysicalOperator):
    """INTERSECT or EXCEPT of two inputs by hashing whole rows (NULL = NULL); `all`: min, or difference, of multiplicities."""

    kind: SetOpKind
    all: bool
    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]
    name: ClassVar[str] = "hash_set_op"
    said_as: ClassVar[type[LogicalOperator]] = SetOp

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _setop_columns(self.columns, self.sources, column_set(self.columns))  # every column decides membership


def _setop_columns(columns: tuple[ColumnId, ...], sources: tuple[tuple[ColumnId, ...], ...], output: ColumnSet) -> ColumnSet:
    return column_set(below for source in sources for out, below in zip(columns, source, strict=True) if output >> out & 1)
