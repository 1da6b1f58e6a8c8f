"""How well the cost models order plans by measured time, when they are told the true cardinalities.

Plans are drawn from the spaces of several queries, run once with counters and then timed. Each is costed anew with the rows
that its operators really had (`calibration.recost`), so what remains is the error of the cost model alone; `arrow, estimated`
is the same model with estimated rows, as the search saw it.

Times are CPU times of all threads, since costs are work, and elapsed times; the quickest run of each plan counts. On a machine
with other work elapsed times say more about that than about plans.

Sample: uniform among the plans that are predicted to cost at most WITHIN times the cheapest of their query. Plans that do not
end within a time limit are left out and counted; they have no time to compare with.

Source: Gu, Soliman and Waas, Testing the accuracy of query optimizers, DBTest 2012 (the weighted correlation).
"""

from __future__ import annotations

import csv
import io
import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from random import Random
from statistics import mean, median
from time import perf_counter, process_time
from typing import NamedTuple

from executor.atomic import make_folder, write_file
from executor.session import Session, new_counters, reader
from experiments.calibration.recost import cost_of, ran_operators
from experiments.plan_space import draw, plan_line, ready
from experiments.rank_correlation import spearman, weighted_correlation
from experiments.scatter import text_scatter, write_scatter
from experiments.workloads.queries import resolve_sql
from optimizer.cost.model import CostModel
from optimizer.engines.arrow import COST_MODELS, cost_model
from optimizer.errors import ExecutionError
from optimizer.pipeline import OptimizedQuery
from optimizer.plan_space.of_search import full_space

QUERIES = tuple(f"tpch/q{number:02d}" for number in range(1, 23))
WITHIN = 10.0
LIMIT_S = 20.0  # for one run
RUNS, ENOUGH_S = 5, 1.0  # timed runs of each plan: as many as fit, at least one


class PlanRun(NamedTuple):
    """One plan that was run. `ms`: elapsed, `cpu_ms`: of all threads, the least of its runs. `costs`: by model, with true
    cardinalities, in the model's unit; `estimated`: what the search thought, in microseconds for arrow."""

    query: str
    rank: int
    plan: str
    ms: float
    cpu_ms: float
    estimated: float
    costs: dict[str, float]


class Quality(NamedTuple):
    """Correlations of a model's costs with times: over all plans, and the mean over queries of those within each."""

    model: str
    clock: str
    spearman: float | None
    weighted: float | None
    spearman_within: float | None
    weighted_within: float | None


class Sampled(NamedTuple):
    runs: list[PlanRun]
    timed_out: int
    skipped: dict[str, str]  # query -> why nothing of it was run


def sample_plans(
    session: Session, queries: Sequence[str], plans: int, within: float, limit_s: float, seed: int,
    progress: Callable[[str], None] | None = None,
) -> Sampled:  # fmt: skip
    """Run about `plans` plans, as evenly over the queries as their spaces allow. Raises PlanscopeError for a query that cannot
    be planned."""
    models = {name: cost_model(session.settings.replace(cost_model=name)) for name in COST_MODELS}
    result = Sampled([], 0, {})
    timed_out = 0
    left = plans
    for number, name in enumerate(queries):
        share = -(-left // (len(queries) - number))
        query = session.optimize(resolve_sql(name))
        space = full_space(query.engine)
        ranks = draw(space, share, Random(f"{seed} {name}"), within)
        if len(ranks) < 2:
            result.skipped[name] = f"{space.count:,} plan{'s' * (space.count != 1)} within {within:g} times the cheapest"
            continue
        for done, rank in enumerate(ranks):
            if progress:
                progress(f"costs: {name}, plan {done + 1} of {len(ranks)}")
            plan = ready(space.unrank(rank), query)
            variant = copy(query)
            variant.plan = plan
            try:
                times, costs = _run(variant, models, limit_s)
            except (OutOfTime, ExecutionError) as error:
                if isinstance(error, ExecutionError) and not isinstance(error.__cause__, OutOfTime):
                    raise
                timed_out += 1
                continue
            result.runs.append(PlanRun(name, rank, plan_line(plan), *times, plan.cost, costs))
        left = plans - len(result.runs) - timed_out
    return result._replace(timed_out=timed_out)


class OutOfTime(Exception):
    """A run took longer than it may."""


def _run(query: OptimizedQuery, models: dict[str, CostModel], limit_s: float) -> tuple[tuple[float, float], dict[str, float]]:
    """(elapsed ms, CPU ms), and costs by model. The first run counts rows, and warms up."""
    counters = new_counters()
    with _deadline(limit_s):
        for _ in reader(query, counters):
            pass
    operators = ran_operators(query.memo, query.plan, counters)
    elapsed: list[float] = []
    cpu: list[float] = []
    while len(elapsed) < RUNS and sum(elapsed) < ENOUGH_S:
        wall_start, cpu_start = perf_counter(), process_time()
        with _deadline(limit_s):
            for _ in reader(query):
                pass
        elapsed.append(perf_counter() - wall_start)
        cpu.append(process_time() - cpu_start)
    return (min(elapsed) * 1e3, min(cpu) * 1e3), {name: cost_of(operators, model) for name, model in models.items()}


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raises OutOfTime in the block when it takes longer. Only the main thread can be interrupted; elsewhere nothing is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def qualities(runs: Sequence[PlanRun]) -> list[Quality]:
    """For each model, and for arrow with estimated rows: against both clocks."""
    found = []
    for name in runs[0].costs if runs else ():
        found += [_quality(name, clock, runs, [run.costs[name] for run in runs]) for clock in CLOCKS]
    planned = [run.estimated for run in runs]
    return [*found, *(_quality("as planned, estimated rows", clock, runs, planned) for clock in CLOCKS)]


def time_of(run: PlanRun, clock: str) -> float:
    """Milliseconds."""
    return run.cpu_ms if clock == "cpu" else run.ms


def _quality(model: str, clock: str, runs: Sequence[PlanRun], costs: Sequence[float]) -> Quality:
    times = [time_of(run, clock) for run in runs]
    groups: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for run, cost, time in zip(runs, costs, times, strict=True):
        groups[run.query][0].append(cost)
        groups[run.query][1].append(time)
    within = [_mean([f(c, t) for c, t in groups.values()]) for f in (spearman, weighted_correlation)]
    return Quality(model, clock, spearman(costs, times), weighted_correlation(costs, times), *within)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


QUALITY_HEAD = ("model", "clock", "Spearman", "weighted", "Spearman within", "weighted within")


def quality_rows(runs: Sequence[PlanRun]) -> list[tuple[str, ...]]:
    return [(each.model, each.clock, *(_figure(value) for value in each[2:])) for each in qualities(runs)]


QUERY_HEAD = ("query", "plans", "quickest ms", "slowest ms", "µs a cost unit", "Spearman", "weighted")


def query_rows(runs: Sequence[PlanRun], clock: str) -> list[tuple[str, ...]]:
    """How arrow does on each query; "µs a cost unit" is the median of measured over estimated."""
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(run.query for run in runs):
        own = [run for run in runs if run.query == name]
        costs, times = [run.costs["arrow"] for run in own], [time_of(run, clock) for run in own]
        ratio = median(1e3 * t / c for c, t in zip(costs, times, strict=True))
        figures = (_figure(spearman(costs, times)), _figure(weighted_correlation(costs, times)))
        rows.append((name, str(len(own)), f"{min(times):.1f}", f"{max(times):.1f}", f"{ratio:.2f}", *figures))
    return rows


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


X_LABEL = "arrow, true cardinalities: estimated ms"
CLOCKS = {"cpu": "measured ms of CPU time", "elapsed": "measured ms"}


def scatter_lines(runs: Sequence[PlanRun], clock: str) -> list[str]:
    xs, ys = [run.costs["arrow"] / 1e3 for run in runs], [time_of(run, clock) for run in runs]
    return text_scatter(xs, ys, X_LABEL, CLOCKS[clock])


def write_results(runs: Sequence[PlanRun], clock: str, folder: str) -> list[Path]:
    """`costs.csv` with a line for each plan, `costs.svg` and `costs.png`: the scatter plot. Raises OutputError."""
    target = make_folder(folder)
    text = io.StringIO()
    models = list(runs[0].costs)
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["query", "rank", "ms", "cpu_ms", "arrow_estimated_rows", *models, "plan"])
    for run in runs:
        costs = [f"{run.costs[name]:.6g}" for name in models]
        lines.writerow([run.query, run.rank, f"{run.ms:.3f}", f"{run.cpu_ms:.3f}", f"{run.estimated:.6g}", *costs, run.plan])
    write_file(target / "costs.csv", text.getvalue())
    groups: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for run in runs:
        groups[run.query].append((run.costs["arrow"] / 1e3, time_of(run, clock)))
    pictures = [target / "costs.svg", target / "costs.png"]
    rho = spearman([run.costs["arrow"] for run in runs], [time_of(run, clock) for run in runs])
    write_scatter(pictures, groups, X_LABEL, CLOCKS[clock], f"{len(runs)} plans, Spearman {_figure(rho)}")
    return [target / "costs.csv", *pictures]
