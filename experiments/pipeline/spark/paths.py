"""Files and folders as Spark is told of them: local ones are local, whatever the default file system.

Readers take brackets and stars for patterns. With the option `__globPaths__` they do not, but Spark 4.3 then reads every one of
several files with brackets in their paths several times. So such characters are escaped.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, SparkSession


def reader(spark: SparkSession) -> DataFrameReader:
    """Spark's reader, which is to check the pages of Parquet files."""
    return spark.read.option("parquet.page.verify-checksum.enabled", "true")


def to_read(path: Path | str) -> str:
    """A file or folder for a reader: a path or a URI, every character as it is."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", to_write(path))


def to_write(path: Path | str) -> str:
    """As Spark names it too, which takes `..` out of paths."""
    return f"file:{os.path.normpath(path)}" if str(path).startswith("/") else str(path)
