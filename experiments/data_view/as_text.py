"""The tables of a dataset with a line or two for each column, as wide as the terminal."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from experiments.data_view.shown import count_text, cut, padded, share_text, size_text, value_text
from experiments.data_view.spread import spread
from memo_viz.text import clean
from optimizer.algebra.types import type_name
from optimizer.catalog.table import ColumnStats, Table, TableColumn
from optimizer.errors import many

_ROOMY = 100  # cells from which on a line also has room for widths and longer sparklines


class _Head(NamedTuple):
    """A column of the listing: its title, and between how many cells it can have."""

    title: str
    least: int
    most: int
    right: bool = False


_HEADS = (
    _Head("column", 12, 40),
    _Head("type", 9, 24),
    _Head("nulls", 5, 15, right=True),
    _Head("distinct", 8, 15, right=True),
    _Head("bytes", 5, 7, right=True),
    _Head("min", 10, 26),
    _Head("max", 10, 26),
    _Head("spread", 8, 16),
)
_GIVES_WAY = (5, 6, 0, 1)  # where cells are saved first when a line gets too long


def table_text(table: Table, width: int, notes: Sequence[str] = ()) -> str:
    """One table in lines of at most `width` terminal cells (at least 80); `notes` are said below its
    first line, at whatever length they have.

    `bytes` is what a value takes on average, without NULLs; `spread` shows the rows from `min` to `max`, where known.
    """
    lines = [_title(table), *(f"  {note}" for note in notes)]
    lines += [f"  key {', '.join(map(clean, key))}" for key in table.keys]
    for key in table.foreign_keys:
        target = f"{clean(key.table)} ({', '.join(map(clean, key.referenced))})"
        lines.append(f"  {', '.join(map(clean, key.columns))} references {target}")
    if table.order:
        lines.append(f"  stored by {', '.join(map(clean, table.order))}")
    for names, ndv in table.stats.distinct.items():
        lines.append(f"  {count_text(ndv)} distinct combinations of {', '.join(map(clean, names))}")
    lines += _listing(table, width)
    return "\n".join(line if line.strip() in notes else cut(line, width) for line in lines)


def _title(table: Table) -> str:
    size = size_text(table.stats.bytes) if table.files else "statistics only"
    parts = f" in {len(table.files)} files" if len(table.files) > 1 else ""
    rows = many(table.stats.rows, "row")
    return f"{clean(table.name)}  {rows}, {size}" + (f", {table.format}{parts}" if table.format else "")


def _listing(table: Table, width: int) -> list[str]:
    stats = [table.stats.columns.get(column.name, ColumnStats()) for column in table.columns]
    cells = 8 if width < _ROOMY else 10 if width < 120 else 16
    rows = [_cells(column, figures, table.stats.rows, cells) for column, figures in zip(table.columns, stats, strict=True)]
    widths = _widths([tuple(head.title for head in _HEADS), *rows], width - 2)
    lines = [_line([head.title for head in _HEADS], widths), "  " + "  ".join("─" * cells for cells in widths if cells)]
    for row, figures in zip(rows, stats, strict=True):
        lines.append(_line(row, widths))
        if figures.mcv:
            lines.append(f"    most often {_common(figures, width - 15)}")
    return lines


def _cells(column: TableColumn, stats: ColumnStats, rows: int, cells: int) -> tuple[str, ...]:
    shape = spread(stats, rows, cells)
    return (
        clean(column.name),
        type_name(column.type).lower(),
        count_text(stats.nulls) if column.nullable or stats.nulls else "never",
        count_text(stats.ndv),
        "?" if stats.avg_width is None else f"{stats.avg_width:.3g}",
        "?" if stats.min is None else value_text(stats.min),
        "?" if stats.max is None else value_text(stats.max),
        "" if shape is None else shape.sparkline(),
    )


def _common(stats: ColumnStats, width: int) -> str:
    """As many of the most common values, with their shares of the rows, as fit into `width` cells, and one at least."""
    text = ""
    for value, share in stats.mcv:
        one = f"{cut(value_text(value), 30)} {share_text(share)}"
        longer = f"{text}, {one}" if text else one
        if text and cell_len(longer) > width:
            return text
        text = longer
    return text


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    widths = []
    for i, head in enumerate(_HEADS):
        longest = max(cell_len(row[i]) for row in rows)
        left_out = width < _ROOMY - 2 if head.title == "bytes" else not any(row[i] for row in rows[1:])
        widths.append(0 if left_out else min(longest, head.most))
    excess = sum(cells + 2 for cells in widths if cells) - 2 - width
    for i in _GIVES_WAY:
        saved = max(min(excess, widths[i] - _HEADS[i].least), 0)
        widths[i] -= saved
        excess -= saved
    return widths


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (padded(c, width, head.right) for c, width, head in zip(row, widths, _HEADS, strict=True) if width)
    return ("  " + "  ".join(cells)).rstrip()
