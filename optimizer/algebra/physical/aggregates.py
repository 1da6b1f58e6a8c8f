"""Aggregates: by hashing, or over adjacent rows; several groupings of the same rows at once, by hashing."""

from dataclasses import dataclass
from itertools import chain, takewhile
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, ColumnSet, column_set, union
from optimizer.algebra.logical import Aggregate, AggregateItem, GroupingKey, GroupingSets, LogicalOperator
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import (
    ANY,
    Alternative,
    Collation,
    TraitSet,
    ascending,
    group_order,
    grouped,
    joined_on,
    restrict_collation,
    sequences,
)


@dataclass(frozen=True, slots=True)
class _Aggregate(PhysicalOperator):
    """Base of both: one row for each combination of the keys (NULL = NULL)."""

    keys: tuple[ColumnId, ...]
    aggregates: tuple[AggregateItem, ...]
    said_as: ClassVar[type[LogicalOperator]] = Aggregate

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return column_set(self.keys) | union(item.call.columns for item in self.aggregates if output >> item.id & 1)


@dataclass(frozen=True, slots=True)
class HashAggregate(_Aggregate):
    """Groups by hashing the keys; without keys, one row over the whole input."""

    name: ClassVar[str] = "hash_aggregate"


@dataclass(frozen=True, slots=True)
class StreamingAggregate(_Aggregate):
    """Groups an input in which the rows of a group are adjacent; the groups come out in the order they come in.

    The set of keys has no order: the input may be grouped, or sorted on the keys in any permutation.
    """

    name: ClassVar[str] = "streaming_aggregate"

    def _permuted(self, prefix: Collation, below: LogicalProps) -> tuple[Alternative, ...]:
        """Keys sorted by `prefix` and then the others, so that groups are adjacent. Of many others those come first in turn that
        were joined on, and so may come sorted."""
        keys = column_set(self.keys)
        rest = 0 if below.unique_on(keys) else below.without_determined(keys, column_set(k.column for k in prefix))
        others, joined = [c for c in self.keys if rest >> c & 1], union(below.equivalences)
        orders = [prefix + ascending(each) for each in sequences(others, joined)]
        return tuple(Alternative((TraitSet(order),), TraitSet(restrict_collation(order, keys, below))) for order in orders)

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if required == ANY:
            return (Alternative((grouped(column_set(self.keys)),)),)
        wanted = required.collation or group_order(required.grouping)
        prefix = restrict_collation(wanted, column_set(self.keys), inputs[0])
        if len(prefix) < len(wanted):
            return ()
        starts = self.before_offers(prefix, inputs[0])
        return tuple(chain.from_iterable(self._permuted(start, inputs[0]) for start in starts))

    def before_offers(self, required: Collation, below: LogicalProps) -> tuple[Collation, ...]:
        """Groups that are equal on what is required may come in any sequence."""
        return required, *((*required, key) for key in joined_on(column_set(self.keys), required, below))

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        determined = inputs[0].closure(column_set(self.keys))  # rows of a group are equal on these
        prefix = tuple(takewhile(lambda key: determined >> key.column & 1, delivered.collation))
        return self._permuted(prefix, inputs[0])  # what the offer leaves open may be determined further down


@dataclass(frozen=True, slots=True)
class HashGroupingSets(PhysicalOperator):
    """Groups once by all keys, then groups the groups by the keys of each set; see `GroupingSets` for the fields."""

    keys: tuple[GroupingKey, ...]
    sets: tuple[ColumnSet, ...]
    aggregates: tuple[AggregateItem, ...]
    number: ColumnId
    name: ClassVar[str] = "hash_grouping_sets"
    said_as: ClassVar[type[LogicalOperator]] = GroupingSets

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        keys = column_set(key.source for key in self.keys)
        return keys | union(item.call.columns for item in self.aggregates if output >> item.id & 1)
