"""An import from start to end: everything in a folder of its own until all is done, and going on where an earlier run stopped.

    DIR/TABLE/part-00000.parquet               a part for each Spark partition, in the order of the files and their rows
    DIR/schema.sql                             types, and the keys that the rows fulfil
    DIR/_planscope/rejected/TABLE/*.parquet    rejected rows: reason, column, value, record, file, row
    DIR/_planscope/manifests/import.json       inputs, settings, counts, versions, checksums
A table that an interrupted run has read is not read again by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.intake.request import ImportRequest, planned
from experiments.pipeline.spark.deliver import delivered
from experiments.pipeline.spark.errors import PipelineError, translated
from experiments.pipeline.spark.manifest import finished, is_done, write_manifest
from experiments.pipeline.spark.publish import Request, staged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAGE = "import"
Progress = Callable[[str], None]
_CONF = {
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


def import_dataset(
    request: ImportRequest, session: Callable[[], SparkSession], progress: Progress, resume: str = ""
) -> tuple[dict[str, Any], bool]:
    """The manifest of the imported dataset, and whether it was there already. `session` starts Spark; `resume`: a command.

    Raises PipelineError, CatalogError, OutputError; then DIR holds no table, and what was done so far stays for the next time,
    unless rows were rejected and that was to fail.
    """
    plan = planned(request)
    facts = {"inputs": plan.inputs, "settings": plan.settings}
    if (manifest := finished(request.folder, STAGE, **facts)) is not None:
        return manifest, True
    what = "import of " + ", ".join(table.name for table in plan.tables[:5]) + (" and others" if len(plan.tables) > 5 else "")
    with staged(request.folder, Request(what, facts, resume)) as inside:
        if inside is not None:
            with translated("importing"), _configured(session()) as spark:
                from experiments.pipeline.intake.tables import Tables  # needs pyspark, which a second run does without

                tables = Tables(request, plan, spark, inside, progress)
                if not is_done(inside, STAGE, **facts):
                    counts, parts = tables.make()
                    write_manifest(inside, STAGE, **facts, counts=counts, files=parts)
                tables.remove_raw()
    if (manifest := finished(request.folder, STAGE, **facts)) is None:
        raise PipelineError(f"{request.folder} has no readable manifest of its import")
    return manifest, False


def import_at(
    request: ImportRequest, uri: str, session: Callable[[], SparkSession], say: Progress
) -> tuple[dict[str, Any], bool]:
    """As `import_dataset`, to a URI that Spark writes to (`deliver`)."""
    plan = planned(request)

    def make(folder: Path) -> None:
        import_dataset(replace(request, folder=folder), session, say)

    return delivered(uri, STAGE, plan.inputs, plan.settings, make, session, say)


@contextmanager
def _configured(spark: SparkSession) -> Iterator[SparkSession]:
    before = {name: spark.conf.get(name, None) for name in _CONF}
    try:
        for name, value in _CONF.items():
            spark.conf.set(name, value)
        yield spark
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
