"""The kinds of datasets that can be generated, by name."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.pipeline.generate.recipe import Facts, Progress, Recipe
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = {
    "tpch": "TPC-H",
    "tpcds": "TPC-DS, from scale 0.01 on",
    "joingraph": "rows for the tables of join graphs",
    "imdb_like": "synthetic rows for the schema of the Join Order Benchmark",
}


def recipe(kind: str, scale: Decimal, parts: int | None = None, graphs: Sequence[str] = ()) -> Recipe:
    """How to make a dataset. Raises CatalogError for what the kind does not have, SqlError for a name of no join graph."""
    if graphs and kind != "joingraph":
        raise CatalogError(f"--graph names join graphs, which {kind} does not have; use it with joingraph")
    match kind:
        case "tpch":
            from experiments.pipeline.generate.tpch import tpch

            return tpch(scale, parts)
        case "tpcds":
            from experiments.pipeline.generate.tpcds import tpcds

            return tpcds(scale, parts)
        case "joingraph":
            from experiments.pipeline.generate.joingraph import GRAPHS, joingraph

            return joingraph(scale, graphs or GRAPHS, parts)
        case "imdb_like":
            if parts is not None:
                raise CatalogError("imdb_like chooses its files by size: leave --parts out")
            from experiments.pipeline.generate.imdb_like import check_scale, imdb_like_bytes

            check_scale(float(scale))
            return Recipe("imdb_like", f"{scale.normalize():f}", imdb_like_bytes(float(scale)), partial(_fill_imdb_like, scale))
    raise CatalogError(f'there is no kind of dataset "{kind}"; there are {", ".join(KINDS)}')


def _fill_imdb_like(scale: Decimal, spark: SparkSession, folder: Path, progress: Progress) -> Facts:
    from experiments.pipeline.generate.imdb_like import generate_imdb_like

    return generate_imdb_like(spark, folder, scale, progress)
