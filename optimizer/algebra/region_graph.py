"""Joins of any kind over a set of relations, with no order chosen yet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from optimizer.algebra.columns import ColumnId, ColumnSet
from optimizer.algebra.logical import Label, LogicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.trees import Node, Tree

T = TypeVar("T")
Relations = int  # a set of relations, as bits


class ReorderableRegion(Protocol):
    """What the operator asks of its region (`joins.region`)."""

    def written(self, s: Relations, leaves: Sequence[Node]) -> Tree:
        """One join tree of a set over its leaves, always the same."""
        ...

    props: dict[Relations, LogicalProps]

    def folded(
        self, s: Relations, leaves: Sequence[T], apply: Callable[[LogicalOperator, tuple[T, ...]], T], known: dict[Relations, T]
    ) -> T:
        """What `apply` makes of that tree, operator by operator."""
        ...

    def describe_set(self, s: Relations, label: Label) -> str:
        """The operators that every plan of a set applies."""
        ...

    def outer_columns(self, s: Relations) -> ColumnSet:
        """Columns of enclosing queries that those operators read."""
        ...

    def left_keys(self, s: Relations) -> list[ColumnId]:
        """Columns that those operators equate with others, of each pair the one on the left, which a merge join comes by."""
        ...


@dataclass(frozen=True, slots=True)
class RegionGraph(LogicalOperator):
    """The relations `relations` of a region, joined by every operator of the region that they can apply.

    Inputs: one for each relation, lowest first. Output: the columns of the relations, without those that semi and anti joins
    hide. All join trees that the region allows give the same bag. A region is made once for a query and compared by identity.
    """

    region: ReorderableRegion
    relations: Relations
    name: ClassVar[str] = "region_graph"
    unordered: ClassVar[bool] = True
    arity: ClassVar[int | None] = None

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return self.region.folded(self.relations, inputs, lambda op, below: op.derive_props(below), self.region.props)

    def outer_columns(self) -> ColumnSet:
        return self.region.outer_columns(self.relations)

    def describe(self, label: Label) -> str:
        return self.region.describe_set(self.relations, label)
