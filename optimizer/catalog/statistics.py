"""What `planscope data analyze` found out about the tables of a dataset, in its `_planscope` folder.

    _planscope/statistics.json                       {"version": 1, "current": "DIGEST"}, replaced when all else is written
    _planscope/statistics/DIGEST/catalog.json        figures of tables and columns
    _planscope/statistics/DIGEST/histograms.parquet  one row a column: bounds as text, rows and distinct values of each bucket

Figures of a table count only while its files are the ones that were read: same contents as far as the fingerprint can tell,
same time of change. Values are texts by their column's type (`value_text`).
"""

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from optimizer.catalog.folder import METADATA_FOLDER, replace_file
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import ColumnStats, Table, TableStats
from optimizer.catalog.value_text import reader, text
from optimizer.errors import CatalogError

VERSION = 1
_REMEDY = f"delete {METADATA_FOLDER}/statistics.json in the dataset's folder: planscope data analyze makes it again"
_HISTOGRAMS = pa.schema(
    [
        ("table", pa.string()),
        ("column", pa.string()),
        ("bounds", pa.list_(pa.string())),
        ("rows", pa.list_(pa.float64())),
        ("ndv", pa.list_(pa.float64())),
    ]
)


@dataclass(frozen=True, slots=True)
class StoredStatistics:
    """The current version: entries of tables by name as in catalog.json, histograms as plain lists by table and column."""

    tables: Mapping[str, Any]
    histograms: Mapping[tuple[str, str], tuple[list[str], list[float], list[float]]]

    def distinct(self, table: str) -> list[tuple[str, ...]]:
        """The combinations of columns that were counted, whether or not the table has changed since."""
        return [tuple(names) for names, _ in self.tables.get(table, {}).get("distinct", [])]


def write_statistics(folder: Path, tables: Sequence[Table], files: Mapping[str, Mapping[str, str]]) -> Path:
    """Make the figures of these tables the current ones; those of other tables stay as they were. The version's folder.

    `files`: by table, what its files were known by when they were read (`fingerprint.file_identities`). Raises OSError; what was
    current stays so then. The version before the current one is kept, older ones are removed.
    """
    home = folder / METADATA_FOLDER
    old = _current(home)
    entries = {} if old is None else dict(old.tables)
    histograms = {} if old is None else dict(old.histograms)
    for table in tables:
        entries[table.name] = _entry(table, files[table.name])
        histograms = {key: value for key, value in histograms.items() if key[0] != table.name}
        for name, stats in table.stats.columns.items():
            if stats.histogram is not None:
                found = stats.histogram
                bounds = [text(bound) for bound in found.bounds]
                histograms[table.name, name] = (bounds, list(found.rows), list(found.ndv))
    catalog = json.dumps({"version": VERSION, "tables": dict(sorted(entries.items()))}, indent=1, ensure_ascii=False) + "\n"
    rows = [dict(zip(_HISTOGRAMS.names, (*key, *found), strict=True)) for key, found in sorted(histograms.items())]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, _HISTOGRAMS), buffer, compression="zstd")
    digest = hashlib.sha256(catalog.encode() + buffer.getvalue()).hexdigest()[:16]
    version = home / "statistics" / digest
    version.mkdir(parents=True, exist_ok=True)
    replace_file(version / "catalog.json", catalog)
    replace_file(version / "histograms.parquet", buffer.getvalue())
    before = _pointer(home)
    if digest != before:
        replace_file(home / "statistics.json", json.dumps({"version": VERSION, "current": digest}) + "\n")
        for other in (home / "statistics").iterdir():
            if other.name not in (digest, before):
                shutil.rmtree(other, ignore_errors=True)
    return version


def stored_statistics(folder: Path) -> StoredStatistics | None:
    """The current version of a dataset's statistics; None when it was never analyzed. Raises CatalogError when damaged."""
    home = folder / METADATA_FOLDER
    pointer = home / "statistics.json"
    if not pointer.exists():
        return None
    found = _current(home)
    if found is None:
        raise CatalogError(f"the statistics that {pointer} names cannot be read\n{_REMEDY}")
    return found


def with_statistics(table: Table, files: Mapping[str, str], found: StoredStatistics) -> Table:
    """`table` with its stored figures, if `files` (as in `write_statistics`) are the ones that were read.

    A column that was read as another type, as a CSV file's may be after a change of schema.sql, keeps the figures it has. Raises
    CatalogError for figures that do not fit the table.
    """
    entry = found.tables.get(table.name)
    if entry is None:
        return table
    try:
        if entry["files"] != files:
            return table
        columns = {
            column.name: column_of(stored, reader(column.type), found.histograms.get((table.name, column.name)))
            if (stored := entry["columns"].get(column.name, {})).get("type") == str(column.type)
            else table.stats.columns[column.name]
            for column in table.columns
        }
        distinct = {tuple(names): float(count) for names, count in entry["distinct"]}
        stats = replace(table.stats, columns=columns, distinct=distinct, analyzed=str(entry["analyzed"]))
    except (ValueError, ArithmeticError, KeyError, TypeError, AttributeError) as error:
        raise CatalogError(
            f"the statistics of table {table.name} are damaged ({type(error).__name__}: {error})\n{_REMEDY}"
        ) from error
    return replace(table, stats=stats)


def _entry(table: Table, files: Mapping[str, str]) -> dict[str, Any]:
    stats: TableStats = table.stats
    return {
        "files": dict(files),
        "rows": stats.rows,
        "analyzed": stats.analyzed,
        "columns": {c.name: {"type": str(c.type), **column_entry(stats.columns[c.name])} for c in table.columns},
        "distinct": [[list(names), count] for names, count in sorted(stats.distinct.items())],
    }


def column_entry(stats: ColumnStats) -> dict[str, Any]:
    """The figures of a column but for its histogram, as JSON values."""
    return {
        "nulls": stats.nulls,
        "min": None if stats.min is None else text(stats.min),
        "max": None if stats.max is None else text(stats.max),
        "ndv": stats.ndv,
        "avg_width": stats.avg_width,
        "mcv": [[text(value), share] for value, share in stats.mcv],
        "degrees": [list(step) for step in stats.degrees],
    }


def column_of(entry: Mapping[str, Any], read: Callable[[str], Any], buckets: Any) -> ColumnStats:
    """What `column_entry` wrote, with the bounds, rows and distinct values of the histogram's buckets (None: it has none).

    Raises KeyError, TypeError, ValueError or ArithmeticError for what are no figures of such a column.
    """
    histogram = None
    if buckets is not None:
        histogram = Histogram(tuple(map(read, buckets[0])), tuple(map(float, buckets[1])), tuple(map(float, buckets[2])))
    return ColumnStats(
        nulls=None if entry["nulls"] is None else int(entry["nulls"]),
        min=None if entry["min"] is None else read(entry["min"]),
        max=None if entry["max"] is None else read(entry["max"]),
        ndv=_number(entry["ndv"]),
        avg_width=_number(entry["avg_width"]),
        mcv=tuple((read(value), float(share)) for value, share in entry["mcv"]),
        histogram=histogram,
        degrees=tuple((int(values), int(rows)) for values, rows in entry["degrees"]),
    )


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float | None):
        raise TypeError(f"{str(value)[:50]} is no number")
    return value


def _pointer(home: Path) -> str | None:
    try:
        content = json.loads((home / "statistics.json").read_text(encoding="utf-8"))
        current = content["current"] if content["version"] == VERSION else None
        return current if isinstance(current, str) and current.isalnum() else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _current(home: Path) -> StoredStatistics | None:
    digest = _pointer(home)
    if digest is None:
        return None
    version = home / "statistics" / digest
    try:
        return _read(version, (version / "catalog.json").stat().st_mtime_ns)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException):
        return None


@lru_cache(maxsize=16)
def _read(version: Path, changed: int) -> StoredStatistics:
    content = json.loads((version / "catalog.json").read_text(encoding="utf-8"))
    with pq.ParquetFile(version / "histograms.parquet") as file:
        columns = file.read(use_threads=False).to_pydict()
    keys = zip(columns["table"], columns["column"], strict=True)
    values = zip(columns["bounds"], columns["rows"], columns["ndv"], strict=True)
    tables = content["tables"]
    if not all(isinstance(entry, dict) for entry in [tables, *tables.values()]):
        raise ValueError("tables are not described by objects")
    return StoredStatistics(tables, dict(zip(keys, values, strict=True)))
