"""DuckDB's planning time for queries over empty tables of a schema.

EXPLAIN is what users type, and prints a plan; PREPARE plans and prints nothing. DuckDB is no dependency of planscope: it comes
with the extra `test`.
"""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType
from typing import Any

MISSING = "DuckDB is not installed, so its times are left out; to have them: pip install 'planscope[test]' or pip install duckdb"
_QUOTED_OR_AT = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|\bat\b""", re.IGNORECASE)


def duckdb_module() -> ModuleType | None:
    """DuckDB, None when it is not installed."""
    try:
        return import_module("duckdb")
    except ImportError:
        return None


def for_duckdb(sql: str) -> str:
    """The query without its semicolon, the alias AT in quotes: DuckDB keeps the word for AT TIME ZONE and time travel."""
    return _QUOTED_OR_AT.sub(lambda found: found[1] or '"at"', sql).strip().rstrip(";")


class DuckDB:
    """A database in memory that has the tables of a schema, and no rows."""

    def __init__(self, module: ModuleType, schema: str) -> None:
        self.version: str = module.__version__
        self._connection: Any = module.connect(":memory:")
        self._connection.execute(schema)

    def explain(self, sql: str) -> None:
        self._connection.execute(f"EXPLAIN {sql}").fetchall()

    def prepare(self, sql: str) -> None:
        """A statement of that name that is there already gives way to the new one."""
        self._connection.execute(f"PREPARE query AS {sql}")

    def close(self) -> None:
        self._connection.close()
