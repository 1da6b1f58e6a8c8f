"""The dataset: every table in parts, made by Spark tasks, checked and declared."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from experiments.pipeline.generate.parts import all_files, make_parts, part_files, parts_of
from experiments.pipeline.generate.recipe import Facts, Progress
from experiments.workloads.imdb_like.figures import FOLDER, MOST_SCALE
from experiments.workloads.imdb_like.tables import rows_of, schema
from experiments.workloads.imdb_like.witnesses import table_rows
from optimizer.catalog.order import remember_orders
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BYTES = {  # of a row in a file
    "aka_name": 50,
    "aka_title": 60,
    "cast_info": 22,
    "char_name": 50,
    "company_name": 55,
    "complete_cast": 8,
    "keyword": 25,
    "movie_companies": 18,
    "movie_info": 22,
    "movie_info_idx": 13,
    "movie_keyword": 11,
    "movie_link": 11,
    "name": 50,
    "person_info": 25,
    "title": 60,
}
_TYPE_BYTES = 20
_CHUNK = 1 << 17  # rows of a row group
_NOTICE = """-- Synthetic rows for the schema of the Join Order Benchmark, made by planscope from published
-- statistics of IMDB's columns. None of them is IMDB's: names, titles and facts are put together of word lists.

"""


def generate_imdb_like(spark: SparkSession, folder: Path, scale: Decimal | float, progress: Progress) -> Facts:
    """Fills `folder` with the 21 tables of the Join Order Benchmark, `scale` times IMDB's rows, and schema.sql.

    Tables of types are there in full, and no table is too small for the rows that answer the benchmark's queries. Goes on with
    what an interrupted call left. Returns size and checksum of every file. Raises CatalogError for a scale beyond 50.
    """
    factor = float(scale)
    check_scale(factor)
    rows = table_rows(factor)
    parts = [part for table, count in rows.items() for part in parts_of(table, count, count * _row_bytes(table), None)]
    orders = {table: [("id",)] for table in rows}
    text = f"{Decimal(str(scale)).normalize():f}"
    made = make_parts(spark, write_imdb_parts, folder, parts, {"scale": text}, orders, f"imdb_like:{text}", progress)
    for table, count in rows.items():
        if made[table].rows != count or not made[table].orders["id",].strictly:
            raise CatalogError(f"{table} has {made[table].rows} rows, expected {count} in the order of id")
    declared = [(FOLDER / name).read_text(encoding="utf-8") for name in ("schema.sql", "foreign_keys.sql")]
    (folder / "schema.sql").write_text(_NOTICE + "\n".join(declared), encoding="utf-8")
    remember_orders(folder, dict.fromkeys(rows, ("id",)), open_dataset(folder).tables)
    return all_files(made)


def check_scale(scale: float) -> None:
    """Raises CatalogError when the scale is not above 0, or beyond what ids of 32 bits can number."""
    if not 0 < scale <= MOST_SCALE:
        raise CatalogError(f"imdb_like is made up to scale {MOST_SCALE}, 1.8 billion rows of cast_info; not at {scale:g}")


def imdb_like_bytes(scale: float) -> float:
    """What the files will take, roughly."""
    return sum(count * _row_bytes(table) for table, count in table_rows(scale).items())


def write_imdb_parts(tasks: Sequence[dict[str, Any]]) -> None:
    with part_files(tasks) as targets:
        for task, target in zip(tasks, targets, strict=True):
            table, scale = task["table"], float(task["scale"])
            rows = table_rows(scale)[table]
            start, end = rows * task["number"] // task["of"], rows * (task["number"] + 1) // task["of"]
            with pq.ParquetWriter(target, schema(table), write_page_checksum=True) as writer:
                for first in range(start, end, _CHUNK):
                    writer.write_batch(rows_of(table, scale, first, min(first + _CHUNK, end)))


def _row_bytes(table: str) -> int:
    return _BYTES.get(table, _TYPE_BYTES)
