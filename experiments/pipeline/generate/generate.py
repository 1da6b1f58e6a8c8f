"""From a recipe to a dataset folder: whole, with a manifest, or nothing that could be taken for one."""

from __future__ import annotations

import shlex
import shutil
import time
from pathlib import Path

from experiments.data_view.shown import size_text
from experiments.pipeline.generate.parts import make_parts
from experiments.pipeline.generate.recipe import Recipe
from experiments.pipeline.spark.make import Dataset, make_dataset
from experiments.pipeline.spark.manifest import Facts, Files, file_facts
from experiments.pipeline.spark.publish import Plan
from experiments.pipeline.spark.session import Say, Start
from experiments.stored_rows import rows_ascend
from optimizer.catalog.dataset import SCHEMA_FILE
from optimizer.catalog.order import remember_orders
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, OutputError, many

STAGE = "generate"
_MARGIN = 1.2  # sizes are estimates


def generate(recipe: Recipe, place: str | Path, start: Start, say: Say, by_hand: bool = True) -> Dataset:
    """Make the dataset in a folder or at a URI, go on with it, or leave it alone when it is there.

    `start` gives the Spark session, called only when something has to be made that is not small. `by_hand`: the folder is the
    user's, who can go on with an interrupted generation. Raises OutputError when the folder holds something else or has too
    little space, CatalogError when a generator fails or leaves the order of keys, PipelineError.
    """
    by_hand = by_hand and "://" not in str(place)
    others = ", ".join(f"{name} {value}" for name, value in recipe.settings.items())
    what = f"{recipe.kind} at scale {recipe.scale}" + (f" ({others})" if others else "")
    command = ["planscope", "data", "generate", recipe.kind, "--scale", recipe.scale, *recipe.options, "-o", str(place)]

    def fill(inside: Path) -> tuple[Facts, Files]:
        check_space(inside, recipe.bytes, recipe.label, "a folder" if by_hand else "a PLANSCOPE_HOME")
        return _fill(recipe, inside, start, say)

    settings = {"kind": recipe.kind, "scale": recipe.scale, **recipe.settings}
    return make_dataset(Plan(STAGE, what, {}, settings, fill, shlex.join(command) if by_hand else ""), place, start, say)


def _fill(recipe: Recipe, inside: Path, start: Start, say: Say) -> tuple[Facts, Files]:
    begun = time.perf_counter()
    spark = None if recipe.small else start()
    started = time.perf_counter()
    say(f"{recipe.label}: generating")
    files = make_parts(spark, recipe, inside, say)
    rows = dict.fromkeys((part.table for part in recipe.parts), 0)
    for part in recipe.parts:
        rows[part.table] += files[part.path].pop("rows")
    tables = open_dataset(inside).tables
    orders = {n: order for n, order in recipe.orders.items() if rows_ascend(tables[n], order, strictly=n not in recipe.unkeyed)}
    for name, order in recipe.orders.items():
        if name not in recipe.unkeyed and name not in orders:
            raise CatalogError(f"{name} of {recipe.label} lacks the key order ({', '.join(order)}) that planscope relies on")
    (inside / SCHEMA_FILE).write_text(recipe.schema(inside, rows), encoding="utf-8")
    remember_orders(inside, orders, tables)
    files[SCHEMA_FILE] = file_facts(inside / SCHEMA_FILE)
    seconds = {"generate": round(time.perf_counter() - started, 3)}
    if spark is not None:
        seconds["session"] = round(started - begun, 3)
    return {"rows": rows, "bytes": sum(facts["bytes"] for facts in files.values()), "seconds": seconds}, files


def check_space(folder: Path, size: float, label: str, place: str) -> None:
    """Raises OutputError unless `size` bytes and a margin fit beside what is in `folder`, which counts as made already.
    `place`: what the user may choose otherwise."""
    free = shutil.disk_usage(folder).free
    made = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if size * _MARGIN - made > free:
        raise OutputError(
            f"{label} needs about {size_text(int(size))}, but there are {size_text(free)} left\n"
            f"choose a smaller scale, or {place} with more space"
        )


def made_text(recipe: Recipe, made: Dataset) -> str:
    """`tpch:0.1, 8 tables, 866,602 rows, 36.9 MB`."""
    rows = made.counts["rows"]
    return f"{recipe.label}, {many(len(rows), 'table')}, {many(sum(rows.values()), 'row')}, {size_text(made.counts['bytes'])}"
