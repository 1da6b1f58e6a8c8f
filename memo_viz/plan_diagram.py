"""Plan diagrams as SVG: colours and numbers for the plans that win over one or two log scales of rows."""

import colorsys
import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from typing import Any

from memo_viz.text import clean

# Okabe and Ito's colours, lightened where black text stands on them: told apart by colour-blind eyes
COLOURS = ("#56b4e9", "#e69f00", "#5fc2a2", "#f0e442", "#d99abf", "#8fa8d9", "#e0936a", "#bdbdbd")
JOINS = {"HJ": "hash join", "MJ": "merge join", "NL": "nested-loop join"}
LEFT, TOP, SIDE, LINE = 90, 40, 420, 18


def plan_diagram_svg(diagram: dict[str, Any], title: str) -> str:
    """A whole SVG document of a diagram as data (`optimizer.explanation.diagram.Diagram.json`): with one axis the cheapest cost
    over rows, with two a field of cells. A cross marks the estimate."""
    axes, cells, plans = diagram["axes"], diagram["cells"], diagram["plans"]
    across = _Scale(axes[0]["rows"], LEFT, LEFT + SIDE)
    body = _cells(cells, across, axes) if len(axes) > 1 else _curve(diagram, across)
    bottom = TOP + SIDE
    body += [_text(LEFT + SIDE / 2, bottom + 40, f"rows of {{{', '.join(axes[0]['relations'])}}}", "middle")]
    body += [_text(x, bottom + 18, label, "middle") for label, x in across.ticks()]
    shares = [number for row in cells for number in row]
    y = bottom + 70
    for number, plan in enumerate(plans):
        body.append(f'<rect x="{LEFT}" y="{y - 12}" width="14" height="14" fill="{colour(number)}"/>')
        text = f"P{number + 1} · {100 * shares.count(number) / len(shares):.1f} % · {plan}"
        body.append(_text(LEFT + 22, y, text if len(text) <= 120 else text[:119] + "…", "start"))
        y += LINE
    if _estimates(axes):
        body += [_cross(LEFT + 7, y - 5), _text(LEFT + 22, y, "the estimate", "start")]
        y += LINE
    if joins := [f"{short} {name}" for short, name in JOINS.items() if any(f" {short} " in plan for plan in plans)]:
        body.append(_text(LEFT + 22, y, ", ".join(joins), "start"))
        y += LINE
    width = max(LEFT + SIDE + 60, LEFT + 22 + 7 * max(min(120, len(plan) + 12) for plan in plans))
    name = escape(clean(title), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" viewBox="0 0 {width} {y}" role="img" '
        f'aria-label="plan diagram of {name}" font-family="sans-serif" font-size="12">\n'
        f'<title>plan diagram of {name}</title>\n<rect width="{width}" height="{y}" fill="white"/>\n'
        + _text(LEFT, 24, clean(title) if len(title) < 90 else clean(title)[:89] + "…", "start")
        + "\n"
        + "\n".join(body)
        + "\n</svg>\n"
    )


class _Scale:
    """A log scale of values onto pixels; 0 stands a decade below the others."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        above, self.zero = [value for value in values if value > 0.0] or [1.0], min(values) <= 0.0
        self.low, self.high = math.log10(min(above)) - self.zero, math.log10(max(above))
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - self.low) / max(self.high - self.low, 1e-9) if value > 0.0 else 0.0
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[str, float]]:
        """Labels and their pixels: powers of ten where there are three, else 1, 2 and 5 times these, else round numbers."""
        exponents = range(math.floor(self.low), math.ceil(self.high) + 1)
        values = self._within(10.0**n for n in exponents)
        if len(values) < 3:
            values = self._within(digit * 10.0**n for n in exponents for digit in (1, 2, 5))
        if len(values) < 3:
            values = self._within(_round_numbers(10**self.low, 10**self.high))
        show = _power if values[-1] >= 1e7 else "{:,.7g}".format
        found = [(show(value), self(value)) for value in values[:: max(1, len(values) // 6)]]
        return [*([("0", self.start)] if self.zero else []), *found]

    def _within(self, values: Iterable[float]) -> list[float]:
        low = self.low + (0.4 if self.zero else -1e-9)  # room for the 0
        return [value for value in values if low <= math.log10(value) <= self.high + 1e-9]


def _round_numbers(low: float, high: float) -> list[float]:
    """At least three multiples of 1, 2 or 5 times a power of ten from `low` to `high`; `low` where these are as good as one."""
    steps = (digit * 10.0**n for n in range(math.ceil(math.log10(high)), -12, -1) for digit in (5, 2, 1))
    step = next((step for step in steps if math.floor(high / step) - math.ceil(low / step) >= 2), None)
    return [low] if step is None else [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _power(value: float) -> str:
    """As 1.5·10⁶, or 10⁶."""
    digits, _, exponent = f"{value:.1e}".partition("e")
    return ("" if digits == "1.0" else f"{float(digits):g}·") + "10" + str(int(exponent)).translate(_SUPERSCRIPT)


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _cells(cells: Sequence[Sequence[int]], across: _Scale, axes: Sequence[dict[str, Any]]) -> list[str]:
    up = _Scale(axes[1]["rows"], TOP + SIDE, TOP)
    wide, high = SIDE / len(cells[0]), SIDE / len(cells)
    body = []
    longest: dict[int, tuple[int, int, int]] = {}
    for j, row in enumerate(cells):
        start = 0
        for number, equal in groupby(row):  # a run of equal cells is one rectangle
            run = len(list(equal))
            place = f'x="{LEFT + start * wide:.2f}" y="{TOP + SIDE - (j + 1) * high:.2f}"'
            size = f'width="{run * wide + 0.3:.2f}" height="{high + 0.3:.2f}"'
            body.append(f'<rect {place} {size} fill="{colour(number)}"><title>P{number + 1}</title></rect>')
            longest[number] = max((run, j, start), longest.get(number, (0, 0, 0)))
            start += run
    for number, (run, j, i) in sorted(longest.items()):  # a plan's number stands in the middle of its longest run
        body.append(_text(LEFT + (i + run / 2) * wide, TOP + SIDE - (j + 0.5) * high + 4, f"P{number + 1}", "middle"))
    name = f"rows of {{{', '.join(axes[1]['relations'])}}}"
    body.append(_text(-(TOP + SIDE / 2), 20, name, "middle", ' transform="rotate(-90)"'))
    body += [_text(LEFT - 8, y + 4, label, "end") for label, y in up.ticks()]
    if estimates := _estimates(axes):
        body.append(_cross(across(estimates[0]), up(estimates[1])))
    return body


def _curve(diagram: dict[str, Any], across: _Scale) -> list[str]:
    """The cost of the winner, over bands of the plans' colours that end at the switch points."""
    axis, costs, switches = diagram["axes"][0], diagram["costs"][0], diagram["switches"]
    up = _Scale([cost * margin for cost in costs for margin in (0.9, 1.1)], TOP + SIDE, TOP)
    rows = axis["rows"]
    ends = [(rows[0], diagram["cells"][0][0]), *((s["rows"], s["right"]) for s in switches)]
    body = []
    for (low, number), high in zip(ends, [*(s["rows"] for s in switches), rows[-1]], strict=True):
        x, wide = across(low), across(high) - across(low)
        body.append(
            f'<rect x="{x:.2f}" y="{TOP}" width="{wide:.2f}" height="{SIDE}" fill="{colour(number)}" fill-opacity="0.6"/>'
        )
        if wide > 18:
            body.append(_text(x + wide / 2, TOP + 14, f"P{number + 1}", "middle"))
    for switch in switches:
        x = across(switch["rows"])
        body.append(f'<line x1="{x:.2f}" x2="{x:.2f}" y1="{TOP}" y2="{TOP + SIDE}" stroke="black" stroke-dasharray="4 3"/>')
        body.append(_text(x + 4, TOP + 30, _short(switch["rows"]), "start"))
    points = " ".join(f"{across(x):.2f},{up(cost):.2f}" for x, cost in zip(rows, costs, strict=True))
    body.append(f'<polyline points="{points}" fill="none" stroke="black" stroke-width="2"/>')
    body += [_text(LEFT - 8, y + 4, label, "end") for label, y in up.ticks()]
    body.append(_text(-(TOP + SIDE / 2), 20, "cost of the plan that wins", "middle", ' transform="rotate(-90)"'))
    for estimate in _estimates([axis]):
        nearest = min(range(len(rows)), key=lambda i: abs(math.log(rows[i] / estimate)))
        body.append(_cross(across(estimate), up(costs[nearest])))
    return body


def _estimates(axes: Sequence[dict[str, Any]]) -> list[float]:
    """The estimate on each axis; none where one has it not."""
    found = [a["estimate"] for a in axes if a["estimate"] is not None and a["rows"][0] <= a["estimate"] <= a["rows"][-1]]
    return found if len(found) == len(axes) else []


def _cross(x: float, y: float) -> str:
    mark = f'<path d="M{x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12" stroke="black" stroke-width="2" fill="none"/>'
    return f"<g><title>the estimate</title>{mark}</g>"


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(clean(text))}</text>'


def colour(number: int) -> str:
    """Beyond the eight colours that anybody tells apart, hues by the golden angle, in three degrees of lightness."""
    if number < len(COLOURS):
        return COLOURS[number]
    parts = colorsys.hls_to_rgb(number * 0.618 % 1, 0.58 + 0.1 * (number % 3), 0.5)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def _short(value: float) -> str:
    return f"{value:,.2g}" if value < 10 else f"{value:,.0f}" if value < 1e7 else _power(value)
