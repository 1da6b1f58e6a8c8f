"""Scatter plots with logarithmic axes: as text for a terminal, and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log2, log10
from pathlib import Path

WIDTH, HEIGHT = 72, 24  # characters of the text plot, axes not counted
MARKERS = "o^sDv"  # of the figure, after ten colours each
SHADES = " ·:+*#@"  # points in one place: 0, 1, 2, up to 4, 8, 16, more


def text_scatter(xs: Sequence[float], ys: Sequence[float], x_label: str, y_label: str) -> list[str]:
    """Lines of text. All values are above 0. Round values within the range are marked on both axes."""
    across, up = _Axis(xs, WIDTH), _Axis(ys, HEIGHT)
    counts = [[0] * WIDTH for _ in range(HEIGHT)]
    for x, y in zip(xs, ys, strict=True):
        counts[up.place(y)][across.place(x)] += 1
    marks = {up.place(value): f"{value:g}" for value in up.ticks}
    margin = max(map(len, marks.values()), default=0)
    lines = [y_label]
    for row in reversed(range(HEIGHT)):
        cells = "".join(SHADES[min(len(SHADES) - 1, ceil(log2(count)) + 1 if count else 0)] for count in counts[row])
        lines.append(f"{marks.get(row, ''):>{margin}} │{cells}".rstrip())
    lines.append(" " * margin + " └" + "─" * WIDTH)
    axis, free = [" "] * (WIDTH + 8), 0
    for value in across.ticks:
        mark, start = f"{value:g}", across.place(value)
        if start >= free:
            axis[start : start + len(mark)] = mark
            free = start + len(mark) + 1
    lines.append((" " * (margin + 2) + "".join(axis)).rstrip())
    lines.append(f"{' ' * (margin + 2)}{x_label:^{WIDTH}}".rstrip())
    return lines


class _Axis:
    """A logarithmic axis over `cells` characters that holds all values."""

    def __init__(self, values: Sequence[float], cells: int) -> None:
        low, high = log10(min(values)), log10(max(values))
        spare = max(0.02 * (high - low), 0.05)
        self._low, self._high, self._cells = low - spare, high + spare, cells
        decades = range(floor(self._low), ceil(self._high) + 1)
        steps = (1,) if high - low > 2.5 else (1, 2, 5)
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        self.ticks = [value for value in ticks if self._low <= log10(value) < self._high]

    def place(self, value: float) -> int:
        return int((log10(value) - self._low) / (self._high - self._low) * self._cells)


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
    for number, (name, points) in enumerate(groups.items()):
        xs, ys = zip(*points, strict=True)
        form = MARKERS[number // 10 % len(MARKERS)]
        axes.plot(xs, ys, form, color=f"C{number % 10}", markersize=4.5, alpha=0.75, label=name)
    axes.grid(True, which="major", linewidth=0.4, alpha=0.6)
    axes.legend(fontsize="x-small", ncols=2 if len(groups) > 12 else 1, framealpha=0.85)
    for path in paths:
        with atomic_output(path) as file:
            figure.savefig(file, format=path.suffix.lstrip("."), dpi=150)
