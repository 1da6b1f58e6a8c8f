"""What `placing` and `stages` add to a plan: exchanges, groupings in two steps, and leaves that stand for rows of other tasks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import ClassVar

import pyarrow as pa

from executor.arrow import hash_aggregate, hash_grouping_sets
from executor.arrow.batches import Batches, renamed
from executor.arrow.context import Context
from executor.spark.places import Place
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.logical import Label
from optimizer.algebra.physical import HashAggregate, HashGroupingSets, PhysicalOperator, TableScan
from optimizer.algebra.plan import PlanNode


@dataclass(frozen=True, slots=True)
class Exchange(PhysicalOperator):
    """Each row goes to the task that `place` says. `parted`: the rows come of all tasks, not of the first alone."""

    place: Place
    parted: bool
    name: ClassVar[str] = "exchange"

    def describe(self, label: Label) -> str:
        return self.place.show(label)


@dataclass(frozen=True, slots=True)
class PartScan(TableScan):
    """A scan of which each task reads a part."""

    name: ClassVar[str] = "part_scan"


@dataclass(frozen=True, slots=True)
class PartialGroups(PhysicalOperator):
    """The groups of the rows that a task has, their aggregates as states that can be merged."""

    of: HashAggregate | HashGroupingSets
    made: list[pa.Table] = field(default_factory=list, compare=False)
    name: ClassVar[str] = "partial_groups"

    def describe(self, label: Label) -> str:
        return self.of.describe(label)

    def produce(self, node: PlanNode, context: Context) -> Batches:
        """No batches: the states are left in `made`, one table for each part of a `Partial`."""
        grouping, own = _grouping(self.of), node.rebuilt(self.of, node.inputs)
        made = hash_aggregate.gathered(own, context, grouping.aggregation(own, context))
        self.made[:] = made.tables
        if context.counters is not None:
            context.counters.add(node.id, 0.0, made.states.num_rows)
        yield from ()


@dataclass(frozen=True, slots=True)
class FinalGroups(PhysicalOperator):
    """Merges the states that came of all tasks."""

    of: HashAggregate | HashGroupingSets
    name: ClassVar[str] = "final_groups"

    def describe(self, label: Label) -> str:
        return self.of.describe(label)

    def produce(self, node: PlanNode, context: Context) -> Batches:
        received, own = node.inputs[0].op, node.rebuilt(self.of, node.inputs)
        assert isinstance(received, Received)
        grouping = _grouping(self.of)
        aggregation = grouping.aggregation(own, context)
        partials = [aggregation.of_tables(tables) for tables in received.states()]
        if partials:
            yield from grouping.results(own, context, aggregation.merge(partials, context.tuning))


@dataclass(frozen=True, slots=True, eq=False)
class Received(PhysicalOperator):
    """The rows that stage `of` sent to this task, `columns` with what they are called there. `senders`, set before a plan runs,
    gives the tables of each task of that stage, in the order of the tasks."""

    of: int
    columns: tuple[tuple[ColumnId, ColumnId], ...]
    senders: list[Callable[[], list[list[pa.Table]]]] = field(default_factory=list)
    name: ClassVar[str] = "received"

    def states(self) -> list[list[pa.Table]]:
        (senders,) = self.senders
        return senders()

    def produce(self, node: PlanNode, context: Context) -> Batches:
        tables = (table for tables in self.states() for table in tables)
        batches = (batch for table in tables for batch in table.to_batches() if batch.num_rows)
        yield from renamed(batches, dict(self.columns), node.columns, context.schema(node))


def _grouping(of: HashAggregate | HashGroupingSets) -> ModuleType:
    return hash_aggregate if isinstance(of, HashAggregate) else hash_grouping_sets
