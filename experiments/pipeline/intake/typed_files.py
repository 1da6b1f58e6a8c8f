"""Parquet and ORC files, whose columns have types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from experiments.pipeline.intake.frames import Opened, damaged, numbered, reader, uri
from experiments.pipeline.intake.values import quoted, read_type
from experiments.pipeline.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def open_typed(spark: SparkSession, format: str, files: Mapping[str, str]) -> dict[str, Opened | PipelineError]:
    """By label, for paths by label: the file, or why it cannot be imported."""
    found: dict[str, Opened | PipelineError] = {}
    for label, path in files.items():
        try:
            schema = pq.read_schema(path) if format == "parquet" else orc.ORCFile(path).schema
        except PermissionError:
            found[label] = PipelineError(f"cannot read {label}: permission denied")
            continue
        except (pa.ArrowException, OSError) as error:
            found[label] = damaged(label, format, error)
            continue
        twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
        if twice is not None:
            found[label] = PipelineError(f'{label} has more than one column "{twice}"; rename all but one of them')
            continue
        types = dict(zip(schema.names, schema.types, strict=True))
        found[label] = Opened(label, dict(types), partial(_file_rows, spark, format, path, types))
    return found


def _file_rows(spark: SparkSession, format: str, path: str, types: Mapping[str, pa.DataType], names: Sequence[str]) -> DataFrame:
    wanted = [name for name in names if not pa.types.is_null(types[name])]
    schema = ", ".join(f"{quoted(name)} {read_type(types[name])}" for name in wanted)
    frame = reader(spark).format(format).schema(schema).load(uri(path))
    return selected(frame, [name if name in wanted else None for name in names])


def selected(frame: DataFrame, names: Sequence[str | None]) -> DataFrame:
    """These columns; None is one of NULLs."""
    null = "CAST(NULL AS string)"
    values = numbered([quoted(name) if name else null for name in names])
    return frame.selectExpr(*values, f"{null} AS _broken", f"{null} AS _line")
