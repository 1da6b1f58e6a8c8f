"""What Spark reads of a file, or of a table elsewhere: columns before any check."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import and_
from typing import TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type

from experiments.pipeline.intake.prepare import damaged
from experiments.pipeline.intake.sources import TableSource, partition_values
from experiments.pipeline.intake.spark_source import SparkTable, redacted
from experiments.pipeline.intake.values import literal, quoted, read_type
from experiments.pipeline.spark.errors import PipelineError, explain, is_sparks
from experiments.pipeline.spark.paths import reader, to_read
from optimizer.algebra.columns import DataType

SMALL = 32 << 20  # bytes that this process has looked at sooner than Spark would
BATCH = 64  # files of one query: a plan grows with each
PLACE_BITS = 33  # of a monotonically increasing id: the place in its partition, whose number is the rest
NULL = "CAST(NULL AS string)"
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Opened:
    """One file, or one table of a database.

    `types`: by column, in the file's order, the stored type; None for texts. `rows` of some of them are columns `v0`, `v1` …;
    `_broken`, why a row cannot be told apart into columns, else NULL; and `_line`, the row as the file has it, where known.
    `known`: types that texts are known to have, or bits (`values.possible`) of those they may have at most; `texts`: a quicker
    way to the values of good rows.
    `open`: what other files have and this one lacks is NULL. `numbered`: rows have an order, and so a number. `marked`: a file
    with bytes that are no text.
    """

    label: str
    types: dict[str, DataType | None]
    rows: Callable[[Sequence[str]], DataFrame]
    open: bool = False
    numbered: bool = True
    marked: bool = False
    known: Mapping[str, DataType | int] = field(default_factory=dict)
    texts: Callable[[Sequence[str]], DataFrame] | None = None

    def aligned(self, names: Sequence[str]) -> DataFrame:
        """`rows` of these columns, those that are not there as NULLs."""
        here = [name for name in names if name in self.types]
        values = [f"v{here.index(name)}" if name in self.types else NULL for name in names]
        return self.rows(here) if len(here) == len(names) else self.rows(here).selectExpr(*numbered(values), "_broken", "_line")


def known_type(files: Sequence[Opened], column: str) -> DataType | int:
    """What is known of the type of a column of texts in all files: the type, or bits as in `Opened.known`; -1 is nothing."""
    found = {file.known.get(column, -1) for file in files if column in file.types}
    if len(found) == 1:
        return found.pop()
    bits = [one for one in found if isinstance(one, int)]
    return reduce(and_, bits) if len(bits) == len(found) else -1


def open_typed(spark: SparkSession, format: str, files: Mapping[str, str]) -> dict[str, Opened | PipelineError]:
    """Parquet and ORC files, by label, for paths by label: the file, or why it cannot be imported."""
    found: dict[str, Opened | PipelineError] = {}
    for label, path in files.items():
        try:
            schema = pq.read_schema(path) if format == "parquet" else orc.ORCFile(path).schema
            check_distinct(label, schema.names)
        except PermissionError:
            found[label] = PipelineError(f"cannot read {label}: permission denied")
        except (pa.ArrowException, OSError) as error:
            found[label] = damaged(label, format, error)
        except PipelineError as error:
            found[label] = error
        else:
            types = dict(zip(schema.names, schema.types, strict=True))
            found[label] = Opened(label, dict(types), partial(_file_rows, spark, format, path, types))
    return found


def _file_rows(spark: SparkSession, format: str, path: str, types: Mapping[str, pa.DataType], names: Sequence[str]) -> DataFrame:
    wanted = [name for name in names if not pa.types.is_null(types[name])]
    schema = ", ".join(f"{quoted(name)} {read_type(types[name])}" for name in wanted) or "_none string"
    frame = reader(spark).format(format).schema(schema).load(to_read(path))
    return _selected(frame, [name if name in wanted else None for name in names])


def _selected(frame: DataFrame, names: Sequence[str | None]) -> DataFrame:
    """These columns; None is one of NULLs."""
    return frame.selectExpr(
        *numbered([quoted(name) if name else NULL for name in names]), f"{NULL} AS _broken", f"{NULL} AS _line"
    )


def open_table(spark: SparkSession, table: SparkTable) -> Opened:
    """Raises PipelineError with Spark's or the database's reason."""
    try:
        source = spark.read.format(table.format).options(**dict(table.options))
        frame = spark.read.table(table.path or "") if table.format == "table" else source.load(table.path)
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
    return Opened(table.label, types, partial(_selected, frame), numbered=False)


def listed(spark: SparkSession, table: SparkTable) -> TableSource:
    """The files of text at a URI, with the values that the names of their folders say. Raises PipelineError."""
    assert table.path is not None, f"{table.name} has a path"
    try:
        found = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(table.path).select("path")
        paths = sorted(row["path"] for row in found.collect())
    except Exception as error:
        raise unreadable(table, error) from error
    if not paths:
        raise PipelineError(f"there is no file in {table.path}")
    base, folders = len(_segments(table.path)), {path: _segments(path)[:-1] for path in paths}
    return TableSource(table.name, table.format, {path: partition_values(all[base:]) for path, all in folders.items()})


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def unreadable(table: SparkTable, error: Exception) -> Exception:
    if isinstance(error, PipelineError) or not is_sparks(error):
        return error
    text, said = str(error), redacted(explain(error))
    if table.format == "jdbc" and ("No suitable driver" in text or "ClassNotFoundException" in text):
        said = "Spark has no driver for it; --jars FILE.jar adds one, --option driver=CLASS names its class"
    elif "DATA_SOURCE_NOT_FOUND" in text or "Failed to find" in text:
        said = f'neither planscope nor Spark knows a format "{table.format}"; --jars FILE.jar adds one to Spark'
    return PipelineError(f"cannot read {table.label}: {said}")


def partitioned(files: list[Opened], partitions: Mapping[str, Mapping[str, str | None]]) -> list[Opened]:
    """The files with the columns that their folders are named after, as texts. Raises PipelineError for a file that has one."""
    found = []
    for file in files:
        texts = partitions[file.label]
        own = {name.lower() for name in file.types}
        if (twin := next((name for name in texts if name.lower() in own), None)) is not None:
            raise PipelineError(f'{file.label} has a column "{twin}" and lies in a folder {twin}=...; rename one of them')
        types, rows = {**file.types, **dict.fromkeys(texts)}, partial(_with_texts, file, texts)
        found.append(replace(file, types=types, rows=rows, texts=None) if texts else file)
    return found


def _with_texts(file: Opened, texts: Mapping[str, str | None], names: list[str]) -> DataFrame:
    own = [name for name in names if name not in texts]
    values = [literal(texts[name]) if name in texts else f"v{own.index(name)}" for name in names]
    return file.rows(own).selectExpr(*numbered(values), "_broken", "_line")


def check_distinct(label: str, names: Sequence[str | None]) -> None:
    """Raises PipelineError for a column that is there twice."""
    if (twice := next((name for i, name in enumerate(names) if name in names[:i]), None)) is not None:
        raise PipelineError(f'{label} has more than one column "{twice}"; rename all but one of them')


def numbered(values: Sequence[str]) -> list[str]:
    """Expressions called v0, v1 …"""
    return [f"{value} AS v{i}" for i, value in enumerate(values)]


def batches(files: Sequence[Result]) -> list[Sequence[Result]]:
    return [files[i : i + BATCH] for i in range(0, len(files), BATCH)]


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """One after the other: partitions keep the order of the frames."""
    return reduce(lambda one, other: one.unionAll(other), frames)


def damaged_file(error: Exception, labels: Sequence[str]) -> str | None:
    """Which of these files Spark could not read, if `error` says so."""
    found = re.search(r"FAILED_READ_FILE[^\n]*?reading file (\S+?)\.?\s", str(error)) if is_sparks(error) else None
    path = unquote(found[1]).removeprefix("file:").lstrip("/") if found else None
    return next((label for label in labels if label.removeprefix("file:").lstrip("/") == path), None)
