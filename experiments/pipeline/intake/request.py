"""What a user wants imported, looked up: sources, declarations, and what the result depends on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.pipeline.intake.prepare import codec_name
from experiments.pipeline.intake.sources import FILE_FORMATS, TableSource, find_sources, kind_of
from experiments.pipeline.intake.spark_source import SparkTable, is_secret, redacted, spark_tables
from experiments.pipeline.spark.errors import PipelineError
from optimizer.catalog.constraints import near
from optimizer.catalog.declarations import TableDeclaration
from optimizer.dataset import read_declarations

SMALL = 64 << 20  # bytes
_ENCODING = {"encoding": "default utf-8"}
_OPTIONS = {
    "csv": {
        "delimiter": "between fields; default a comma, in .tsv files a tab",
        "quote": 'around fields; default "',
        "escape": "before a quote inside quotes; default none, quotes are doubled",
        "header": "true or false: whether the first line has the names; default true",
        "null": "a text that stands for NULL, besides the empty one",
        **_ENCODING,
    },
    "json": _ENCODING,
}


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """The command line's words. `folder`: or a URI. `on_reject`: "keep" rejected rows aside, or "fail"; `on_dangling`: "keep"
    rows that refer to no row and leave the foreign key undeclared, or "reject" them; `merge`: files of a table may differ."""

    sources: tuple[str, ...]
    folder: Path | str
    format: str | None = None
    schema: Path | None = None
    tables: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    on_reject: str = "keep"
    on_dangling: str = "keep"
    merge: bool = False
    jars: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`declared` by lower-case table name; `inputs` and `settings` as the manifest has them, without secrets."""

    tables: tuple[TableSource | SparkTable, ...]
    declared: dict[str, TableDeclaration]
    skipped: tuple[Path, ...]
    inputs: dict[str, Any]
    settings: dict[str, Any]
    schema: Path | None = None


def planned(request: ImportRequest) -> Plan:
    """Raises PipelineError or CatalogError for whatever is missing or contradictory; reads no data."""
    tables: tuple[TableSource | SparkTable, ...]
    skipped: tuple[Path, ...] = ()
    schema = request.schema
    if request.format in (None, *FILE_FORMATS) and not any("://" in source for source in request.sources):
        if not request.sources:
            raise PipelineError("name a file or folder to import")
        if len(request.tables) > 1:
            raise PipelineError("--table names the one table that all files belong to; it can be repeated only for --format jdbc")
        paths = [Path(source).expanduser().absolute() for source in request.sources]
        found = find_sources(paths, request.format, next(iter(request.tables), None))
        tables, skipped, schema = found.tables, found.skipped, schema or found.schema
        _check_options(request.options, {table.format for table in found.tables})
        codec_name(request.options.get("encoding", "utf-8"))
    else:
        tables = tuple(_remote_tables(request))
    try:
        declared = {one.name.lower(): one for one in read_declarations([schema])} if schema is not None else {}
    except OSError as error:
        raise PipelineError(f"cannot read {schema}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PipelineError(f"{schema} is not UTF-8 text") from error
    names = [table.name for table in tables]
    if declared and not any(name.lower() in declared for name in names):
        raise PipelineError(
            f"{schema} declares none of the tables to import ({', '.join(names[:5])})\n{near(names[0], sorted(declared))}"
        )
    return Plan(tables, declared, skipped, read_inputs(tables, schema), _settings(request, tables), schema)


def is_small(request: ImportRequest) -> bool:
    """Whether so little is to be read that Spark will be started for seconds. Raises what `planned` raises."""
    plan = planned(request)
    local = all(isinstance(table, TableSource) for table in plan.tables)
    return local and sum(file["bytes"] for file in plan.inputs.values()) <= SMALL


def _remote_tables(request: ImportRequest) -> list[SparkTable]:
    """Raises PipelineError for a URI whose files are of no known kind, or of one that only local folders may hold."""
    format = request.format
    if format is None:
        kinds = {kind_of(source.rstrip("/").rpartition("/")[2], None) for source in request.sources}
        if len(kinds) > 1 or None in kinds:
            raise PipelineError(f"{request.sources[0]}: what kind of files are there? say --format")
        (format,) = kinds
    assert format is not None
    encoding = request.options.get("encoding", "utf-8")
    if format == "arrow" or (codec_name(encoding) != "utf-8" and format in ("csv", "json")):
        raise PipelineError(
            f"Spark reads {format} files from URIs in UTF-8 only, and no Arrow files; copy {request.sources[0]} to a folder"
        )
    if format in _OPTIONS:
        _check_options(request.options, {format})
    return spark_tables(format, request.options, request.sources, request.tables)


def _check_options(options: dict[str, str], formats: set[str]) -> None:
    known = {option: meaning for format in sorted(formats) for option, meaning in _OPTIONS.get(format, {}).items()}
    for name in (name for name in options if name not in known):
        listed = "\n".join(f"  {option}: {meaning}" for option, meaning in known.items()) or "  none"
        raise PipelineError(f'there is no option "{name}" for {" and ".join(sorted(formats))} files; known:\n{listed}')


def read_inputs(tables: tuple[TableSource | SparkTable, ...], schema: Path | None) -> dict[str, Any]:
    """The files as they are now. Raises PipelineError when one is gone."""
    files = [Path(file) for table in tables if isinstance(table, TableSource) for file in table.files]
    found = {}
    try:
        for file in [*files, *([schema] if schema is not None else [])]:
            stat = file.stat()
            found[str(file.absolute())] = {"bytes": stat.st_size, "modified": stat.st_mtime_ns}
    except OSError as error:
        raise PipelineError(f"cannot read {error.filename}: {error.strerror}") from error
    return found


def _settings(request: ImportRequest, tables: tuple[TableSource | SparkTable, ...]) -> dict[str, Any]:
    options = {name: "***" if is_secret(name) else redacted(value) for name, value in sorted(request.options.items())}
    return {
        "format": request.format,
        "tables": list(request.tables),
        "options": options,
        "options_digest": hashlib.sha256(json.dumps(sorted(request.options.items())).encode()).hexdigest(),
        "sources": list(request.sources) if isinstance(tables[0], SparkTable) else [],
        "on_reject": request.on_reject,
        "on_dangling": request.on_dangling,
        "merge": request.merge,
    }
