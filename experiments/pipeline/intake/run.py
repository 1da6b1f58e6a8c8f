"""An import from start to end: everything in a folder of its own until all is done, and going on where an earlier run stopped.

    DIR/TABLE/part-00000.parquet               a part for each Spark partition, in the order of the files and their rows
    DIR/schema.sql                             types, and the keys that the rows fulfil
    DIR/_planscope/rejected/TABLE/*.parquet    rejected rows: reason, column, value, record, file, row
    DIR/_planscope/manifests/import.json       inputs, settings, counts, versions, checksums
A table that an interrupted run has read is not read again by the next one.
"""

from __future__ import annotations

from pathlib import Path

from experiments.pipeline.intake.request import ImportRequest, planned
from experiments.pipeline.spark.errors import translated
from experiments.pipeline.spark.make import Dataset, make_dataset
from experiments.pipeline.spark.manifest import Facts, Files
from experiments.pipeline.spark.publish import Plan
from experiments.pipeline.spark.session import Say, Start, configured

STAGE = "import"
VECTORIZED = ("spark.sql.parquet.enableVectorizedReader", "spark.sql.orc.enableVectorizedReader")
_CONF = {
    **dict.fromkeys(VECTORIZED, "true"),
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.unionOutputPartitioning": "false",  # a partition has rows of one file, in their order
}


def import_dataset(request: ImportRequest, start: Start, say: Say, resume: str = "") -> Dataset:
    """The imported dataset, in a folder or at a URI. `start` gives the Spark session; `resume`: a command that goes on.

    Raises PipelineError, CatalogError, OutputError; then the folder holds no table, and what was done so far stays for the next
    time, unless rows were rejected and that was to fail.
    """
    plan = planned(request)

    def fill(inside: Path) -> tuple[Facts, Files]:
        with translated("importing"), configured(start(), _CONF) as spark:
            from experiments.pipeline.intake.tables import Tables  # needs pyspark, which a second run does without

            return Tables(request, plan, spark, inside, say).make()

    names = [table.name for table in plan.found.tables]
    what = f"import of {', '.join(names[:5])}{' and others' if len(names) > 5 else ''}"
    return make_dataset(Plan(STAGE, what, plan.inputs, plan.settings, fill, resume), request.folder, start, say)
