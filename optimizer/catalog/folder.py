"""Which files of a folder make which table.

    sales/
      orders.parquet            table orders, one file
      lineitem/part-0.parquet   table lineitem, a folder of part files, in name order
      lineitem/part-1.parquet
      schema.sql                declarations, optional
      _planscope/               what planscope verified about the files
Names that start with "." or "_" are skipped, and so is every file of another kind.
A file or folder of which no table can be made does not stand in the way of others: whoever asks for its table is told.
"""

import difflib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from optimizer.errors import CatalogError

FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
_COMPRESSED = (".gz", ".bz2", ".zst")
METADATA_FOLDER = "_planscope"
UNFINISHED, REQUEST = "unfinished", "request.json"  # below the metadata folder: a dataset under construction, and what it will be


@dataclass(frozen=True, slots=True)
class TableFiles:
    name: str
    format: str
    files: tuple[Path, ...]
    error: str = ""  # why there is no such table, and no files


def find_tables(folder: Path) -> list[TableFiles]:
    """The tables of a dataset folder, by name.

    Raises CatalogError: no such folder (with similar names), not a folder, unreadable, still being made, no table in it.
    Errors of one table: two files or folders, parts in two formats, compressed or below part folders, what is no file.
    """
    try:
        there = folder.exists()
    except OSError:  # its name is too long
        raise CatalogError(f"no file can have this name: {folder!s:.60}") from None
    if not there:
        raise CatalogError(f"there is no folder {folder}{_near_names(folder)}")
    if not folder.is_dir():
        raise CatalogError(f"{folder} is a file; a dataset is a folder with one file or folder per table: try {folder.parent}")
    _check_finished(folder)
    tables: dict[str, TableFiles] = {}
    for entry in _entries(folder):
        try:
            found = _table_of(entry)
        except CatalogError as error:
            found = TableFiles(entry.name if entry.is_dir() else entry.stem, "", (), str(error))
        if found is None:
            continue
        other = tables.setdefault(found.name, found)
        if other is not found and not other.error:
            twice = f'table "{found.name}" is there twice in {folder}: as {_show(other)} and as {entry.name}; remove one of them'
            tables[found.name] = TableFiles(found.name, "", (), twice)
    if not tables:
        inside = ", ".join(entry.name for entry in _entries(folder)[:5]) or "nothing"
        raise CatalogError(
            f"no tables in {folder}: it holds {inside}\n"
            "a dataset is a folder with one .parquet, .csv or .arrow file per table, or one folder of such files per table; "
            "planscope data import makes one of JSON and further kinds of files"
        )
    return [tables[name] for name in sorted(tables)]


def passed_over(folder: Path) -> tuple[str, ...]:
    """Names of the files of other kinds, of which there are no tables."""
    return tuple(entry.name for entry in _entries(folder) if entry.is_file() and entry.suffix.lower() not in FORMATS)


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _check_finished(folder: Path) -> None:
    """Raises CatalogError for a dataset that is being made, or whose making was interrupted."""
    request = folder / METADATA_FOLDER / UNFINISHED / REQUEST
    if not request.exists():
        return
    try:
        content = json.loads(request.read_text(encoding="utf-8"))
        what, resume = str(content["what"]), str(content["resume"])
    except FileNotFoundError:  # finished at this moment
        return
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        what, resume = "dataset", ""
    hint = f"if nobody is at work on it, go on with it: {resume}" if resume else "make it again, in another folder"
    raise CatalogError(f"{folder} holds an unfinished {what}, not to be read before all of it is there\n{hint}")


def _table_of(entry: Path) -> TableFiles | None:
    if not entry.is_dir():
        format = FORMATS.get(entry.suffix.lower())
        return None if format is None else TableFiles(entry.stem, format, (_file(entry),))
    parts = [part for part in _entries(entry) if part.is_dir() or part.suffix.lower() in FORMATS]
    for part in parts:
        if part.is_dir() and any(file.suffix.lower() in FORMATS for file in part.rglob("[!._]*")):
            raise CatalogError(
                f"{entry} has data files below {part.name}: nested (partitioned) table folders are not read\n"
                "planscope data import makes a table of folders such as day=2024-01-31; else put the part files into "
                f"{entry.name} itself; if {entry.name} is a dataset of its own, open {entry}"
            )
    files = tuple(_file(part) for part in parts if not part.is_dir())
    unread = next(
        (e for e in _entries(entry) if e.suffix.lower() in _COMPRESSED and Path(e.stem).suffix.lower() in FORMATS), None
    )
    if files and unread is not None:
        raise CatalogError(
            f"{unread} is compressed, and not read, beside part files that are\n"
            "planscope data import makes a table of all of them; else decompress it, or move it out of the folder"
        )
    formats = sorted({FORMATS[file.suffix.lower()] for file in files})
    if len(formats) > 1:
        raise CatalogError(
            f"the part files in {entry} are of different kinds ({', '.join(formats)}); a table has one\n"
            f"if {entry.name} is a dataset of its own, open {entry}"
        )
    return TableFiles(entry.name, formats[0], files) if files else None


def _entries(folder: Path) -> list[Path]:
    """What lies in `folder`, by name, without hidden and technical names."""
    try:
        found = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    except OSError as error:
        raise CatalogError(f"cannot read folder {folder}: {error.strerror}; check its permissions") from error
    return [entry if entry.is_dir() or entry.suffix != ".sql" else _file(entry) for entry in found]


def _file(path: Path) -> Path:
    """Raises CatalogError for what is no file: reading a pipe would wait for ever."""
    if not path.is_file():
        kind = "a link to nothing" if path.is_symlink() else "a pipe, socket or device"
        raise CatalogError(f"{path} is {kind}, not a file with rows\nmove it out of the folder")
    return path


def _show(table: TableFiles) -> str:
    file = table.files[0]
    return file.name if file.parent.name != table.name else f"{table.name}/"


def _near_names(folder: Path) -> str:
    """What to try instead of a missing folder: similar names beside it, or the part of the path that does exist."""
    if re.search(r"(^|/)[a-z][a-z0-9]+:/", str(folder)):
        return "\na dataset is a local folder: planscope data import makes one of tables at URIs"
    parent = folder.parent
    if not parent.is_dir():
        existing = next((p for p in parent.parents if p.is_dir()), parent)
        return f"; its path exists up to {existing}"
    try:
        names = {entry.name.lower(): entry.name for entry in parent.iterdir() if entry.is_dir()}
    except OSError:
        return ""
    near = difflib.get_close_matches(folder.name.lower(), sorted(names), n=3)
    return "; did you mean " + " or ".join(str(parent / names[name]) for name in near) + "?" if near else ""
