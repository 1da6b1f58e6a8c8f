"""Which files make which table of the dataset.

    orders.csv              table orders
    shop/                   a table per file or sub-folder, named after it; shop/schema.sql declares them
    shop/orders/*.csv       the parts of table orders, in name order
    shop/sales/day=2024-01-31/region=north/*.parquet    table sales, with columns day and region besides those of its files
Names that start with "." or "_" are skipped, and files of a kind that is not known, which is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from experiments.pipeline.spark.errors import PipelineError

SCHEMA_FILE = "schema.sql"
KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".orc": "orc",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
FILE_FORMATS = tuple(dict.fromkeys(KINDS.values()))
File = Path | str  # a URI
Values = Mapping[str, str | None]  # of the folders that a file lies in, by column; None is NULL
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
COMPRESSED = (".gz", ".bz2", ".zst")


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table to be, and its files, all of one format, in the order that decides which of two equal keys comes first, with the
    values that the names of their folders say."""

    name: str
    format: str
    files: Mapping[File, Values]


@dataclass(frozen=True, slots=True)
class Found:
    """`skipped`: files that were passed over; `schema`: a schema.sql that lies with the sources."""

    tables: tuple[TableSource, ...]
    skipped: tuple[Path, ...] = ()
    schema: Path | None = None


def find_sources(sources: Sequence[Path], format: str | None, table: str | None) -> Found:
    """`format`: of all files, whatever their names end in; `table`: all files are parts of this one table.

    Raises PipelineError: nothing there, no file of a known kind, a table twice or in two formats, folders too deep.
    """
    tables: dict[str, TableSource] = {}
    skipped: list[Path] = []
    schemas: list[Path] = []
    loose: dict[File, Values] = {}  # files for `table`
    for source in sources:
        whole = _readable(source).is_file() or any(map(_is_partition, _entries(source)))
        for entry in [source] if whole else _entries(source):
            if entry.name == SCHEMA_FILE:
                schemas.append(entry)
                continue
            files = _files(entry, format, skipped)
            if entry is source and entry in skipped:
                raise PipelineError(f"{source}: what kind of file is this? say --format, one of {', '.join(FILE_FORMATS)}")
            if table is not None:
                loose |= files
            elif files:
                _add(tables, table_name(entry), files, format)
    if table is not None and loose:
        _add(tables, table, loose, format)
    if not tables:
        where = ", ".join(map(str, sources))
        raise PipelineError(f"no file to import in {where}: known kinds are {', '.join(KINDS)}\n--format says what others are")
    if len(schemas) > 1:
        raise PipelineError(f"{schemas[0]} and {schemas[1]}: which one? say --schema")
    ordered = tuple(tables[name] for name in sorted(tables))
    return Found(ordered, tuple(skipped), schemas[0] if schemas else None)


def table_name(path: Path) -> str:
    """What a table is called that lies in this file or folder."""
    if path.is_dir():
        return path.name
    name = path.name
    for endings in (COMPRESSED, tuple(KINDS)):
        ending = next((e for e in endings if name.lower().endswith(e)), "")
        name = name[: len(name) - len(ending)]
    return name if name != path.name else path.stem


def check_table_name(name: str) -> str:
    """Raises PipelineError for a name that cannot be a visible folder."""
    if not name or name.startswith((".", "_")) or "/" in name or "\\" in name or "\0" in name or name == SCHEMA_FILE:
        raise PipelineError(f'"{name}" cannot be a table: its folder gets that name, so no /, and no . or _ at the beginning')
    return name


def partition_values(folders: Sequence[str]) -> dict[str, str | None]:
    """What the names COLUMN=VALUE of folders say; None is NULL."""
    pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
    return {unquote(column): None if value == _NO_VALUE else unquote(value) for column, value in pairs}


def _add(tables: dict[str, TableSource], name: str, files: Mapping[File, Values], format: str | None) -> None:
    check_table_name(name)
    kinds = sorted({kind_of(Path(file).name, format) or "" for file in files})
    if len(kinds) > 1:
        raise PipelineError(
            f'the files of table "{name}" are of different kinds: {", ".join(kinds)}; import them one after the other'
        )
    twin = next((other for other in tables if other.lower() == name.lower()), None)
    if twin is not None:
        raise PipelineError(
            f'table "{twin}" is there twice: {next(iter(tables[twin].files))} and {next(iter(files))}\n'
            f"--table {twin} takes all given files for parts of one table"
        )
    tables[name] = TableSource(name, kinds[0], files)


def _is_partition(entry: Path) -> bool:
    return "=" in entry.name.strip("=") and entry.is_dir()


def _files(entry: Path, format: str | None, skipped: list[Path]) -> dict[File, Values]:
    """A file, or those of a table's folder, with the values of the folders that each lies in."""
    if entry.is_file():
        if kind_of(entry.name, format) is None:
            skipped.append(entry)
            return {}
        return {entry: {}}
    files: dict[File, Values] = {}
    for each in _entries(entry):
        if each.is_dir() and not _is_partition(each):
            raise PipelineError(
                f"{each} is a folder in the folder of a table\n"
                "only folders of partitions are read there, which are called COLUMN=VALUE"
            )
        here = partition_values([each.name]) if each.is_dir() else {}
        files |= {file: {**here, **below} for file, below in _files(each, format, skipped).items()}
    return files


def kind_of(name: str, format: str | None) -> str | None:
    """The format of a file of this name, if `format` does not say; None: unknown."""
    name = name.lower()
    if format is not None:
        return None if name.endswith(".sql") else format
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return KINDS.get(Path(name).suffix)


def _entries(folder: Path) -> list[Path]:
    try:
        return [_readable(entry) for entry in sorted(folder.iterdir()) if not entry.name.startswith((".", "_"))]
    except OSError as error:
        raise PipelineError(f"cannot read folder {folder}: {error.strerror}") from error


def _readable(path: Path) -> Path:
    """Raises PipelineError for what is neither file nor folder: reading a pipe would wait for ever."""
    if path.is_dir() or path.is_file():
        return path
    if path.exists():
        raise PipelineError(f"{path} is a pipe, socket or device, not a file with rows")
    raise PipelineError(f"there is no file or folder {path}")
