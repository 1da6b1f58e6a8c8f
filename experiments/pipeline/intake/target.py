"""The columns that a table of the dataset gets, and its schema.sql: the declarations that its rows fulfil."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.algebra.types import type_name


@dataclass(frozen=True, slots=True)
class Target:
    """`name` and canonical `type` of a column; `required`: NULL is forbidden."""

    name: str
    type: DataType
    required: bool = False


def as_schema(targets: tuple[Target, ...]) -> pa.Schema:
    return pa.schema([pa.field(target.name, target.type, nullable=not target.required) for target in targets])


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key, all names as the tables have them."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]

    def text(self) -> str:
        return f"({', '.join(self.columns)}) references {self.table} ({', '.join(self.referenced)})"


@dataclass(frozen=True, slots=True)
class Declared:
    """What schema.sql says about one table; `left_out`: what it said before and the rows do not fulfil, with the reason."""

    name: str
    targets: tuple[Target, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    references: tuple[Reference, ...] = ()
    left_out: tuple[str, ...] = ()


def schema_sql(tables: Sequence[Declared]) -> str:
    """CREATE TABLE for each table; foreign keys come after all of them."""
    parts = ["-- written by planscope data import\n", *map(_create, tables)]
    for table in tables:
        for key in table.references:
            parts.append(
                f"ALTER TABLE {_quoted(table.name)} ADD FOREIGN KEY ({_list(key.columns)}) "
                f"REFERENCES {_quoted(key.table)} ({_list(key.referenced)});\n"
            )
    return "\n".join(parts)


def _create(table: Declared) -> str:
    lines = [
        f"{_quoted(target.name)} {type_name(target.type)}{' NOT NULL' if target.required else ''}" for target in table.targets
    ]
    if table.primary_key:
        lines.append(f"PRIMARY KEY ({_list(table.primary_key)})")
    lines += [f"UNIQUE ({_list(key)})" for key in table.unique]
    comments = "".join(f"-- left out: {' '.join(text.split())}\n" for text in table.left_out)
    return f"{comments}CREATE TABLE {_quoted(table.name)} (\n  " + ",\n  ".join(lines) + "\n);\n"


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(_quoted, names))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
