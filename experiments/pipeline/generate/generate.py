"""From a recipe to a dataset folder: whole, with a manifest, or nothing that could be taken for one."""

from __future__ import annotations

import math
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.generate.parts import look_at, make_parts
from experiments.pipeline.generate.recipe import Made, Progress, Recipe
from experiments.pipeline.spark.manifest import file_facts, is_done, read_manifest, write_manifest
from experiments.pipeline.spark.publish import Request, read_request, staged
from optimizer.catalog.dataset import SCHEMA_FILE
from optimizer.catalog.order import remember_orders
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAGE = "generate"
_MARGIN = 1.2  # sizes are estimates


@dataclass(frozen=True, slots=True)
class Generated:
    """A dataset that is there now. `seconds` by step (`session`, `generate`), as it was when made; `made`: by this call."""

    folder: Path
    rows: dict[str, int]
    bytes: int
    seconds: dict[str, float]
    made: bool


def generate(
    recipe: Recipe, folder: Path, start: Callable[[], SparkSession], progress: Progress, by_hand: bool = True
) -> Generated:
    """Make the dataset in `folder`, go on with it, or leave it alone when it is there.

    `start` gives the Spark session, and is called only when something has to be made. `by_hand`: the folder is the user's, who
    can go on with an interrupted generation. Raises OutputError when the folder holds something else or has too little
    space, CatalogError when a generator makes something else than it should, PipelineError.
    """
    folder = folder.expanduser()
    finished = _finished(recipe, folder)
    if finished is not None:
        return finished
    command = ["planscope", "data", "generate", recipe.kind, "--scale", recipe.scale, *recipe.options, "-o", str(folder)]
    request = Request(f"{recipe.kind} at scale {recipe.scale}", recipe.identity, shlex.join(command) if by_hand else "")
    with staged(folder, request) as inside:
        if inside is not None:
            check_space(inside, recipe.bytes, recipe.label, "a folder" if by_hand else "a PLANSCOPE_HOME")
            _fill(recipe, inside, start, progress)
    found = _finished(recipe, folder)
    if found is None:
        raise OutputError(f"the files in {folder} changed while the dataset was made; remove the folder and make it again")
    return Generated(folder, found.rows, found.bytes, found.seconds, made=True)


def generate_at(recipe: Recipe, uri: str, start: Callable[[], SparkSession], progress: Progress) -> tuple[dict[str, Any], bool]:
    """The manifest of the dataset at a URI that Spark writes to, and whether it was there already (`deliver`)."""
    from experiments.pipeline.spark.deliver import delivered

    def make(folder: Path) -> None:
        generate(recipe, folder, start, progress, by_hand=False)

    return delivered(uri, STAGE, {}, recipe.identity, make, start, progress)


def _fill(recipe: Recipe, inside: Path, start: Callable[[], SparkSession], progress: Progress) -> None:
    begun = time.perf_counter()
    spark = start()
    started = time.perf_counter()
    progress(f"{recipe.label}: generating")
    needed = recipe.before(spark, inside, progress) if recipe.before is not None else None
    files = make_parts(spark, recipe, inside, progress)
    rows = dict.fromkeys((part.table for part in recipe.parts), 0)
    for part in recipe.parts:
        rows[part.table] += files[part.path].pop("rows")
    made = look_at(spark, recipe, inside, rows)
    _check(recipe, made)
    (inside / SCHEMA_FILE).write_text(recipe.schema(inside, made), encoding="utf-8")
    remember_orders(inside, {name: one.orders[0] for name, one in made.items() if one.orders}, open_dataset(inside).tables)
    if needed is not None:
        needed.unlink()
    files[SCHEMA_FILE] = file_facts(inside / SCHEMA_FILE)
    seconds = {"session": round(started - begun, 3), "generate": round(time.perf_counter() - started, 3)}
    counts = {"rows": rows, "bytes": sum(facts["bytes"] for facts in files.values()), "seconds": seconds}
    write_manifest(inside, STAGE, inputs={}, settings=recipe.identity, counts=counts, files=files)


def _check(recipe: Recipe, made: Mapping[str, Made]) -> None:
    """Raises CatalogError when a table does not have the rows that it should, or not in the order of its key."""
    for name, (least, most) in recipe.rows(made).items():
        if name not in made or not least <= made[name].rows <= most:
            found, expected = made[name].rows if name in made else "no", f"{least} to {most}" if least < most else least
            raise CatalogError(
                f"the generator of {recipe.kind} made {found} rows of {name}, expected {expected}\n"
                "its version may not fit: upgrade it"
            )
    for name, orders in recipe.orders.items():
        if name not in recipe.unkeyed and orders[0] not in made[name].keys:
            raise CatalogError(f"{name} of {recipe.label} lacks the key order ({', '.join(orders[0])}) that planscope relies on")


def _finished(recipe: Recipe, folder: Path) -> Generated | None:
    """The dataset as its manifest tells of it, when it is this one; None when there is none.

    Raises OutputError for another dataset, and for this one with files that are missing or of another size.
    """
    manifest = read_manifest(folder, STAGE)
    if manifest is None or read_request(folder) is not None:
        return None
    theirs = manifest["settings"]
    if theirs != recipe.identity:
        raise OutputError(
            f"{folder} holds {theirs.get('kind')} at scale {theirs.get('scale')}{_others(theirs)}, "
            f"not {recipe.kind} at scale {recipe.scale}{_others(recipe.identity)}\nname another folder, or remove that one"
        )
    if not is_done(folder, STAGE, {}, recipe.identity):
        raise OutputError(f"files of {recipe.label} in {folder} are missing or were changed\nremove the folder to make it again")
    counts = manifest["counts"]
    return Generated(folder, counts["rows"], counts["bytes"], counts["seconds"], made=False)


def _others(settings: dict[str, Any]) -> str:
    rest = [f"{name} {value}" for name, value in settings.items() if name not in ("kind", "scale")]
    return f" ({', '.join(rest)})" if rest else ""


def check_space(folder: Path, size: float, label: str, place: str) -> None:
    """Raises OutputError unless `size` bytes and a margin fit beside what is in `folder`, which counts as made already.

    `place`: what the user may choose otherwise.
    """
    free = shutil.disk_usage(folder).free
    made = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if size * _MARGIN - made > free:
        raise OutputError(
            f"{label} needs about {size_text(size)}, but there are {size_text(free)} left\n"
            f"choose a smaller scale, or {place} with more space"
        )


def size_text(count: float) -> str:
    """3 digits and a unit: 330 MB."""
    unit = min(3, max(0, int(math.log10(max(count, 1)) // 3)))
    return f"{count / 1000**unit:.3g} {('B', 'kB', 'MB', 'GB')[unit]}"
