"""Tables as Parquet, CSV and Markdown files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from executor.atomic import atomic_output, write_file

_LONGEST = 120  # characters of a cell in Markdown


def write_table(table: pa.Table, folder: Path, name: str) -> list[Path]:
    """NAME.parquet, NAME.csv and NAME.md in `folder`. Raises OutputError."""
    paths = [folder / f"{name}.{ending}" for ending in ("parquet", "csv", "md")]
    with atomic_output(paths[0]) as file:
        pq.write_table(table, file)
    with atomic_output(paths[1]) as file:
        csv.write_csv(table, file)
    write_file(paths[2], markdown(table))
    return paths


def markdown(table: pa.Table) -> str:
    """The table as Markdown: numbers to the right with four significant digits, columns without any value left out."""
    kept = [name for name in table.column_names if table.column(name).null_count < table.num_rows or not table.num_rows]
    numeric = [pa.types.is_integer(t) or pa.types.is_floating(t) for t in (table.schema.field(name).type for name in kept)]
    lines = [_line(kept), _line(["---:" if right else "---" for right in numeric])]
    lines += [_line([cell(value) for value in row.values()]) for row in table.select(kept).to_pylist()]
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    """A value for people, safe within a Markdown table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return figure(value)
    text = " ".join(str(value).split())
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    for character in "\\|`*_<>[]":
        text = text.replace(character, f"\\{character}")
    return text


def figure(value: float) -> str:
    """Four significant digits: 0.01234, 12.34, 12,340, 1.234e+09."""
    if value == 0 or 1e-3 <= abs(value) < 1e9:
        rounded = float(f"{value:.4g}")
        return f"{rounded:,.0f}" if abs(rounded) >= 1000 or rounded == int(rounded) else f"{rounded:.4g}"
    return f"{value:.4g}"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
