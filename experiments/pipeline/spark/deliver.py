"""A dataset for a place that is no local folder: made in one, then copied to a URI by Spark, which commits each table as a whole.

    URI/TABLE/*.parquet            rows, in no particular order
    URI/_planscope/rejected/TABLE/ rejected rows of an import
    URI/_planscope/schema.sql/     lines of text, as the next two
    URI/_planscope/request/        the stage, inputs and settings: written first, so that what was interrupted goes on
    URI/_planscope/manifest/       that of the stage: written last, so that where it is everything is

The folder is in $PLANSCOPE_HOME, which a cluster has to share, and is gone at the end.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.atomic import make_folder
from experiments.pipeline.spark.errors import PipelineError, translated
from experiments.pipeline.spark.lock import hold
from experiments.pipeline.spark.manifest import plain, read_manifest
from experiments.workloads.cache import cache_folder
from optimizer.catalog.dataset import SCHEMA_FILE
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.dataset import open_dataset
from optimizer.errors import OutputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Manifest = dict[str, Any]


def delivered(
    uri: str,
    stage: str,
    inputs: Mapping[str, Any],
    settings: Mapping[str, Any],
    make: Callable[[Path], object],
    start: Callable[[], SparkSession],
    say: Callable[[str], None],
) -> tuple[Manifest, bool]:
    """The manifest of the dataset at `uri`, and whether it was there already. `make` fills a folder, or goes on with it.

    Raises OutputError when something else is there, PipelineError, and what `make` raises.
    """
    uri, spark = uri.rstrip("/"), start()
    metadata = f"{uri}/{METADATA_FOLDER}"
    wanted = plain({"stage": stage, "inputs": inputs, "settings": settings})
    with translated(f"cannot use {uri}"):
        for name in ("manifest", "request"):
            found = _read(spark, f"{metadata}/{name}")
            if found is not None and {key: found.get(key) for key in wanted} != wanted:
                raise OutputError(
                    f"{uri} holds another dataset, or one made in another way; name another place, or remove that one"
                )
            if found is not None and name == "manifest":
                return found, True
        files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        if found is None and _first(lambda: files.load(uri).select("path")) is not None:
            raise OutputError(f"{uri} is not empty; name a new place for the dataset")
        _write(spark, f"{metadata}/request", json.dumps(wanted))
    folder = cache_folder() / "outgoing" / hashlib.sha256(uri.encode()).hexdigest()[:20]
    with hold(make_folder(folder.parent) / f"{folder.name}.lock", f"the dataset at {uri}"):
        make(folder)
        manifest = read_manifest(folder, stage)
        if manifest is None:
            raise PipelineError(f"{folder} has no readable manifest of its {stage}")
        with translated(f"cannot write {uri}"):
            for name, table in open_dataset(folder).tables.items():
                say(f"{name}: copying to {uri}")
                _copy(spark, table.files, f"{uri}/{name}")
            for rejected in (folder / METADATA_FOLDER / "rejected").glob("*"):
                _copy(spark, tuple(rejected.glob("*.parquet")), f"{metadata}/rejected/{rejected.name}")
            _write(spark, f"{metadata}/{SCHEMA_FILE}", (folder / SCHEMA_FILE).read_text(encoding="utf-8"))
            _write(spark, f"{metadata}/manifest", json.dumps(manifest))
        shutil.rmtree(folder)
    return manifest, False


def _copy(spark: SparkSession, files: Sequence[Path], place: str) -> None:
    stored = spark.read.option("__globPaths__", "false").parquet(*(f"file:{file.absolute()}" for file in files))
    stored.write.mode("overwrite").option("compression", "zstd").parquet(place)


def _write(spark: SparkSession, place: str, text: str) -> None:
    spark.createDataFrame([(text,)], "value string").coalesce(1).write.mode("overwrite").text(place)


def _read(spark: SparkSession, place: str) -> Manifest | None:
    row = _first(lambda: spark.read.text(place, wholetext=True))
    try:
        found = json.loads(row["value"]) if row is not None else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _first(frame: Callable[[], DataFrame]) -> Row | None:
    """The first row, if its files are there."""
    try:
        return frame().head()
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error):
            return None
        raise
