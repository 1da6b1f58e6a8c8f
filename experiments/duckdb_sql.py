"""DuckDB, where it is installed, and our queries in its words. It is no dependency: it comes with the extra `test`."""

from importlib import import_module
from types import ModuleType
from typing import Any

from optimizer.catalog.table import Table
from optimizer.errors import Unsupported
from optimizer.sql.parse import tokens_of

MISSING = (
    "DuckDB is not installed, so its figures are left out; to have them: pip install 'planscope[test]' or pip install duckdb"
)
READERS = {"parquet": "read_parquet", "csv": "read_csv"}


def duckdb_module() -> ModuleType | None:
    """DuckDB, None when it is not installed."""
    try:
        return import_module("duckdb")
    except ImportError:
        return None


def for_duckdb(sql: str) -> str:
    """The query without its semicolon, the alias AT in quotes: DuckDB keeps the word for AT TIME ZONE and time travel."""
    parts, place = [], 0
    for token in tokens_of(sql):
        if sql[token.start : token.end + 1].lower() == "at":
            parts += [sql[place : token.start], '"at"']
            place = token.end + 1
    return "".join([*parts, sql[place:]]).strip().rstrip(";")


def reader(table: Table) -> str:
    """DuckDB's function that reads the files of a table. Raises Unsupported where there is none."""
    if table.format not in READERS:
        raise Unsupported(f"{table.name} is stored as {table.format}, which DuckDB does not read")
    return READERS[table.format]


def load_table(connection: Any, table: Table) -> None:
    """Makes a table of DuckDB's with the rows of ours. Raises Unsupported for files that it does not read."""
    files = {"files": [str(file) for file in table.files]}
    connection.execute(f"create table {quoted(table.name)} as from {reader(table)}($files)", files)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
