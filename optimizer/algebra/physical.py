"""Physical operators of the Arrow engine: payloads that an executor runs, and how traits pass through them.

Two pure functions per operator link its output traits to its inputs' (no copies of expressions are made for them):

- `pass_through(required, output, inputs)`: ways to run the operator so that it delivers `required`, or as near as it gets;
- `derive(delivered, index, output, inputs)`: ways opened by an order that input `index` can deliver anyway.

The caller drops alternatives that do not satisfy the goal and repeated ones. For `ANY`, `pass_through` returns the
operator's cheapest ways to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnId, ColumnSet, DataType, column_set
from optimizer.algebra.logical import AggregateItem, JoinKind, Label, ProjectItem, Scan, SetOpKind, show_predicate
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import ColumnRef, Predicate, Scalar, predicate_columns
from optimizer.algebra.traits import (
    ANY,
    MOST_SPELLINGS,
    Alternative,
    Collation,
    SortKey,
    TraitSet,
    restrict_collation,
    spellings,
)

Props = Sequence[LogicalProps]


class PhysicalOperator:
    """Base of all physical operators."""

    __slots__ = ()
    name: ClassVar[str]

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return () if required.collation else (Alternative((ANY,) * len(inputs)),)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return ()

    def describe(self, label: Label) -> str:
        return ""

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        """Columns the operator must get from its inputs to produce the columns `output`."""
        return output


@dataclass(frozen=True, slots=True)
class TableScan(PhysicalOperator):
    """Reads `scan.columns` of a table's files in stored order, filters and stops as the scan says."""

    scan: Scan
    name: ClassVar[str] = "table_scan"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((), TraitSet(self.scan.order)),)

    def describe(self, label: Label) -> str:
        return self.scan.describe(label)


@dataclass(frozen=True, slots=True)
class ConstantRows(PhysicalOperator):
    """The rows of a VALUES list."""

    columns: tuple[ColumnId, ...]
    types: tuple[DataType, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    name: ClassVar[str] = "constant_rows"

    def describe(self, label: Label) -> str:
        return f"{len(self.rows)} rows ({', '.join(label(c) for c in self.columns)})"


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


_LEFT_ORDER = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)  # each left row's results come together


def _left_order(kind: JoinKind, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
    """A join that goes through its left input once keeps that input's order."""
    if not required.collation:
        return (Alternative((ANY, ANY)),)
    if kind not in _LEFT_ORDER:
        return ()
    orders = spellings(required.collation, inputs[0].columns, output, inputs[0])
    return tuple(Alternative((TraitSet(order), ANY), TraitSet(order)) for order in orders)


@dataclass(frozen=True, slots=True)
class HashJoin(PhysicalOperator):
    """Builds a hash table on one input's keys, probes it with the other's; `residual` is tested on key matches.

    `keys` pairs a scalar of the left input with one of the right; NULL keys match nothing. With the build on the right
    the left input's order can be kept (`delivered` says whether a plan relies on it).
    """

    kind: JoinKind
    keys: tuple[tuple[Scalar, Scalar], ...]
    residual: Predicate
    build_left: bool = False
    name: ClassVar[str] = "hash_join"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if self.build_left:
            return () if required.collation else (Alternative((ANY, ANY)),)
        return _left_order(self.kind, required, output, inputs)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if index or self.build_left or self.kind not in _LEFT_ORDER:
            return ()
        return (Alternative((delivered, ANY), delivered),)

    def describe(self, label: Label) -> str:
        return _show_join(self.kind, self.keys, self.residual, label) + (", build left" if self.build_left else "")

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | _key_columns(self.keys) | predicate_columns(self.residual)


@dataclass(frozen=True, slots=True)
class MergeJoin(PhysicalOperator):
    """Merges two inputs sorted on the join keys, in the same permutation and directions; keeps the left input's order.

    `keys` pairs a left column with a right column. The plan node's requirements say which permutation was chosen.
    """

    kind: JoinKind
    keys: tuple[tuple[ColumnRef, ColumnRef], ...]
    residual: Predicate
    name: ClassVar[str] = "merge_join"

    def _aligned(self, wanted: Collation, side: int, props: LogicalProps) -> list[tuple[Collation, Collation, int]]:
        """Left and right orders whose key permutation follows `wanted` as far as it can; and how many keys it fixed.

        `props` says which columns are equivalent where `wanted` is meant (the output, or input `side`). Several keys may
        fit one wanted column; below the join they are different columns, so each gives an order of its own.
        """
        partial: list[tuple[tuple[int, ...], Collation, Collation]] = [((), (), ())]
        finished: list[tuple[tuple[int, ...], Collation, Collation]] = []
        for key in wanted:
            same = props.equivalents(key.column)
            longer = []
            for used, left, right in partial:
                fitting = [i for i, pair in enumerate(self.keys) if i not in used and pair[side].columns & same]
                if not fitting:
                    finished.append((used, left, right))
                for i in fitting:
                    a, b = self.keys[i]
                    longer.append(((*used, i), (*left, key._replace(column=a.id)), (*right, key._replace(column=b.id))))
            partial = longer[:MOST_SPELLINGS]
        result = []
        for used, left, right in [*partial, *finished]:
            rest = [pair for i, pair in enumerate(self.keys) if i not in used]
            left += tuple(SortKey(a.id) for a, _ in rest)
            right += tuple(SortKey(b.id) for _, b in rest)
            result.append((left, right, len(used)))
        return result

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if self.kind is JoinKind.FULL:
            required = ANY
        result = []
        for left, right, fixed in self._aligned(required.collation, 0, output):
            extra = required.collation[fixed:]
            if not extra:
                delivered = ANY if self.kind is JoinKind.FULL else TraitSet(left)
                result.append(Alternative((TraitSet(left), TraitSet(right)), delivered))
            elif fixed == len(self.keys):  # beyond the keys the left input's order is kept among equal keys
                for more in spellings(extra, inputs[0].columns, output, inputs[0]):
                    result.append(Alternative((TraitSet(left + more), TraitSet(right)), TraitSet(left + more)))
        return tuple(result)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        result = []
        for left, right, fixed in self._aligned(delivered.collation, index, inputs[index]):
            if fixed < len(self.keys):
                continue
            if self.kind is JoinKind.FULL:
                result.append(Alternative((TraitSet(left), TraitSet(right))))
                continue
            result.append(Alternative((TraitSet(left), TraitSet(right)), TraitSet(left)))
            if index == 0 and len(delivered.collation) > fixed:
                longer = TraitSet(left + delivered.collation[fixed:])
                result.append(Alternative((longer, TraitSet(right)), longer))
        return tuple(result)

    def describe(self, label: Label) -> str:
        return _show_join(self.kind, self.keys, self.residual, label)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | _key_columns(self.keys) | predicate_columns(self.residual)


@dataclass(frozen=True, slots=True)
class NestedLoopJoin(PhysicalOperator):
    """Holds the right input and tests the predicate for each left row with each right row; keeps the left order."""

    kind: JoinKind
    predicate: Predicate
    name: ClassVar[str] = "nested_loop_join"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return _left_order(self.kind, required, output, inputs)

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if index or self.kind not in _LEFT_ORDER:
            return ()
        return (Alternative((delivered, ANY), delivered),)

    def describe(self, label: Label) -> str:
        return f"{self.kind.value} on {show_predicate(self.predicate, label)}"

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | predicate_columns(self.predicate)


def _aggregate_columns(keys: tuple[ColumnId, ...], aggregates: tuple[AggregateItem, ...], output: ColumnSet) -> ColumnSet:
    columns = column_set(keys)
    for item in aggregates:
        if output >> item.id & 1:
            columns |= item.call.columns
    return columns


def _show_aggregate(keys: tuple[ColumnId, ...], aggregates: tuple[AggregateItem, ...], label: Label) -> str:
    parts = [f"by {', '.join(label(k) for k in keys)}"] if keys else []
    return "; ".join(parts + [f"{label(i.id)} := {i.call.show(label)}" for i in aggregates])


@dataclass(frozen=True, slots=True)
class HashAggregate(PhysicalOperator):
    """Groups by hashing the keys; without keys, one row over the whole input."""

    keys: tuple[ColumnId, ...]
    aggregates: tuple[AggregateItem, ...]
    name: ClassVar[str] = "hash_aggregate"

    def describe(self, label: Label) -> str:
        return _show_aggregate(self.keys, self.aggregates, label)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _aggregate_columns(self.keys, self.aggregates, output)


@dataclass(frozen=True, slots=True)
class StreamingAggregate(PhysicalOperator):
    """Groups an input in which the rows of a group are adjacent (sorted on the keys in any permutation); keeps that order."""

    keys: tuple[ColumnId, ...]
    aggregates: tuple[AggregateItem, ...]
    name: ClassVar[str] = "streaming_aggregate"

    def _permuted(self, wanted: Collation, props: LogicalProps) -> tuple[Collation, bool, bool]:
        """Keys sorted as `wanted` says as far as it names them; whether all of it was used; whether it fixed every key."""
        below = column_set(self.keys)
        prefix = restrict_collation(wanted, below, props)
        used = len(prefix) == len(wanted)
        known = props.closure(column_set(k.column for k in prefix))
        complete = not below & ~known
        for column in self.keys:
            if not known >> column & 1:
                prefix += (SortKey(column),)
                known = props.closure(known | 1 << column)
        return prefix, used, complete

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        order, used, _ = self._permuted(required.collation, inputs[0])
        return (Alternative((TraitSet(order),), TraitSet(order)),) if used else ()

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        order, _, complete = self._permuted(delivered.collation, inputs[0])
        return (Alternative((TraitSet(order),), TraitSet(order)),) if complete else ()

    def describe(self, label: Label) -> str:
        return _show_aggregate(self.keys, self.aggregates, label)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _aggregate_columns(self.keys, self.aggregates, output)


@dataclass(frozen=True, slots=True)
class Sort(PhysicalOperator):
    """The collation enforcer: sorts the rows of its own group. Never a member of a group, only a move between goals."""

    order: Collation
    name: ClassVar[str] = "sort"

    def describe(self, label: Label) -> str:
        return ", ".join(k.show(label) for k in self.order)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | column_set(k.column for k in self.order)


@dataclass(frozen=True, slots=True)
class TopK(PhysicalOperator):
    """Sorts by `order` but keeps only `offset + count` rows while doing so."""

    order: Collation
    offset: int
    count: int
    name: ClassVar[str] = "top_k"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((ANY,), TraitSet(self.order)),)

    def describe(self, label: Label) -> str:
        return _show_limit(self.order, self.offset, self.count, label)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | column_set(k.column for k in self.order)


@dataclass(frozen=True, slots=True)
class LimitRows(PhysicalOperator):
    """Passes rows `offset` … `offset + count` of an input that comes in `order`, then stops it. `count` None: no end."""

    order: Collation
    offset: int
    count: int | None
    name: ClassVar[str] = "limit_rows"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        own = Alternative((TraitSet(self.order),), TraitSet(self.order))
        longer = required.collation
        # ties of `order` may be cut anywhere, so an input sorted more finely is as good; another order is not
        if len(longer) > len(self.order) and longer[: len(self.order)] == self.order and self.order:
            return own, Alternative((required,), required)
        return (own,)

    def describe(self, label: Label) -> str:
        return _show_limit(self.order, self.offset, self.count, label)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return output | column_set(k.column for k in self.order)


@dataclass(frozen=True, slots=True)
class UnionAll(PhysicalOperator):
    """The rows of all inputs, one after the other, under the output's columns."""

    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]
    name: ClassVar[str] = "union_all"

    def describe(self, label: Label) -> str:
        return ", ".join(label(c) for c in self.columns)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _setop_columns(self.columns, self.sources, output)


@dataclass(frozen=True, slots=True)
class HashSetOp(PhysicalOperator):
    """INTERSECT or EXCEPT of two inputs by hashing whole rows (NULL = NULL); `all`: min, or difference, of multiplicities."""

    kind: SetOpKind
    all: bool
    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]
    name: ClassVar[str] = "hash_set_op"

    def describe(self, label: Label) -> str:
        return f"{self.kind.value}{' all' if self.all else ''} ({', '.join(label(c) for c in self.columns)})"

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        return _setop_columns(self.columns, self.sources, column_set(self.columns))  # every column decides membership


def _setop_columns(columns: tuple[ColumnId, ...], sources: tuple[tuple[ColumnId, ...], ...], output: ColumnSet) -> ColumnSet:
    used = 0
    for source in sources:
        used |= column_set(below for out, below in zip(columns, source, strict=True) if output >> out & 1)
    return used


def _key_columns(keys: Sequence[tuple[Scalar, Scalar]]) -> ColumnSet:
    columns = 0
    for a, b in keys:
        columns |= a.columns | b.columns
    return columns


def _show_join(kind: JoinKind, keys: Sequence[tuple[Scalar, Scalar]], residual: Predicate, label: Label) -> str:
    text = f"{kind.value} on " + " AND ".join(f"{a.show(label)} = {b.show(label)}" for a, b in keys)
    return f"{text} where {show_predicate(residual, label)}" if residual else text


def _show_limit(order: Collation, offset: int, count: int | None, label: Label) -> str:
    parts = ["all rows" if count is None else f"{count} rows"]
    if offset:
        parts.append(f"after {offset}")
    if order:
        parts.append("by " + ", ".join(k.show(label) for k in order))
    return " ".join(parts)
