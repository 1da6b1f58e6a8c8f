"""All that is known of one column: every bucket of its histogram, and every one of its most common values, as bars."""

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from experiments.data_view.positions import is_discrete, positions
from experiments.data_view.shown import count_text, cut, padded, share_text, value_text
from experiments.data_view.spread import spread
from memo_viz.text import clean
from optimizer.algebra.types import type_name
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import ColumnStats, Table, TableColumn
from optimizer.errors import many

_PARTS = " ▏▎▍▌▋▊▉█"


def column_text(table: Table, column: TableColumn, width: int, notes: Sequence[str] = ()) -> str:
    """One column in lines of at most `width` terminal cells (at least 80); `notes` are said below its first lines, at
    whatever length they have."""
    stats = table.stats.columns.get(column.name, ColumnStats())
    rows = table.stats.rows
    nulls = "NULL forbidden" if not column.nullable and not stats.nulls else f"{count_text(stats.nulls)} NULLs"
    lines = [
        f"{clean(table.name)}.{clean(column.name)}  {type_name(column.type).lower()}",
        f"  {many(rows, 'row')}, {nulls}, {count_text(stats.ndv)} distinct values"
        + ("" if stats.avg_width is None else f", {stats.avg_width:.3g} bytes each"),
    ]
    if stats.min is not None and stats.max is not None:
        lines.append(f"  from {cut(value_text(stats.min), 35)} to {cut(value_text(stats.max), 35)}")
    if stats.degrees:
        lines.append(f"  no value is in more than {many(stats.degrees[0][1], 'row')}")
    lines += [f"  {note}" for note in notes]
    shape = spread(stats, rows, width - 4)
    if shape is not None:
        lines += ["", f"  {shape.sparkline()}"]
    if stats.mcv:
        lines += ["", *_common(stats, rows, width)]
    if stats.histogram is not None:
        lines += ["", *_buckets(stats.histogram, width)]
    return "\n".join(line if line.strip() in notes else cut(line, width) for line in lines)


def _common(stats: ColumnStats, rows: int, width: int) -> list[str]:
    cells = [(value_text(value), share_text(share), f"{share * rows:,.0f}") for value, share in stats.mcv]
    return _chart(("most often", "share", "rows"), cells, [share for _, share in stats.mcv], width)


def _buckets(histogram: Histogram, width: int) -> list[str]:
    """The bars show rows per unit of the values where these have distances, and rows otherwise."""
    cells = []
    for i, (rows, ndv) in enumerate(zip(histogram.rows, histogram.ndv, strict=True)):
        sign = "≥" if i == 0 else ">"
        low, high = value_text(histogram.bounds[i]), value_text(histogram.bounds[i + 1])
        cells.append((f"{sign} {low}", f"≤ {high}", count_text(rows), count_text(ndv)))
    density = _density(histogram)
    title = "density" if density is not None else "rows"
    return _chart(("all other rows", "", "rows", "distinct"), cells, density or histogram.rows, width, title)


def _density(histogram: Histogram) -> list[float] | None:
    """Rows per unit of value in each bucket; None for types without distances, and for buckets without width."""
    first: Any = histogram.bounds[0]
    position = None if isinstance(first, str | bytes | bool) else positions(histogram.bounds)
    if position is None:
        return None
    step = 1.0 if is_discrete(first) else 0.0
    places = [position(bound) for bound in histogram.bounds]
    widths = [places[i + 1] - places[i] + (step if i == 0 or places[i] == places[i + 1] else 0.0) for i in range(len(places) - 1)]
    return [r / w for r, w in zip(histogram.rows, widths, strict=True)] if all(w > 0 for w in widths) else None


def _chart(
    heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], sizes: Sequence[float], width: int, title: str = ""
) -> list[str]:
    """Aligned cells (texts to the left, the last two columns to the right) and a bar for each row's size."""
    texts = len(heads) - 2
    widths = [min(max(cell_len(row[i]) for row in [heads, *rows]), 26) for i in range(len(heads))]
    room = width - 2 - sum(widths) - 2 * len(widths)
    top = max(sizes, default=0.0)
    lines = []
    for row, size in zip([heads, *rows], [None, *sizes], strict=True):
        cells = "  ".join(padded(cell, widths[i], right=i >= texts) for i, cell in enumerate(row))
        lines.append(f"  {cells}  {title if size is None else _bar(size / top if top else 0.0, room)}".rstrip())
    return lines


def _bar(share: float, cells: int) -> str:
    eighths = round(share * cells * 8)
    if share > 0:
        eighths = max(eighths, 1)
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()
