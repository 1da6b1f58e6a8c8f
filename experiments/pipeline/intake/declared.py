"""What schema.sql says of the tables at hand, and what it will say: the keys and foreign keys that their rows fulfil."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.pipeline.intake.resolve import Target
from experiments.pipeline.spark.errors import PipelineError
from optimizer.algebra.types import type_name
from optimizer.catalog.declarations import ForeignKeyDeclaration, TableDeclaration
from optimizer.catalog.types import type_family


@dataclass(frozen=True, slots=True)
class Declared:
    """One table, all names as the tables have them; `left_out`: what was declared and the rows do not fulfil, with the reason."""

    name: str
    targets: tuple[Target, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    references: tuple[ForeignKeyDeclaration, ...] = ()
    left_out: tuple[str, ...] = ()

    def without(self, dangling: Sequence[Mapping[str, Any]]) -> Declared:
        """Without the foreign keys that rows break, as `keys.check_constraints` tells of them."""
        broken = [one["key"] for one in dangling]
        kept = tuple(key for key in self.references if reference_text(key) not in broken)
        reasons = (f"foreign key {one['key']}: {one['rows']:,} rows refer to no row, first {one['first']}" for one in dangling)
        return replace(self, references=kept, left_out=(*self.left_out, *reasons))


def declared_tables(
    targets: Mapping[str, tuple[Target, ...]], declarations: Mapping[str, TableDeclaration]
) -> dict[str, Declared]:
    """By table name: the constraints whose columns and tables are there. Raises PipelineError for ill-formed foreign keys."""
    result: dict[str, Declared] = {}
    for name, columns in targets.items():
        declaration = declarations.get(name.lower(), TableDeclaration(name))
        left_out: list[str] = []
        primary, *unique = [_names(columns, key) for key in (declaration.primary_key, *declaration.unique)]
        for key, found in zip((declaration.primary_key, *declaration.unique), (primary, *unique), strict=True):
            left_out += [f"key ({', '.join(key)}): not all of its columns are imported"] if found is None else []
        references = []
        for foreign in declaration.foreign_keys:
            reference = _reference(name, foreign, targets, declarations)
            if isinstance(reference, str):
                left_out.append(f"foreign key ({', '.join(foreign.columns)}) of {name}: {reference}")
            else:
                references.append(reference)
        kept = tuple(key for key in unique if key and key != primary)
        result[name] = Declared(name, columns, primary or (), kept, tuple(references), tuple(left_out))
    return result


def _reference(
    name: str,
    foreign: ForeignKeyDeclaration,
    targets: Mapping[str, tuple[Target, ...]],
    declarations: Mapping[str, TableDeclaration],
) -> ForeignKeyDeclaration | str:
    """With the names of the tables, or why not."""
    shown = f"foreign key ({', '.join(foreign.columns)}) of {name}"
    parent = next((other for other in targets if other.lower() == foreign.table.lower()), None)
    if parent is None:
        return f"table {foreign.table} is not imported with it"
    other = declarations.get(parent.lower())
    referenced = foreign.referenced or (other.primary_key if other is not None else ())
    if len(referenced) != len(foreign.columns):
        raise PipelineError(f"{shown} refers to {len(referenced)} columns of {parent}, not {len(foreign.columns)}")
    here, there = _names(targets[name], foreign.columns), _names(targets[parent], referenced)
    if here is None or there is None:
        return "not all of its columns are imported"
    for a, b in zip(here, there, strict=True):
        mine, theirs = (next(t.type for t in targets[table] if t.name == c) for table, c in ((name, a), (parent, b)))
        if type_family(mine) != type_family(theirs) and {type_family(mine), type_family(theirs)} != {"integer", "decimal"}:
            raise PipelineError(f"{shown}: {a} is {mine}, but {parent}.{b} is {theirs}")
    return ForeignKeyDeclaration(here, parent, there)


def _names(columns: Sequence[Target], wanted: Sequence[str]) -> tuple[str, ...] | None:
    spelled = {column.name.lower(): column.name for column in columns}
    return tuple(spelled[name.lower()] for name in wanted) if all(name.lower() in spelled for name in wanted) else None


def reference_text(key: ForeignKeyDeclaration) -> str:
    return f"({', '.join(key.columns)}) references {key.table} ({', '.join(key.referenced)})"


def schema_sql(tables: Sequence[Declared]) -> str:
    """CREATE TABLE for each table; foreign keys come after all of them."""
    foreign = [
        f"ALTER TABLE {_quoted(table.name)} ADD FOREIGN KEY ({_quoted(*key.columns)}) "
        f"REFERENCES {_quoted(key.table)} ({_quoted(*key.referenced)});\n"
        for table in tables
        for key in table.references
    ]
    return "\n".join(["-- written by planscope data import\n", *map(_create, tables), *foreign])


def _create(table: Declared) -> str:
    lines = [f"{_quoted(one.name)} {type_name(one.type)}{' NOT NULL' if one.required else ''}" for one in table.targets]
    lines += [f"PRIMARY KEY ({_quoted(*table.primary_key)})"] if table.primary_key else []
    lines += [f"UNIQUE ({_quoted(*key)})" for key in table.unique]
    comments = "".join(f"-- left out: {' '.join(text.split())}\n" for text in table.left_out)
    return f"{comments}CREATE TABLE {_quoted(table.name)} (\n  " + ",\n  ".join(lines) + "\n);\n"


def _quoted(*names: str) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)
