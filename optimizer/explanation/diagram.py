"""Plan diagrams: which plan wins as the rows of one or two sets of relations vary over a log scale.

Source: Reddy and Haritsa, Analyzing plan diagrams of database query optimizers, VLDB 2005.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from math import prod
from numbers import Real
from typing import Any, NamedTuple

from optimizer.algebra.physical import TableScan
from optimizer.algebra.plan import PlanNode
from optimizer.errors import SettingsError, many
from optimizer.explanation.recost import Recosting, show_set
from optimizer.memo.goal import INFINITY
from optimizer.search.extract import give_groups

EQUAL = 1e-9  # relative
CLOSE = 1.01  # a switch point is found to within this factor
SEARCHED = "\nof the plans that were searched: some were left out"
SHORT = {"hash_join": "HJ", "merge_join": "MJ", "nested_loop_join": "NL"}


class Axis(NamedTuple):
    """`values`: rows of the set, ascending; `selectivity`: these as shares of the product of its tables; `estimate`: of it."""

    aliases: frozenset[str]
    values: tuple[float, ...]
    selectivity: tuple[float, ...]
    estimate: float | None

    @property
    def label(self) -> str:
        return f"rows of {show_set(self.aliases)}"


class Switch(NamedTuple):
    """Between plans `left` and `right`, by number, the winner changes where the set has `rows` rows."""

    rows: float
    left: int
    right: int


class Diagram(NamedTuple):
    """`cells[j][i]`: number of the plan that wins at value i of the first axis and j of the second, `costs` what it costs; one
    row of cells where there is one axis. `plans`: in a line each, by number, as they were met. `switches`: of one axis. `proven`:
    all plans were searched."""

    axes: tuple[Axis, ...]
    plans: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    costs: tuple[tuple[float, ...], ...]
    switches: tuple[Switch, ...]
    proven: bool

    @property
    def json(self) -> dict[str, Any]:
        return {
            "axes": [
                {"relations": sorted(a.aliases), "rows": a.values, "selectivity": a.selectivity, "estimate": a.estimate}
                for a in self.axes
            ],
            "plans": self.plans,
            "cells": self.cells,
            "costs": self.costs,
            "switches": [switch._asdict() for switch in self.switches],
            "proven": self.proven,
        }

    def show(self, width: int = 100) -> str:
        """Which plans there are, how much of the diagram each wins, and the switch points."""
        cells = [number for row in self.cells for number in row]
        lines = [f"{many(len(self.plans), 'plan')} over {' and '.join(a.label for a in self.axes)}"]
        lines += [
            f"P{n + 1:<{len(str(len(self.plans)))}}  {100 * cells.count(n) / len(cells):5.1f} %  {plan}"
            for n, plan in enumerate(self.plans)
        ]
        lines += [
            f"at {s.rows:,.4g} rows of {show_set(self.axes[0].aliases)}: P{s.left + 1} → P{s.right + 1}" for s in self.switches
        ]
        return "\n".join(lines) + ("" if self.proven else SEARCHED)


def axis(memo: Recosting, names: Set[str], low: float | None, high: float | None, points: int) -> Axis:
    """A log scale; from 1 row, or a thousandth of the estimate, to the table, or a thousand times the estimate, where nothing
    is said. Raises SettingsError for a set that the query does not join, and for what is no range."""
    for number in (low, high):
        if not isinstance(number, Real | None):
            raise SettingsError(f"an axis goes from one number of rows to another, not {number!r:.60}")
    if not isinstance(points, int) or points < 2:
        raise SettingsError(f"an axis has two points or more, not {points!r:.60}")
    aliases = frozenset(names) if isinstance(names, Set) else names
    estimate = memo.rows(aliases)
    product = prod(max(1.0, memo.relations.get(name, 1.0)) for name in aliases)
    middle = max(1.0, estimate or 1.0)
    low = low if low is not None else min(max(1.0, middle / 1000.0), (high or INFINITY) / 10.0)
    high = high if high is not None else max(min(product, 1000.0 * middle), 10.0 * low)
    if not 0.0 < low < high < INFINITY:
        raise SettingsError(f"{low:g}..{high:g} is no range of rows: two numbers above 0, the lesser one first")
    values = tuple(low * (high / low) ** (i / (points - 1)) for i in range(points))
    memo.under({aliases: values[0]})  # says so where there is no such set
    return Axis(aliases, values, tuple(value / product for value in values), estimate)


def diagram(memo: Recosting, axes: Sequence[Axis], factors: Mapping[str, float] | None = None) -> Diagram:
    """The plan diagram over one axis or two."""
    numbers: dict[tuple[str, ...], int] = {}
    plans: list[PlanNode] = []
    last, proven = 0, True

    def winner(values: Sequence[float]) -> tuple[int, float]:
        nonlocal last, proven
        rows = {a.aliases: value for a, value in zip(axes, values, strict=True)}
        found = memo.under(rows, factors)
        proven = proven and found.proven
        key = plan_key(found.plan)
        if key not in numbers or numbers[key] != last:
            assert found.search.root is not None
            give_groups(found.search, found.search.root, found.plan)
            if plans and memo.cost_of(plans[last], rows, factors) <= found.cost * (1.0 + EQUAL):
                return last, found.cost  # the same to rounding: no switch
            if key not in numbers:
                numbers[key] = len(plans)
                plans.append(found.plan)
            last = numbers[key]
        return last, found.cost

    first, *rest = axes
    found = [[winner((x, y)) for x in first.values] for y in rest[0].values] if rest else [[winner((x,)) for x in first.values]]
    switches: list[Switch] = []
    if not rest:
        for i in range(len(first.values) - 1):
            pending = [(first.values[i], found[0][i][0], first.values[i + 1], found[0][i + 1][0])]
            while pending:
                low, left, high, right = pending.pop()
                if left == right:
                    continue
                middle = (low * high) ** 0.5
                if high <= low * CLOSE:
                    switches.append(Switch(middle, left, right))
                else:
                    between = winner((middle,))[0]
                    pending += [(middle, between, high, right), (low, left, middle, between)]
    cells = tuple(tuple(number for number, _ in row) for row in found)
    costs = tuple(tuple(cost for _, cost in row) for row in found)
    return Diagram(tuple(axes), tuple(map(plan_line, plans)), cells, costs, tuple(switches), proven)


def plan_key(plan: PlanNode) -> tuple[str, ...]:
    """Equal for plans of the same operators in the same places."""
    return tuple(f"{len(node.inputs)} {node.op.name} {node.op.describe(str)}" for node in plan.walk())


def plan_line(plan: PlanNode) -> str:
    """The scans and joins of a plan in one line: `((c HJ o) MJ l)`; other operators of one input are left out, but for sorts."""
    texts: dict[int, str] = {}
    for node in reversed(list(plan.walk())):
        below = [texts[id(child)] for child in node.inputs]
        name = SHORT.get(node.op.name, node.op.name)
        if isinstance(node.op, TableScan):
            text = node.op.scan.alias
        elif len(below) == 1:
            text = f"sort {below[0]}" if node.op.name in ("sort", "partial_sort") else below[0]
        else:
            text = f"({f' {name} '.join(below)})" if below else name
        texts[id(node)] = text
    return texts[id(plan)]
