"""TPC-DS: rows made by DuckDB's dsdgen in one task, written as Parquet by many.

dsdgen of the DuckDB extension makes all 24 tables in one call, on one thread and with no means of making a part. So one Spark
task has it fill a database file in the dataset's folder, and then each task copies a range of a table's rows out of it. The
database counts as a part: what was interrupted after it goes on with it. It is gone at the end.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.generate.parts import Made, all_files, make_parts, part_file, parts_of
from experiments.pipeline.generate.recipe import Facts, Progress, Recipe
from optimizer.catalog.order import remember_orders
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

DECLARATIONS = Path(__file__).parent.parent.parent / "workloads" / "tpcds"
LEAST_SCALE = Decimal("0.01")  # dsdgen does not come to an end at scales of a half of it
_DATABASE = ".tpcds.duckdb"
_MEMORY = "1GB"  # of a task's DuckDB: what it holds beyond, it keeps in its file
_BYTES = {  # of files, per scale factor; the other tables grow little
    "store_sales": 138e6,
    "catalog_sales": 108e6,
    "web_sales": 54e6,
    "inventory": 42e6,
    "store_returns": 18e6,
    "catalog_returns": 12e6,
    "web_returns": 6e6,
}
_FIXED_BYTES = 25e6
_DATABASE_BYTES = 330e6  # per scale factor, beside the files
_ROWS_AT_1 = {"store_sales": 2_880_404, "catalog_sales": 1_441_548, "web_sales": 719_384, "inventory": 11_745_000}
_KEYS = {  # the stored order to be expected, which is a key as well
    "call_center": ("cc_call_center_sk",),
    "catalog_page": ("cp_catalog_page_sk",),
    "customer": ("c_customer_sk",),
    "customer_address": ("ca_address_sk",),
    "customer_demographics": ("cd_demo_sk",),
    "date_dim": ("d_date_sk",),
    "household_demographics": ("hd_demo_sk",),
    "income_band": ("ib_income_band_sk",),
    "inventory": ("inv_date_sk", "inv_warehouse_sk", "inv_item_sk"),
    "item": ("i_item_sk",),
    "promotion": ("p_promo_sk",),
    "reason": ("r_reason_sk",),
    "ship_mode": ("sm_ship_mode_sk",),
    "store": ("s_store_sk",),
    "time_dim": ("t_time_sk",),
    "warehouse": ("w_warehouse_sk",),
    "web_page": ("wp_web_page_sk",),
    "web_site": ("web_site_sk",),
}
_ORDERS = _KEYS | {
    "store_sales": ("ss_ticket_number",),
    "store_returns": ("sr_ticket_number",),
    "catalog_sales": ("cs_order_number",),
    "catalog_returns": ("cr_order_number",),
    "web_sales": ("ws_order_number",),
    "web_returns": ("wr_order_number",),
}


def tpcds(scale: Decimal, parts: int | None = None) -> Recipe:
    """`parts`: files of each of the seven large tables; None: by size. Raises CatalogError: scale below 0.01, no DuckDB."""
    if scale < LEAST_SCALE:
        raise CatalogError(f"tpcds is made from scale {LEAST_SCALE} on, not at {scale:f}")
    _check_installed()
    text = f"{scale.normalize():f}"

    def fill(spark: SparkSession, folder: Path, progress: Progress) -> Facts:
        from experiments.pipeline.spark.tasks import run_tasks

        label = f"tpcds:{text}"
        progress(f"{label}: dsdgen fills a database, on one core")
        [counted] = run_tasks(spark, make_database, [{"name": "dsdgen", "folder": str(folder), "path": _DATABASE, "scale": text}])
        rows = counted["rows"]
        sizes = {name: _BYTES.get(name, 0.0) * float(scale) for name in rows}
        files = [part for name in rows for part in parts_of(name, rows[name], sizes[name], parts if name in _BYTES else 1)]
        orders = {name: [order] for name, order in _ORDERS.items()}
        made = make_parts(spark, write_tpcds_parts, folder, files, {"rows": rows}, orders, label, progress)
        _check(made, rows, scale)
        (folder / "schema.sql").write_text((DECLARATIONS / "schema.sql").read_text(encoding="utf-8"), encoding="utf-8")
        held = {name: order for name, order in _ORDERS.items() if made[name].orders[order].ascends}
        remember_orders(folder, held, open_dataset(folder).tables)
        (folder / _DATABASE).unlink()
        return all_files(made)

    size = (sum(_BYTES.values()) + _DATABASE_BYTES) * float(scale) + _FIXED_BYTES
    settings, options = ({}, "") if parts is None else ({"parts": parts}, f"--parts {parts}")
    return Recipe("tpcds", text, size, fill, settings, options)


def _check_installed() -> None:
    if any(importlib.util.find_spec(module) is None for module in ("duckdb", "duckdb_extension_tpcds")):
        raise CatalogError("TPC-DS data is made by DuckDB's dsdgen, which is not installed: pip install 'planscope[tpcds]'")


def make_database(task: dict[str, Any]) -> dict[str, Any]:
    """A database file with all tables, made unless it is there; how many rows each has. Raises CatalogError, OutputError."""
    _check_installed()
    file = Path(task["folder"], task["path"])
    if not file.exists():
        with part_file(task) as target, _connect(target) as connection:
            connection.execute(f"LOAD '{_extension()}'")
            connection.execute(f"CALL dsdgen(sf = {Decimal(task['scale'])})")
            connection.execute("CHECKPOINT")
    with _connect(file, read_only=True) as connection:
        names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        return {"rows": {name: _only(connection, f"SELECT count(*) FROM {name}") for name in names}}


def write_tpcds_parts(tasks: Sequence[dict[str, Any]]) -> None:
    """Ranges of tables' rows, in the order dsdgen made them."""
    for task in tasks:
        table, rows = task["table"], task["rows"][task["table"]]
        start, end = (rows * number // task["of"] for number in (task["number"], task["number"] + 1))
        with part_file(task) as target, _connect(Path(task["folder"], _DATABASE), read_only=True) as connection:
            chosen = f"SELECT * FROM {table} WHERE rowid >= {start} AND rowid < {end}"
            connection.execute(f"COPY ({chosen}) TO '{_quoted(target)}' (FORMAT parquet)")


def _connect(file: Path, read_only: bool = False) -> DuckDBPyConnection:
    import duckdb

    # one thread, since tasks run side by side; spilled rows beside the file, never in the worker's working folder
    settings = {"threads": "1", "memory_limit": _MEMORY, "preserve_insertion_order": "true"}
    if not read_only:
        settings["temp_directory"] = str(file.parent / "spilled")
    return duckdb.connect(str(file), read_only=read_only, config=settings)


def _extension() -> str:
    """The extension's file in its wheel, made for exactly this version of DuckDB. Raises CatalogError."""
    import duckdb

    spec = importlib.util.find_spec("duckdb_extension_tpcds")
    assert spec is not None and spec.origin is not None
    file = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}" / "tpcds.duckdb_extension"
    if not file.exists():
        raise CatalogError(
            f"duckdb-extension-tpcds is not of the version of duckdb, {duckdb.__version__}: pip install 'planscope[tpcds]'"
        )
    return _quoted(file)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _only(connection: DuckDBPyConnection, sql: str) -> int:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return int(row[0])


def _check(made: Mapping[str, Made], rows: Mapping[str, int], scale: Decimal) -> None:
    """Raises CatalogError when files lack rows, the four large tables do not have those of scale 1, or a key is not ascending."""
    expected = dict(rows) | (_ROWS_AT_1 if scale == 1 else {})
    for name, count in expected.items():
        if made[name].rows != count or rows.get(name) != count:
            found = f"dsdgen made {rows.get(name, 'no')} rows of {name}, the files have {made[name].rows}"
            raise CatalogError(f"{found}; expected {count}")
    if set(made) != set(_ORDERS):
        raise CatalogError(f"dsdgen made the tables {', '.join(made)}; expected are {', '.join(sorted(_ORDERS))}")
    for name, key in _KEYS.items():
        if not made[name].orders[key].strictly:
            raise CatalogError(f"dsdgen wrote {name} without the key order ({', '.join(key)}) that planscope relies on")
