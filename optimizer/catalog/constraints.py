"""What schema.sql declares of a table, checked against the columns its files have."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from optimizer.algebra.types import is_opaque, type_name
from optimizer.catalog.declarations import ForeignKeyDeclaration, TableDeclaration
from optimizer.catalog.table import ForeignKey, Table, TableColumn
from optimizer.catalog.types import type_family
from optimizer.errors import CatalogError, many, nearest


def near(name: str, known: Sequence[str]) -> str:
    """`it has a, b and 3 more; did you mean "a"?`"""
    shown = ", ".join(known[:6]) + (f" and {len(known) - 6} more" if len(known) > 6 else "")
    close = nearest(name, known)
    return f"there is {shown or 'none'}" + (f'; did you mean "{close}"?' if close else "")


def apply_declaration(table: Table, declared: TableDeclaration) -> Table:
    """`table` with NOT NULL and keys as declared. A key needs columns without NULL: else it is `unique`, which lets NULLs repeat.

    Raises CatalogError: a column that the files lack, or one of another kind of type.
    """
    forbidden = {column.lower() for column in declared.primary_key}
    for column in declared.columns:
        stored = _column(table, column.name)
        if is_opaque(stored.type):
            continue  # nothing can depend on it
        if column.type is None or type_family(column.type) != type_family(stored.type):
            where = f"{table.files[0].name} holds" if table.files else "it is"
            found = f"{where} {type_name(stored.type)}"
            raise CatalogError(
                f"schema.sql declares {table.name}.{stored.name} as {column.sql_type}, but {found}\n"
                "correct the declaration, or write the data again"
            )
        if column.not_null:
            forbidden.add(column.name.lower())
    columns = tuple(replace(c, nullable=c.nullable and c.name.lower() not in forbidden) for c in table.columns)
    table = replace(table, columns=columns)
    nullable = {c.name for c in columns if c.nullable}
    keys: list[tuple[str, ...]] = []
    unique: list[tuple[str, ...]] = []
    for names in [declared.primary_key, *declared.unique]:
        key = _names(table, names)
        if key and all(set(key) != set(other) for other in (*keys, *unique)):
            (unique if nullable & set(key) else keys).append(key)
    return replace(table, keys=tuple(keys), unique=tuple(unique))


def foreign_keys(
    table: Table, declared: TableDeclaration, tables: Mapping[str, Table], declarations: Mapping[str, TableDeclaration]
) -> tuple[ForeignKey, ...]:
    """The declared foreign keys with all names as stored; `tables` and `declarations` are by lower-case name.

    Raises CatalogError: a table or column that does not exist, or another number of columns on the two sides.
    """
    return tuple(key for one in declared.foreign_keys if (key := _foreign_key(table, one, tables, declarations)) is not None)


def _foreign_key(
    table: Table, declared: ForeignKeyDeclaration, tables: Mapping[str, Table], declarations: Mapping[str, TableDeclaration]
) -> ForeignKey | None:
    target = tables.get(declared.table.lower())
    if target is None:
        known = [other.name for other in tables.values()]
        raise CatalogError(
            f'schema.sql: a foreign key of {table.name} refers to table "{declared.table}", which has no files\n'
            f"{near(declared.table, known)}"
        )
    target_declaration = declarations.get(declared.table.lower())
    referenced = declared.referenced or (target_declaration.primary_key if target_declaration else ())
    if len(referenced) != len(declared.columns):
        raise CatalogError(
            f"schema.sql: a foreign key of {table.name} has {many(len(declared.columns), 'column')} "
            f"({', '.join(declared.columns)}), but refers to {len(referenced)} of {target.name} ({', '.join(referenced)})"
        )
    here, there = _names(table, declared.columns), _names(target, referenced)
    return ForeignKey(here, target.name, there) if here and there else None


def _names(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """The columns as the files spell them; () when one of them is opaque."""
    found = [_column(table, name) for name in names]
    return () if any(is_opaque(c.type) for c in found) else tuple(c.name for c in found)


def _column(table: Table, name: str) -> TableColumn:
    """The stored column. Raises CatalogError when the files lack it."""
    column = table.column(name)
    if column is None:
        raise CatalogError(
            f'schema.sql declares column "{name}" of table {table.name}, but its files have no such column\n'
            f"{near(name, [c.name for c in table.columns])}"
        )
    return column
