"""Scatter plots with logarithmic axes: as text for a terminal, and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from pathlib import Path

WIDTH, HEIGHT = 72, 24  # characters of the text plot, axes not counted
SHADES = " ·:+*#@"  # points in one place: 0, 1, 2, up to 4, 8, 16, more


def text_scatter(xs: Sequence[float], ys: Sequence[float], x_label: str, y_label: str) -> list[str]:
    """Lines of text. All values are above 0; a decade is marked on each axis by its power of ten."""
    left, right, bottom, top = (*_decades(xs), *_decades(ys))
    counts = [[0] * WIDTH for _ in range(HEIGHT)]
    for x, y in zip(xs, ys, strict=True):
        counts[_place(y, bottom, top, HEIGHT)][_place(x, left, right, WIDTH)] += 1
    marks = {_place(10.0**decade, bottom, top, HEIGHT): f"{10.0**decade:g}" for decade in range(bottom, top)}
    margin = max(len(mark) for mark in marks.values())
    lines = [y_label]
    for row in reversed(range(HEIGHT)):
        cells = "".join(SHADES[min(len(SHADES) - 1, count.bit_length() if count < 2 else 1 + ceil(log10(count) / log10(2)))]
                        for count in counts[row])  # fmt: skip
        lines.append(f"{marks.get(row, ''):>{margin}} │{cells}".rstrip())
    lines.append(" " * margin + " └" + "─" * WIDTH)
    axis = [" "] * (WIDTH + 8)
    for decade in range(left, right):
        mark = f"{10.0**decade:g}"
        start = _place(10.0**decade, left, right, WIDTH)
        axis[start : start + len(mark)] = mark
    lines.append((" " * (margin + 2) + "".join(axis)).rstrip())
    lines.append(f"{' ' * (margin + 2)}{x_label:^{WIDTH}}".rstrip())
    return lines


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten below and above all values."""
    low = floor(log10(min(values)))
    return low, max(low + 1, ceil(log10(max(values))))


def _place(value: float, low: int, high: int, cells: int) -> int:
    return min(cells - 1, int((log10(value) - low) / (high - low) * cells))


def write_scatter(
    paths: Sequence[Path], groups: Mapping[str, Sequence[tuple[float, float]]], x_label: str, y_label: str, title: str
) -> None:
    """The points of each group in a colour and form of its own, written to each path, by its ending as SVG, PNG or PDF.
    Raises OutputError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from executor.atomic import atomic_output

    figure = Figure(figsize=(7.2, 6.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label, title=title)
    markers = "os^vD<>ph*"
    for number, (name, points) in enumerate(groups.items()):
        xs, ys = zip(*points, strict=True)
        colour = f"C{number % 10}" if number < 10 else f"{0.15 + 0.7 * (number - 10) / max(1, len(groups) - 10):.2f}"
        axes.plot(xs, ys, markers[number // 3 % len(markers)], color=colour, markersize=4.5, alpha=0.75, label=name)
    axes.grid(True, which="major", linewidth=0.4, alpha=0.6)
    axes.legend(fontsize="x-small", ncols=2 if len(groups) > 12 else 1, framealpha=0.85)
    for path in paths:
        with atomic_output(path) as file:
            figure.savefig(file, format=path.suffix.lstrip("."), dpi=150)
