"""Estimated rows of sub-plans beside true ones: q-errors by estimator and number of relations, DuckDB's on the same sub-plans.

A sub-plan is a set of relations of a query joined under all predicates among them. Its estimate is what the search uses: the rows
of its set in the memo of the planned query (`sub_plans`). Its q-error is max(estimate / true, true / estimate), both taken as at
least one row (Moerkotte, Neumann and Steidl, VLDB 2009).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from executor.atomic import make_folder, write_file
from executor.session import Session
from experiments.duckdb_estimates import MISSING, DuckDBEstimates, FlatQuery
from experiments.sub_plans import JOINS_ALONE, SubPlans
from experiments.tables import Section, csv_text, figure, markdown
from experiments.workloads.data import open_data
from experiments.workloads.queries import default_data, resolve_sql
from experiments.workloads.true_cardinalities import WORKLOADS, Aliases, true_cardinalities
from optimizer.catalog.table import Catalog
from optimizer.settings import Settings

ESTIMATORS = ("histogram", "system_r", "upper_bound")
DUCKDB = "duckdb"
ALL, WITH_ROWS = "all", "with rows"  # which sub-plans a summary is of

Progress = Callable[[str], None]


class SubPlan(NamedTuple):
    """One sub-plan by one estimator. `aliases`: its relations, joined by +."""

    workload: str
    query: str
    aliases: str
    relations: int
    estimator: str
    estimate: float
    true: int
    with_rows: bool

    @property
    def q_error(self) -> float:
        estimate, true = max(1.0, self.estimate), max(1.0, float(self.true))
        return max(estimate / true, true / estimate)

    @property
    def under(self) -> bool:
        """Whether the estimate is too small, rounding aside."""
        return max(1.0, self.estimate) < max(1.0, float(self.true)) * (1 - 1e-9)


class Summary(NamedTuple):
    """q-errors of one estimator on the sub-plans of a workload (`scope`: all, or those whose tables have rows) of so many
    relations (0: of any number). `p90` and so on: percentiles, interpolated; `under`: the share that is estimated too low."""

    workload: str
    scope: str
    estimator: str
    relations: int
    sub_plans: int
    median: float
    p90: float
    p95: float
    p99: float
    max: float
    under: float


class Comparison(NamedTuple):
    """A workload by all estimators; `notes`: what is to be known besides."""

    workload: str
    queries: int
    rows: list[SubPlan]
    notes: list[str]


def compare(
    workloads: Sequence[str] = (),
    estimators: Sequence[str] = ESTIMATORS,
    pairs: Sequence[str] = (),
    with_duckdb: bool = True,
    progress: Progress | None = None,
) -> Iterator[Comparison]:
    """The sub-plans of each workload (default: all that have true cardinalities) by each estimator.

    `pairs`: settings, as name=value. Raises SqlError and SettingsError for what is asked before anything is planned.
    """
    chosen = list(dict.fromkeys(workloads)) or list(WORKLOADS)
    truths = [true_cardinalities(workload) for workload in chosen]
    made = {name: Settings.from_pairs((*pairs, f"estimator={name}"), JOINS_ALONE) for name in dict.fromkeys(estimators)}
    for workload, truth in zip(chosen, truths, strict=True):
        yield _compare(workload, truth, made, with_duckdb, progress)


def _compare(
    workload: str,
    truth: dict[str, dict[Aliases, int]],
    estimators: dict[str, Settings],
    with_duckdb: bool,
    progress: Progress | None,
) -> Comparison:
    catalog = open_data(default_data(next(iter(truth))) or workload, progress)
    texts = {query: resolve_sql(query) for query in truth}
    stored = _with_rows(catalog, truth, texts)
    rows: list[SubPlan] = []
    for name, settings in estimators.items():
        if progress:
            progress(f"{workload}: {name}")
        optimizer = Session(catalog, settings).optimizer
        for query, counted in truth.items():
            sub_plans = SubPlans(optimizer.optimize(texts[query]))
            rows += (
                _sub_plan(workload, query, aliases, name, sub_plans.rows(aliases), true, (query, aliases) in stored)
                for aliases, true in counted.items()
            )
    notes = []
    if not stored:
        notes.append(f"{workload} is planned from published statistics: no rows, so no DuckDB beside")
    elif with_duckdb:
        try:
            database = DuckDBEstimates(catalog)
        except ImportError:
            notes.append(MISSING)
        else:
            if progress:
                progress(f"{workload}: DuckDB {database.version}")
            rows += _duckdb_rows(database, workload, truth, texts, stored)
            notes.append(f"duckdb: {database.version}, EXPLAIN of each sub-plan as a query over native tables with the same rows")
            database.close()
    return Comparison(workload, len(truth), rows, notes)


def _with_rows(
    catalog: Catalog, truth: dict[str, dict[Aliases, int]], texts: dict[str, str]
) -> dict[tuple[str, Aliases], FlatQuery]:
    """The sub-plans all of whose tables have rows, with their query's text in parts."""
    found = {}
    if not catalog.statistics_only:
        for query, counted in truth.items():
            flat = FlatQuery(texts[query])
            stored = {alias for alias, name in flat.tables.items() if (table := catalog.table(name)) is not None and table.files}
            found.update({(query, aliases): flat for aliases in counted if aliases <= stored})
    return found


def _duckdb_rows(
    database: DuckDBEstimates,
    workload: str,
    truth: dict[str, dict[Aliases, int]],
    texts: dict[str, str],
    stored: dict[tuple[str, Aliases], FlatQuery],
) -> Iterator[SubPlan]:
    for (query, aliases), flat in stored.items():
        estimate = database.rows(flat.sub_query(aliases))
        yield _sub_plan(workload, query, aliases, DUCKDB, estimate, truth[query][aliases], True)


def _sub_plan(
    workload: str, query: str, aliases: Aliases, estimator: str, estimate: float, true: int, with_rows: bool
) -> SubPlan:
    return SubPlan(workload, query, "+".join(sorted(aliases)), len(aliases), estimator, estimate, true, with_rows)


def summaries(comparison: Comparison) -> list[Summary]:
    """By scope, estimator and number of relations, all numbers together first; with DuckDB only in its scope."""
    found = []
    for scope in (ALL, WITH_ROWS):
        rows = [row for row in comparison.rows if row.with_rows or scope == ALL]
        if not any(row.with_rows for row in rows) and scope == WITH_ROWS:
            continue
        for estimator in dict.fromkeys(row.estimator for row in rows):
            if estimator == DUCKDB and scope == ALL:
                continue
            own = [row for row in rows if row.estimator == estimator]
            for relations in (0, *sorted({row.relations for row in own})):
                found.append(_summary(scope, relations, [row for row in own if relations in (0, row.relations)]))
    return found


def _summary(scope: str, relations: int, rows: Sequence[SubPlan]) -> Summary:
    errors = np.array([row.q_error for row in rows])
    median, p90, p95, p99 = (float(x) for x in np.percentile(errors, (50, 90, 95, 99)))
    under = sum(row.under for row in rows) / len(rows)
    first = rows[0]
    return Summary(
        first.workload, scope, first.estimator, relations, len(rows), median, p90, p95, p99, float(errors.max()), under
    )


def worst(comparison: Comparison, count: int) -> list[SubPlan]:
    """For each estimator the `count` sub-plans with the largest q-errors."""
    found = []
    for estimator in dict.fromkeys(row.estimator for row in comparison.rows):
        own = [row for row in comparison.rows if row.estimator == estimator]
        found += sorted(own, key=lambda row: -row.q_error)[:count]
    return found


SUMMARY_HEAD = ("estimator", "sub-plans", "median", "90 %", "95 %", "99 %", "max", "under")
WORST_HEAD = ("estimator", "query", "relations", "estimate", "true", "q-error")


def describe(comparison: Comparison, most: int = 0) -> list[Section]:
    """Tables over all sub-plans and over those with rows, by number of relations, and of the `most` worst of each estimator."""
    found = summaries(comparison)
    counted = len({(row.query, row.aliases) for row in comparison.rows})
    sections = []
    for scope in dict.fromkeys(each.scope for each in found):
        own = [each for each in found if each.scope == scope]
        whose = f"{counted:,} sub-plans of {comparison.queries} queries" if scope == ALL else "sub-plans whose tables have rows"
        title = f"{comparison.workload}: q-errors of {whose}"
        sections.append(Section(title, SUMMARY_HEAD, [_cells(each) for each in own if not each.relations]))
        if scope == WITH_ROWS or not any(each.scope == WITH_ROWS for each in found):
            head = ("estimator", "relations", *SUMMARY_HEAD[1:])
            cells = [(each.estimator, str(each.relations), *_cells(each)[1:]) for each in own if each.relations]
            sections.append(Section(f"{comparison.workload}: by number of relations", head, cells))
    if most:
        cells = [
            (row.estimator, row.query, row.aliases, figure(row.estimate), f"{row.true:,}", figure(row.q_error))
            for row in worst(comparison, most)
        ]
        sections.append(Section(f"{comparison.workload}: largest q-errors", WORST_HEAD, cells, 3))
    return sections


def _cells(summary: Summary) -> tuple[str, ...]:
    errors = (summary.median, summary.p90, summary.p95, summary.p99, summary.max)
    return (summary.estimator, f"{summary.sub_plans:,}", *map(figure, errors), f"{summary.under:.0%}")


def write_results(comparisons: Sequence[Comparison], folder: str) -> list[Path]:
    """`estimates.csv`, `.json`, `.md` (summaries) and `estimates_sub_plans.csv`; the files written. Raises OutputError."""
    target = make_folder(folder)
    found = [each for comparison in comparisons for each in summaries(comparison)]
    rows = [row for comparison in comparisons for row in comparison.rows]
    written = {
        "estimates.csv": csv_text(Summary._fields, found),
        "estimates.json": "[\n" + ",\n".join(json.dumps(each._asdict()) for each in found) + "\n]\n",
        "estimates.md": "\n".join(markdown(section) for c in comparisons for section in describe(c)),
        "estimates_sub_plans.csv": csv_text((*SubPlan._fields, "q_error"), [(*row, row.q_error) for row in rows]),
    }
    for name, text in written.items():
        write_file(target / name, text)
    return [target / name for name in written]
