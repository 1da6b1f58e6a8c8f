"""What a user wants imported, looked up, sources, declarations, and what the result depends on; and imported."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.pipeline.intake.prepare import codec_name, is_needed
from experiments.pipeline.intake.sources import ENDINGS, Found, find_sources, kind_of, tables_elsewhere
from experiments.pipeline.spark import publish
from experiments.pipeline.spark.errors import PipelineError, translated
from experiments.pipeline.spark.make import Dataset, make_dataset
from experiments.pipeline.spark.manifest import Facts, Files
from experiments.pipeline.spark.session import Say, Start, configured
from experiments.redacted import is_secret, redacted
from optimizer.catalog.constraints import near
from optimizer.catalog.declarations import TableDeclaration
from optimizer.dataset import read_declarations

STAGE = "import"
VECTORIZED = ("spark.sql.parquet.enableVectorizedReader", "spark.sql.orc.enableVectorizedReader")
_CONF = {
    **dict.fromkeys(VECTORIZED, "true"), "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.files.minPartitionNum": "1", "spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # a name of a column or a file may have ${...} in it
    "spark.sql.parser.escapedStringLiterals": "false",  # as `values.literal` writes them
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # 00501 is no 501
    # a partition has rows of one file, in their order
    "spark.sql.unionOutputPartitioning": "false", "spark.sql.files.openCostInBytes": str(1 << 40),
    "spark.sql.files.maxPartitionNum": str((1 << 31) - 1),
}  # fmt: skip
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
    rows that refer to no row and leave the key undeclared, or "reject" them; `merge_schema`: files of a table may differ."""

    sources: tuple[str, ...]
    folder: Path | str
    format: str | None = None
    schema: Path | None = None
    tables: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    on_reject: str = "keep"
    on_dangling: str = "keep"
    merge_schema: bool = False
    jars: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`declared` by lower-case table name; `inputs` and `settings` as the manifest has them, without secrets."""

    found: Found
    declared: dict[str, TableDeclaration]
    inputs: dict[str, Any]
    settings: dict[str, Any]


def import_dataset(request: ImportRequest, start: Start, say: Say, resume: str = "") -> Dataset:
    """The imported dataset, in a folder or at a URI. `start` gives the Spark session; `resume`: a command that goes on. Raises
    PipelineError, CatalogError, OutputError; then the folder holds no table, and what was done so far stays for the next time,
    unless rows were rejected and that was to fail."""
    plan = planned(request)

    def fill(inside: Path) -> tuple[Facts, Files]:
        from experiments.pipeline.intake.tables import Tables  # needs pyspark, which a second run does without

        with translated("importing"), ExitStack() as end:
            return Tables(request, plan, lambda: end.enter_context(configured(start(), _CONF)), inside, say).make()

    names = [table.name for table in plan.found.tables]
    what = f"import of {', '.join(names[:5])}{' and others' if len(names) > 5 else ''}"
    return make_dataset(publish.Plan(STAGE, what, plan.inputs, plan.settings, fill, resume), request.folder, start, say)


def planned(request: ImportRequest) -> Plan:
    """Raises PipelineError or CatalogError for whatever is missing or contradictory; reads no data."""
    if (missing := next((jar for jar in request.jars if not jar.is_file()), None)) is not None:
        raise PipelineError(f"there is no file {missing}")
    if (format := (request.format or "").lower()) in (*ENDINGS, "jdbc", "table"):
        request = replace(request, format=format)
    found = _found(request)
    schema, names = found.schema, [table.name for table in found.tables]
    declared = {one.name.lower(): one for one in read_declarations([schema])} if schema is not None else {}
    if declared and not any(name.lower() in declared for name in names):
        listed = ", ".join(names[:5])
        raise PipelineError(f"{schema} declares none of the tables to import ({listed})\n{near(names[0], sorted(declared))}")
    settings = {
        "format": request.format, "tables": list(request.tables), "merge": request.merge_schema,
        "on_reject": request.on_reject, "on_dangling": request.on_dangling,
        "options": {name: "***" if is_secret(name) else redacted(value) for name, value in sorted(request.options.items())},
        "options_digest": hashlib.sha256(json.dumps(sorted(request.options.items())).encode()).hexdigest(),
        "sources": [] if found.tables[0].files else list(map(redacted, request.sources)),
    }  # fmt: skip
    return Plan(found, declared, read_inputs(found), settings)


def is_small(request: ImportRequest) -> bool:
    """Whether so little is to be read that Spark will be started for seconds. Raises what `planned` raises."""
    plan = planned(request)
    return bool(plan.found.tables[0].files) and sum(file["bytes"] for file in plan.inputs.values()) <= SMALL


def _found(request: ImportRequest) -> Found:
    """Raises PipelineError for sources of no known kind, options that they lack, and what only local folders may hold."""
    local = request.format in (None, *ENDINGS) and not any("://" in source for source in request.sources)
    if local and not request.sources:
        raise PipelineError("name a file or folder to import")
    if local and len(request.tables) > 1:
        raise PipelineError("--table names the one table that all files belong to; it can be repeated only for --format jdbc")
    if local:
        paths = [Path(os.path.expanduser(source)).absolute() for source in request.sources]
        _check_apart(paths, request.folder)
        found = find_sources(paths, request.format, next(iter(request.tables), None))
        _check_options(request.options, {table.name.lower(): table.format for table in found.tables})
        return found._replace(schema=request.schema or found.schema)
    kinds = {request.format or kind_of(source.rstrip("/").rpartition("/")[2], None) for source in request.sources or [""]}
    format = kinds.pop()
    if kinds or format is None:
        raise PipelineError(f"{redacted(request.sources[0])}: what kind of files are there? say --format")
    if format in _OPTIONS:
        _check_options(request.options, {"": format})
    if is_needed(format, request.options.get("encoding", "utf-8")):
        raise PipelineError(
            f"at URIs Spark reads {format} files in UTF-8 only, none of Arrow's; copy {redacted(request.sources[0])} to a folder"
        )
    return Found(tables_elsewhere(format, request.options, request.sources, request.tables), [], request.schema)


def _check_apart(sources: list[Path], folder: Path | str) -> None:
    """A dataset in a folder of its sources would be taken for one of their tables."""
    if "://" not in str(folder):
        above = Path(os.path.expanduser(folder)).resolve().parents
        inside = next((source for source in sources if source.is_dir() and source.resolve() in above), None)
        if inside is not None:
            raise PipelineError(f"{folder} lies in {inside}, which is to be imported: choose a folder beside it")


def options_of(table: str, options: Mapping[str, str]) -> dict[str, str]:
    """Those for every table, and over them those that are written `table.NAME`."""
    own = {name.rpartition(".")[2]: text for name, text in options.items() if name.rpartition(".")[0].lower() == table.lower()}
    return {name: text for name, text in options.items() if "." not in name} | own


def _check_options(options: dict[str, str], tables: Mapping[str, str]) -> None:
    """`tables`: the format of each."""
    for name in options:
        of = name.rpartition(".")[0].lower()
        if of and "" in tables:
            raise PipelineError(f"--option {name}: options of one table are for local files")
        if of and of not in tables:
            raise PipelineError(f"--option {name}: there is no table {of}\n{near(of, sorted(tables))}")
        formats = {tables[of]} if of else set(tables.values())
        known = {option: meaning for format in sorted(formats) for option, meaning in _OPTIONS.get(format, {}).items()}
        if name.rpartition(".")[2] in known:
            continue
        listed = "\n".join(f"  {option}: {meaning}" for option, meaning in known.items()) or "  none"
        raise PipelineError(f'there is no option "{name}" for {" and ".join(sorted(formats))} files; known:\n{listed}')
    for name, text in options.items():
        if name.rpartition(".")[2] == "encoding":
            codec_name(text)


def read_inputs(found: Found) -> dict[str, Any]:
    """The files as they are now. Raises PipelineError when one is gone."""
    files = [Path(file) for table in found.tables for file in table.files] + [file for file in [found.schema] if file is not None]
    try:
        stats = {str(file.absolute()): file.stat() for file in files}
    except OSError as error:
        raise PipelineError(f"cannot read {error.filename}: {error.strerror}") from error
    return {file: {"bytes": stat.st_size, "modified": stat.st_mtime_ns} for file, stat in stats.items()}
