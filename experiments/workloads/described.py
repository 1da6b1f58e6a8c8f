"""Tables described by declarations and published figures, without rows: enough to plan.

The figures of a table are plain JSON:

    {"rows": 2528312, "columns": {"kind_id": {"nulls": 0, "ndv": 6, "min": 1, "max": 7, "mcv": [[7, 0.6], [1, 0.25]]},
                                  "title": {"nulls": 0, "ndv_above": 10000}}}

`mcv` is as in `ColumnStats`. `quantiles`: B + 1 values that cut the others into B parts of as many rows, the bounds of a
histogram. `ndv_above` stands for a distinct count of which only a lower bound is known: it is taken as
the geometric mean of that bound and the number of values, the middle of the possible range by factors.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from optimizer.catalog.constraints import apply_declaration, foreign_keys
from optimizer.catalog.declarations import TableDeclaration
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from optimizer.catalog.types import fixed_width
from optimizer.errors import CatalogError


def described_catalog(name: str, declarations: Sequence[TableDeclaration], figures: Mapping[str, Any]) -> Catalog:
    """The catalog of the declared tables with `figures` by table name.

    Figures of columns are optional, rows are not. Raises CatalogError: a table without rows, figures of a table or column
    that is not declared, a column type that planscope lacks, a foreign key to nowhere.
    """
    return Catalog(name, _with_described({}, declarations, figures))


def with_described_tables(catalog: Catalog, declarations: Sequence[TableDeclaration], figures: Mapping[str, Any]) -> Catalog:
    """`catalog` and beside its tables the declared ones with `figures`, which may refer to them; these have no rows.

    Raises CatalogError as `described_catalog` does, and where two tables have one name.
    """
    return Catalog(catalog.name, _with_described(catalog.tables, declarations, figures), [catalog.digest])


def _with_described(
    there: Mapping[str, Table], declarations: Sequence[TableDeclaration], figures: Mapping[str, Any]
) -> Iterable[Table]:
    _refuse_unknown("table", figures, [declared.name for declared in declarations])
    by_name = {declared.name.lower(): declared for declared in declarations}
    tables = {name.lower(): table for name, table in there.items()}
    for key, declared in by_name.items():
        if key in tables:
            raise CatalogError(f'table "{declared.name}" is there already, with rows')
        tables[key] = _table(declared, figures.get(declared.name, {}))
    for key, declared in by_name.items():
        tables[key] = replace(tables[key], foreign_keys=foreign_keys(tables[key], declared, tables, by_name))
    return tables.values()


def _table(declared: TableDeclaration, figures: Mapping[str, Any]) -> Table:
    rows = figures.get("rows")
    if rows is None:
        raise CatalogError(f'table "{declared.name}" has no row count')
    columns = []
    for column in declared.columns:
        if column.type is None:
            raise CatalogError(f"{declared.name}.{column.name} is declared as {column.sql_type}, which planscope lacks")
        columns.append(TableColumn(column.name, column.type))
    given = figures.get("columns", {})
    _refuse_unknown(f"column of {declared.name}", given, [column.name for column in columns])
    stats = {c.name: _column_stats(given.get(c.name, {}), rows, fixed_width(c.type)) for c in columns}
    table = apply_declaration(Table(declared.name, tuple(columns), stats=TableStats(rows, 0, stats)), declared)
    for key in table.keys:
        if len(key) == 1:
            stats[key[0]] = replace(stats[key[0]], ndv=float(rows))
    return table


def _column_stats(figures: Mapping[str, Any], rows: int, width: float | None) -> ColumnStats:
    nulls, ndv, above = figures.get("nulls"), figures.get("ndv"), figures.get("ndv_above")
    if ndv is None and above is not None:
        present = rows - (nulls or 0)
        ndv = min(float(present), float(round((above * present) ** 0.5)))
    mcv = tuple((value, float(share)) for value, share in figures.get("mcv", ()))
    others = (rows - (nulls or 0)) - rows * sum(share for _, share in mcv)
    histogram = _histogram(figures["quantiles"], others, ndv) if "quantiles" in figures else None
    return ColumnStats(nulls, figures.get("min"), figures.get("max"), None if ndv is None else float(ndv), width, mcv, histogram)


def _histogram(quantiles: Sequence[float], rows: float, ndv: float | None) -> Histogram:
    """Buckets of as many rows. Distinct values are spread evenly, but a bucket of whole numbers has no more than fit in it."""
    buckets = len(quantiles) - 1
    room = [max(1.0, float(high - low)) for low, high in pairwise(quantiles)]
    left, level = (sum(room) if ndv is None else float(ndv)), 0.0
    for n, size in enumerate(sorted(room)):  # the level at which buckets that are not full are filled
        level = left / (buckets - n)
        if size >= level:
            break
        left -= size
    return Histogram(tuple(quantiles), (rows / buckets,) * buckets, tuple(max(1.0, min(size, level)) for size in room))


def _refuse_unknown(kind: str, figures: Mapping[str, Any], declared: Sequence[str]) -> None:
    for name in figures:
        if name not in declared:
            raise CatalogError(f'there are figures for "{name}", which is no {kind} that is declared')
