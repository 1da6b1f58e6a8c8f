"""TPC-H: files made by tpchgen-cli, small ones in one run and others in many processes."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.pipeline.generate.parts import part_file, scratch
from experiments.pipeline.generate.recipe import Part, Recipe, Task, key_orders, parts_of
from experiments.pipeline.spark.keys import none_breaks
from experiments.pipeline.spark.session import Say
from experiments.stored_rows import open_source
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECLARATIONS = Path(__file__).parent.parent.parent / "workloads" / "tpch"
_SIZES = {  # rows and bytes per scale factor, but for the two tables that are always the same
    "lineitem": (6_000_000, 232e6), "orders": (1_500_000, 64e6), "partsupp": (800_000, 45e6), "customer": (150_000, 14e6),
    "part": (200_000, 7e6), "supplier": (10_000, 1e6),
}  # fmt: skip
_FIXED = ("nation", "region")
_SAFE_SUPPLIERS = 229  # from here on no part has the same supplier twice (workloads/tpch/SOURCE.md)


def tpch(scale: Decimal, parts: int | None = None) -> Recipe:
    """`parts`: files of each table but the two tiny ones; None: by size."""
    factor, scale_text = float(scale), f"{scale.normalize():f}"  # 0.10 and 1e-1 are 0.1
    large = [part for name, (rows, size) in _SIZES.items() for part in parts_of(name, rows * factor, size * factor, parts)]

    def before(spark: SparkSession | None, folder: Path, say: Say) -> None:
        if spark is None:
            make_tables(folder, scale_text)

    return Recipe(
        kind="tpch",
        scale=scale_text, module=__name__, parts=[*large, *(Part(name, 0, 1, 5e3) for name in _FIXED)],
        schema=_schema, orders=key_orders(DECLARATIONS / "schema.sql") | {"partsupp": ("ps_partkey",)},
        unkeyed=frozenset({"partsupp"}), before=before, settings={} if parts is None else {"parts": parts},
    )  # fmt: skip


def _schema(folder: Path, rows: Mapping[str, int]) -> str:
    """With the key of partsupp where it holds."""
    schema = (DECLARATIONS / "schema.sql").read_text(encoding="utf-8")
    pairs = open_source(open_dataset(folder).tables["partsupp"])
    if rows["supplier"] >= _SAFE_SUPPLIERS or none_breaks(pairs.to_table(columns=["ps_partkey", "ps_suppkey"])):
        schema += (DECLARATIONS / "partsupp_key.sql").read_text(encoding="utf-8")
    return schema


def make_tables(folder: Path, scale: str) -> None:
    """All tables in one run, a file each: a run takes most of a second before its first row. Raises CatalogError, OutputError."""
    names = [f"{table}.parquet" for table in (*_SIZES, *_FIXED)]
    if any(not (folder / name).exists() for name in names):
        with scratch("the tables", folder) as made:
            _run("the tables", scale, made, [], [made / name for name in names])
            for name in names:
                with part_file({"folder": str(folder), "path": name}) as target:
                    (made / name).rename(target)


def write_part(task: Task, target: Path) -> None:
    """One table or a part of it. Raises CatalogError when tpchgen-cli fails."""
    folder, table = target.parent, task["table"]
    chosen, written = ["--tables", table], folder / f"{table}.parquet"
    if task["of"] > 1:
        chosen += ["--parts", str(task["of"]), "--part", str(task["number"] + 1)]
        written = folder / table / f"{table}.{task['number'] + 1}.parquet"
    _run(task["path"], task["scale"], folder, chosen, [written])
    written.rename(target)


def _run(what: str, scale: str, folder: Path, chosen: list[str], wanted: list[Path]) -> None:
    command = [generator(), "parquet", "--quiet", "--num-threads", "1", "--scale-factor", scale, "--output-dir", str(folder)]
    done = subprocess.run([*command, *chosen], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode or not all(file.exists() for file in wanted):
        said = "\n".join(done.stderr.decode(errors="replace").strip().splitlines()[-3:]) or f"exit code {done.returncode}"
        raise CatalogError(f"tpchgen-cli could not make {what} of tpch:{scale}: {said}")


def generator() -> str:
    """The tpchgen-cli program of this Python's environment, else the one on the PATH. Raises CatalogError."""
    found = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if found is None:
        raise CatalogError("TPC-H data is made by tpchgen-cli, which is not installed: pip install tpchgen-cli")
    return found
