"""From a recipe to a dataset folder: whole, with a manifest, or nothing that could be taken for one."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.generate.recipe import Progress, Recipe
from experiments.pipeline.generate.space import check_space
from experiments.pipeline.spark.manifest import file_facts, is_done, read_manifest, write_manifest
from experiments.pipeline.spark.publish import Request, read_request, staged
from optimizer.catalog.dataset import SCHEMA_FILE
from optimizer.dataset import open_dataset
from optimizer.errors import OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAGE = "generate"


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
    space, and what the recipe raises.
    """
    folder = folder.expanduser()
    finished = _finished(recipe, folder)
    if finished is not None:
        return finished
    command = [
        "planscope",
        "data",
        "generate",
        recipe.kind,
        "--scale",
        recipe.scale,
        *shlex.split(recipe.options),
        "-o",
        str(folder),
    ]
    request = Request(f"{recipe.kind} at scale {recipe.scale}", recipe.identity, shlex.join(command) if by_hand else "")
    with staged(folder, request) as inside:
        if inside is not None:
            check_space(inside, recipe.bytes, recipe.label, "a folder" if by_hand else "a PLANSCOPE_HOME")
            _fill(recipe, inside, start, progress)
    found = _finished(recipe, folder)
    if found is None:
        raise OutputError(f"the files in {folder} changed while the dataset was made; remove the folder and make it again")
    return Generated(folder, found.rows, found.bytes, found.seconds, made=True)


def _fill(recipe: Recipe, inside: Path, start: Callable[[], SparkSession], progress: Progress) -> None:
    begun = time.perf_counter()
    spark = start()
    started = time.perf_counter()
    progress(f"{recipe.label}: generating")
    known = recipe.fill(spark, inside, progress)
    catalog = open_dataset(inside)
    files: dict[str, dict[str, Any]] = {}
    for path in [*(file for table in catalog.tables.values() for file in table.files), inside / SCHEMA_FILE]:
        name = path.relative_to(inside).as_posix()
        files[name] = known.get(name) or file_facts(path)
    rows = {name: table.stats.rows for name, table in catalog.tables.items()}
    seconds = {"session": round(started - begun, 3), "generate": round(time.perf_counter() - started, 3)}
    size = sum(facts["bytes"] for facts in files.values())
    counts = {"rows": rows, "bytes": size, "seconds": seconds}
    write_manifest(inside, STAGE, inputs={}, settings=recipe.identity, counts=counts, files=files)


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
