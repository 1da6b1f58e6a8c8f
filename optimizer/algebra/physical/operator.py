"""What every physical operator answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.logical import Label
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import (
    ANY,
    Alternative,
    TraitSet,
)

Props = Sequence[LogicalProps]


class PhysicalOperator:
    """Base of all physical operators."""

    __slots__ = ()
    name: ClassVar[str]

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((ANY,) * len(inputs)),) if required == ANY else ()

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return ()

    def describe(self, label: Label) -> str:
        return ""

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        """Columns the operator must get from its inputs to produce the columns `output`."""
        return output
