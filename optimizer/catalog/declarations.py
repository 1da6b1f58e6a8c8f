"""What a dataset's schema.sql declares: column types and constraints, as plain data."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from optimizer.algebra.columns import DataType


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    """`type` is canonical; None for an SQL type that planscope lacks (named by `sql_type`, as written)."""

    name: str
    type: DataType | None
    sql_type: str
    not_null: bool


@dataclass(frozen=True, slots=True)
class ForeignKeyDeclaration:
    """`referenced` empty: the primary key of `table`."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...] = ()


@dataclass(slots=True)
class TableDeclaration:
    """Columns may be named in any letter case. `unique`: UNIQUE constraints and indexes; their columns may be NULL."""

    name: str
    columns: list[ColumnDeclaration] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    foreign_keys: list[ForeignKeyDeclaration] = field(default_factory=list)


ParseSchema = Callable[[str, Path], list[TableDeclaration]]  # (text of a schema.sql, its path for messages)
