"""Logical operators: immutable, hashable payloads without inputs.

An operator says what to compute; its inputs are the trees or groups beside it (`trees.py`, `memo/`). Each computes the
logical properties of its output from those of its inputs (`derive_props`), and prints its payload (`describe`).
Physical operators are other types (`physical/`), so a rule that names a logical operator can never bind a physical one.

They stand in this one file, to be read as a list; joins are in `logical_joins`, those that have no order yet in `join_graph` and
`region_graph`, what is computed once in `spools`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from optimizer.algebra.aggregate_functions import NEVER_NULL
from optimizer.algebra.columns import ColumnId, ColumnSet, DataType, column_set, union
from optimizer.algebra.derive_props import (
    aggregated_props,
    filtered_props,
    kept_props,
    key_dependencies,
    projected_props,
    renamed_props,
    united,
)
from optimizer.algebra.flags import CHOICE, GROUPED, LIMITED, LISTED, PROJECTED
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.props import LogicalProps, minimal_keys
from optimizer.algebra.scalars import AggregateCall, ColumnRef, Predicate, Scalar, WindowCall
from optimizer.algebra.series import Series
from optimizer.algebra.traits import Collation
from optimizer.errors import many

Label = Callable[[ColumnId], str]


class LogicalOperator:
    """Base of all logical operators; `arity` is the number of inputs, None for any number, `flag` one of `flags` or 0;
    `unordered`: whether it stands for joins whose order is not chosen yet, so that no rule implements it."""

    __slots__ = ()
    name: ClassVar[str]
    arity: ClassVar[int | None]
    flag: ClassVar[int] = 0
    unordered: ClassVar[bool] = False

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        raise AssertionError(f"{self.name} does not say what it produces")

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet | None:
        """The columns produced over inputs with these columns, where that is quick to say; None: `derive_props` knows."""
        return None

    def describe(self, label: Label) -> str:
        """The payload in words, without the operator's name and inputs."""
        return ""

    def used_columns(self) -> ColumnSet:
        """Input columns that the payload itself reads: at least those that its scalars do."""
        return union(scalar.columns for scalar in self.scalars())

    def scalars(self) -> tuple[Scalar, ...]:
        """Every scalar of the payload."""
        return ()

    def outer_columns(self) -> ColumnSet:
        """Columns of enclosing queries that the payload itself reads."""
        return union(scalar.outer for scalar in self.scalars())


def show_predicate(predicate: Predicate, label: Label) -> str:
    return " AND ".join(conjunct.show(label) for conjunct in predicate) if predicate else "TRUE"


class ScanColumn(NamedTuple):
    """Column `id` of the query is column `source` of the table's files."""

    id: ColumnId
    source: str


class ScanForeignKey(NamedTuple):
    """Where none of `columns` is NULL, some row of `table` has the same values in its stored columns `referenced`."""

    columns: tuple[ColumnId, ...]
    table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scan(LogicalOperator):
    """Rows of a base table, only `columns`, only those where `predicate` is TRUE, of these at most `limit` after `offset` (any).

    `keys`, `not_null` and `foreign_keys` come from the catalog, in the query's column ids, and may name columns that the scan
    no longer reads, though foreign keys none that the query never names; `order` is an order the stored rows have. The predicate
    may read only `columns`.
    """

    table: str
    alias: str
    columns: tuple[ScanColumn, ...]
    keys: tuple[ColumnSet, ...] = ()
    not_null: ColumnSet = 0
    order: Collation = ()
    predicate: Predicate = ()
    limit: int | None = None
    foreign_keys: tuple[ScanForeignKey, ...] = ()
    offset: int = 0
    name: ClassVar[str] = "scan"
    arity: ClassVar[int | None] = 0

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        columns = self.output_columns(())
        keys = minimal_keys([k for k in self.keys if not k & ~columns])
        props = LogicalProps(columns, self.not_null & columns, keys, dependencies=united(key_dependencies(keys, columns)))
        return filtered_props(props, self.predicate)

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return column_set([c.id for c in self.columns])

    def scalars(self) -> tuple[Scalar, ...]:
        return self.predicate

    def describe(self, label: Label, reads: bool = False) -> str:
        """With `reads` it says which columns it reads, too."""
        text = self.table if self.alias == self.table else f"{self.table} as {self.alias}"
        if reads and self.columns:
            text += f" ({', '.join(label(column.id) for column in self.columns)})"
        if self.predicate:
            text += f" [{show_predicate(self.predicate, label)}]"
        if self.limit is not None:
            text += f" limit {self.limit}"
        return f"{text} after {self.offset}" if self.offset else text

    def used_columns(self) -> ColumnSet:
        return 0  # its predicate reads what it makes


@dataclass(frozen=True, slots=True)
class Values(LogicalOperator):
    """Constant rows; each item is a scalar without columns (it may read those of an enclosing query)."""

    columns: tuple[ColumnId, ...]
    types: tuple[DataType, ...]
    rows: Sequence[tuple[Scalar, ...]]
    name: ClassVar[str] = "values"
    flag: ClassVar[int] = LISTED
    arity: ClassVar[int | None] = 0

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        rows = () if isinstance(self.rows, Series) else self.rows
        not_null = column_set(c for i, c in enumerate(self.columns) if all(is_not_null(row[i], 0) for row in rows))
        keys = (0,) if len(self.rows) <= 1 else ()
        constants = column_set(self.columns) if len(self.rows) <= 1 else 0
        return LogicalProps(column_set(self.columns), not_null, keys, constants)

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return column_set(self.columns)

    def scalars(self) -> tuple[Scalar, ...]:
        return () if isinstance(self.rows, Series) else tuple(item for row in self.rows for item in row)

    def describe(self, label: Label) -> str:
        return f"{many(len(self.rows), 'row')} ({', '.join(label(c) for c in self.columns)})"


@dataclass(frozen=True, slots=True)
class Filter(LogicalOperator):
    """Rows of the input where every conjunct is TRUE."""

    predicate: Predicate
    name: ClassVar[str] = "filter"
    arity: ClassVar[int | None] = 1

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return filtered_props(inputs[0], self.predicate)

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return inputs[0]

    def scalars(self) -> tuple[Scalar, ...]:
        return self.predicate

    def describe(self, label: Label) -> str:
        return show_predicate(self.predicate, label)


class ProjectItem(NamedTuple):
    """Output column `id` is `value`; a column passed through keeps its id."""

    id: ColumnId
    value: Scalar


@dataclass(frozen=True, slots=True)
class Project(LogicalOperator):
    """One output row per input row, with exactly the columns of `items`."""

    items: tuple[ProjectItem, ...]
    name: ClassVar[str] = "project"
    arity: ClassVar[int | None] = 1
    flag: ClassVar[int] = PROJECTED

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return projected_props(inputs[0], dict(self.items))

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return column_set([item.id for item in self.items])

    def scalars(self) -> tuple[Scalar, ...]:
        return tuple([item.value for item in self.items])

    @property
    def narrows(self) -> bool:
        """Whether it only leaves columns out."""
        return all(isinstance(value, ColumnRef) and value.id == id for id, value in self.items)

    def describe(self, label: Label) -> str:
        return ", ".join(
            label(i.id) if isinstance(i.value, ColumnRef) and i.value.id == i.id else f"{label(i.id)} := {i.value.show(label)}"
            for i in self.items
        )


class AggregateItem(NamedTuple):
    id: ColumnId
    call: AggregateCall


@dataclass(frozen=True, slots=True)
class Aggregate(LogicalOperator):
    """One row per distinct combination of the key columns (NULL = NULL) with the aggregates over its rows.

    Without keys there is exactly one row, also over no input. DISTINCT is an Aggregate without aggregates.
    """

    keys: tuple[ColumnId, ...]
    aggregates: tuple[AggregateItem, ...]
    name: ClassVar[str] = "aggregate"
    arity: ClassVar[int | None] = 1
    flag: ClassVar[int] = GROUPED

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        aggregates = column_set(item.id for item in self.aggregates)
        counts = column_set(item.id for item in self.aggregates if item.call.function == "count")
        return aggregated_props(inputs[0], column_set(self.keys), aggregates, counts)

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return column_set(self.keys) | column_set(item.id for item in self.aggregates)

    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(item.call for item in self.aggregates)

    def describe(self, label: Label) -> str:
        parts = [f"by {', '.join(label(k) for k in self.keys)}"] if self.keys else []
        parts += [f"{label(i.id)} := {i.call.show(label)}" for i in self.aggregates]
        return "; ".join(parts)

    def used_columns(self) -> ColumnSet:
        return column_set(self.keys) | union(item.call.columns for item in self.aggregates)


@dataclass(frozen=True, slots=True)
class Limit(LogicalOperator):
    """Rows `offset` … `offset + count` of the input sorted by `order` (any order where that leaves a choice); count None: all."""

    order: Collation
    offset: int
    count: int | None
    name: ClassVar[str] = "limit"
    arity: ClassVar[int | None] = 1
    flag: ClassVar[int] = LIMITED

    def __post_init__(self) -> None:
        if self.offset < 0 or (self.count or 0) < 0:
            raise ValueError(f"a limit of {self.count} rows after {self.offset}: neither is negative")

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        below = inputs[0]
        if self.count is not None and self.count <= 1:
            return LogicalProps(below.columns, below.not_null, (0,), below.columns, below.equivalences)
        return below

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return inputs[0]

    def describe(self, label: Label) -> str:
        parts = ["all rows" if self.count is None else many(self.count, "row")]
        if self.offset:
            parts.append(f"after {self.offset}")
        if self.order:
            parts.append("by " + ", ".join(k.show(label) for k in self.order))
        return " ".join(parts)

    def used_columns(self) -> ColumnSet:
        return column_set(k.column for k in self.order)


@dataclass(frozen=True, slots=True)
class SetOp(LogicalOperator):
    """UNION, INTERSECT or EXCEPT; `all` keeps duplicates (bag semantics). NULL equals NULL.

    Output column i takes column i of each `sources[input]`; types are equal by then. Two inputs, for union two or more.
    """

    kind: SetOpKind
    all: bool
    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]
    name: ClassVar[str] = "setop"
    arity: ClassVar[int | None] = None

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        columns = column_set(self.columns)
        per_input = [
            column_set(out for out, column in zip(self.columns, source, strict=True) if props.not_null >> column & 1)
            for source, props in zip(self.sources, inputs, strict=True)
        ]
        not_null = per_input[0]
        for other in per_input[1:]:
            if self.kind is SetOpKind.UNION:
                not_null &= other
            elif self.kind is SetOpKind.INTERSECT:
                not_null |= other
        keys = () if self.all else (columns,)
        if self.kind is SetOpKind.UNION:
            return LogicalProps(columns, not_null, keys)
        first = renamed_props(inputs[0], self.sources[0], self.columns)  # the rows are some of the first input's
        return LogicalProps(
            columns, not_null, minimal_keys((*keys, *first.keys)), first.constants, first.equivalences, first.dependencies
        )

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return column_set(self.columns)

    def describe(self, label: Label) -> str:
        return f"{self.kind.value}{' all' if self.all else ''} ({', '.join(label(c) for c in self.columns)})"

    def used_columns(self) -> ColumnSet:
        return union(map(column_set, self.sources))


class GroupingKey(NamedTuple):
    """Output column `id` is the input column `source` in the grouping sets that have it, NULL in the others."""

    id: ColumnId
    source: ColumnId


@dataclass(frozen=True, slots=True)
class GroupingSets(LogicalOperator):
    """Several groupings of the same rows, one after the other: for each of `sets` what an Aggregate by its keys gives.

    A set is a set of output key ids. The empty set gives exactly one row, also over no input; a set that is listed twice
    gives its rows twice. `number` is an int64 column that holds the position of the row's set in `sets`.
    """

    keys: tuple[GroupingKey, ...]
    sets: tuple[ColumnSet, ...]
    aggregates: tuple[AggregateItem, ...]
    number: ColumnId
    name: ClassVar[str] = "grouping_sets"
    arity: ClassVar[int | None] = 1

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        everywhere = column_set(k.id for k in self.keys)
        for each in self.sets:
            everywhere &= each
        not_null = column_set(k.id for k in self.keys if inputs[0].not_null >> k.source & 1) & everywhere
        counts = column_set(item.id for item in self.aggregates if item.call.function == "count")
        columns = self.output_columns(())
        key = column_set(k.id for k in self.keys) | 1 << self.number
        return LogicalProps(
            columns, not_null | counts | 1 << self.number, (key,), dependencies=united(key_dependencies([key], columns))
        )

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        columns = column_set(k.id for k in self.keys) | column_set(item.id for item in self.aggregates)
        return columns | 1 << self.number

    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(item.call for item in self.aggregates)

    def describe(self, label: Label) -> str:
        sets = ", ".join("(" + ", ".join(label(k.id) for k in self.keys if s >> k.id & 1) + ")" for s in self.sets)
        return "; ".join([f"by {sets}", *(f"{label(i.id)} := {i.call.show(label)}" for i in self.aggregates)])

    def used_columns(self) -> ColumnSet:
        return column_set(k.source for k in self.keys) | union(item.call.columns for item in self.aggregates)


class WindowItem(NamedTuple):
    id: ColumnId
    call: WindowCall


@dataclass(frozen=True, slots=True)
class Window(LogicalOperator):
    """Each input row with the values of `items` added, computed within its partition (NULL = NULL) sorted by `order`."""

    partition: tuple[ColumnId, ...]
    order: Collation
    items: tuple[WindowItem, ...]
    name: ClassVar[str] = "window"
    arity: ClassVar[int | None] = 1

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        below = inputs[0]
        added = column_set(item.id for item in self.items)
        not_null = column_set(item.id for item in self.items if item.call.function in NEVER_NULL)
        number = next((item.id for item in self.items if item.call.function == "row_number"), None)
        keys = below.keys if number is None else (*below.keys, column_set(self.partition) | 1 << number)
        columns = below.columns | added
        dependencies = united((*below.dependencies, *key_dependencies(minimal_keys(keys), columns)))
        return LogicalProps(
            columns, below.not_null | not_null, minimal_keys(keys), below.constants, below.equivalences, dependencies
        )

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return inputs[0] | column_set(item.id for item in self.items)

    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(item.call for item in self.items)

    def describe(self, label: Label) -> str:
        parts = [f"by {', '.join(label(c) for c in self.partition)}"] if self.partition else []
        if self.order:
            parts.append("order " + ", ".join(k.show(label) for k in self.order))
        return "; ".join([*parts, *(f"{label(i.id)} := {i.call.show(label)}" for i in self.items)])

    def used_columns(self) -> ColumnSet:
        sorted_by = column_set(self.partition) | column_set(k.column for k in self.order)
        return sorted_by | union(item.call.columns for item in self.items)


@dataclass(frozen=True, slots=True)
class Choice(LogicalOperator):
    """Trees that give the same rows in the `columns`; in the memo they are one group, and the search picks one."""

    columns: ColumnSet
    name: ClassVar[str] = "choice"
    flag: ClassVar[int] = CHOICE
    arity: ClassVar[int | None] = None

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return kept_props(inputs[0], self.columns)

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return self.columns
