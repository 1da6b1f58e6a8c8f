"""A script's tables: in a scratch DuckDB, where its statements run, and as planscope datasets, where its queries do."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from executor.session import Session

_WORD = re.compile(r"[A-Za-z_]\w*|\"[^\"]*\"")
_LEFT_OUT = ("set", "pragma", "reset")  # about speed, or a meaning of SQL that is not the default; neither is compared


class ScriptDatabase:
    """One per script. `folder`: where the datasets go. `left_out`: tables and columns, in lower case, of types or collations that
    planscope does not have."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self._folder, self._settings = folder, settings
        self.duckdb = duckdb.connect()
        self.duckdb.execute("set disabled_optimizers = 'join_filter_pushdown'")  # in 1.5.5 it loses rows whose join key is NaN
        self._made = 0
        self.left_out: set[str] = set()
        self._sessions: dict[tuple[str, ...], Session] = {}
        self._names: list[str] | None = None  # of tables and views in reach

    def run(self, sql: str) -> None:
        """A statement of the script in DuckDB. Raises duckdb.Error."""
        if first_word(sql) in _LEFT_OUT:
            return
        self._sessions.clear()
        self._names = None
        self.duckdb.execute(sql)

    def use(self, schema: str) -> None:
        """The tables of another schema, of none when it has not been made."""
        known = {name for (name,) in self.duckdb.execute("select schema_name from duckdb_schemas()").fetchall()}
        self.run(f'use "{schema if schema in known else "main"}"')

    def arrow(self, sql: str) -> pa.Table:
        """The rows of a query. Raises duckdb.Error; pa.ArrowException for a type that Arrow does not have."""
        return self.duckdb.execute(sql).to_arrow_table()

    def session(self, sql: str) -> Session:
        """Planscope over the tables and views that `sql` may mean, with their keys."""
        words = self.words(sql)
        if self._names is None:
            self._names = self._relations()
        names = tuple(name for name in self._names if name.lower() in words)
        known = self._sessions.get(names)
        if known is None:
            known = self._sessions[names] = Session(self._dataset(names), self._settings)
        return known

    @staticmethod
    def words(sql: str) -> set[str]:
        """All that may be a name in `sql`, in lower case."""
        return {word.strip('"').lower() for word in _WORD.findall(sql)}

    def _relations(self) -> list[str]:
        """Tables and views in reach, by name."""
        tables = f"select table_name from duckdb_tables() where {_IN_REACH}"
        views = f"select view_name from duckdb_views() where not internal and {_IN_REACH}"
        return [name for (name,) in self.duckdb.execute(f"{tables} union {views} order by all").fetchall()]

    def _dataset(self, names: tuple[str, ...]) -> Path:
        self._made += 1
        folder = self._folder / str(self._made)
        folder.mkdir()
        pq.write_table(pa.table({"nothing": pa.array([], pa.int32())}), folder / "nothing.parquet")  # a dataset has a table
        written: list[str] = []
        collated = {
            name
            for (name,) in self.duckdb.execute(
                f"select table_name from duckdb_tables() where {_IN_REACH} and regexp_matches(sql, '(?i)\\bcollate\\b')"
            ).fetchall()
        }
        for name in names:
            if name in collated:
                self.left_out.add(name.lower())
                continue
            try:
                relation = self.duckdb.sql(f"from {quoted(name)}")
            except duckdb.Error:  # a view of what is no longer there
                continue
            table = relation.to_arrow_table()
            unsigned = {c for c, type in zip(relation.columns, relation.types, strict=True) if str(type) == "UHUGEINT"}
            kept = table.select([c for c in table.column_names if c not in unsigned and _writable(table.schema.field(c).type)])
            self.left_out |= {c.lower() for c in table.column_names if c not in kept.column_names}
            if kept.num_columns:
                pq.write_table(kept, folder / f"{name}.parquet")
                written.append(name)
            else:
                self.left_out.add(name.lower())
        (folder / "schema.sql").write_text("".join(self._declarations(written)), encoding="utf-8")
        return folder

    def _declarations(self, names: list[str]) -> Iterable[str]:
        """NOT NULL, keys and foreign keys as CREATE TABLE; views have none."""
        columns: defaultdict[str, list[str]] = defaultdict(list)
        for table, column, type, nullable in self.duckdb.execute(
            "select table_name, column_name, data_type, is_nullable from duckdb_columns() "
            f"where {_IN_REACH} order by column_index"
        ).fetchall():
            if _PLAIN_TYPE.fullmatch(type):
                columns[table].append(f"{quoted(column)} {type}{'' if nullable else ' not null'}")
        keys: defaultdict[str, list[str]] = defaultdict(list)
        for table, kind, own, other, others in self.duckdb.execute(
            "select table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names "
            f"from duckdb_constraints() where {_IN_REACH}"
        ).fetchall():
            if kind in ("PRIMARY KEY", "UNIQUE"):
                keys[table].append(f"{kind} ({listed(own)})")
            elif kind == "FOREIGN KEY" and other in names:
                keys[table].append(f"foreign key ({listed(own)}) references {quoted(other)} ({listed(others)})")
        found = self.duckdb.execute(f"select table_name from duckdb_tables() where {_IN_REACH}").fetchall()
        tables = {name for (name,) in found}
        for name in sorted(names, key=lambda n: any(" references " in key for key in keys[n])):
            if name in tables and columns[name]:
                yield f"create table {quoted(name)} ({', '.join(columns[name] + keys[name])});\n"

    def close(self) -> None:
        self.duckdb.close()


_TEMPORARY = "database_name = 'temp'"
_IN_REACH = f"({_TEMPORARY} or (database_name = current_database() and schema_name = current_schema()))"
_PLAIN_TYPE = re.compile(r"U?(TINY|SMALL|BIG)?INT(EGER)?|HUGEINT|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|BOOLEAN|VARCHAR|DATE|TIMESTAMP")


def first_word(sql: str) -> str:
    """The first word, past comments and parentheses, in lower case."""
    found = re.match(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(\w*)", sql, re.DOTALL)
    return found[1].lower() if found is not None else ""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))


def _writable(type: pa.DataType) -> bool:
    """Whether Parquet has the type."""
    try:
        pq.write_table(pa.table({"c": pa.array([], type)}), pa.BufferOutputStream())
    except pa.ArrowException:
        return False
    return True
