"""What Spark reads of a file, or of a table elsewhere: columns before any check."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from experiments.pipeline.spark.errors import PipelineError, is_sparks
from optimizer.algebra.columns import DataType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

BATCH = 64  # files of one query: a plan grows with each
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Opened:
    """One file, or one table of a database.

    `types`: by column, in the file's order, the stored type; None for texts. `rows` of some of them are columns `v0`, `v1` …;
    `_broken`, why a row cannot be told apart into columns, else NULL; and `_line`, the row as the file has it, where known.
    `hints`: types that texts are known to have, `among`: bits (`values.possible`) of those they may have at most; `texts`: a
    quicker way to the values of good rows.
    `open`: what other files have and this one lacks is NULL. `numbered`: rows have an order, and so a number. `marked`: a file
    with bytes that are no text.
    """

    label: str
    types: dict[str, DataType | None]
    rows: Callable[[Sequence[str]], DataFrame]
    open: bool = False
    numbered: bool = True
    marked: bool = False
    hints: Mapping[str, DataType] = field(default_factory=dict)
    among: Mapping[str, int] = field(default_factory=dict)
    texts: Callable[[Sequence[str]], DataFrame] | None = None

    def aligned(self, names: Sequence[str]) -> DataFrame:
        """`rows` of these columns, those that are not there as NULLs."""
        here = [name for name in names if name in self.types]
        if len(here) == len(names):
            return self.rows(here)
        values = [f"v{here.index(name)}" if name in self.types else "CAST(NULL AS string)" for name in names]
        return self.rows(here).selectExpr(*numbered(values), "_broken", "_line")


def numbered(values: Sequence[str]) -> list[str]:
    """Expressions called v0, v1 …"""
    return [f"{value} AS v{i}" for i, value in enumerate(values)]


def batches(files: Sequence[Result]) -> list[Sequence[Result]]:
    return [files[i : i + BATCH] for i in range(0, len(files), BATCH)]


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """One after the other: partitions keep the order of the frames."""
    return reduce(lambda one, other: one.unionAll(other), frames)


def reader(spark: SparkSession) -> DataFrameReader:
    """A path is a path, even with brackets in it; pages of Parquet files are checked."""
    return spark.read.options(**{"__globPaths__": "false", "parquet.page.verify-checksum.enabled": "true"})


def damaged_file(error: Exception, labels: Sequence[str]) -> str | None:
    """Which of these files Spark could not read, if `error` says so."""
    found = re.search(r"FAILED_READ_FILE[^\n]*?reading file (\S+?)\.?\s", str(error)) if is_sparks(error) else None
    if found is None:
        return None
    from urllib.parse import unquote

    path = unquote(found[1]).removeprefix("file:").lstrip("/")
    return next((label for label in labels if label.removeprefix("file:").lstrip("/") == path), None)


def damaged(label: str, format: str, error: Exception | str) -> PipelineError:
    said = [line.strip() for line in str(error).splitlines()]
    causes = [line.partition(": ")[2] for line in said if line.startswith("Caused by: ") and "FAILED_READ_FILE" not in line]
    reason = (causes[-1] if causes else said[0]).split(". Detail:")[0].rstrip(".")[:200]
    return PipelineError(f"{label} is damaged, incomplete or no {format} file ({reason})\nwrite it again, or leave it out")


def uri(label: str) -> str:
    """A file as Spark is told of it."""
    return f"file:{label}" if label.startswith("/") else label
