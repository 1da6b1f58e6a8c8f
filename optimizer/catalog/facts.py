"""What the files of one table say about their contents, whatever their format."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from optimizer.catalog.table import ColumnStats, TableColumn
from optimizer.errors import CatalogError


@dataclass(slots=True)
class FileFacts:
    """One file. `columns` in file order and `stats` by name.

    `order`: the file's rows are sorted ascending by these columns, NULLs last. `fingerprint` stands for its contents.
    """

    path: Path
    columns: tuple[TableColumn, ...]
    rows: int
    bytes: int
    stats: dict[str, ColumnStats]
    fingerprint: str
    order: tuple[str, ...] = ()


@contextmanager
def reading(path: Path, kind: str, remedy: str) -> Iterator[None]:
    """While a file of a kind is read. Raises CatalogError where it cannot be."""
    try:
        yield
    except PermissionError as error:
        raise CatalogError(f"cannot read {path}: permission denied") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0].split(". Detail:")[0].rstrip(".")
        raise CatalogError(
            f"{path} is damaged, incomplete or not {kind} ({reason})\n{remedy}, or move it out of the folder"
        ) from error


def check_names(path: Path, schema: pa.Schema) -> None:
    """Raises CatalogError where several columns have one name."""
    repeated = next((name for name, count in Counter(schema.names).items() if count > 1), None)
    if repeated is not None:
        raise CatalogError(f'{path} has more than one column "{repeated}": rename all but one of them')


def with_nanoseconds(files: list[FileFacts]) -> list[FileFacts]:
    """The files of a table; where one has timestamps in nanoseconds all have, instead of microseconds."""
    finer = {column.name: column.type for file in files for column in file.columns if column.type == pa.timestamp("ns")}
    for file in files if finer else ():
        coarse = {column.name for column in file.columns if column.type == pa.timestamp("us")} & finer.keys()
        file.columns = tuple(replace(one, type=finer[one.name]) if one.name in coarse else one for one in file.columns)
        file.stats |= {name: ColumnStats(file.stats[name].nulls) for name in coarse}
    return files


def same_columns(table: str, files: Sequence[FileFacts]) -> tuple[TableColumn, ...]:
    """The columns all part files share, as in the first; nullable where they are so in any part.

    Raises CatalogError naming the first file with other columns or types.
    """
    first, *rest = files
    nullable = {c.name: c.nullable for c in first.columns}
    expected = {c.name: c.type for c in first.columns}
    for other in rest:
        found = {c.name: c.type for c in other.columns}
        if found != expected:
            raise CatalogError(
                f'the part files of table "{table}" differ: {_difference(first, other)}\n'
                f"give every part the same columns, or open the folder {first.path.parent.name} itself if each file is a table"
            )
        for column in other.columns:
            nullable[column.name] = nullable[column.name] or column.nullable
    return tuple(replace(c, nullable=nullable[c.name]) for c in first.columns)


def _difference(first: FileFacts, other: FileFacts) -> str:
    mine, theirs = ({c.name: str(c.type) for c in facts.columns} for facts in (first, other))
    for name in [*mine, *theirs]:
        if name not in theirs:
            return f'{first.path.name} has a column "{name}", {other.path.name} has none'
        if name not in mine:
            return f'{other.path.name} has a column "{name}", {first.path.name} has none'
        if mine[name] != theirs[name]:
            return f'column "{name}" is {mine[name]} in {first.path.name} and {theirs[name]} in {other.path.name}'
    raise AssertionError(f"{first.path} and {other.path} have equal columns")


def combine(parts: Sequence[tuple[int, ColumnStats]], width: float | None) -> ColumnStats:
    """Statistics of a column from those of its parts, each with its number of rows; what one part lacks is unknown.

    `width`: bytes per value where the type fixes it; else the parts' average.
    A part that is known to hold no value but NULL says nothing about bounds. The distinct count survives one part only.
    """
    parts = [(rows, stats) for rows, stats in parts if rows]
    known_nulls = [stats.nulls for _, stats in parts if stats.nulls is not None]
    nulls = sum(known_nulls) if len(known_nulls) == len(parts) else None
    valued = [(rows, stats) for rows, stats in parts if stats.nulls is None or stats.nulls < rows]
    low: Any = None
    high: Any = None
    if valued and all(stats.min is not None and stats.max is not None for _, stats in valued):
        low, high = min(stats.min for _, stats in valued), max(stats.max for _, stats in valued)
    if width is None and valued and all(stats.avg_width is not None for _, stats in valued):
        weights = [rows - (stats.nulls or 0) for rows, stats in valued]
        width = sum(w * (stats.avg_width or 0.0) for w, (_, stats) in zip(weights, valued, strict=True)) / max(sum(weights), 1)
    return ColumnStats(nulls, low, high, parts[0][1].ndv if len(parts) == 1 else None, width)
