"""Rows computed once and read often."""

from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, ColumnSet, column_set
from optimizer.algebra.logical import Label, LogicalOperator
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.spools import CteReference, Recursion, SpoolColumn
from optimizer.algebra.traits import ANY, Alternative, TraitSet, spelled


@dataclass(frozen=True, slots=True)
class WithSpools(PhysicalOperator):
    """Passes the rows of the last input on. The others are spools, which are filled when they are first read. `kept`: the columns
    of each; the last input may have the same ones under the same ids."""

    kept: tuple[ColumnSet, ...]
    name: ClassVar[str] = "with_spools"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        ways = spelled(required, output.columns, output, inputs[-1])
        return tuple(Alternative((*(ANY for _ in inputs[1:]), traits), traits) for traits in ways)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if index < len(inputs) - 1:
            return ()
        return (Alternative((*(ANY for _ in inputs[1:]), delivered), delivered),)

    def columns_of_input(self, index: int, output: ColumnSet) -> ColumnSet:
        return self.kept[index] if index < len(self.kept) else output


@dataclass(frozen=True, slots=True)
class FillSpool(PhysicalOperator):
    """Keeps the rows of its input in memory, for every ReadSpool of the same number."""

    spool: int
    title: str
    name: ClassVar[str] = "fill_spool"

    def describe(self, label: Label) -> str:
        return self.title


@dataclass(frozen=True, slots=True)
class ReadSpool(PhysicalOperator):
    """The rows of a spool under column ids of its own."""

    spool: int
    title: str
    columns: tuple[SpoolColumn, ...]
    name: ClassVar[str] = "read_spool"
    said_as: ClassVar[type[LogicalOperator]] = CteReference


@dataclass(frozen=True, slots=True)
class Recurse(PhysicalOperator):
    """Runs the second input again and again over the rows that came last, until it gives none; see the logical `Recursion`."""

    spool: int
    title: str
    all: bool
    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]
    name: ClassVar[str] = "recurse"
    said_as: ClassVar[type[LogicalOperator]] = Recursion

    def columns_of_input(self, index: int, output: ColumnSet) -> ColumnSet:
        return column_set(self.sources[index])
