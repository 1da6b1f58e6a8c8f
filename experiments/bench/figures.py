"""Draws figures, as SVG and PDF files that are the same for the same data: no dates, no random ids.

Colours are told apart by people who do not see all of them (Okabe and Ito).
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from executor.atomic import atomic_output
from experiments.bench.experiment import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
MARKERS = "osD^vPX*"
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (7, 2)), (0, (2, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 2)))
STYLE = {
    "svg.hashsalt": "planscope",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "text.parse_math": False,  # a query may have dollars
}

_MOST_COLUMNS = 3  # of panels
_WIDE = 60  # characters of all names of a legend that fit on a line

Points = list[dict[str, Any]]


def draw(figure: Figure) -> Drawing | None:
    """The figure, None where there is nothing to show. Values that are missing, or below 0 on a logarithmic axis, are not."""
    rows: Points = [row for row in figure.data.to_pylist() if _shown(figure, row)]
    if not rows:
        return None
    series = figure.series or list(dict.fromkeys(row["series"] for row in rows))
    panels = list(dict.fromkeys(row.get("panel") for row in rows))
    columns = min(_MOST_COLUMNS, len(panels))
    lines = -(-len(panels) // columns)
    with matplotlib.rc_context(STYLE):
        beside = max(1, _WIDE // (6 + max(len(str(name)) for name in series)))  # names on a line of the legend
        size = (5.2 if columns == 1 else 3.1 * columns, 2.7 * lines + 0.3 + 0.2 * -(-len(series) // beside))
        if figure.kind == "cells":
            size = (1.8 + 0.3 * len({row["x"] for row in rows}), 1.8 + 0.3 * len({row["y"] for row in rows}))
        drawing = Drawing(figsize=size, layout="constrained")
        FigureCanvasAgg(drawing)
        grid = drawing.subplots(lines, columns, sharey=True, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place >= len(panels):
                axes.set_visible(False)
                continue
            _panel(axes, figure, [row for row in rows if row.get("panel") == panels[place]], series)
            if panels[place] is not None:
                axes.set_title(panels[place])
            if place + columns >= len(panels):
                axes.set_xlabel(figure.x_label)
            if place % columns == 0:
                axes.set_ylabel(figure.y_label)
        if len({row["series"] for row in rows}) > 1 or figure.note:
            shown = [axes.get_legend_handles_labels() for axes in grid.flat]
            handles = {label: handle for each in shown for handle, label in zip(*each, strict=True)}
            below = {"loc": "outside lower center", "ncols": min(beside, len(series)), "title": figure.note, "title_fontsize": 8}
            drawing.legend(handles.values(), handles.keys(), **below)
    return drawing


def write_figure(figure: Drawing, folder: Path, name: str) -> list[Path]:
    """NAME.svg and NAME.pdf in `folder`. Raises OutputError."""
    paths = []
    dates = {
        "svg": {"Date": None, "Creator": "planscope"},
        "pdf": {"CreationDate": None, "Creator": "planscope", "Producer": None},
    }
    for ending, metadata in dates.items():
        with matplotlib.rc_context(STYLE):
            content = io.BytesIO()
            figure.savefig(content, format=ending, metadata=metadata, bbox_inches="tight")
        paths.append(folder / f"{name}.{ending}")
        with atomic_output(paths[-1]) as file:
            file.write(content.getvalue())
    return paths


def _shown(figure: Figure, row: dict[str, Any]) -> bool:
    logarithmic = [row[axis] for axis, log in (("x", figure.log_x), ("y", figure.log_y)) if log and axis in row]
    return row["x"] is not None and row.get("y", 0) is not None and all(value > 0 for value in logarithmic)


def _cells(axes: Axes, rows: Points) -> None:
    """A matrix; places without a value are empty."""
    xs, ys = (list(dict.fromkeys(row[axis] for row in rows)) for axis in ("x", "y"))
    values = np.full((len(ys), len(xs)), np.nan)
    for row in rows:
        values[ys.index(row["y"]), xs.index(row["x"])] = row["value"]
    image = axes.imshow(values, cmap="Blues", norm=LogNorm() if np.nanmin(values) > 0 else None, aspect="auto")
    for (y, x), value in np.ndenumerate(values):
        if not np.isnan(value):
            dark = float(np.asarray(image.norm(value))) > 0.5
            axes.text(x, y, f"{value:g}", ha="center", va="center", fontsize=6, color="white" if dark else "black")
    axes.grid(False)
    axes.set_xticks(range(len(xs)), map(str, xs), rotation=60, ha="right")
    axes.set_yticks(range(len(ys)), map(str, ys))


def _panel(axes: Axes, figure: Figure, rows: Points, series: Sequence[Any]) -> None:
    if figure.kind == "cells":
        _cells(axes, rows)
        return
    texts = list(dict.fromkeys(str(row["x"]) for row in rows)) if isinstance(rows[0]["x"], str) else None
    for number, name in enumerate(series):
        mine = [row for row in rows if row["series"] == name]
        if not mine:
            continue
        points = sorted((row["x"] if texts is None else texts.index(row["x"]), row.get("y", 0.0)) for row in mine)
        xs, ys = [float(x) for x, _ in points], [float(y) for _, y in points]
        colour, marker, dashes = (each[number % len(each)] for each in (COLOURS, MARKERS, DASHES))
        match figure.kind:
            case "lines":
                axes.plot(xs, ys, marker=marker, markersize=3.5, linewidth=1.2, color=colour, linestyle=dashes, label=name)
            case "points":
                axes.plot(xs, ys, marker, markersize=4, alpha=0.7, color=colour, label=name)
            case "shares":
                shares = ys if "y" in mine[0] else [(i + 1) / len(xs) for i in range(len(xs))]
                least, most = (float(end(row["x"] for row in rows)) for end in (min, max))
                xs, ys = [least, xs[0], *xs, most], [0.0, 0.0, *shares, shares[-1]]
                axes.step(xs, ys, where="post", linewidth=1.4, color=colour, linestyle=dashes, label=name)
            case "bars":
                width = 0.8 / len(series)
                axes.bar([x + (number - (len(series) - 1) / 2) * width for x in xs], ys, width, color=colour, label=name)
    if all(isinstance(row["x"], int) for row in rows):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7, min_n_ticks=1))
    if figure.log_x:
        axes.set_xscale("log")
        plain_axis(axes.xaxis)
    if figure.log_y:
        axes.set_yscale("log")
        plain_axis(axes.yaxis)
    if figure.kind == "shares":
        axes.set_ylim(0, 1.02)
    if texts is not None:
        crowded = sum(map(len, texts)) > 40
        axes.set_xticks(range(len(texts)), texts, rotation=30 if crowded else 0, ha="right" if crowded else "center")


def plain_axis(axis: Axis) -> None:
    """Numbers as people write them on a logarithmic axis: 0.05, 20, 3000; between powers of ten only where there are few, and at
    even distances where the axis is short."""
    low, high = sorted(axis.get_view_interval())
    if low > 0 and high < 4 * low:
        axis.set_major_locator(MaxNLocator(nbins=6))
        axis.set_minor_locator(NullLocator())
    write = FuncFormatter(lambda value, _: f"{value:g}")
    axis.set_major_formatter(write)
    powers = math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1 if low > 0 else 2
    if powers < 2:
        axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else ""))
    else:
        axis.set_minor_formatter(NullFormatter())
