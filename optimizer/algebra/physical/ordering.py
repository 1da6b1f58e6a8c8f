"""Sorting, and taking the first rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from optimizer.algebra.columns import ColumnSet, column_ids, column_set
from optimizer.algebra.logical import Label, Limit, LogicalOperator
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import ANY, Alternative, Collation, TraitSet, group_order, reduce_collation, satisfies, spelled


class _ByOrder(PhysicalOperator):
    """Base of what reads the columns of an `order`."""

    __slots__ = ()
    if TYPE_CHECKING:  # a field of the classes below

        @property
        def order(self) -> Collation: ...

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | column_set(k.column for k in self.order)


@dataclass(frozen=True, slots=True)
class Sort(_ByOrder):
    """The collation enforcer: sorts the rows of its own group. Never a member of a group, only a move between goals."""

    order: Collation
    name: ClassVar[str] = "sort"

    def describe(self, label: Label) -> str:
        return ", ".join(k.show(label) for k in self.order)


@dataclass(frozen=True, slots=True)
class PartialSort(_ByOrder):
    """The enforcer for an input that has part of what is wanted: rows equal on `prefix` are adjacent, and only these are
    sorted, by `order`. The runs stay in the order they come in, so an input sorted on the prefix gives rows sorted on the
    prefix and then by `order`. Holds one run at a time. `finer`: other sets of columns that determine the prefix, so there are
    no more runs than these have combinations of values; for cost models."""

    prefix: ColumnSet
    order: Collation
    finer: tuple[ColumnSet, ...] = ()
    name: ClassVar[str] = "partial_sort"

    @staticmethod
    def within(lead: ColumnSet, order: Collation, props: LogicalProps) -> PartialSort:
        """Sorts rows by `order` that come by the columns of `lead`, in a group with these properties."""
        prefix = props.run_columns(lead)
        return PartialSort(prefix, order, props.finer(prefix))

    def describe(self, label: Label) -> str:
        keys = ", ".join(k.show(label) for k in self.order)
        return f"{keys} within {', '.join(label(c) for c in column_ids(self.prefix))}"

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return self.prefix | _ByOrder.used_columns(self, output)


@dataclass(frozen=True, slots=True)
class TopK(_ByOrder):
    """Sorts by `order` but keeps only `offset + count` rows while doing so."""

    order: Collation
    offset: int
    count: int
    name: ClassVar[str] = "top_k"
    said_as: ClassVar[type[LogicalOperator]] = Limit

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((ANY,), TraitSet(self.order)),)


@dataclass(frozen=True, slots=True)
class LimitRows(_ByOrder):
    """Passes rows `offset` … `offset + count` of an input that comes in `order`, then stops it. `count` None: no end."""

    order: Collation
    offset: int
    count: int | None
    name: ClassVar[str] = "limit_rows"
    said_as: ClassVar[type[LogicalOperator]] = Limit

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        below = inputs[0]
        if not self.order:  # any rows will do, so also the first ones of any order
            return tuple(Alternative((traits,), traits) for traits in spelled(required, below.columns, output, below))
        # ties of `order` may be cut anywhere, so an input sorted more finely is as good; another order is not
        plain = Alternative((TraitSet(self.order),), TraitSet(self.order))
        own = reduce_collation(self.order, below)
        longer = reduce_collation(required.collation or own + group_order(required.grouping), below)
        if len(longer) == len(own) or longer[: len(own)] != own:
            return (plain,)
        return plain, Alternative((TraitSet(longer),), TraitSet(longer))

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if not satisfies(delivered, TraitSet(self.order), inputs[0]):
            return ()
        return (Alternative((delivered,), delivered),)
