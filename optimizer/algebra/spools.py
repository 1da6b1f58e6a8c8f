"""Operators for rows that are computed once and read often: common table expressions.

    With( Spool 1 [A],  Spool 2 [B, may read 1],  body [reads 1 and 2] )        a CteReference reads a spool

A `With` stands at the root of a query and nowhere else but in a Choice there. What a spool holds reads no column of an enclosing
query, so all its readers have the same rows, also where it is volatile and where a reader is evaluated again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_set
from optimizer.algebra.derive_props import key_dependencies, united
from optimizer.algebra.flags import REFERENCE
from optimizer.algebra.logical import Label, LogicalOperator
from optimizer.algebra.props import LogicalProps, minimal_keys


@dataclass(frozen=True, slots=True)
class With(LogicalOperator):
    """The rows of the last input. The others are `Spool`s, each before those that read it."""

    name: ClassVar[str] = "with"
    arity: ClassVar[int | None] = None

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return inputs[-1]

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return inputs[-1]


@dataclass(frozen=True, slots=True)
class Spool(LogicalOperator):
    """The rows of the input, kept for the references to the spool of this number. `title`: what the query calls it. `forced`: it
    may not be computed anew for each reference instead."""

    spool: int
    title: str
    forced: bool = False
    name: ClassVar[str] = "spool"
    arity: ClassVar[int | None] = 1

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return inputs[0]

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return inputs[0]

    def describe(self, label: Label) -> str:
        return f"{self.title} materialized" if self.forced else self.title


@dataclass(frozen=True, slots=True)
class Recursion(LogicalOperator):
    """A recursive common table expression: the rows of the first input, a Spool, then those of the second, which reads spool
    `spool`, again and again until it gives none. Each time the spool holds the rows that came last: the first input's at first.

    Output column i takes column i of each `sources[input]`, as of a SetOp. Without `all` a row that was there before is not new.
    """

    spool: int
    title: str
    all: bool
    columns: tuple[ColumnId, ...]
    sources: tuple[tuple[ColumnId, ...], ...]
    name: ClassVar[str] = "recursion"
    arity: ClassVar[int | None] = 2

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        columns = column_set(self.columns)
        both = zip(self.columns, *self.sources, strict=True)
        not_null = column_set(out for out, a, b in both if inputs[0].not_null >> a & 1 and inputs[1].not_null >> b & 1)
        return LogicalProps(columns, not_null, () if self.all else (columns,))

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return column_set(self.columns)

    def describe(self, label: Label) -> str:
        return f"{self.title} union{' all' if self.all else ''} ({', '.join(label(c) for c in self.columns)})"

    def used_columns(self) -> ColumnSet:
        return column_set(self.sources[0]) | column_set(self.sources[1])


class SpoolColumn(NamedTuple):
    """Column `id` of the query is column `source` of the spool."""

    id: ColumnId
    source: ColumnId


@dataclass(frozen=True, slots=True)
class CteReference(LogicalOperator):
    """The rows of a spool, of its columns only some. `keys` and `not_null` are in this reference's columns, and may name some
    that are no longer read."""

    spool: int
    title: str
    columns: tuple[SpoolColumn, ...]
    keys: tuple[ColumnSet, ...] = ()
    not_null: ColumnSet = 0
    name: ClassVar[str] = "cte_reference"
    flag: ClassVar[int] = REFERENCE
    arity: ClassVar[int | None] = 0

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        columns = self.output_columns(())
        keys = minimal_keys(k for k in self.keys if not k & ~columns)
        dependencies = united(key_dependencies(keys, columns))
        return LogicalProps(columns, self.not_null & columns, keys, dependencies=dependencies)

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return column_set(c.id for c in self.columns)

    def describe(self, label: Label) -> str:
        return f"{self.title} ({', '.join(label(c.id) for c in self.columns)})"
