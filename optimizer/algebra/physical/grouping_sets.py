"""Several groupings of the same rows, by hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, ColumnSet, column_set, union
from optimizer.algebra.logical import AggregateItem, GroupingKey, GroupingSets, Label
from optimizer.algebra.physical.operator import PhysicalOperator


@dataclass(frozen=True, slots=True)
class HashGroupingSets(PhysicalOperator):
    """Groups once by all keys, then groups the groups by the keys of each set; see `GroupingSets` for the fields."""

    keys: tuple[GroupingKey, ...]
    sets: tuple[ColumnSet, ...]
    aggregates: tuple[AggregateItem, ...]
    number: ColumnId
    name: ClassVar[str] = "hash_grouping_sets"

    def describe(self, label: Label) -> str:
        return GroupingSets(self.keys, self.sets, self.aggregates, self.number).describe(label)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        keys = column_set(key.source for key in self.keys)
        return keys | union(item.call.columns for item in self.aggregates if output >> item.id & 1)
