"""Pruning modes side by side: how many alternatives the search costs, opens and skips in each, at the same cost of the plan.

Every mode plans the same queries, the joins of a region set by set (`region=tasks`) unless another way is asked for: the table of
all sets skips nothing. Proven plans must cost the same, whatever was pruned; anything else is a bug. With an audit every skip of
every mode is compared with the true optima of its memo as well (`optimizer.audit.audit`).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from executor.atomic import make_folder, write_file
from executor.session import Session
from experiments.workloads.data import open_data
from experiments.workloads.queries import default_data, resolve_sql
from memo_viz.explain import regions_text
from optimizer.audit.audit import audit
from optimizer.catalog.table import Catalog
from optimizer.errors import InternalError, SqlError
from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.settings import Settings
from optimizer.trace.recorder import Trace

GRAPHS = ("chain/8", "star/8", "clique/6")
JOB = ("job/1a", "job/5a", "job/9a", "job/13a", "job/17a")
TPCH = ("tpch/q03", "tpch/q05", "tpch/q09", "tpch/q10")
MODES = (
    ("none", "none"), ("upper", "none"), ("lower", "none"), ("both", "none"),
    ("both", "greedy"), ("both", "linearized"), ("both", "best"),
)  # fmt: skip
BY_TASKS = ("region=tasks", "budget_tasks=0", "budget_mexprs=0", "budget_groups=0")  # a table prunes nothing; no budgets
ENOUGH_SECONDS = 0.1  # a time is the least of three runs, or of as many as this allows
TOLERANCE = 1e-9


class Measured(NamedTuple):
    """One query in one mode, and a row of the result files. `enumerated`: splits of join graphs, and other joins in the memo;
    the four after `tasks`: skips by mechanism; `dominated`: splits without a merge join, whatever the bounds; `regions`: how
    regions of joins were searched; `ratio`: alternatives costed without pruning for each one here; `audited`: skips
    that were compared with the optimum (None: no audit)."""

    query: str
    pruning: str
    seed: str
    costed: int
    enumerated: int
    goals_opened: int
    tasks: int
    group_bound: int
    predicted: int
    accumulated: int
    limit: int
    dominated: int
    regions: str
    ratio: float | None
    ms: float
    cost: float
    proven: bool
    audited: int | None


class Comparison(NamedTuple):
    """One query in all modes; `relations` as scans of its plan."""

    query: str
    relations: int
    rows: list[Measured]


def default_queries(data: str | None) -> tuple[str, ...]:
    """What is compared when no query is named: join graphs and JOB, or queries of TPC-H where its data are given."""
    if data is None:
        return (*GRAPHS, *JOB)
    if not data.startswith("tpch"):
        raise SqlError(f"there are no default queries for {data}", hint="name some, as SQL text, @file.sql or a built-in query")
    return TPCH


def compare(
    queries: Sequence[str],
    data: str | None = None,
    pairs: Sequence[str] = (),
    audited: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Iterator[Comparison]:
    """Plan every query in every mode. `pairs`: settings that all modes share, over regions searched by tasks and no budgets.

    Raises SqlError and SettingsError for what is asked before anything runs, InternalError when modes disagree or an audit
    finds a skip that is unsound.
    """
    Settings.from_pairs(pairs)
    resolved = [(query, resolve_sql(query), _data_of(query, data)) for query in queries]
    catalogs: dict[str, Catalog] = {}
    for name, sql, source in resolved:
        if progress:
            progress(name)
        if source not in catalogs:
            catalogs[source] = open_data(source, progress)
        yield _compare(name, sql, catalogs[source], pairs, audited)


def _data_of(query: str, data: str | None) -> str:
    source = data if data is not None else default_data(query)
    if source is None:
        raise SqlError(f'"{query}" needs data', hint="-d names a folder of tables, or a built-in dataset such as tpch:0.1")
    return source


def _compare(name: str, sql: str, catalog: Catalog, pairs: Sequence[str], audited: bool) -> Comparison:
    rows: list[Measured] = []
    relations = 0
    for pruning, seed in MODES:
        settings = Settings.from_pairs((*BY_TASKS, *pairs, f"pruning={pruning}", f"seed={seed}"))
        optimizer = Session(catalog, settings).optimizer
        planned, ms = _timed(optimizer, sql)
        checked = _audit(name, optimizer, sql) if audited else None
        rows.append(_row(name, settings, planned, ms, rows[0].costed if rows else None, checked))
        relations = sum(1 for node in planned.plan.walk() if not node.inputs)
    _check(name, rows)
    return Comparison(name, relations, rows)


def _timed(optimizer: Optimizer, sql: str) -> tuple[OptimizedQuery, float]:
    """The planned query and the least milliseconds of search of up to three runs."""
    best, begin = math.inf, time.perf_counter()
    for _ in range(3):
        planned = optimizer.optimize(sql)
        best = min(best, planned.ms["search"])
        if time.perf_counter() - begin > ENOUGH_SECONDS:
            break
    return planned, best


def _audit(name: str, optimizer: Optimizer, sql: str) -> int:
    """The number of skips compared with the optimum. Raises InternalError at the first that is unsound."""
    trace = Trace()
    report = audit(optimizer.optimize(sql, trace).engine, trace)
    if report.finding is not None:
        settings = optimizer.settings
        raise InternalError(f"{name}, pruning={settings.pruning}, seed={settings.seed}: {report}")
    return sum(report.skips.values())


def _row(name: str, settings: Settings, planned: OptimizedQuery, ms: float, without: int | None, checked: int | None) -> Measured:
    found = planned.search
    ratio = 1.0 if without is None else without / found.costed if found.costed else None
    return Measured(
        query=name,
        pruning=settings.pruning,
        seed=settings.seed,
        costed=found.costed,
        enumerated=found.joins_enumerated,
        goals_opened=found.goals_opened,
        tasks=found.tasks,
        **found.pruned,
        regions=regions_text(found.regions),
        ratio=ratio,
        ms=ms,
        cost=planned.cost,
        proven=found.proven,
        audited=checked,
    )


def _check(name: str, rows: Sequence[Measured]) -> None:
    """Proven plans cost the same, and others no less."""
    proven = [row for row in rows if row.proven]
    if not proven:
        return
    least = min(row.cost for row in proven)
    for row in rows:
        wrong = row.cost < least * (1 - TOLERANCE) or (row.proven and row.cost > least * (1 + TOLERANCE))
        if wrong:
            other = next(r for r in proven if r.cost == least)
            raise InternalError(
                f"{name} costs {row.cost!r} with pruning={row.pruning}, seed={row.seed}, "
                f"and {other.cost!r} with pruning={other.pruning}, seed={other.seed}"
            )


HEAD = (
    "pruning", "seed", "costed", "joins", "goals", "tasks", "group_bound", "predicted", "accumulated", "limit",
    "dominated", "ratio", "ms", "cost", "proven", "audited",
)  # fmt: skip


def describe(comparison: Comparison, audited: bool) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """A line on the query; column heads; a row for each mode."""
    rows = [
        (
            row.pruning, row.seed, f"{row.costed:,}", f"{row.enumerated:,}", f"{row.goals_opened:,}", f"{row.tasks:,}",
            f"{row.group_bound:,}", f"{row.predicted:,}", f"{row.accumulated:,}", f"{row.limit:,}", f"{row.dominated:,}",
            "–" if row.ratio is None else f"{row.ratio:,.1f}", f"{row.ms:,.2f}", f"{row.cost:.6g}", "yes" if row.proven else "no",
            "" if row.audited is None else f"{row.audited:,}",
        )
        for row in comparison.rows
    ]  # fmt: skip
    width = len(HEAD) if audited else len(HEAD) - 1
    title = f"{comparison.query}: {comparison.relations} relations"
    methods = dict.fromkeys(row.regions for row in comparison.rows if row.regions)
    if methods:
        title += f", regions of joins: {' or '.join(methods)}"
    if audited:
        title += f", {sum(row.audited or 0 for row in comparison.rows):,} skips audited, all sound"
    return title, HEAD[:width], [row[:width] for row in rows]


def write_results(comparisons: Sequence[Comparison], folder: str) -> list[Path]:
    """`pruning.csv` and `pruning.json` with the same rows; the files written. Raises OutputError."""
    rows = [row for comparison in comparisons for row in comparison.rows]
    target = make_folder(folder)
    lines = [",".join(Measured._fields)]
    lines += [",".join("" if value is None else _csv(value) for value in row) for row in rows]
    write_file(target / "pruning.csv", "\n".join(lines) + "\n")
    records = ",\n".join(json.dumps(row._asdict()) for row in rows)
    write_file(target / "pruning.json", f"[\n{records}\n]\n")
    return [target / "pruning.csv", target / "pruning.json"]


def _csv(value: object) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text
