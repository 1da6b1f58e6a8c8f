"""The n-ary inner join: all relations of a region and all its conjuncts, with no order chosen yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeGuard

from optimizer.algebra.columns import ColumnSet, union
from optimizer.algebra.derive_props import inner_join_props
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Label, LogicalOperator, show_predicate
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate, Scalar


@dataclass(frozen=True, slots=True)
class JoinGraph(LogicalOperator):
    """Inner join of two or more inputs on a predicate; every binary join tree over the same inputs gives the same bag.

    Conjuncts neither raise nor are volatile, so any order may test them.
    """

    predicate: Predicate
    name: ClassVar[str] = "join_graph"
    unordered: ClassVar[bool] = True
    arity: ClassVar[int | None] = None

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return inner_join_props(self.predicate, inputs)

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return union(inputs)

    def scalars(self) -> tuple[Scalar, ...]:
        return self.predicate

    def describe(self, label: Label) -> str:
        return f"on {show_predicate(self.predicate, label)}"


def is_inner_join(op: LogicalOperator) -> TypeGuard[JoinGraph | Join]:
    """Whether it is an inner join, of two inputs or of many."""
    return isinstance(op, JoinGraph) or (isinstance(op, Join) and op.kind is JoinKind.INNER)
