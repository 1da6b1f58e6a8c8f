"""Operators that work on one row at a time and keep the rows' order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnSet, column_set
from optimizer.algebra.logical import Label, ProjectItem, show_predicate
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import ColumnRef, Predicate, predicate_columns
from optimizer.algebra.traits import (
    Alternative,
    TraitSet,
    restrict_collation,
    spellings,
)


@dataclass(frozen=True, slots=True)
class FilterRows(PhysicalOperator):
    """Keeps rows where every conjunct is TRUE; keeps their order."""

    predicate: Predicate
    name: ClassVar[str] = "filter_rows"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        orders = spellings(required.collation, output.columns, output, inputs[0])  # a = b lets either column lead
        return tuple(Alternative((TraitSet(order),), TraitSet(order)) for order in orders)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((delivered,), delivered),)

    def describe(self, label: Label) -> str:
        return show_predicate(self.predicate, label)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | predicate_columns(self.predicate)


@dataclass(frozen=True, slots=True)
class ProjectRows(PhysicalOperator):
    """Computes the items for each row; keeps the rows' order."""

    items: tuple[ProjectItem, ...]
    name: ClassVar[str] = "project_rows"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        sources = {item.id: item.value.id for item in self.items if isinstance(item.value, ColumnRef)}
        order = restrict_collation(required.collation, column_set(sources), output)
        if len(order) < len(required.collation):
            return ()
        below = TraitSet(tuple(key._replace(column=sources[key.column]) for key in order))
        return (Alternative((below,), TraitSet(order)),)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        targets = {item.value.id: item.id for item in self.items if isinstance(item.value, ColumnRef)}
        order = restrict_collation(delivered.collation, column_set(targets), inputs[0])
        if not order:
            return ()
        below = TraitSet(delivered.collation[: len(order)])
        return (Alternative((below,), TraitSet(tuple(k._replace(column=targets[k.column]) for k in order))),)

    def describe(self, label: Label) -> str:
        return ", ".join(
            label(i.id) if isinstance(i.value, ColumnRef) and i.value.id == i.id else f"{label(i.id)} := {i.value.show(label)}"
            for i in self.items
        )

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        columns = 0
        for item in self.items:
            if output >> item.id & 1:
                columns |= item.value.columns
        return columns
