"""Union, intersection and difference."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union
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

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return union(self.columns_of_input(i, output) for i in range(len(self.sources)))


@dataclass(frozen=True, slots=True)
class UnionAll(_Union):
    """The rows of all inputs, one after the other."""

    name: ClassVar[str] = "union_all"

    def columns_of_input(self, index: int, output: ColumnSet) -> ColumnSet:
        return column_set(below for out, below in zip(self.columns, self.sources[index], strict=True) if output >> out & 1)


@dataclass(frozen=True, slots=True)
class MergeUnion(_Union):
    """The rows of all inputs, merged: every input comes in one order, and so does the output. The plan node's traits say
    which order was chosen; its columns need not be read above, so every column is read. `alone`: no other operator makes this
    union, so that it also has to be merged where no order is asked for."""

    alone: bool = False
    name: ClassVar[str] = "merge_union"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if required.grouping:
            orders = sequences(list(column_ids(required.grouping)))
            return tuple(_merging(self.columns, self.sources, ascending(each)) for each in orders)
        if required.collation:
            return (_merging(self.columns, self.sources, required.collation),)
        alone = self.columns if self.alone else ()
        return tuple(_merging(self.columns, self.sources, ascending([column])) for column in alone)  # more keys cost no less

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        outer = dict(zip(self.sources[index], self.columns, strict=True))
        order = restrict_collation(delivered.collation, column_set(outer), inputs[index])
        return (_merging(self.columns, self.sources, _renamed(order, outer)),) if order else ()

    def columns_of_input(self, index: int, output: ColumnSet) -> ColumnSet:
        return column_set(self.sources[index])


@lru_cache(maxsize=64)  # every input may offer the same order
def _merging(columns: tuple[ColumnId, ...], sources: tuple[tuple[ColumnId, ...], ...], order: Collation) -> Alternative:
    inner = (dict(zip(columns, source, strict=True)) for source in sources)
    return Alternative(tuple(TraitSet(_renamed(order, names)) for names in inner), TraitSet(order))


def _renamed(order: Collation, names: Mapping[ColumnId, ColumnId]) -> Collation:
    return tuple(key._replace(column=names[key.column]) for key in order)


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
        return union(map(column_set, self.sources))  # every column decides membership

    def columns_of_input(self, index: int, output: ColumnSet) -> ColumnSet:
        return column_set(self.sources[index])
