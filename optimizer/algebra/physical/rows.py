"""Operators that work on one row at a time and keep the rows' order."""

from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.logical import Filter, LogicalOperator, Project, ProjectItem
from optimizer.algebra.monotone import Monotone, monotone
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import ANY, Alternative, Collation, SortKey, TraitSet, grouped, spelled


class SomeRows(PhysicalOperator):
    """Base of what gives some rows of its input, in their order."""

    __slots__ = ()

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        ways = spelled(required, output.columns, output, inputs[0])  # a = b lets either column lead
        return tuple(Alternative((traits,), traits) for traits in ways)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((delivered,), delivered),)


@dataclass(frozen=True, slots=True)
class FilterRows(SomeRows):
    """Keeps rows where every conjunct is TRUE; keeps their order."""

    predicate: Predicate
    name: ClassVar[str] = "filter_rows"
    said_as: ClassVar[type[LogicalOperator]] = Filter


@dataclass(frozen=True, slots=True)
class ProjectRows(PhysicalOperator):
    """Computes the items for each row; keeps the rows' order."""

    items: tuple[ProjectItem, ...]
    name: ClassVar[str] = "project_rows"
    said_as: ClassVar[type[LogicalOperator]] = Project

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if required.grouping:
            return self._pass_grouping(required.grouping, output, inputs[0])
        if not required.collation:
            return (Alternative((ANY,)),)
        followed = self._followed()
        below: list[SortKey] = []
        strict = 0
        loose = False  # rows with equal items so far may have different sources
        for key in required.collation:
            if self._told(key.column, inputs[0].closure(strict)):
                continue
            source = _lowest(followed, output.equivalents(key.column))
            if source is None or loose:
                return ()
            loose = not source.strict
            strict |= 0 if loose else 1 << source.column
            below.append(key._replace(column=source.column, descending=key.descending != source.descending))
        return (Alternative((TraitSet(tuple(below)),), required),)

    def _pass_grouping(self, columns: ColumnSet, output: LogicalProps, input: LogicalProps) -> tuple[Alternative, ...]:
        """Rows equal on items are equal on the columns they follow one to one, and on what these determine. One more item may
        follow a column's order only: it has to come last in an order on all."""
        followed = self._followed()
        sources = {column: _lowest(followed, output.equivalents(column)) for column in column_ids(columns)}
        strict = column_set(source.column for source in sources.values() if source is not None and source.strict)
        determined = input.closure(strict)
        others = [source for column, source in sources.items() if not self._told(column, determined)]
        if not others:
            return (Alternative((grouped(strict),), grouped(columns)),)
        if len(others) > 1 or others[0] is None:
            return ()
        return (Alternative((TraitSet((*map(SortKey, column_ids(strict)), SortKey(others[0].column))),), grouped(columns)),)

    def _told(self, column: ColumnId, known: ColumnSet) -> bool:
        """Whether an item is the same in all rows that agree on the `known` columns; the text of 0.0 is not that of -0.0."""
        value = next(item.value for item in self.items if item.id == column)
        return not value.columns & ~known and is_congruent(value)

    def _followed(self) -> dict[ColumnId, Monotone]:
        """Items that follow the order of an input column."""
        found = {item.id: monotone(item.value) for item in self.items}
        return {id: source for id, source in found.items() if source is not None}

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        """The delivered order, as far as items say it; and cut where an item follows a key without telling all its values
        apart."""
        followed = self._followed()
        above: tuple[SortKey, ...] = ()
        result = []
        for i, key in enumerate(delivered.collation):
            same = inputs[0].equivalents(key.column)
            longer: SortKey | None = None
            for id, source in followed.items():
                if same >> source.column & 1:
                    said = key._replace(column=id, descending=key.descending != source.descending)
                    if source.strict:
                        longer = longer or said
                    else:
                        result.append(Alternative((TraitSet(delivered.collation[: i + 1]),), TraitSet((*above, said))))
            if longer is None:
                return (*_derived(delivered, above), *result)
            above = (*above, longer)
        return (*_derived(delivered, above), *result)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return union(item.value.columns for item in self.items if output >> item.id & 1)


def _lowest(followed: dict[ColumnId, Monotone], columns: ColumnSet) -> Monotone | None:
    """What one of the output `columns`, which are equal, follows; a strict one is better."""
    found = [source for column in column_ids(columns) if (source := followed.get(column)) is not None]
    return min(found, key=lambda source: not source.strict, default=None)


def _derived(delivered: TraitSet, above: Collation) -> tuple[Alternative, ...]:
    return (Alternative((TraitSet(delivered.collation[: len(above)]),), TraitSet(above)),) if above else ()
