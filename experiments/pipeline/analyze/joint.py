"""Which columns are counted together: combinations that estimates of groupings and of joins on several columns want to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from optimizer.catalog.statistics import stored_statistics
from optimizer.catalog.table import Catalog, Table
from optimizer.errors import CatalogError

Joint = tuple[tuple[str, ...], ...]


def joint_sets(
    folder: Path, catalog: Catalog, tables: Mapping[str, Table], asked: Iterable[tuple[str, tuple[str, ...]]]
) -> dict[str, Joint]:
    """By table, the combinations of columns to be counted: the first columns of declared keys and foreign keys, what is asked
    for, and what was asked for before. Names as stored, in table order; a key's own columns are known to have no equal."""
    wanted: dict[str, list[Sequence[str]]] = {name: [] for name in tables}
    for name, columns in asked:
        table = catalog.table(name)
        if table is None:
            raise CatalogError(f'there is no table "{name}" in {catalog.name}; tables: {", ".join(catalog.tables)}')
        for column in columns:
            if table.column(column) is None:
                others = ", ".join(c.name for c in table.columns)
                raise CatalogError(f'table {table.name} has no column "{column}"; it has {others}')
        if table.name in wanted:
            wanted[table.name].append([known.name for each in columns if (known := table.column(each)) is not None])
    before = stored_statistics(folder)
    found: dict[str, Joint] = {}
    for name, table in tables.items():
        declared = [*table.keys, *(key.columns for key in table.foreign_keys)]
        remembered = [] if before is None else [names for names in before.distinct(name) if all(map(table.column, names))]
        sets = [*wanted[name], *remembered, *(key[:size] for key in declared for size in range(2, len(key) + 1))]
        places = {column.name: i for i, column in enumerate(table.columns)}
        ordered = {tuple(sorted(set(names), key=places.__getitem__)) for names in sets}
        keys = {frozenset(key) for key in table.keys}
        found[name] = tuple(sorted(names for names in ordered if len(names) > 1 and frozenset(names) not in keys))
    return found
