"""TPC-H: files made by tpchgen-cli in many processes; row counts, keys and stored order checked."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from experiments.pipeline.generate.parts import PART_BYTES, Made, Part, all_files, make_parts, part_files, parts_of
from experiments.pipeline.generate.recipe import Facts, Progress, Recipe
from optimizer.catalog.order import remember_orders
from optimizer.catalog.source import open_source
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECLARATIONS = Path(__file__).parent.parent.parent / "workloads" / "tpch"
_ROWS = {  # per scale factor, but for the two that are always the same
    "lineitem": 6_000_000,
    "orders": 1_500_000,
    "partsupp": 800_000,
    "customer": 150_000,
    "part": 200_000,
    "supplier": 10_000,
}
_FIXED_ROWS = {"nation": 25, "region": 5}
_BYTES = {
    "lineitem": 232e6,
    "orders": 64e6,
    "partsupp": 45e6,
    "customer": 14e6,
    "part": 7e6,
    "supplier": 1e6,
}  # at scale factor 1
_KEYS = {  # the stored order to be expected, which is a key as well
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
_PARTSUPP = (("ps_partkey", "ps_suppkey"), ("ps_partkey",))  # the first of these orders that holds
_SAFE_SUPPLIERS = 229  # from here on no part has the same supplier twice (workloads/tpch/SOURCE.md)


def tpch(scale: Decimal, parts: int | None = None) -> Recipe:
    """`parts`: files of each table but the two tiny ones; None: by size."""
    text = f"{scale.normalize():f}"  # 0.10 and 1e-1 are 0.1

    def fill(spark: SparkSession, folder: Path, progress: Progress) -> Facts:
        orders: dict[str, Any] = {name: [key] for name, key in _KEYS.items()} | {"partsupp": _PARTSUPP}
        files = tpch_parts(scale, parts)
        # a process of the generator first makes the text all comments are cut from, which takes as long as 30 MB of a table
        settings = {"scale": text}
        made = make_parts(spark, write_tpch_parts, folder, files, settings, orders, f"tpch:{text}", progress, 1.1 * PART_BYTES)
        _check(made, float(scale))
        _declare(folder, made)
        return all_files(made)

    settings, options = ({}, "") if parts is None else ({"parts": parts}, f"--parts {parts}")
    return Recipe("tpch", text, sum(_BYTES.values()) * float(scale), fill, settings, options)


def tpch_parts(scale: Decimal, parts: int | None) -> list[Part]:
    large = [parts_of(name, rows * float(scale), _BYTES[name] * float(scale), parts) for name, rows in _ROWS.items()]
    return [part for files in large for part in files] + [Part(name, 0, 1, 5e3) for name in _FIXED_ROWS]


def write_tpch_parts(tasks: Sequence[dict[str, Any]]) -> None:
    """Parts of tables; tables in one part are made by one process. Raises CatalogError when tpchgen-cli fails."""
    whole = [task for task in tasks if task["of"] == 1]
    for together in ([whole] if whole else []) + [[task] for task in tasks if task["of"] > 1]:
        with part_files(together) as targets:
            _run_generator(together, targets)


def _run_generator(tasks: Sequence[Mapping[str, Any]], targets: Sequence[Path]) -> None:
    folder, first = targets[0].parent.parent, tasks[0]
    command = [
        generator(),
        "parquet",
        "--quiet",
        "--num-threads",
        "1",
        "--scale-factor",
        first["scale"],
        "--output-dir",
        str(folder),
    ]
    command += ["--tables", ",".join(task["table"] for task in tasks)]
    written = [folder / f"{task['table']}.parquet" for task in tasks]
    if first["of"] > 1:
        number = first["number"] + 1
        command += ["--parts", str(first["of"]), "--part", str(number)]
        written = [folder / first["table"] / f"{first['table']}.{number}.parquet"]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints)
        try:
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        complaints.seek(0)
        tail = complaints.read().decode(errors="replace").strip().splitlines()[-3:]
    if code or not all(file.exists() for file in written):
        what, said = ", ".join(task["path"] for task in tasks), "\n".join(tail) or f"exit code {code}"
        raise CatalogError(f"tpchgen-cli could not make {what} of tpch:{first['scale']}: {said}")
    for file, target in zip(written, targets, strict=True):
        file.rename(target)


def generator() -> str:
    """The tpchgen-cli program of this Python's environment, else the one on the PATH. Raises CatalogError."""
    found = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if found is None:
        raise CatalogError("TPC-H data is made by tpchgen-cli, which is not installed: pip install tpchgen-cli")
    return found


def _check(made: Mapping[str, Made], scale: float) -> None:
    """Raises CatalogError when a table does not have the rows it must have at this scale, or not in the order of its key."""
    expected = {name: (rows, rows) for name, rows in _FIXED_ROWS.items()}
    for name, per_scale in _ROWS.items():
        slack = 4 if name == "partsupp" else 1  # fractions are cut off, per part for partsupp
        expected[name] = (round(per_scale * scale) - slack, round(per_scale * scale) + slack)
    expected["lineitem"] = (made["orders"].rows, 7 * made["orders"].rows)  # 1 to 7 lines an order
    for name, (low, high) in expected.items():
        if not low <= made[name].rows <= high:
            raise CatalogError(
                f"tpchgen-cli made {made[name].rows} rows of {name}, expected {low} to {high}\n"
                "its version may not fit: pip install --upgrade tpchgen-cli"
            )
    for name, key in _KEYS.items():
        if not made[name].orders[key].strictly:
            raise CatalogError(f"tpchgen-cli wrote {name} without the key order ({', '.join(key)}) that planscope relies on")


def _declare(folder: Path, made: Mapping[str, Made]) -> None:
    """Write schema.sql, and remember the orders found."""
    schema = (DECLARATIONS / "schema.sql").read_text(encoding="utf-8")
    (folder / "schema.sql").write_text(schema, encoding="utf-8")
    catalog = open_dataset(folder)
    orders = dict(_KEYS)
    held = [order for order in _PARTSUPP if made["partsupp"].orders[order].ascends]
    if held:
        orders["partsupp"] = held[0]
    remember_orders(folder, orders, catalog.tables)
    if made["partsupp"].orders[_PARTSUPP[0]].strictly or made["supplier"].rows >= _SAFE_SUPPLIERS or _unique_pairs(catalog):
        key = (DECLARATIONS / "partsupp_key.sql").read_text(encoding="utf-8")
        (folder / "schema.sql").write_text(schema + key, encoding="utf-8")


def _unique_pairs(catalog: Any) -> bool:
    pairs: pa.Table = open_source(catalog.tables["partsupp"]).to_table(columns=["ps_partkey", "ps_suppkey"])
    return bool(pairs.group_by(pairs.column_names).aggregate([]).num_rows == pairs.num_rows)
