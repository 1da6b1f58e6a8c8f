"""Tables that Spark itself finds: over JDBC, in its catalog, at a URI, or in any format that its installation knows.

Such rows have no number, and come in no particular order: of two rows with one key, the one that stays is the first of the first
Spark partition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from experiments.pipeline.intake.frames import Opened
from experiments.pipeline.intake.sources import TableSource, check_table_name, partition_values, table_name
from experiments.pipeline.intake.typed_files import selected
from experiments.pipeline.spark.errors import PipelineError, explain, is_sparks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECRET = re.compile(r"pass|pwd|secret|token|credential|key$", re.IGNORECASE)
_SECRET_IN_URL = re.compile(r"((?:password|pwd|token|secret)=)[^;&]*|(?<=://)([^/@:]+:)[^@/]+(?=@)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table to be, and what Spark reads it from; `label` says so without secrets."""

    name: str
    format: str
    options: tuple[tuple[str, str], ...]
    path: str | None
    label: str


def spark_tables(format: str, options: Mapping[str, str], paths: Sequence[str], tables: Sequence[str]) -> list[SparkTable]:
    """Over JDBC one table for each name in `tables`, unless the options say `dbtable` or `query`; else one for each path.

    Raises PipelineError: nothing to read, or names that do not fit.
    """
    if format != "jdbc":
        if not paths:
            raise PipelineError(f"--format {format} needs the path of a source")
        if tables and len(tables) != len(paths):
            raise PipelineError(f"{len(paths)} sources, but {len(tables)} --table: say one for each, or none")
        names = list(tables) or [table_name(Path(path)) for path in paths]
        read = [SparkTable(check_table_name(n), format, tuple(options.items()), p, p) for n, p in zip(names, paths, strict=True)]
    else:
        read = _jdbc_tables(options, paths, tables)
    for i, one in enumerate(read):
        if any(other.name.lower() == one.name.lower() for other in read[:i]):
            raise PipelineError(f'table "{one.name}" is there twice')
    return read


def _jdbc_tables(options: Mapping[str, str], paths: Sequence[str], tables: Sequence[str]) -> list[SparkTable]:
    if "url" not in options or paths:
        raise PipelineError("--format jdbc takes --option url=jdbc:..., and no other source")
    said = [key for key in ("dbtable", "query") if key in options]
    if len(said) > 1 or (not said and not tables) or (said and len(tables) > 1):
        raise PipelineError(
            "--format jdbc: name the tables with --table (repeatable), or one with --option dbtable=... or query=..."
        )
    if "query" in options and not tables:
        raise PipelineError("--option query=... needs --table, the name that the table gets")
    # times without a zone stay what they are, wherever this machine is
    common = {"preferTimestampNTZ": "true", **options}
    found = []
    for name in tables or [options["dbtable"].rpartition(".")[2].strip('"`')]:
        read = common if said else {**common, "dbtable": name}
        label = f"{redacted(options['url'])} {read.get('dbtable') or 'query'}"
        found.append(
            SparkTable(check_table_name(name.rpartition(".")[2] if not said else name), "jdbc", tuple(read.items()), None, label)
        )
    return found


def redacted(text: str) -> str:
    """A URL without the password in it."""
    return _SECRET_IN_URL.sub(lambda found: f"{found[1] or found[2]}***", text)


def is_secret(option: str) -> bool:
    return _SECRET.search(option) is not None


def open_table(spark: SparkSession, table: SparkTable) -> Opened:
    """Raises PipelineError with Spark's or the database's reason."""
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        if table.format == "table":
            frame = spark.read.table(table.path or "")
        else:
            source = spark.read.format(table.format).options(**dict(table.options))
            frame = source.load(table.path) if table.path is not None else source.load()
        fields = frame.schema.fields
    except Exception as error:
        raise unreadable(table, error) from error
    types: dict[str, pa.DataType | None] = {}
    for one in fields:
        try:
            types[one.name] = to_arrow_type(one.dataType, timezone="UTC")
        except Exception:  # a type of Spark's own
            types[one.name] = pa.struct([pa.field(one.dataType.simpleString(), pa.null())])
    if len(types) < len(fields):
        raise PipelineError(f"{table.label} has two columns of one name; rename one of them")
    return Opened(table.label, types, partial(selected, frame), numbered=False)


def listed(spark: SparkSession, table: SparkTable) -> TableSource:
    """The files of text at a URI, with the values that the names of their folders say. Raises PipelineError."""
    from pyspark.sql import functions as F

    assert table.path is not None, f"{table.name} has a path"
    try:
        found = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(table.path).select(F.col("path"))
        paths = sorted(row["path"] for row in found.collect())
    except Exception as error:
        raise unreadable(table, error) from error
    if not paths:
        raise PipelineError(f"there is no file in {table.path}")
    base = len(_segments(table.path))
    values = {path: partition_values(_segments(path)[base:-1]) for path in paths}
    return TableSource(table.name, table.format, tuple(paths), values)


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def add_jars(spark: SparkSession, jars: Sequence[Path]) -> None:
    """Makes classes of these files known to the session, such as a JDBC driver. Raises PipelineError."""
    for jar in jars:
        if not jar.is_file():
            raise PipelineError(f"there is no file {jar}")
        spark.sql(f"ADD JAR '{jar.absolute()!s}'").collect()


def unreadable(table: SparkTable, error: Exception) -> Exception:
    if isinstance(error, PipelineError) or not is_sparks(error):
        return error
    text = str(error)
    said = redacted(explain(error))
    if table.format == "jdbc" and ("No suitable driver" in text or "ClassNotFoundException" in text):
        said = "Spark has no driver for it; --jars FILE.jar adds one, --option driver=CLASS names its class"
    elif "DATA_SOURCE_NOT_FOUND" in text or "Failed to find" in text:
        said = f'neither planscope nor Spark knows a format "{table.format}"; --jars FILE.jar adds one to Spark'
    return PipelineError(f"cannot read {table.label}: {said}")
