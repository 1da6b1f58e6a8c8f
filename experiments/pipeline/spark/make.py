"""A dataset at its place, made unless it is there: in a local folder (`publish`), or copied from one to a URI by Spark.

    URI/TABLE/*.parquet            rows, in no particular order
    URI/_planscope/rejected/TABLE/ rejected rows of an import
    URI/_planscope/schema.sql/     lines of text, as the next two
    URI/_planscope/request/        the stage, inputs and settings: written first, so that what was interrupted goes on
    URI/_planscope/manifest/       that of the stage: written last, so that where it is everything is

Spark commits each table as a whole. The folder is in $PLANSCOPE_HOME then, which a cluster has to share, and is gone at the end.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from executor.atomic import make_folder
from experiments.lock import hold
from experiments.pipeline.spark.errors import translated
from experiments.pipeline.spark.manifest import damaged_files, read_manifest, write_manifest
from experiments.pipeline.spark.paths import reader, to_read
from experiments.pipeline.spark.publish import Plan, read_request, staged
from experiments.pipeline.spark.session import Say, Start
from experiments.workloads.cache import cache_folder
from optimizer.catalog.dataset import SCHEMA_FILE
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.dataset import open_dataset
from optimizer.errors import OutputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Manifest = dict[str, Any]


class Dataset(NamedTuple):
    """`place`: a folder or URI; `made`: by this call, otherwise it was there."""

    place: str
    manifest: Manifest
    made: bool

    @property
    def counts(self) -> Manifest:
        """What the stage counted."""
        return dict(self.manifest["counts"])


def make_dataset(plan: Plan, place: str | Path, start: Start, say: Say) -> Dataset:
    """The dataset at a folder or URI. `start` gives the Spark session, if one is needed. Raises OutputError when something else
    is there, PipelineError, and what `fill` raises; what was made stays for the next time."""
    if "://" in str(place):
        return _at_uri(replace(plan, resume=""), str(place), start, say)
    folder = Path(os.path.expanduser(place))
    manifest = _finished(plan, folder)
    if made := manifest is None:
        with staged(folder, plan) as inside:
            if not any(plan.made(read_manifest(place, plan.stage)) for place in (inside, folder)):
                counts, files = plan.fill(inside)
                write_manifest(inside, plan.stage, **plan.facts, counts=counts, files=files, what=plan.what)
        manifest = _finished(plan, folder)
    if manifest is None:
        raise OutputError(f"the files in {folder} changed while the dataset was made; remove the folder and make it again")
    return Dataset(str(folder), manifest, made)


def _finished(plan: Plan, folder: Path) -> Manifest | None:
    """The manifest in `folder` if it is that of this dataset; None when there is none. Raises OutputError for another dataset,
    and for this one with files that are missing or of another size."""
    manifest = read_manifest(folder, plan.stage)
    if manifest is None or read_request(folder) is not None:
        return None
    if not plan.made(manifest):
        theirs = manifest.get("what", "a dataset")
        before, now = manifest["inputs"], plan.facts["inputs"]
        changed = sorted(file for file in before if file in now and before[file] != now[file])
        made = f"before {changed[0]} changed" if changed else "of other files, or in another way"
        how = f" made {made}" if theirs == plan.what else f", not {plan.what}"
        raise OutputError(f"{folder} holds {theirs}{how}\nname another folder, or remove that one")
    if damaged_files(folder, manifest):
        raise OutputError(f"files of {plan.what} in {folder} are missing or were changed\nremove the folder to make it again")
    return manifest


def _at_uri(plan: Plan, uri: str, start: Start, say: Say) -> Dataset:
    uri, spark = uri.rstrip("/"), start()
    metadata = f"{uri}/{METADATA_FOLDER}"
    wanted = {"stage": plan.stage, **plan.facts}
    with translated(f"cannot use {uri}"):
        for name in ("manifest", "request"):
            found = _read(spark, f"{metadata}/{name}")
            if found is not None and {key: found.get(key) for key in wanted} != wanted:
                raise OutputError(f"{uri} holds another dataset, or one made otherwise; name another place, or remove that one")
            if found is not None and name == "manifest":
                return Dataset(uri, found, made=False)
        files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        if found is None and _first(lambda: files.load(to_read(uri)).select("path")) is not None:
            raise OutputError(f"{uri} is not empty; name a new place for the dataset")
        _write(spark, f"{metadata}/request", json.dumps(wanted))
    folder = cache_folder() / "outgoing" / hashlib.sha256(uri.encode()).hexdigest()[:20]
    with hold(make_folder(folder.parent) / f"{folder.name}.lock", f"the dataset at {uri}"):
        manifest = make_dataset(plan, folder, start, say).manifest
        with translated(f"cannot write {uri}"):
            for name, table in open_dataset(folder).tables.items():
                say(f"{name}: copying to {uri}")
                _copy(spark, table.files, f"{uri}/{name}")
            for rejected in (folder / METADATA_FOLDER / "rejected").glob("*"):
                _copy(spark, tuple(rejected.glob("*.parquet")), f"{metadata}/rejected/{rejected.name}")
            _write(spark, f"{metadata}/{SCHEMA_FILE}", (folder / SCHEMA_FILE).read_text(encoding="utf-8"))
            _write(spark, f"{metadata}/manifest", json.dumps(manifest))
        shutil.rmtree(folder)
    return Dataset(uri, manifest, made=True)


def _copy(spark: SparkSession, files: Sequence[Path], place: str) -> None:
    stored = reader(spark).parquet(*(to_read(file.absolute()) for file in files))
    stored.write.mode("overwrite").option("compression", "zstd").parquet(place)


def _write(spark: SparkSession, place: str, text: str) -> None:
    spark.createDataFrame([(text,)], "value string").coalesce(1).write.mode("overwrite").text(place)


def _read(spark: SparkSession, place: str) -> Manifest | None:
    row = _first(lambda: spark.read.text(to_read(place), wholetext=True))
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
