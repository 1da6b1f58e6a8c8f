"""Physical operators without inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.logical import Label, LogicalOperator, Scan, Values
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.traits import Alternative, TraitSet


@dataclass(frozen=True, slots=True)
class TableScan(PhysicalOperator):
    """Reads `scan.columns` of a table's files in stored order, filters and stops as the scan says."""

    scan: Scan
    name: ClassVar[str] = "table_scan"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((), TraitSet(self.scan.order)),)

    def describe(self, label: Label, reads: bool = False) -> str:
        return self.scan.describe(label, reads)


@dataclass(frozen=True, slots=True)
class ConstantRows(PhysicalOperator):
    """The rows of a VALUES list."""

    columns: tuple[ColumnId, ...]
    types: tuple[DataType, ...]
    rows: Sequence[tuple[Scalar, ...]]
    name: ClassVar[str] = "constant_rows"
    said_as: ClassVar[type[LogicalOperator]] = Values
