"""Window functions over sorted partitions."""

from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.aggregate_functions import RANKINGS
from optimizer.algebra.columns import ColumnId, ColumnSet, column_set, union
from optimizer.algebra.logical import LogicalOperator, Window, WindowItem
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Literal
from optimizer.algebra.traits import (
    Alternative,
    Collation,
    TraitSet,
    ascending,
    group_order,
    grouped,
    reduce_collation,
    restrict_collation,
    satisfies,
    sequences,
)


@dataclass(frozen=True, slots=True)
class WindowRows(PhysicalOperator):
    """Adds the values of `items` to each row of an input in which the rows of a partition are adjacent and sorted by `order`.
    The rows stay in the order they come in.

    The partition is a set: its columns may lead in any permutation and direction. Without `order` a grouping is enough.
    """

    partition: tuple[ColumnId, ...]
    order: Collation
    items: tuple[WindowItem, ...]
    name: ClassVar[str] = "window_rows"
    said_as: ClassVar[type[LogicalOperator]] = Window

    def _sorted(self, wanted: Collation, below: LogicalProps) -> list[Collation]:
        """Orders that serve the windows and begin as `wanted` does as far as that is possible; what it leaves open of the
        partition may lead in any permutation."""
        partition = column_set(self.partition)
        wanted = restrict_collation(wanted, below.columns, below)
        if below.unique_on(partition):  # every row is a partition
            return [wanted]
        lead = restrict_collation(wanted, partition, below)
        rest = below.without_determined(partition, column_set(k.column for k in lead))
        known = below.closure(partition)
        last = tuple(k for k in self.order if not known >> k.column & 1)
        longer = reduce_collation(wanted, below)
        found: dict[Collation, None] = {}
        for others in sequences([c for c in self.partition if rest >> c & 1], union(below.equivalences)):
            full = lead + ascending(others) + last
            # beyond what the windows need, rows may be sorted further: peers are in no order
            own = reduce_collation(full, below)
            found[longer if len(longer) > len(own) and longer[: len(own)] == own else full] = None
        return list(found)

    def _without_items(self, wanted: Collation, below: LogicalProps) -> Collation | None:
        """What to ask below for an order that goes by a column of this operator: row numbers and ranks rise with the rows of a
        partition, so the partition's columns and then such an item are an order if the rows are. None: no such order.

        A row number tells all rows of a partition apart, so what follows it means nothing; a rank has to be the last key.
        """
        calls = {item.id: item.call for item in self.items}
        for i, key in enumerate(wanted):
            call = calls.get(key.column)
            if call is None:
                continue
            partition = below.closure(column_set(k.column for k in wanted[:i]))
            if (
                partition != below.closure(column_set(self.partition))
                or key.descending
                or call.function not in (*RANKINGS, "ntile")
            ):
                return None
            if any(not isinstance(arg, Literal) for arg in call.args):  # not the same number of buckets for all rows
                return None
            return wanted[:i] if i + 1 == len(wanted) or call.function == "row_number" else None
        return wanted

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        below = inputs[0]
        partition = column_set(self.partition)
        wanted = required.collation
        if required.grouping:  # the partition's columns lead
            wanted = group_order(required.grouping & partition) + group_order(required.grouping & ~partition)
        plain = self._without_items(wanted, below)
        result = []
        in_order = not column_set(k.column for k in self.order) & ~below.closure(partition)
        if in_order and not required.collation:
            result.append(Alternative((grouped(partition),), grouped(partition)))
        if plain is not None and not (result and not wanted):
            for order in self._sorted(plain, below):
                result.append(Alternative((TraitSet(order),), TraitSet(order)))
                if plain != wanted and satisfies(TraitSet(order), TraitSet(plain), below):
                    result.append(Alternative((TraitSet(order),), TraitSet(wanted)))
        return tuple(result)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        orders = map(TraitSet, self._sorted(delivered.collation, inputs[0]))
        return tuple(Alternative((order,), order) for order in orders)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        columns = output & ~column_set(item.id for item in self.items)
        columns |= column_set(self.partition) | column_set(k.column for k in self.order)
        return columns | union(item.call.columns for item in self.items if output >> item.id & 1)
