"""schema.sql into declarations: CREATE TABLE, ALTER TABLE … ADD constraint, CREATE UNIQUE INDEX.

Read: column types, NOT NULL, PRIMARY KEY, UNIQUE, FOREIGN KEY and REFERENCES. Passed over, since planning does not use
them: DEFAULT, CHECK, COMMENT and the like, other indexes. Any other statement is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from optimizer.algebra.columns import DataType
from optimizer.algebra.types import HUGEINT
from optimizer.catalog.declarations import ColumnDeclaration, ForeignKeyDeclaration, TableDeclaration
from optimizer.errors import CatalogError

COMMON_TYPES: dict[str, DataType] = {  # by the parser's names, in queries too
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "INT128": pa.decimal128(38, 0), "FLOAT": pa.float32(), "DOUBLE": pa.float64(),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR"), pa.string()), "DATE": pa.date32(),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), pa.timestamp("us")),
}  # fmt: skip
_TYPES = {
    **COMMON_TYPES, "UTINYINT": pa.int16(), "USMALLINT": pa.int32(), "UINT": pa.int64(), "UBIGINT": HUGEINT, "SERIAL": pa.int32(),
    "BIGSERIAL": pa.int64(), **dict.fromkeys(("VARBINARY", "BINARY", "BLOB"), pa.binary()),
    "TIMESTAMPTZ": pa.timestamp("us"),  # in UTC, as all that is stored with a zone
}  # fmt: skip


def parse_schema(text: str, path: Path) -> list[TableDeclaration]:
    """The tables a schema.sql declares, in its order; `path` is for messages.

    Raises CatalogError: not SQL, another kind of statement, a table or column declared twice, a constraint on a table or
    column that is not declared before it.
    """
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.ERROR)  # a statement sqlglot cannot read is our error below, not its warning
    try:
        statements = sqlglot.parse(text, read="duckdb")
    except SqlglotError as error:
        first = getattr(error, "errors", None) or [{}]
        where = f", line {first[0]['line']}" if "line" in first[0] else ""
        raise CatalogError(f"{path}{where}: {first[0].get('description') or str(error)}") from error
    finally:
        logger.setLevel(level)
    tables: dict[str, TableDeclaration] = {}
    for statement in statements:
        if statement is not None:
            _Reader(path, tables).read(statement)
    return list(tables.values())


class _Reader:
    """Adds one statement's declarations to `tables` (by lower-case name)."""

    def __init__(self, path: Path, tables: dict[str, TableDeclaration]) -> None:
        self.path, self.tables = path, tables

    def read(self, statement: exp.Expression) -> None:
        match statement:
            case exp.Semicolon():  # a comment behind the last statement
                return
            case exp.Create(kind="TABLE", this=exp.Schema() as schema) if not statement.expression:
                self._create_table(schema)
            case exp.Create(kind="INDEX", this=exp.Index() as index):
                if statement.args.get("unique"):
                    self._unique_index(index)
            case exp.Alter(kind="TABLE"):
                table = self._table(statement.this)
                for action in statement.args["actions"]:
                    if not isinstance(action, exp.AddConstraint):
                        raise self._error(f"only ADD constraint is read of ALTER TABLE, not: {action.sql('duckdb')}")
                    for constraint in action.expressions:
                        self._constraint(table, constraint)
            case _:
                raise self._error(
                    f"cannot read: {_shorten(statement.sql('duckdb'))}\n"
                    "a schema.sql has CREATE TABLE name (column type …), ALTER TABLE … ADD constraint and CREATE INDEX only"
                )

    def _create_table(self, schema: exp.Schema) -> None:
        table = TableDeclaration(schema.this.name)
        if self.tables.setdefault(table.name.lower(), table) is not table:
            raise self._error(f'table "{table.name}" is declared twice')
        definitions = [part for part in schema.expressions if isinstance(part, exp.ColumnDef)]
        for definition in definitions:
            if any(column.name.lower() == definition.name.lower() for column in table.columns):
                raise self._error(f'column "{definition.name}" of table {table.name} is declared twice')
            table.columns.append(self._column(definition))
        for definition in definitions:
            for constraint in definition.args.get("constraints") or ():
                self._column_constraint(table, definition.name, constraint.args["kind"])
        for part in schema.expressions:
            if not isinstance(part, exp.ColumnDef):
                self._constraint(table, part)

    def _column(self, definition: exp.ColumnDef) -> ColumnDeclaration:
        kind = definition.args.get("kind")
        if kind is None:
            raise self._error(f'column "{definition.name}" has no type')
        kinds = [constraint.args["kind"] for constraint in definition.args.get("constraints") or ()]
        not_null = any(isinstance(k, exp.NotNullColumnConstraint) and not k.args.get("allow_null") for k in kinds)
        return ColumnDeclaration(definition.name, _data_type(kind), kind.sql("duckdb"), not_null)

    def _column_constraint(self, table: TableDeclaration, column: str, kind: exp.Expression) -> None:
        match kind:
            case exp.PrimaryKeyColumnConstraint():
                self._primary_key(table, (column,))
            case exp.UniqueColumnConstraint():
                table.unique.append((column,))
            case exp.Reference():
                table.foreign_keys.append(_reference((column,), kind))

    def _constraint(self, table: TableDeclaration, constraint: exp.Expression) -> None:
        match constraint:
            case exp.Constraint():
                for inner in constraint.expressions:
                    self._constraint(table, inner)
            case exp.PrimaryKey():
                self._primary_key(table, self._columns(table, constraint.expressions))
            case exp.UniqueColumnConstraint(this=exp.Schema() as schema):
                table.unique.append(self._columns(table, schema.expressions))
            case exp.ForeignKey():
                columns = self._columns(table, constraint.expressions)
                table.foreign_keys.append(_reference(columns, constraint.args["reference"]))
            case exp.CheckColumnConstraint():
                pass
            case _:
                raise self._error(f"cannot read this part of table {table.name}: {_shorten(constraint.sql('duckdb'))}")

    def _unique_index(self, index: exp.Index) -> None:
        params = index.args["params"]
        keys = [key.this for key in params.args["columns"]]
        if params.args.get("where") is None and all(isinstance(key, exp.Column) for key in keys):
            table = self._table(index.args["table"])
            table.unique.append(self._columns(table, keys))

    def _primary_key(self, table: TableDeclaration, columns: tuple[str, ...]) -> None:
        if table.primary_key:
            raise self._error(f"table {table.name} has two primary keys")
        table.primary_key = columns
        inside = {column.lower() for column in columns}
        table.columns = [replace(c, not_null=c.not_null or c.name.lower() in inside) for c in table.columns]

    def _table(self, named: exp.Expression) -> TableDeclaration:
        table = self.tables.get(named.name.lower())
        if table is None:
            raise self._error(f'table "{named.name}" is used before its CREATE TABLE')
        return table

    def _columns(self, table: TableDeclaration, names: list[exp.Expression]) -> tuple[str, ...]:
        known = {column.name.lower() for column in table.columns}
        columns = tuple(_column_names(names))
        for column in columns:
            if column.lower() not in known:
                raise self._error(f'a constraint of table {table.name} names "{column}", which is not a column of it')
        if len({column.lower() for column in columns}) < len(columns):
            raise self._error(f"a constraint of table {table.name} names a column twice: {', '.join(columns)}")
        return columns

    def _error(self, message: str) -> CatalogError:
        return CatalogError(f"{self.path}: {message}")


def _column_names(names: list[exp.Expression]) -> Iterator[str]:
    for name in names:
        yield name.this.name if isinstance(name, exp.Ordered) else name.name


def _reference(columns: tuple[str, ...], reference: exp.Expression) -> ForeignKeyDeclaration:
    target = reference.this
    if isinstance(target, exp.Schema):
        return ForeignKeyDeclaration(columns, target.this.name, tuple(_column_names(target.expressions)))
    return ForeignKeyDeclaration(columns, target.name)


def _data_type(kind: exp.DataType) -> DataType | None:
    """The canonical type of an SQL type; None when planscope has none."""
    if kind.this.name == "DECIMAL":
        sizes = [int(size.name) for size in kind.expressions]
        precision, scale = sizes[0] if sizes else 18, sizes[1] if len(sizes) > 1 else 0
        return pa.decimal128(precision, scale) if 0 < precision <= 38 and 0 <= scale <= precision else None
    return _TYPES.get(kind.this.name)


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
