"""The figures of a report; docs/pipeline.md says what each shows. One without anything to show is not made."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from experiments.bench.experiment import Figure, Row

MOST_VARIANTS = 8  # in one figure: more could not be told apart
MOST_PANELS = 6
_ROUNDING = 1e-9  # ratios this near to 1 are 1
_LINEAR_BELOW = 2.0  # greatest figure over the least, where a logarithmic scale would show few numbers


def make_figures(tables: dict[str, pa.Table], variants: Sequence[str], baseline: str) -> list[Figure]:
    """Figures from the tables of `aggregate`; `variants` in the order of the plan."""
    by_relations, by_query = tables["by_relations"].to_pylist(), tables["by_query"].to_pylist()
    shown = _shown(variants, baseline)
    note = "" if len(shown) == len(variants) else f"{len(shown)} of {len(variants)} variants; the tables have all"
    q_error = "q_error_max" if any(row["q_error_max"] is not None for row in by_query) else "q_error"
    what = "largest q-error of an operator" if q_error == "q_error_max" else "q-error of the rows of the result"
    made = [
        _panels("planning_time", by_relations, "plan_ms", shown, "planning time, median (ms)", note),
        _panels("costed", by_relations, "costed", shown, "alternatives costed, median", note),
        _shares("planning_ecdf", by_query, "plan_ms", shown, "planning time (ms)", note),
        _shares("cost_ratio", by_query, "cost_ratio", shown, "cost of the plan / baseline", note, baseline),
        _shares("elapsed_ratio", by_query, "elapsed_ms_ratio", shown, "elapsed time / baseline", note, baseline),
        _shares("q_error", by_query, q_error, shown, what, note),
    ]
    return [figure for figure in made if figure is not None]


def _shown(variants: Sequence[str], baseline: str) -> list[str]:
    """The baseline and others, spread evenly over the list, as many as can be told apart, in their order."""
    others = [variant for variant in variants if variant != baseline]
    most = MOST_VARIANTS - 1
    if len(others) > most:
        others = [others[i * (len(others) - 1) // (most - 1)] for i in range(most)]
    chosen = {baseline, *others}
    return [variant for variant in variants if variant in chosen]


def _panels(name: str, rows: list[Row], column: str, variants: Sequence[str], label: str, note: str) -> Figure | None:
    """Lines over the number of base tables, on a logarithmic scale; a panel for each workload that has two numbers or more."""
    found = [row for row in rows if row["variant"] in variants and _positive(row[column])]
    sizes: dict[str, set[int]] = {}
    for row in found:
        sizes.setdefault(row["workload"], set()).add(row["relations"])
    several = [workload for workload, numbers in sizes.items() if len(numbers) > 1]
    workloads = sorted(sorted(several, key=lambda each: (-len(sizes[each]), each))[:MOST_PANELS])
    points = [
        {"panel": workload, "series": row["variant"], "x": row["relations"], "y": row[column]}
        for workload in workloads for row in found if row["workload"] == workload
    ]  # fmt: skip
    data = pa.Table.from_pylist(points)
    return Figure(name, label, data, "lines", "base tables", label, log_y=True, series=variants, note=note) if points else None


def _shares(
    name: str, rows: list[Row], column: str, variants: Sequence[str], label: str, note: str, baseline: str | None = None
) -> Figure | None:
    """For each variant, the share of its queries whose figure is at most x, on a logarithmic scale unless all figures are
    close. Queries that failed are among those that the share is of, so that a curve ends below 1; of a query with several
    seeds, the failed ones. With `baseline`, figures are ratios to its own, and queries without such a one are not counted."""
    own = [r for r in rows if baseline is None or (r["variant"] == baseline and _positive(r[column.removesuffix("_ratio")]))]
    counted = {(r["query"], r["data"]) for r in own}
    points: list[Row] = []
    for variant in variants:
        mine = [r for r in rows if r["variant"] == variant != baseline and (r["query"], r["data"]) in counted]
        found = sorted((r[column], (r["items"] - r["errors"]) / r["items"]) for r in mine if _positive(r[column]))
        upto = itertools.accumulate(weight for _, weight in found)
        points += [{"series": variant, "x": x, "y": y / len(mine)} for (x, _), y in zip(found, upto, strict=True)]
    values = [point["x"] for point in points]
    if all(abs(value - 1.0) < _ROUNDING for value in values):
        return None
    log = max(values) / min(values) > _LINEAR_BELOW
    data = pa.Table.from_pylist(points)
    return Figure(name, label, data, "shares", label, "share of queries", log_x=log, series=variants, note=note)


def _positive(value: Any) -> bool:
    return value is not None and 0 < value < math.inf
