"""What schema.sql says of the tables at hand, and what it will say: the keys and foreign keys that their rows fulfil."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from executor.atomic import write_file
from experiments.pipeline.analyze.keys import declared as constraints
from experiments.pipeline.spark.errors import PipelineError
from optimizer.catalog.dataset import SCHEMA_FILE
from optimizer.catalog.declarations import ColumnDeclaration, ForeignKeyDeclaration, TableDeclaration
from optimizer.catalog.findings import Findings
from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.types import type_family
from optimizer.dataset import open_dataset
from optimizer.errors import many


@dataclass(slots=True)
class Declared(TableDeclaration):
    """All names as the tables have them; `left_out`: what was declared and the rows do not fulfil, with the reason."""

    left_out: list[str] = field(default_factory=list)


def declared_tables(
    columns: Mapping[str, list[ColumnDeclaration]], declarations: Mapping[str, TableDeclaration]
) -> dict[str, Declared]:
    """By table name: the constraints whose columns and tables are there. Raises PipelineError for ill-formed foreign keys."""
    result: dict[str, Declared] = {}
    for name, own in columns.items():
        declaration = declarations.get(name.lower(), TableDeclaration(name))
        table = result[name] = Declared(name, own, _names(own, declaration.primary_key) or ())
        for key in (declaration.primary_key, *declaration.unique):
            if (found := _names(own, key)) is None:
                table.left_out.append(f"key ({', '.join(key)}): not all of its columns are imported")
            elif found and found != table.primary_key:
                table.unique.append(found)
        for foreign in declaration.foreign_keys:
            reference = _reference(name, foreign, columns, declarations)
            if isinstance(reference, str):
                table.left_out.append(f"foreign key ({', '.join(foreign.columns)}) of {name}: {reference}")
            else:
                table.foreign_keys.append(reference)
    return result


def _reference(
    name: str, foreign: ForeignKeyDeclaration, columns: Mapping[str, list[ColumnDeclaration]],
    declarations: Mapping[str, TableDeclaration],
) -> ForeignKeyDeclaration | str:  # fmt: skip
    """With the names of the tables, or why not."""
    shown = f"foreign key ({', '.join(foreign.columns)}) of {name}"
    parent = next((other for other in columns if other.lower() == foreign.table.lower()), None)
    if parent is None:
        return f"table {foreign.table} is not imported with it"
    other = declarations.get(parent.lower())
    referenced = foreign.referenced or (other.primary_key if other is not None else ())
    if len(referenced) != len(foreign.columns):
        raise PipelineError(f"{shown} refers to {many(len(referenced), 'column')} of {parent}, not {len(foreign.columns)}")
    here, there = _names(columns[name], foreign.columns), _names(columns[parent], referenced)
    if here is None or there is None:
        return "not all of its columns are imported"
    for a, b in zip(here, there, strict=True):
        mine, theirs = (next(one.type for one in columns[table] if one.name == c) for table, c in ((name, a), (parent, b)))
        if type_family(mine) != type_family(theirs) and {type_family(mine), type_family(theirs)} != {"integer", "decimal"}:
            raise PipelineError(f"{shown}: {a} is {mine}, but {parent}.{b} is {theirs}")
    return ForeignKeyDeclaration(here, parent, there)


def _names(columns: Sequence[ColumnDeclaration], wanted: Sequence[str]) -> tuple[str, ...] | None:
    spelled = {column.name.lower(): column.name for column in columns}
    return tuple(spelled[name.lower()] for name in wanted) if all(name.lower() in spelled for name in wanted) else None


def reference_text(key: ForeignKeyDeclaration) -> str:
    return f"({', '.join(key.columns)}) references {key.table} ({', '.join(key.referenced)})"


def publish_declared(inside: Path, tables: Mapping[str, Declared]) -> None:
    """Writes schema.sql beside the rows, and that they keep what it says: an analysis need not look again."""
    write_file(inside / SCHEMA_FILE, schema_sql(list(tables.values())))
    if any(table.primary_key or table.unique or table.foreign_keys for table in tables.values()):
        made = open_dataset(inside, as_declared=True)
        known = {name: file_identities(table.files) for name, table in made.tables.items()}
        Findings({}).with_found(dict.fromkeys(constraints(made, made.tables), ""), known).write(inside)


def schema_sql(tables: Sequence[Declared]) -> str:
    """CREATE TABLE for each table; foreign keys come after all of them."""
    foreign = [
        f"ALTER TABLE {_quoted(table.name)} ADD FOREIGN KEY ({_quoted(*key.columns)}) "
        f"REFERENCES {_quoted(key.table)} ({_quoted(*key.referenced)});\n"
        for table in tables
        for key in table.foreign_keys
    ]
    return "\n".join(["-- written by planscope data import\n", *map(_create, tables), *foreign])


def _create(table: Declared) -> str:
    lines = [f"{_quoted(one.name)} {one.sql_type}{' NOT NULL' if one.not_null else ''}" for one in table.columns]
    lines += [f"PRIMARY KEY ({_quoted(*table.primary_key)})"] if table.primary_key else []
    lines += [f"UNIQUE ({_quoted(*key)})" for key in table.unique]
    comments = "".join(f"-- left out: {' '.join(text.split())}\n" for text in table.left_out)
    return f"{comments}CREATE TABLE {_quoted(table.name)} (\n  " + ",\n  ".join(lines) + "\n);\n"


def _quoted(*names: str) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)
