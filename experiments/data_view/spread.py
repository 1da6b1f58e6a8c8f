"""How the rows of a column are spread over its values: its statistics as a row of cells to draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from experiments.data_view.positions import is_discrete, positions
from optimizer.algebra.evaluate_order import order_key
from optimizer.catalog.table import ColumnStats

BLOCKS = "▁▂▃▄▅▆▇█"


class Cell(NamedTuple):
    """Rows of the most common values, and of all others, in one cell."""

    common: float
    other: float

    @property
    def rows(self) -> float:
        return self.common + self.other


@dataclass(frozen=True, slots=True)
class Spread:
    """`cells` from `low` to `high`, all equally wide; with `values` there is one cell for each of these and nothing between."""

    cells: tuple[Cell, ...]
    low: Any
    high: Any
    values: tuple[Any, ...] = ()

    def sparkline(self) -> str:
        """One character a cell, as high as its rows; a blank where there is none."""
        top = max((cell.rows for cell in self.cells), default=0.0)
        if top <= 0:
            return ""
        return "".join(BLOCKS[min(int(c.rows / top * 8), 7)] if c.rows > 0 else " " for c in self.cells)


def spread(stats: ColumnStats, rows: int, cells: int) -> Spread | None:
    """The spread of a column in at most `cells` cells; None when its statistics do not say how all of its rows are spread.

    A histogram's rows are taken as evenly spread within each bucket; the most common values stand where they are.
    """
    common = sorted(((value, share * rows) for value, share in stats.mcv), key=lambda pair: order_key(pair[0]))
    if stats.histogram is None:
        if not common or stats.nulls is None or rows - stats.nulls - sum(count for _, count in common) > 0.5:
            return None
        if len(common) <= cells:
            values = tuple(value for value, _ in common)
            return Spread(tuple(Cell(count, 0.0) for _, count in common), values[0], values[-1], values)
    bounds = stats.histogram.bounds if stats.histogram is not None else ()
    ends = sorted([*bounds, *(value for value, _ in common)], key=order_key)
    position = positions(ends)
    if position is None:
        return None
    step = 1.0 if is_discrete(ends[0]) else 0.0  # a whole number fills the space up to the next one
    low, high = position(ends[0]), position(ends[-1]) + step
    if step:
        cells = int(min(cells, high - low))
    others, commons = _Line(low, high, cells), _Line(low, high, cells)
    if stats.histogram is not None:
        _add_buckets(others, stats.histogram.rows, bounds, position, step)
    for value, count in common:
        commons.add(position(value), position(value) + step, count)
    return Spread(tuple(map(Cell, commons.cells, others.cells)), ends[0], ends[-1])


def _add_buckets(
    line: _Line, rows: tuple[float, ...], bounds: tuple[Any, ...], position: Callable[[Any], float], step: float
) -> None:
    for i, count in enumerate(rows):
        start, end = position(bounds[i]), position(bounds[i + 1]) + step
        if i and step and bounds[i] != bounds[i + 1]:
            start += step  # the lower bound belongs to the bucket before
        line.add(start, end, count)


class _Line:
    """The way from `low` to `high` in equal cells, each with the amount that lies on it."""

    def __init__(self, low: float, high: float, cells: int) -> None:
        self.low = low
        self.width = (high - low) / cells if high > low else 1.0
        self.cells = [0.0] * (cells if high > low else 1)

    def add(self, start: float, end: float, amount: float) -> None:
        """Spread `amount` evenly from `start` to `end`; all of it goes to one point when they are equal."""
        first, last = self._cell(start), self._cell(end)
        if first == last or end <= start:
            self.cells[first] += amount
            return
        for i in range(first, last + 1):
            left, right = self.low + i * self.width, self.low + (i + 1) * self.width
            inside = min(right, end) - max(left, start)
            self.cells[i] += amount * max(inside, 0.0) / (end - start)

    def _cell(self, place: float) -> int:
        return min(max(int((place - self.low) / self.width), 0), len(self.cells) - 1)
