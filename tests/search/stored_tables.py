"""Statistics-only tables for plan tests: rows, distinct values, keys and stored order, said in one line each."""

import pyarrow as pa

from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats

TYPES = {"d": pa.date32(), "s": pa.string()}  # by a column's first letter; the others are integers


def table(name: str, rows: int, columns: dict[str, float], key: str = "", order: str = "") -> Table:
    """`columns`: distinct values by name. `key` and `order` are names of columns with spaces between them."""
    stats = {c: ColumnStats(nulls=0, ndv=ndv, avg_width=8.0) for c, ndv in columns.items()}
    fields = tuple(TableColumn(c, TYPES.get(c[0], pa.int64()), False) for c in columns)
    keys = (tuple(key.split()),) if key else ()
    return Table(name, fields, keys, (), tuple(order.split()), TableStats(rows, rows * 8 * len(columns), stats))


def catalog(*tables: Table) -> Catalog:
    return Catalog("stored", tables)


SHOP = catalog(
    table("a", 1000, {"k": 1000, "x": 10}, key="k", order="k"),
    table("b", 5000, {"k": 900, "j": 50}),
    table("c", 50, {"j": 50, "y": 7}, key="j"),
    table("d", 7, {"y": 7}, key="y"),
)
STAR = catalog(
    table("s", 100000, {"i": 100, "j": 50, "k": 20}),
    table("a", 1000, {"i": 1000, "j": 50, "k": 10}, key="i"),
    table("b", 500, {"j": 500, "k": 30}, key="j"),
    table("c", 30, {"k": 30}),
)
