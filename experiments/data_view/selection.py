"""The part of a catalog that a user asked to see."""

from dataclasses import replace

from optimizer.catalog.constraints import near
from optimizer.catalog.table import Catalog, Table
from optimizer.errors import CatalogError


def select(catalog: Catalog, table: str | None, column: str | None) -> Catalog:
    """Only `table`, if given, and only columns called `column`, if given, in whichever letter case.

    Raises CatalogError: there is none of that name.
    """
    tables = list(catalog.tables.values())
    if table is not None:
        found = catalog.table(table)
        if found is None:
            raise CatalogError(f'{catalog.name} has no table "{table}"\n{near(table, list(catalog.tables))}')
        tables = [found]
    if column is not None:
        names = [c.name for one in tables for c in one.columns]
        tables = [_only(one, column) for one in tables if one.column(column) is not None]
        if not tables:
            where = f"table {table}" if table is not None else catalog.name
            raise CatalogError(f'{where} has no column "{column}"\n{near(column, sorted(set(names)))}')
    return Catalog(catalog.name, tables)


def _only(table: Table, name: str) -> Table:
    column = table.column(name)
    return table if column is None else replace(table, columns=(column,))
