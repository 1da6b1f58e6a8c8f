"""The figures of a report, as SVG and PDF files that are the same for the same tables: no dates, no random ids.

    planning_time   median milliseconds of planning by number of base tables, a panel for each workload
    costed          the same for alternatives costed
    planning_ecdf   share of queries planned within a time, of all: those that failed too
    cost_ratio      share of queries whose plan costs at most so many times what it costs with the baseline
    elapsed_ratio   share of queries that run at most so many times as long as with the baseline
    q_error         share of queries whose estimate is off by at most a factor

A figure without anything to show is not made. Colours are told apart by people who do not see all of them (Okabe and Ito).
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import pyarrow as pa
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from executor.atomic import atomic_output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MOST_VARIANTS = 8  # in one figure: more could not be told apart
MOST_PANELS = 6
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
MARKERS = "osD^vPX*"
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (7, 2)), (0, (2, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 2)))
_ROUNDING = 1e-9  # ratios this near to 1 are 1
_LINEAR_BELOW = 2.0  # greatest figure over the least, where a logarithmic scale would show few numbers
_WIDE = 34  # characters of a variant's name from which on the legend has one column
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
}
Row = dict[str, Any]


def make_figures(tables: dict[str, pa.Table], variants: Sequence[str], baseline: str) -> dict[str, Figure]:
    """Figures by name from the tables of `aggregate`; `variants` in the order of the plan."""
    by_relations, by_query = tables["by_relations"].to_pylist(), tables["by_query"].to_pylist()
    shown = _shown(variants, baseline)
    others = [variant for variant in shown if variant != baseline]
    note = "" if len(shown) == len(variants) else f"{len(shown)} of {len(variants)} variants; the tables have all"
    q_error = "q_error_max" if any(row["q_error_max"] is not None for row in by_query) else "q_error"
    what = "largest q-error of an operator" if q_error == "q_error_max" else "q-error of the rows of the result"
    with matplotlib.rc_context(STYLE):
        made = {
            "planning_time": _panels(by_relations, "plan_ms", shown, "planning time, median (ms)", note),
            "costed": _panels(by_relations, "costed", shown, "alternatives costed, median", note),
            "planning_ecdf": _ecdf(by_query, "plan_ms", shown, "planning time (ms)", note),
            "cost_ratio": _ecdf(by_query, "cost_ratio", others, "cost of the plan / baseline", note, baseline, "cost"),
            "elapsed_ratio": _ecdf(by_query, "elapsed_ms_ratio", others, "elapsed time / baseline", note, baseline, "elapsed_ms"),
            "q_error": _ecdf(by_query, q_error, shown, what, note),
        }
    return {name: figure for name, figure in made.items() if figure is not None}


def write_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
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


def _shown(variants: Sequence[str], baseline: str) -> list[str]:
    """The baseline and others, spread evenly over the list, as many as can be told apart, in their order."""
    others = [variant for variant in variants if variant != baseline]
    most = MOST_VARIANTS - 1
    if len(others) > most:
        others = [others[i * (len(others) - 1) // (most - 1)] for i in range(most)]
    chosen = {baseline, *others}
    return [variant for variant in variants if variant in chosen]


def _panels(rows: list[Row], column: str, variants: Sequence[str], label: str, note: str) -> Figure | None:
    """Lines over the number of base tables, on a logarithmic scale; a panel for each workload that has two numbers or more."""
    found = [row for row in rows if row["variant"] in variants and _positive(row[column])]
    sizes: dict[str, set[int]] = {}
    for row in found:
        sizes.setdefault(row["workload"], set()).add(row["relations"])
    several = [name for name, numbers in sizes.items() if len(numbers) > 1]
    workloads = sorted(sorted(several, key=lambda name: (-len(sizes[name]), name))[:MOST_PANELS])
    if not workloads:
        return None
    columns = 2 if len(workloads) == 4 else min(3, len(workloads))
    lines = -(-len(workloads) // columns)
    figure = _figure(max(4.8, 2.9 * columns + 0.6), 2.3 * lines + 0.3, variants)
    grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
    for position, axes in enumerate(grid.flat):
        if position >= len(workloads):
            axes.set_visible(False)
            continue
        for i, variant in enumerate(variants):
            mine = [row for row in found if (row["workload"], row["variant"]) == (workloads[position], variant)]
            points = sorted((row["relations"], row[column]) for row in mine)
            axes.plot(
                [x for x, _ in points], [y for _, y in points], marker=MARKERS[i], markersize=3.5, linewidth=1.2,
                color=COLOURS[i], linestyle=DASHES[i], label=variant,
            )  # fmt: skip
        axes.set_yscale("log")
        plain_axis(axes.yaxis)
        axes.set_title(workloads[position])
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
        if position + columns >= len(workloads):
            axes.set_xlabel("base tables")
    _finish(figure, grid.flat[0], label, note)
    return figure


def _ecdf(
    rows: list[Row], column: str, variants: Sequence[str], label: str, note: str, baseline: str = "", against: str | None = None
) -> Figure | None:
    """For each variant, the share of its queries whose figure is at most x, on a logarithmic scale unless all figures are close.

    Queries that failed are among those that the share is of, so that a curve ends below 1; of a query with several seeds, the
    failed ones. With `against`, the figure of the baseline that ratios are to, queries without one are not counted.
    """
    counted = {(r["query"], r["data"]) for r in rows if against is None or (r["variant"] == baseline and _positive(r[against]))}
    mine = {variant: [r for r in rows if r["variant"] == variant and (r["query"], r["data"]) in counted] for variant in variants}
    values = {variant: found for variant in variants if (found := _shares(mine[variant], column))}
    if not values or all(abs(value - 1.0) < _ROUNDING for points in values.values() for value, _ in points):
        return None
    figure = _figure(4.8, 2.9, list(values))
    axes = figure.subplots()
    least, most = min(points[0][0] for points in values.values()), max(points[-1][0] for points in values.values())
    for variant, points in values.items():
        i = variants.index(variant)
        figures, shares = zip(*points, strict=True)
        axes.step(
            [least, figures[0], *figures, most], [0.0, 0.0, *shares, shares[-1]], where="post", linewidth=1.4,
            color=COLOURS[i], linestyle=DASHES[i], label=variant,
        )  # fmt: skip
    margin = max(1.02, (most / least) ** 0.03)
    axes.set_xlim(least / margin, most * margin)
    if most / least > _LINEAR_BELOW:
        axes.set_xscale("log")
        plain_axis(axes.xaxis)
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("share of queries")
    axes.set_xlabel(label)
    _finish(figure, axes, "", note)
    return figure


def _shares(rows: list[Row], column: str) -> list[tuple[float, float]]:
    """(figure, share of `rows` up to it), ascending; a query whose items failed in part counts in part."""
    found = sorted((r[column], (r["items"] - r["errors"]) / r["items"]) for r in rows if _positive(r[column]))
    upto = itertools.accumulate(weight for _, weight in found)
    return [(value, share / len(rows)) for (value, _), share in zip(found, upto, strict=True)]


def plain_axis(axis: Axis) -> None:
    """Numbers as people write them on a logarithmic axis: 0.05, 20, 3000; between powers of ten only where there are few."""
    low, high = sorted(axis.get_view_interval())
    write = FuncFormatter(lambda value, _: f"{value:g}")
    axis.set_major_formatter(write)
    if low > 0 and high / low <= 30:
        axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else ""))
    else:
        axis.set_minor_formatter(NullFormatter())


def _finish(figure: Figure, axes: Axes, title: str, note: str) -> None:
    """The title above, the legend and the note below everything."""
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1 or note:
        figure.legend(handles, labels, loc="outside lower center", ncols=_legend_columns(labels), title=note, title_fontsize=8)


def _legend_columns(labels: Sequence[str]) -> int:
    return 1 if max(map(len, labels)) > _WIDE else 2


def _figure(width: float, height: float, labels: Sequence[str]) -> Figure:
    """With room for a legend of `labels` below; sizes in inches."""
    lines = -(-len(labels) // _legend_columns(labels)) + 1
    figure = Figure(figsize=(width, height + 0.19 * lines), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _positive(value: Any) -> bool:
    return value is not None and 0 < value < math.inf
