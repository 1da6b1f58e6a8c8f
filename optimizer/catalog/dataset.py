"""A folder read into a catalog: files, footers, declarations, and whether they agree."""

import os
import re
from collections.abc import Mapping
from dataclasses import astuple, replace
from pathlib import Path

from optimizer.catalog.arrow_files import arrow_facts
from optimizer.catalog.constraints import apply_declaration, foreign_keys, near
from optimizer.catalog.csv_files import csv_facts
from optimizer.catalog.declarations import ParseSchema, TableDeclaration
from optimizer.catalog.facts import FileFacts, combine, same_columns, with_nanoseconds
from optimizer.catalog.findings import Constraint, Findings, read_findings
from optimizer.catalog.fingerprint import file_identity
from optimizer.catalog.folder import TableFiles, find_tables, passed_over
from optimizer.catalog.order import remembered_order
from optimizer.catalog.parquet_files import parquet_facts
from optimizer.catalog.statistics import stored_statistics, with_statistics
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableStats
from optimizer.catalog.types import fixed_width
from optimizer.errors import CatalogError

SCHEMA_FILE = "schema.sql"


def read_dataset(folder: Path, parse_schema: ParseSchema, name: str | None = None, as_declared: bool = False) -> Catalog:
    """The catalog of a dataset folder, called `name` (default: the folder's name).

    Parquet files are read up to their footers only, CSV and Arrow files as a whole, for their statistics. Declared keys
    and foreign keys are trusted, but for those that an analysis found the data to contradict (`as_declared`: those too); NOT
    NULL is checked. Raises CatalogError for whatever is missing, unreadable or contradictory; one of several tables
    whose files cannot be read, or are not as declared, is `unread` in the catalog; foreign keys that refer to it are left out.
    """
    folder = Path(os.path.expanduser(folder))
    found = find_tables(folder)
    declarations = {d.name.lower(): d for d in _declarations(folder, parse_schema)}
    _check_declared_tables(declarations, found)
    statistics = stored_statistics(folder)
    findings = Findings({}) if as_declared else read_findings(folder)
    identities: dict[str, dict[str, str]] = {}
    tables: dict[str, Table] = {}
    unread: dict[str, str] = {}
    fingerprints: list[str] = []
    for files in found:
        key = files.name.lower()
        declared = declarations.get(key)
        try:
            if (other := tables.pop(key, None)) is not None:
                raise CatalogError(
                    f'{folder} has a table "{other.name}" and a table "{files.name}"\n'
                    "SQL does not tell upper from lower case: rename one of them"
                )
            facts = _facts(files, declared)
            table = _table(folder, files, facts)
            table = table if declared is None else apply_declaration(table, declared)
            identities[table.name] = {f.path.name: file_identity(f.path, f.fingerprint) for f in facts}
            keys = tuple(key for key in table.keys if not findings.against(Constraint(table.name, key), identities))
            table = replace(table, keys=keys)
            if statistics is not None:
                table = with_statistics(table, identities[table.name], statistics)
            table = _checked(table)
        except CatalogError as error:
            unread.setdefault(key, str(error))
        if key in unread:
            continue
        tables[key] = table
        fingerprints += [f"{file.path.relative_to(folder).as_posix()} {file.fingerprint}" for file in facts]
    if not tables:
        raise CatalogError(next(iter(unread.values())))
    for key, declared in declarations.items():
        if key in unread:
            continue
        table = tables[key]
        declared.foreign_keys = [one for one in declared.foreign_keys if one.table.lower() not in unread]
        kept = foreign_keys(table, declared, tables, declarations)
        kept = tuple(k for k in kept if not findings.against(Constraint(table.name, *astuple(k)), identities))
        tables[key] = replace(table, foreign_keys=kept)
    return Catalog(name or folder.resolve().name, tables.values(), fingerprints, unread, passed_over(folder))


def _declarations(folder: Path, parse_schema: ParseSchema) -> list[TableDeclaration]:
    path = folder / SCHEMA_FILE
    return parse_schema(declarations_text(path), path) if path.exists() else []


def declarations_text(path: Path) -> str:
    """The text of a file of declarations. Raises CatalogError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CatalogError(f"{path} is not UTF-8 text") from error
    except OSError as error:
        raise CatalogError(f"cannot read {path}: {error.strerror}") from error


def _check_declared_tables(declarations: Mapping[str, TableDeclaration], found: list[TableFiles]) -> None:
    stored = [files.name for files in found]
    for declared in declarations.values():
        if declared.name.lower() not in (name.lower() for name in stored):
            raise CatalogError(
                f'schema.sql declares table "{declared.name}", but the folder has no file or folder of that name\n'
                f"{near(declared.name, stored)}"
            )


def _facts(files: TableFiles, declared: TableDeclaration | None) -> list[FileFacts]:
    if files.error:
        raise CatalogError(files.error)
    for path in files.files:
        if re.search("[\ud800-\udfff]", str(path)):
            raise CatalogError(f"the name {path} is not UTF-8, as Arrow wants it: rename it")
    if files.format != "csv":
        facts = [(parquet_facts if files.format == "parquet" else arrow_facts)(path) for path in files.files]
        return with_nanoseconds(facts)
    types = {c.name.lower(): c.type for c in declared.columns if c.type is not None} if declared else {}
    return csv_facts(files.files, types)


def _table(folder: Path, files: TableFiles, facts: list[FileFacts]) -> Table:
    """A table as its files describe it, without declarations."""
    columns = same_columns(files.name, facts)
    spelled: dict[str, str] = {}
    for name in (c.name for c in columns):
        other = spelled.get(name.lower())
        if other is not None:
            raise CatalogError(
                f'{files.files[0]}: columns "{other}" and "{name}" differ at most in letter case; SQL cannot tell them apart'
            )
        spelled[name.lower()] = name
    if not columns:
        raise CatalogError(f'table "{files.name}" ({files.files[0]}) has no columns')
    stats = {c.name: combine([(file.rows, file.stats[c.name]) for file in facts], fixed_width(c.type)) for c in columns}
    return Table(
        name=files.name,
        columns=columns,
        order=(facts[0].order if len(facts) == 1 else ()) or remembered_order(folder, files.name, files.files, stats),
        stats=TableStats(sum(f.rows for f in facts), sum(f.bytes for f in facts), stats),
        files=files.files,
        format=files.format,
    )


def _checked(table: Table) -> Table:
    """`table` after a look for NULLs where there must be none; a key of one column gives that column's distinct count."""
    for column in table.columns:
        nulls = table.stats.columns[column.name].nulls
        if not column.nullable and nulls:
            raise CatalogError(
                f"{table.name}.{column.name} is declared NOT NULL, but holds {nulls} NULLs in {table.files[0].name}"
                f"{' and the other parts' if len(table.files) > 1 else ''}\ncorrect schema.sql, or the data"
            )
    figures: dict[str, ColumnStats] = dict(table.stats.columns)
    for key in table.keys:
        if len(key) == 1:
            figures[key[0]] = replace(figures[key[0]], ndv=float(table.stats.rows))
    return replace(table, stats=replace(table.stats, columns=figures))
