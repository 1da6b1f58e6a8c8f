"""TPC-DS: rows made by DuckDB's dsdgen in one task, written as Parquet by many.

dsdgen of the DuckDB extension makes all 24 tables in one call, on one thread and with no means of making a part. So one
task has it fill a database file in the dataset's folder, and then each task copies a range of a table's rows out of it. The
database counts as a part: what was interrupted after it goes on with it. It is gone with the unfinished folder.
"""

from __future__ import annotations

import importlib.util
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.generate.parts import part_file, row_range
from experiments.pipeline.generate.recipe import Part, Recipe, Task, key_orders, parts_of
from experiments.pipeline.spark.session import Say
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.errors import CatalogError, many

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

DECLARATIONS = Path(__file__).parent.parent.parent / "workloads" / "tpcds"
LEAST_SCALE = Decimal("0.01")  # dsdgen does not come to an end at scales of a half of it
_DATABASE = ".tpcds.duckdb"
_MEMORY = "1GB"  # of a task's DuckDB: what it holds beyond, it keeps in its file
_SIZES = {  # rows and bytes of files per scale factor; the other tables grow little
    "store_sales": (2_880_404, 138e6), "catalog_sales": (1_441_548, 108e6), "web_sales": (719_384, 54e6),
    "inventory": (11_745_000, 42e6), "store_returns": (287_000, 18e6), "catalog_returns": (144_000, 12e6),
    "web_returns": (71_000, 6e6),
}  # fmt: skip
_BESIDE = 355e6  # per scale factor: the database, and the other tables
_ORDERS = {  # where that is not the key's: not even a key, but for inventory
    "inventory": "inv_date_sk inv_warehouse_sk inv_item_sk", "store_sales": "ss_ticket_number",
    "store_returns": "sr_ticket_number", "catalog_sales": "cs_order_number", "catalog_returns": "cr_order_number",
    "web_sales": "ws_order_number", "web_returns": "wr_order_number",
}  # fmt: skip


def tpcds(scale: Decimal, parts: int | None = None) -> Recipe:
    """`parts`: files of each of the seven large tables; None: by size. Raises CatalogError: scale below 0.01, no DuckDB."""
    if scale < LEAST_SCALE:
        raise CatalogError(f"tpcds is made from scale {LEAST_SCALE} on, not at {scale:f}")
    if any(importlib.util.find_spec(module) is None for module in ("duckdb", "duckdb_extension_tpcds")):
        raise CatalogError("TPC-DS data is made by DuckDB's dsdgen, which is not installed: pip install 'planscope[tpcds]'")
    factor, text = float(scale), f"{scale.normalize():f}"
    large = [part for name, (rows, size) in _SIZES.items() for part in parts_of(name, rows * factor, size * factor, parts)]
    orders = key_orders(DECLARATIONS / "schema.sql") | {name: order.split() for name, order in _ORDERS.items()}

    def before(spark: SparkSession | None, folder: Path, say: Say) -> None:
        say(f"tpcds:{text}: dsdgen fills a database, on one core")
        run_tasks(spark, make_database, [{"name": "dsdgen", "folder": str(folder), "path": _DATABASE, "scale": text}], "dsdgen")

    return Recipe(
        kind="tpcds",
        scale=text, module=__name__, parts=[*large, *(Part(name, 0, 1, 0.0) for name in orders if name not in _SIZES)],
        schema=lambda *_: (DECLARATIONS / "schema.sql").read_text(encoding="utf-8"), orders=orders,
        unkeyed=frozenset(_ORDERS) - {"inventory"}, before=before, beside=_BESIDE * max(factor, 0.1),
        settings={} if parts is None else {"parts": parts},
    )  # fmt: skip


def make_database(task: dict[str, Any]) -> dict[str, Any]:
    """A database file with all tables, made unless it is there. Raises OutputError."""
    if not Path(task["folder"], task["path"]).exists():
        with part_file(task) as target, _connect(target) as connection:
            connection.execute(f"LOAD '{extension()}'")
            connection.execute(f"CALL dsdgen(sf = {Decimal(task['scale'])})")
            connection.execute("CHECKPOINT")
    return {}


def write_part(task: Task, target: Path) -> None:
    """A range of a table's rows, in the order dsdgen made them."""
    with _connect(Path(task["folder"], _DATABASE), read_only=True) as connection:
        [[rows]] = connection.execute(f"SELECT count(*) FROM {task['table']}").fetchall()
        start, end = row_range(rows, task)
        chosen = f"SELECT * FROM {task['table']} WHERE rowid >= {start} AND rowid < {end}"
        [[copied]] = connection.execute(f"COPY ({chosen}) TO '{_quoted(target)}' (FORMAT parquet)").fetchall()
        if copied != end - start:
            raise CatalogError(f"{task['path']} has {many(copied, 'row')}, of {end - start} that dsdgen made")


def _connect(file: Path, read_only: bool = False) -> DuckDBPyConnection:
    import duckdb

    # one thread, since tasks run side by side; spilled rows beside the file, never in the worker's working folder
    settings = {"threads": "1", "memory_limit": _MEMORY, "preserve_insertion_order": "true"}
    if not read_only:
        settings["temp_directory"] = str(file.parent / "spilled")
    return duckdb.connect(str(file), read_only=read_only, config=settings)


def extension() -> str:
    """The extension's file in its wheel, made for exactly this version of DuckDB. Raises CatalogError."""
    import duckdb

    spec = importlib.util.find_spec("duckdb_extension_tpcds")
    assert spec is not None and spec.origin is not None
    file = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}" / "tpcds.duckdb_extension"
    if not file.exists():
        raise CatalogError(
            f"duckdb-extension-tpcds is not of duckdb's version {duckdb.__version__}: pip install 'planscope[tpcds]'"
        )
    return _quoted(file)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
