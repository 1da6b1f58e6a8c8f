"""The dataset `stats`: tables of a Stack Exchange site, six with rows and two with what is known of them (stats/SOURCE.md).

The rows come with planscope. They are copied into the cache folder on first use, since what planscope finds out about them is
kept beside them and an installed package may not be writable.
"""

import json
import shutil
from pathlib import Path

from experiments.stored_rows import rows_ascend
from experiments.workloads.cache import Progress, cached_dataset
from experiments.workloads.described import with_described_tables
from optimizer.catalog.order import remember_orders
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset, read_declarations

NAME = "stats"
_HERE = Path(__file__).parent / NAME


def stats_catalog(progress: Progress) -> Catalog:
    """All eight tables; queries on the two without rows can be planned, not run. Raises CatalogError."""
    with_rows = open_dataset(stats_folder(progress), name=NAME)
    figures = json.loads((_HERE / "statistics.json").read_text(encoding="utf-8"))
    return with_described_tables(with_rows, read_declarations([_HERE / "without_rows.sql"]), figures["tables"])


def stats_folder(progress: Progress) -> Path:
    """The folder of the six tables that have rows, made on first use."""
    return cached_dataset(NAME, lambda folder: _build(folder, progress), progress)


def _build(folder: Path, progress: Progress) -> None:
    """Copy, remember that every table is sorted by its key, analyze, which verifies the declared keys."""
    from experiments.pipeline.analyze.analyze import analyze_dataset
    from experiments.pipeline.spark.session import spark_session

    progress("stats: copying six tables")
    for file in [_HERE / "schema.sql", _HERE / "SOURCE.md", *sorted((_HERE / "data").iterdir())]:
        shutil.copyfile(file, folder / file.name)
    tables = open_dataset(folder).tables
    orders = {name: ("Id",) for name, table in tables.items() if rows_ascend(table, ("Id",), strictly=True)}
    remember_orders(folder, orders, tables)
    analyze_dataset(folder, lambda: spark_session(progress=progress), say=progress)
