"""Tables that Spark itself finds: over JDBC, in its catalog, at a URI, or in any format that its installation knows.

Such rows have no number, and come in no particular order: of two rows with one key, the one that stays is the first of the first
Spark partition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.pipeline.intake.sources import check_table_name, table_name
from experiments.pipeline.spark.errors import PipelineError

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
