"""The columns of a dataset as small histograms in one SVG picture, a panel for each.

Drawn by hand rather than with a plotting library: it takes milliseconds for a thousand columns, and the same statistics give
the same bytes everywhere.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from rich.cells import cell_len

from experiments.data_view.shown import count_text, cut, share_text, value_text
from experiments.data_view.spread import Spread, spread
from memo_viz.text import clean
from optimizer.algebra.types import type_name
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn
from optimizer.errors import many

_ACROSS = 4  # panels side by side
_PANEL_WIDTH, _PANEL_HEIGHT, _GAP, _MARGIN, _HEAD = 250, 168, 14, 18, 40
_PLOT_TOP, _PLOT_HEIGHT = 50, 78
_CELLS = 64  # of a histogram
_LETTER = 6.1  # pixels a letter of 11 pixels takes, about
_STYLE = """
text { font: 11px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; fill: #222; white-space: pre }
rect { shape-rendering: crispEdges } .page { fill: #fff } .panel { fill: #fafafa; stroke: #ddd }
.table { font-size: 16px; font-weight: 600 } .name { font-size: 12px; font-weight: 600 } .small { fill: #666 }
.other { fill: #8fb3d9 } .common { fill: #c8553d } .nulls { fill: #b0b0b0 } .axis { stroke: #999 }
""".strip()


def svg_text(catalog: Catalog) -> str:
    """An SVG document: the tables one below the other, their columns four in a row."""
    parts: list[str] = []
    top = _MARGIN + 22
    for table in catalog.tables.values():
        parts.append(_text(_MARGIN, top + 16, f"{table.name}  {many(table.stats.rows, 'row')}", 130, "table"))
        for i, column in enumerate(table.columns):
            x = _MARGIN + i % _ACROSS * (_PANEL_WIDTH + _GAP)
            y = top + _HEAD - 12 + i // _ACROSS * (_PANEL_HEIGHT + _GAP)
            parts += _panel(table, column, x, y)
        top += _HEAD + -(-len(table.columns) // _ACROSS) * (_PANEL_HEIGHT + _GAP)
    width = 2 * _MARGIN + _ACROSS * _PANEL_WIDTH + (_ACROSS - 1) * _GAP
    size = f'width="{width}" height="{top}" viewBox="0 0 {width} {top}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{_escaped(catalog.name, 200)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{width}" height="{top}"/>',
        *_legend(),
    ]
    return "\n".join([*head, *parts, "</svg>"])


def _legend() -> Iterator[str]:
    x = _MARGIN
    for name, label in (("common", "most common values"), ("other", "other values"), ("nulls", "NULLs")):
        yield f'<rect class="{name}" x="{x}" y="{_MARGIN - 6}" width="10" height="10"/>'
        yield _text(x + 15, _MARGIN + 3, label, 40, "small")
        x += 150


def _panel(table: Table, column: TableColumn, x: int, y: int) -> Iterator[str]:
    stats = table.stats.columns.get(column.name, ColumnStats())
    yield f'<g transform="translate({x},{y})"><rect class="panel" width="{_PANEL_WIDTH}" height="{_PANEL_HEIGHT}" rx="4"/>'
    yield _text(10, 18, column.name, 30, "name")
    nulls = "" if not stats.nulls else f", {share_text(stats.nulls / max(table.stats.rows, 1))} NULL"
    yield _text(10, 34, f"{type_name(column.type).lower()}, {count_text(stats.ndv)} distinct{nulls}", 36, "small")
    found = spread(stats, table.stats.rows, _CELLS)
    if found is None:
        empty = not table.stats.rows or stats.nulls == table.stats.rows
        yield _text(10, _PLOT_TOP + 40, "no values" if empty else "spread unknown", 38, "small")
    else:
        yield from _plot(found, float(stats.nulls or 0))
    if stats.mcv:
        value, share = stats.mcv[0]
        yield _text(10, _PANEL_HEIGHT - 10, f"most often {cut(value_text(value), 20)}: {share_text(share)}", 38, "small")
    yield "</g>"


def _plot(found: Spread, nulls: float) -> Iterator[str]:
    left, right = 10.0, _PANEL_WIDTH - 10.0
    if nulls:
        right -= 18
    top_rows = max([nulls, *(cell.rows for cell in found.cells)]) or 1.0
    base = _PLOT_TOP + _PLOT_HEIGHT
    step = (right - left) / len(found.cells)
    gap = min(step * 0.2, 3.0) if found.values or len(found.cells) < 30 else 0.0
    for i, cell in enumerate(found.cells):
        x, other = left + i * step + gap / 2, cell.other / top_rows * _PLOT_HEIGHT
        common = cell.common / top_rows * _PLOT_HEIGHT
        yield from _bar("other", x, base, step - gap, other)
        yield from _bar("common", x, base - other, step - gap, common)
    if nulls:
        yield from _bar("nulls", right + 6, base, 12, nulls / top_rows * _PLOT_HEIGHT)
    yield f'<path class="axis" d="M{left:g} {base + 0.5:g}H{right:g}"/>'
    yield _text(left, base + 14, _end(found.low), 16, "small")
    if len(found.cells) > 1:
        yield _text(right, base + 14, _end(found.high), 16, "small", anchor="end")


def _bar(kind: str, x: float, base: float, width: float, height: float) -> Iterator[str]:
    if height > 0:
        height = max(height, 0.75)
        yield f'<rect class="{kind}" x="{x:.2f}" y="{base - height:.2f}" width="{width:.2f}" height="{height:.2f}"/>'


def _end(value: Any) -> str:
    return cut(value_text(value), 16)


def _text(x: float, y: float, text: str, cells: int, kind: str, anchor: str = "start") -> str:
    squeezed = ""  # letters differ in width: one that might not fit is drawn narrower
    if kind != "table" and cell_len(cut(clean(text), cells)) * _LETTER > _PANEL_WIDTH - 20:
        squeezed = f' textLength="{_PANEL_WIDTH - 20}" lengthAdjust="spacingAndGlyphs"'
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}"{squeezed}>{_escaped(text, cells)}</text>'


def _escaped(text: str, cells: int) -> str:
    return escape(cut(clean(text), cells), quote=True)
