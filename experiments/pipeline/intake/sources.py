"""Which files, or tables elsewhere, make which table of the dataset.

    orders.csv              table orders
    shop/                   a table per file or sub-folder, named after it; shop/schema.sql declares them
    shop/orders/*.csv       the parts of table orders, in name order
    shop/sales/day=2024-01-31/region=north/*.parquet    table sales, with columns day and region besides those of its files
Names that start with "." or "_" are skipped, and files of a kind that is not known; which is said of files, but for marks of
programs such as _SUCCESS.

What Spark itself finds, over JDBC, in its catalog, at a URI or in any format that its installation knows, has rows without a
number and in no particular order: of two rows with one key the first of the first Spark partition stays.
"""

import re
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from experiments.pipeline.spark.errors import PipelineError
from experiments.redacted import redacted
from optimizer.catalog.dataset import SCHEMA_FILE

ENDINGS = {
    "csv": (".csv", ".tsv"), "json": (".json", ".jsonl", ".ndjson"), "parquet": (".parquet",), "orc": (".orc",),
    "arrow": (".arrow", ".feather", ".ipc"),
}  # fmt: skip
_KINDS = {ending: kind for kind, endings in ENDINGS.items() for ending in endings}
Values = Mapping[str, str | None]  # of the folders that a file lies in, by column; None is NULL
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
COMPRESSED = (".gz", ".bz2", ".zst")
_PACKED = r"(\.gz|\.bz2|\.zst)?$"


@dataclass(frozen=True, slots=True)
class Source:
    """A table to be, and its `files`, paths or URIs, all of one format, in the order that decides which of two equal keys comes
    first. `path`: what Spark is to read it from elsewhere, and `label`, which says so without secrets."""

    name: str
    format: str
    files: Mapping[str, Values] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    label: str = ""


class Found(NamedTuple):
    """`skipped`: files that were passed over; `schema`: a schema.sql that lies with the sources."""

    tables: list[Source]
    skipped: list[Path]
    schema: Path | None


def find_sources(sources: Sequence[Path], format: str | None, table: str | None) -> Found:
    """`format`: of all files, whatever their names end in; `table`: all files are parts of this one table. Raises
    PipelineError: nothing there, no file of a known kind, a table twice or in two formats, folders too deep."""
    tables: dict[str, dict[str, Values]] = {}
    skipped: list[Path] = []
    schemas: list[Path] = []
    twice: list[str] = []
    for source in sources:
        whole = _readable(source).is_file() or any(map(_is_partition, _entries(source)))
        skipped += [] if whole else _hidden(source)
        for entry in [source] if whole else _entries(source):
            if entry.name == SCHEMA_FILE:
                schemas.append(entry)
                continue
            files = _files(entry, format, skipped)
            if source in skipped:
                kinds = f"{', '.join(ENDINGS)}, or another of Spark's, such as avro"
                raise PipelineError(f"{source}: what kind of file is this? say --format, one of {kinds}")
            name = table or table_name(entry)
            twin = next((other for other in tables if other.lower() == name.lower()), None)
            if files and twin and not table:
                twice.append(f'table "{twin}" is there twice: {next(iter(tables[twin]))} and {next(iter(files))}')
            elif files:
                tables.setdefault(check_table_name(name), {}).update(files)
    if twice:
        hint = "rename all but one of them, or leave them out; --table NAME takes all given files for parts of one table"
        raise PipelineError("\n".join([*twice, hint]))
    if not tables:
        where = ", ".join(map(str, sources))
        raise PipelineError(f"no file to import in {where}: known kinds are {', '.join(_KINDS)}\n--format says what others are")
    if len(schemas) > 1:
        raise PipelineError(f"{schemas[0]} and {schemas[1]}: which one? say --schema")
    found = []
    for name, files in sorted(tables.items()):
        kind, *more = sorted({kind_of(Path(file).name, format) or "" for file in files})
        if more:
            kinds = ", ".join([kind, *more])
            raise PipelineError(f'the files of table "{name}" are of different kinds: {kinds}; import them one after the other')
        found.append(Source(name, kind, files))
    return Found(found, skipped, next(iter(schemas), None))


def table_name(path: Path) -> str:
    """What a table is called that lies in this file or folder."""
    if path.is_dir():
        return path.name
    name = re.sub(f"(?i)({'|'.join(map(re.escape, _KINDS))})?{_PACKED}", "", path.name, count=1)
    is_version = path.suffix[1:2].isdigit() and not path.exists()  # of a folder at a URI, such as v1.0
    return name if name != path.name or is_version else path.stem


def check_table_name(name: str) -> str:
    """Raises PipelineError for a name that cannot be a visible folder."""
    if not name or name.startswith((".", "_")) or "/" in name or "\\" in name or "\0" in name or name == SCHEMA_FILE:
        raise PipelineError(f'"{name}" cannot be a table: its folder gets that name, so no /, and no . or _ at the beginning')
    return name


def kind_of(name: str, format: str | None) -> str | None:
    """The format of a file of this name, if `format` does not say; None: unknown."""
    if format is not None:
        return None if name.lower().endswith(".sql") else format
    return _KINDS.get(Path(re.sub(_PACKED, "", name.lower())).suffix)


def partition_values(folders: Sequence[str]) -> dict[str, str | None]:
    """What the names COLUMN=VALUE of folders say; None is NULL."""
    pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
    return {unquote(column): None if value == _NO_VALUE else unquote(value) for column, value in pairs}


def _is_partition(entry: Path) -> bool:
    return "=" in entry.name.strip("=") and entry.is_dir()


def _files(entry: Path, format: str | None, skipped: list[Path]) -> dict[str, Values]:
    """A file, or those of a table's folder, with the values of the folders that each lies in."""
    if entry.is_file():
        if kind_of(entry.name, format) is not None:
            if re.search("[\ud800-\udfff]", str(entry)):
                raise PipelineError(f"the name {entry} is not UTF-8, as Arrow and Spark want it: rename it")
            return {str(entry): {}}
        skipped.append(entry)
        return {}
    files: dict[str, Values] = {}
    skipped += _hidden(entry)
    for each in _entries(entry):
        if each.is_dir() and not _is_partition(each):
            raise PipelineError(
                f"{each} is a folder in the folder of a table\n"
                f"only folders of partitions are read there, which are called COLUMN=VALUE (none is empty; {_NO_VALUE} is NULL)"
            )
        here = partition_values([each.name]) if each.is_dir() else {}
        files |= {file: {**here, **below} for file, below in _files(each, format, skipped).items()}
    return files


def _hidden(folder: Path) -> list[Path]:
    """Files with rows whose names say that they are none for others."""
    return [entry for entry in sorted(folder.glob("[._]*")) if kind_of(entry.name, None) and entry.is_file()]


def is_hidden(path: Path) -> bool:
    return path.name.startswith((".", "_"))


def _entries(folder: Path) -> list[Path]:
    try:
        return [_readable(entry) for entry in sorted(folder.iterdir()) if not is_hidden(entry)]
    except OSError as error:
        raise PipelineError(f"cannot read folder {folder}: {error.strerror}") from error


def _readable(path: Path) -> Path:
    """Raises PipelineError for what is neither file nor folder: reading a pipe would wait for ever."""
    if path.is_dir() or path.is_file():
        return path
    if path.exists():
        raise PipelineError(f"{path} is a pipe, socket or device, not a file with rows")
    raise PipelineError(f"there is no file or folder {path}")


def tables_elsewhere(format: str, options: Mapping[str, str], paths: Sequence[str], tables: Sequence[str]) -> list[Source]:
    """What Spark itself finds: over JDBC a table for each name in `tables`, unless the options say `dbtable` or `query`; else one
    for each path. Raises PipelineError: nothing to read, or names that do not fit."""
    if format == "jdbc":
        found = _jdbc_tables(options, paths, tables)
    elif not paths:
        raise PipelineError(f"--format {format} needs the path of a source")
    elif tables and len(tables) != len(paths):
        raise PipelineError(f"{len(paths)} sources, but {len(tables)} --table: say one for each, or none")
    else:
        names = tables or [_last(path) if format == "table" else table_name(Path(path)) for path in paths]
        found = [Source(name, format, {}, options, path, redacted(path)) for name, path in zip(names, paths, strict=True)]
    lower = [check_table_name(one.name).lower() for one in found]
    if (twin := next((one for i, one in enumerate(found) if lower[i] in lower[:i]), None)) is not None:
        both = ", ".join(one.label for one in found if one.name.lower() == twin.name.lower())
        raise PipelineError(f'table "{twin.name}" is there twice: {both}\nleave one of them out')
    return found


def _jdbc_tables(options: Mapping[str, str], paths: Sequence[str], tables: Sequence[str]) -> list[Source]:
    said = options.keys() & {"dbtable", "query"}
    if "url" not in options or paths or len(said) > 1 or (said and len(tables) > 1) or ("dbtable" not in said and not tables):
        raise PipelineError(
            "--format jdbc takes --option url=jdbc:... and no other source, and tables by --table (repeatable), or one by "
            "--option dbtable=...; --option query=... needs --table, the name that the table gets"
        )
    options = {"preferTimestampNTZ": "true", **options}  # times without a zone stay what they are, wherever this machine is
    if said:
        wanted = [(tables[0] if tables else _last(options["dbtable"]), options)]
    else:
        wanted = [(_last(table), {**options, "dbtable": table}) for table in tables]
    where = redacted(options["url"])
    return [Source(name, "jdbc", {}, all, None, f"{where} {all.get('dbtable', 'query')}") for name, all in wanted]


def _last(table: str) -> str:
    """The name of a table without those of its catalog and schema."""
    return table.rpartition(".")[2].strip('"`')


def with_driver(table: Source, jars: Sequence[Path]) -> Source:
    """A table over JDBC with the driver that the jars name, unless its options do: Java finds those of its start only."""
    if table.format != "jdbc" or "driver" in table.options:
        return table
    for jar in jars:
        with suppress(OSError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(jar) as archive:
            lines = archive.read("META-INF/services/java.sql.Driver").decode(errors="replace").splitlines()
            if names := [name for line in lines if (name := line.partition("#")[0].strip())]:
                return replace(table, options={**table.options, "driver": names[0]})
    return table
