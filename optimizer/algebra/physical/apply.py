"""The dependent join, and selections by outer values: what runs once for each binding of outer columns.

An Apply's right input is run again and again. Parts of it that read no outer column are run once and kept, as are the
structures that `LookupRows` and `RangeLookup` make of them.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, union
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Label, show_predicate
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.physical.joins import left_offer, left_order
from optimizer.algebra.physical.operator import PhysicalOperator, Props
from optimizer.algebra.physical.rows import SomeRows
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import ColumnRef, Predicate, Scalar
from optimizer.algebra.traits import Alternative, SortKey, TraitSet


@dataclass(frozen=True, slots=True)
class NestedApply(PhysicalOperator):
    """For each left row the right input is run with the row's values for the outer columns `parameters`; then the row is
    joined with what came out, by `kind` on `predicate`. Keeps the left order.

    `cached`: run once for each distinct combination of the parameters (NULL = NULL), as long as the results find room; the
    right input must not be volatile. Every left column that the right input reads is in `parameters`; outer columns of
    further-out queries are bound there. `mark`: the column of a mark apply's answer.
    """

    kind: JoinKind
    predicate: Predicate
    mark: ColumnId | None
    parameters: ColumnSet
    cached: bool
    name: ClassVar[str] = "nested_apply"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return left_order(self.kind, required, output, inputs)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return left_offer(self.kind, delivered, index)

    def describe(self, label: Label) -> str:
        text = Apply(self.kind, self.predicate, self.mark).describe(label)
        parameters = ", ".join(label(c) for c in column_ids(self.parameters))
        return f"{text} for each {'distinct ' if self.cached else ''}({parameters})"

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | union(conjunct.columns | conjunct.outer for conjunct in self.predicate) | self.parameters


class LookupKey(NamedTuple):
    """`column_side` = `outer_side`: a scalar over the input's columns, and one over outer columns only. `null_safe`: IS NOT
    DISTINCT FROM, so NULL finds NULL; else it finds nothing."""

    column_side: Scalar
    outer_side: Scalar
    null_safe: bool

    def show(self, label: Label) -> str:
        sign = "IS NOT DISTINCT FROM" if self.null_safe else "="
        return f"{self.column_side.show(label)} {sign} {self.outer_side.show(label)}"


@dataclass(frozen=True, slots=True)
class LookupRows(SomeRows):
    """Rows of the input with the values of `keys` that satisfy `residual`: the input, which reads no outer column, is run once
    and hashed by the keys, and each run looks up one combination. Keeps the input's order."""

    keys: tuple[LookupKey, ...]
    residual: Predicate
    name: ClassVar[str] = "lookup_rows"

    def describe(self, label: Label) -> str:
        text = " AND ".join(key.show(label) for key in self.keys)
        return f"{text} where {show_predicate(self.residual, label)}" if self.residual else text


class RangeBound(NamedTuple):
    """The column `function` (one of <, <=, >, >=) `value`, a scalar over outer columns only."""

    function: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class RangeLookup(PhysicalOperator):
    """Rows of the input whose `column` lies within `bounds` and that satisfy `residual`: the input, which reads no outer column,
    is run once and comes sorted by the column; each run finds the ends of its range by binary search. Keeps the order.

    The plan node's requirement says in which direction the input is sorted, and by which column equal to `column`.
    """

    column: ColumnRef
    bounds: tuple[RangeBound, ...]
    residual: Predicate
    name: ClassVar[str] = "range_lookup"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        plain = TraitSet((SortKey(self.column.id),))
        return (Alternative((plain,), plain), *self._sorted(required, inputs))

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return self._sorted(delivered, inputs)

    def _sorted(self, traits: TraitSet, inputs: Props) -> tuple[Alternative, ...]:
        """Any order that starts with the column will do, and is kept."""
        below = inputs[0]
        order = traits.collation
        if not order or not below.equivalents(order[0].column) >> self.column.id & 1:
            return ()
        if any(not below.columns >> key.column & 1 for key in order):
            return ()
        longer = TraitSet((order[0]._replace(column=self.column.id), *order[1:]))
        return (Alternative((longer,), longer),)

    def describe(self, label: Label) -> str:
        text = " AND ".join(f"{self.column.show(label)} {b.function} {b.value.show(label)}" for b in self.bounds)
        return f"{text} where {show_predicate(self.residual, label)}" if self.residual else text
