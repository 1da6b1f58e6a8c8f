"""Files, or a table elsewhere, as Spark reads them: columns before any check."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import TypeVar
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
from pyspark import __version__ as spark_version
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DateType, DecimalType, TimestampNTZType, TimestampType

from executor.spark.waiting import is_remote
from experiments.pipeline.intake.prepare import CPP, damage
from experiments.pipeline.intake.sources import Source, Values, partition_values
from experiments.pipeline.intake.values import literal, quoted, read_type, stored_type
from experiments.pipeline.spark.errors import PipelineError, causes, explain, is_sparks
from experiments.pipeline.spark.paths import reader, to_read, to_write
from experiments.redacted import redacted
from optimizer.algebra.columns import DataType
from optimizer.catalog.dataset import SCHEMA_FILE

OPEN_COST = "spark.sql.files.openCostInBytes"
BATCH = 64  # of what one query reads: a plan grows with each
PLACES = (1 << 33) - 1  # bits of a monotonically increasing id: the place in its partition, whose number is the rest
_UNREACHED = r"\S*(Access|Connect|Host|Socket|Timeout|Interrupted|AWS|BlockMissing|FileNotFound|URISyntax)\w*Exception"
# how ORC is to read days of files that do not say their calendar; it then shifts ten days to these
_AS_WRITTEN = {"orc.proleptic.gregorian.default": "true"}
_SHIFTED = "DATE'1582-10-15' AND DATE'1582-10-24'"
_CALENDAR = "a day from 5 to 24 October 1582, in a file that does not say its calendar"
PLACE = ("_metadata.file_path AS _file", "_metadata.file_block_start AS _start")
TOLD = ("_file", "_start", "_broken", "_line")
Result = TypeVar("Result")
Read = Callable[[Sequence[str], Sequence[str]], DataFrame]


@dataclass(frozen=True, slots=True)
class Opened:
    """One file, several that have the same columns, or one table of a database.

    `paths`: where Spark reads each file, by label. `types`: by column, in the order of the files, the stored type; None for
    texts. `read` gives of these paths some of the columns as `v0`, `v1` …; `_file`, which Spark read, and `_start`, from which
    byte on; `_broken`, why a row cannot be told apart into columns, else NULL; and `_line`, the row as the file has it, where
    known. `folders`: by label, the values of the columns that its folders are named after. `masks`: what all values of a column
    of texts may be (`values.possible`), where that is known; `said`: the types of texts whose source has one. `open`: what other
    files have and these lack is NULL. `numbered`: rows have an order, and so a number. `marked`: some bytes are no text.
    """

    paths: Mapping[str, str]
    types: Mapping[str, DataType | None]
    read: Read
    folders: Mapping[str, Values] = field(default_factory=dict)
    masks: Mapping[str, int | None] = field(default_factory=dict)
    said: Mapping[str, DataType] = field(default_factory=dict)
    open: bool = False
    numbered: bool = True
    marked: bool = False

    @property
    def label(self) -> str:
        """Of the first file."""
        return next(iter(self.paths))

    def rows(self, names: Sequence[str]) -> DataFrame:
        """As `read`, of any columns: values of folders are texts, columns that are not there NULL."""
        folders = {name for values in self.folders.values() for name in values}
        own = [name for name in names if name in self.types and name not in folders]
        values = [f"v{own.index(name)}" if name in own else self._of_folders(name) for name in names]
        return self.read(list(self.paths.values()), own).selectExpr(*numbered(values), *TOLD)

    def _of_folders(self, name: str) -> str:
        said = {
            to_write(self.paths[file]): value for file, values in self.folders.items() if (value := values.get(name)) is not None
        }
        if len(said) == len(self.paths) and len(set(said.values())) == 1:
            return literal(next(iter(said.values())))
        pairs = ", ".join(literal(text) for pair in said.items() for text in pair)
        return f"try_element_at(map({pairs}), url_decode(replace(_file, '+', '%2B')))" if said else literal(None)

    def only(self, label: str) -> Opened:
        """One of the files."""
        folders = {label: self.folders[label]} if self.folders else {}
        return replace(self, paths={label: self.paths[label]}, folders=folders)

    def within(self, folders: Mapping[str, Values]) -> Opened:
        """The files with the columns that their `folders` are named after, as texts. Raises PipelineError when they have one
        themselves."""
        folders, own = {label: folders[label] for label in self.paths}, {name.lower() for name in self.types}
        names = {name: label for label, values in folders.items() for name in values}
        if (twin := next((name for name in names if name.lower() in own), None)) is not None:
            raise PipelineError(f'{names[twin]} has a column "{twin}" and lies in a folder {twin}=...; rename one of them')
        return replace(self, types={**self.types, **dict.fromkeys(names)}, folders=folders)


def joined(spark: SparkSession, files: Sequence[Opened]) -> list[Opened]:
    """Of many files, those that are next to one another and alike as one, for Spark plans each by itself; few ones are one each,
    since parts of them are for all cores."""
    if sum(len(one.paths) for one in files) < 2 * slots(spark):
        return [one.only(label) for one in files for label in one.paths]
    found: list[Opened] = []
    for _, alike in groupby(files, lambda one: replace(one, paths={}, folders={})):
        for some in batches(list(alike)):
            paths = {label: path for one in some for label, path in one.paths.items()}
            folders = {label: values for one in some for label, values in one.folders.items()}
            found.append(replace(some[0], paths=paths, folders=folders))
    return found


def slots(spark: SparkSession) -> int:
    """How many tasks run at a time; how many cores a server has it does not say."""
    return 16 if is_remote(spark) else int(spark.sparkContext.defaultParallelism)


def open_typed(spark: SparkSession, format: str, label: str, path: str) -> Opened:
    """A Parquet or ORC file. Raises PipelineError when it is none."""
    try:
        if format == "orc":
            file = orc.ORCFile(path)
            schema, unsaid = file.schema, file.writer == CPP
            zoned = set(schema.names)
        else:
            with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
                schema, leaves = file.schema_arrow, [file.schema.column(i) for i in range(len(file.schema))]
            unsaid, zoned = False, {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    except PermissionError as error:
        raise PipelineError(f"cannot read {label}: permission denied") from error
    except (pa.ArrowException, OSError) as error:
        raise PipelineError(damage(label, format, error)) from error
    check_distinct(label, schema.names)
    _check_settings(label, schema.names)
    # Arrow counts ORC's timestamps in nanoseconds, Spark in microseconds, and takes `zoned` ones for moments of its own time zone
    kept = [pa.timestamp("us", type.tz) if format == "orc" and pa.types.is_timestamp(type) else type for type in schema.types]
    types = dict(zip(schema.names, map(stored_type, kept), strict=True))
    read_as = {name: kind for name, type in types.items() if not pa.types.is_null(type) and (kind := read_type(type)) is not None}
    moments = {name for name in zoned & read_as.keys() if read_as[name] == "timestamp_ntz"}
    columns = ", ".join(f"{quoted(name)} {'timestamp' if name in moments else kind}" for name, kind in read_as.items())
    values = {name: f"CAST({quoted(name)} AS timestamp_ntz)" if name in moments else quoted(name) for name in read_as}
    days = {name: f"CAST({quoted(name)} AS date) BETWEEN {_SHIFTED}" for name in read_as if pa.types.is_temporal(types[name])}
    read = _Stored(spark, format, columns or "_none string", values, days if unsaid else {})
    return Opened({label: path}, types, read)


@dataclass(frozen=True, slots=True)
class _Stored:
    """Reads files of a format: columns by their expressions in `values`; `days`: conditions under which they are not what was
    written."""

    spark: SparkSession
    format: str
    columns: str
    values: Mapping[str, str]
    days: Mapping[str, str]

    def __call__(self, paths: Sequence[str], names: Sequence[str]) -> DataFrame:
        source = reader(self.spark).format(self.format).options(**_AS_WRITTEN if self.days else {}).schema(self.columns)
        days = [self.days[name] for name in names if name in self.days]
        broken = f"CASE WHEN {' OR '.join(days)} THEN {literal(_CALENDAR)} END" if days else literal(None)
        values = [self.values.get(name, literal(None)) for name in names]
        frame = source.load(list(map(to_read, paths)))
        file = frame.metadataColumn("_metadata")  # also where a column is called so
        place = (file["file_path"].alias("_file"), file["file_block_start"].alias("_start"))
        return frame.select(
            *map(F.expr, numbered(values)), *place, F.expr(broken).alias("_broken"), F.lit(None).cast("string").alias("_line")
        )


def open_elsewhere(spark: SparkSession, table: Source, files: Sequence[str]) -> list[Opened]:
    """A table, or these files of it, together where they have the same columns. Raises PipelineError with Spark's or the
    database's reason."""
    if len(files) < 2 or _alike(spark, table):
        return [_open(spark, table, files)]
    return [_open(spark, table, [file]) for file in files]


def _alike(spark: SparkSession, table: Source) -> bool:
    """Whether all files of a table have the same columns."""
    source = reader(spark).format(table.format).options(**table.options)
    try:
        return bool(source.load(table.path).schema == source.option("mergeSchema", "true").load(table.path).schema)
    except Exception:  # one is damaged, or has a column of another type
        return False


def _open(spark: SparkSession, table: Source, files: Sequence[str]) -> Opened:
    said: dict[str, DataType] = {}
    folders = {file: table.files[file] for file in files}
    with reading(table):
        source = reader(spark).format(table.format).options(**table.options)
        if table.format == "table":
            frame = spark.read.table(table.path or "")
        elif len(files) == 1:
            frame = source.load(to_read(files[0]))
        elif len(files) < len(table.files):
            base = re.split(r"/[^/]*[*?\[{]", table.path or "")[0]
            frame = source.option("basePath", base).load(list(map(to_read, files)))
        else:
            frame = source.load(table.path)
            if table.format == "jdbc" and (said := _exact_as_texts(frame, table.options)):
                frame = source.option("customSchema", ", ".join(f"{quoted(name)} string" for name in said)).load()
        fields = frame.schema.fields
    label, names = files[0] if len(files) == 1 else table.label, [one.name for one in fields]
    check_distinct(label, names)
    if files:
        _check_settings(label, names)
    types: dict[str, pa.DataType | None] = {}
    for one in fields:
        try:
            types[one.name] = stored_type(to_arrow_type(one.dataType, timezone="UTC"))
        except Exception:  # a type of Spark's own
            types[one.name] = pa.struct([pa.field(one.dataType.simpleString(), pa.null())])
    types.update(dict.fromkeys([*said, *(name for each in folders.values() for name in each if name in types)]))

    def read(_: Sequence[str], names: Sequence[str]) -> DataFrame:
        told = zip((literal(quote(to_write(label))), "0L", literal(None), literal(None)), TOLD, strict=True)
        return frame.selectExpr(*numbered(list(map(quoted, names))), *(f"{value} AS {name}" for value, name in told))

    opened = Opened({label: label}, types, read, said=said, numbered=False)
    return opened.within(folders) if len(files) == 1 else opened


def _exact_as_texts(frame: DataFrame, options: Mapping[str, str]) -> dict[str, DataType]:
    """The columns of a database that are read as texts, with their types, since what Spark makes of them need not be what is
    stored: it rounds decimals, moves days before October 1582, takes infinity for some day, and NaN ends the import."""
    split = options.get("partitionColumn", "").strip('"`').lower()
    if "customSchema" in options:  # somebody knows better
        return {}
    types = {
        one.name: to_arrow_type(one.dataType, timezone="UTC")
        for one in frame.schema.fields
        if isinstance(one.dataType, DateType | TimestampType | TimestampNTZType | DecimalType)
        and one.name.lower() != split
        and not one.metadata.get("logical_time_type")  # a time of day, which Spark makes a timestamp
    }
    return {name: pa.timestamp("us") if pa.types.is_timestamp(type) else type for name, type in types.items()}


def listed(spark: SparkSession, table: Source) -> Source:
    """With the files that are there, and the values that the names of their folders say. Raises PipelineError."""
    with reading(table):
        found = spark.read.format("binaryFile").options(**table.options).option("recursiveFileLookup", "true").load(table.path)
        paths = sorted(row["path"] for row in found.select("path").collect())
        paths = [path for path in paths if not path.endswith(f"/{SCHEMA_FILE}")]
    if not paths:
        raise PipelineError(f"there is no file in {table.label}")
    base = len(_folders(f"{table.path}/"))
    return replace(table, files={path: partition_values(_folders(path)[base:]) for path in paths})


def _folders(path: str) -> list[str]:
    return [segment for segment in path.split("/")[:-1] if segment]


@contextmanager
def reading(table: Source) -> Iterator[None]:
    """Failures of Spark to read a table elsewhere become PipelineError, without secrets; those of files pass."""
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        if not table.label or not is_sparks(error) or damaged_file(error, list(table.files)) is not None:
            raise
        text, said = str(error), explain(error)
        if table.format == "jdbc" and ("No suitable driver" in text or "ClassNotFoundException" in text):
            said = "Spark has no driver for it; --jars FILE.jar adds one, --option driver=CLASS names its class"
        elif "DATA_SOURCE_NOT_FOUND" in text or "Failed to find" in text:
            said = f'neither planscope nor Spark knows a format "{table.format}"; --jars FILE.jar adds one to Spark'
            if table.format == "avro":  # of Spark's own, but not in its package
                said += f"\n--conf spark.jars.packages=org.apache.spark:spark-avro_2.13:{spark_version} fetches that of Avro"
        raise PipelineError(f"cannot read {table.label}: {redacted(said)}") from error


def check_distinct(label: str, names: Sequence[str | None]) -> None:
    """Raises PipelineError for a column that is there twice."""
    if (twice := next((name for i, name in enumerate(names) if name in names[:i]), None)) is not None:
        raise PipelineError(f'{label} has more than one column "{twice}"; rename all but one of them')


def _check_settings(label: str, names: Sequence[str]) -> None:
    """Raises PipelineError for a column of Parquet or ORC for whose name Hadoop would take the value of a setting."""
    if (name := next((name for name in names if re.search(r"\$\{[^}$ ]+\}", name)), None)) is not None:
        raise PipelineError(f'{label} has a column "{name}", for which Hadoop would look up a setting; rename it')


def damaged_file(error: Exception, labels: Sequence[str]) -> str | None:
    """Which of these files Spark could not read, if `error` says so, and not that it could not reach it."""
    if not is_sparks(error) or any(re.match(_UNREACHED, cause) for cause in causes(error)):
        return None
    found = re.search(r"FAILED_READ_FILE[^\n]*?reading file (\S+?)\.?\s", str(error))
    if found is None and "InvalidProtocolBufferException" in str(error) and len(labels) == 1:  # of ORC's columns
        return labels[0]
    path = unquote(found[1]).removeprefix("file:").lstrip("/") if found else None
    return next((label for label in labels if to_write(label).removeprefix("file:").lstrip("/") == path), None)


def numbered(values: Sequence[str]) -> list[str]:
    """Expressions called v0, v1 …"""
    return [f"{value} AS v{i}" for i, value in enumerate(values)]


def batches(files: Sequence[Result]) -> list[Sequence[Result]]:
    """As many of them at a time as one query reads."""
    return [files[i : i + BATCH] for i in range(0, len(files), BATCH)]


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """One after the other: partitions keep the order of the frames."""
    return reduce(DataFrame.unionAll, frames)
