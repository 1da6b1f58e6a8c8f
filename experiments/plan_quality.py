"""What wrong estimates cost: plans chosen under estimates, costed with the true cardinalities, beside the plan chosen with these.

For each query the plan under true cardinalities is the cheapest there is in the cost model. A plan chosen under estimates is
costed anew, operator by operator, with the true rows of every relation set it computes; the ratio of the two costs is at least 1.
Only join orders, join methods and sorts are compared: rules that put aggregates or lookups between the joins are off, since the
published cardinalities are those of joins.

Source: Leis et al., How Good Are Query Optimizers, Really? (VLDB 2015), section 4; the ratio is the P-error of later work.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from executor.atomic import make_folder, write_file
from experiments.sub_plans import JOINS_ALONE, SubPlans, scan_of
from experiments.tables import Section, csv_text, figure, markdown
from experiments.workloads.data import open_data
from experiments.workloads.queries import default_data, resolve_sql
from experiments.workloads.true_cardinalities import Aliases, true_cardinalities
from optimizer.algebra.columns import Columns
from optimizer.algebra.plan import PlanNode
from optimizer.catalog.table import Catalog
from optimizer.cost.model import CostModel
from optimizer.errors import InternalError
from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.settings import Settings
from optimizer.stats.injected import Injected
from optimizer.stats.relation import RelationStats

WORKLOADS = ("stats", "job_m")
ESTIMATORS = ("histogram", "system_r", "upper_bound")
COST_MODELS = ("c_out", "arrow")
NO_BUDGETS = ("budget_tasks=0", "budget_mexprs=0", "budget_groups=0")
TOLERANCE = 1e-6

Progress = Callable[[str], None]


class Quality(NamedTuple):
    """One query planned under one estimator. `cost`: of that plan with true cardinalities; `best`: of the cheapest plan. `ratio`:
    their quotient, both taken as at least 1: a cheapest plan whose joins are all empty costs nothing in c_out."""

    workload: str
    query: str
    cost_model: str
    estimator: str
    relations: int
    cost: float
    best: float

    @property
    def ratio(self) -> float:
        return max(1.0, self.cost) / max(1.0, self.best)


class Summary(NamedTuple):
    """Ratios over the queries of a workload; `best`: the share of queries whose plan costs at most 1 % more than the cheapest."""

    workload: str
    cost_model: str
    estimator: str
    queries: int
    geometric_mean: float
    median: float
    p90: float
    max: float
    best: float


class Comparison(NamedTuple):
    workload: str
    rows: list[Quality]
    notes: list[str]


def compare(
    workloads: Sequence[str] = (),
    estimators: Sequence[str] = ESTIMATORS,
    cost_models: Sequence[str] = COST_MODELS,
    pairs: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[Comparison]:
    """Every query of each workload under each estimator and cost model. `pairs`: settings, as name=value.

    Raises SqlError and SettingsError for what is asked before anything is planned.
    """
    chosen = list(dict.fromkeys(workloads)) or list(WORKLOADS)
    truths = [true_cardinalities(workload) for workload in chosen]
    settings = {
        (model, name): Settings.from_pairs((*NO_BUDGETS, *pairs, f"cost_model={model}", f"estimator={name}"), JOINS_ALONE)
        for model in dict.fromkeys(cost_models)
        for name in dict.fromkeys(("histogram", *estimators))
    }
    for workload, truth in zip(chosen, truths, strict=True):
        catalog = open_data(default_data(next(iter(truth))) or workload, progress)
        rows: list[Quality] = []
        for model in dict.fromkeys(cost_models):
            if progress:
                progress(f"{workload}: {model}")
            by_name = {name: settings[model, name] for name in dict.fromkeys(estimators)}
            for query, counted in truth.items():
                rows += _query(workload, query, counted, catalog, model, settings[model, "histogram"], by_name)
        yield Comparison(workload, rows, _notes(workload, truth))


def _notes(workload: str, truth: dict[str, dict[Aliases, int]]) -> list[str]:
    if any(len(aliases) == 1 for counted in truth.values() for aliases in counted):
        return []
    return [
        f"{workload}: rows of single relations were not published; those of the histogram estimator stand for them everywhere.",
        "c_out does not read them; in arrow they are part of the cost of scans and of the first joins.",
    ]


def _query(
    workload: str,
    query: str,
    counted: dict[Aliases, int],
    catalog: Catalog,
    model: str,
    settings: Settings,
    estimators: dict[str, Settings],
) -> Iterator[Quality]:
    sql = resolve_sql(query)
    rows = {aliases: float(count) for aliases, count in counted.items()}

    def injected(catalog: Catalog, columns: Columns) -> Injected:
        return Injected(catalog, columns, rows)

    cheapest = Optimizer(catalog, settings, estimator=injected)
    planned = cheapest.optimize(sql)
    truth = SubPlans(planned)
    best = recosted(planned, truth, cheapest.cost)
    if not math.isclose(best, planned.cost, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        raise InternalError(f"{query}: the plan costs {planned.cost!r} in the search and {best!r} operator by operator")
    for name, each in estimators.items():
        optimizer = Optimizer(catalog, each)
        cost = recosted(optimizer.optimize(sql), truth, optimizer.cost)
        if cost < best * (1.0 - TOLERANCE) and planned.search.proven:
            raise InternalError(f"{query}: a plan chosen under {name} costs {cost!r}, the cheapest {best!r}")
        yield Quality(workload, query, model, name, len(truth.aliases), cost, best)


def recosted(query: OptimizedQuery, truth: SubPlans, model: CostModel) -> float:
    """The cost of the plan of a query with the rows that `truth` has for each relation set."""
    aliases: dict[int, frozenset[str]] = {}
    figures: dict[int, RelationStats] = {}
    query.give_groups()
    cost = 0.0
    for node in reversed(list(query.plan.walk())):  # inputs first
        aliases[id(node)] = _aliases(query, node).union(*(aliases[id(child)] for child in node.inputs))
        inputs = [figures[id(child)] for child in node.inputs]
        figures[id(node)] = _figures(query, node, truth, aliases[id(node)], inputs)
        cost += model.local(node.op, node.alternative.delivered, figures[id(node)], inputs)
    return cost


def _aliases(query: OptimizedQuery, node: PlanNode) -> frozenset[str]:
    scan = scan_of(query.memo.group(node.group))
    return frozenset() if scan is None else frozenset((scan.alias.lower(),))


def _figures(
    query: OptimizedQuery, node: PlanNode, truth: SubPlans, aliases: frozenset[str], inputs: Sequence[RelationStats]
) -> RelationStats:
    """Figures of a scan, a join or a sort of one: those of its relation set. Above the joins there is one row, or as many as
    below."""
    group = query.memo.group(node.group)
    if group.region is not None or scan_of(group) is not None:
        return truth.stats(aliases)
    rows = 1.0 if group.props.at_most_one_row else inputs[0].rows
    return RelationStats(rows, group.stats.columns, keys=group.stats.keys)


def summaries(comparison: Comparison) -> list[Summary]:
    """By cost model and estimator."""
    found = []
    for model in dict.fromkeys(row.cost_model for row in comparison.rows):
        for estimator in dict.fromkeys(row.estimator for row in comparison.rows):
            ratios = [row.ratio for row in comparison.rows if row.cost_model == model and row.estimator == estimator]
            median, p90 = (float(x) for x in np.percentile(ratios, (50, 90)))
            found.append(
                Summary(
                    comparison.workload,
                    model,
                    estimator,
                    len(ratios),
                    math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios)),
                    median,
                    p90,
                    max(ratios),
                    sum(ratio <= 1.01 for ratio in ratios) / len(ratios),
                )
            )
    return found


HEAD = ("cost model", "estimator", "queries", "geometric mean", "median", "90 %", "max", "within 1 %")
WORST_HEAD = ("cost model", "estimator", "query", "cost", "cheapest", "ratio")


def describe(comparison: Comparison, most: int = 0) -> list[Section]:
    """The summaries, and the `most` largest ratios of each cost model and estimator."""
    found = summaries(comparison)
    cells = [
        (
            each.cost_model, each.estimator, str(each.queries),
            *map(figure, (each.geometric_mean, each.median, each.p90, each.max)), f"{each.best:.0%}",
        )
        for each in found
    ]  # fmt: skip
    title = f"{comparison.workload}: cost of the chosen plan over that of the cheapest, both with true cardinalities"
    sections = [Section(title, HEAD, cells, 2)]
    if most:
        worst = []
        for each in found:
            own = [r for r in comparison.rows if (r.cost_model, r.estimator) == (each.cost_model, each.estimator)]
            worst += sorted(own, key=lambda row: -row.ratio)[:most]
        rows = [(r.cost_model, r.estimator, r.query, figure(r.cost), figure(r.best), figure(r.ratio)) for r in worst]
        sections.append(Section(f"{comparison.workload}: largest ratios", WORST_HEAD, rows, 3))
    return sections


def write_results(comparisons: Sequence[Comparison], folder: str) -> list[Path]:
    """`plan_quality.csv`, `.json`, `.md` (summaries) and `plan_quality_queries.csv`; the files written. Raises OutputError."""
    target = make_folder(folder)
    found = [each for comparison in comparisons for each in summaries(comparison)]
    rows = [row for comparison in comparisons for row in comparison.rows]
    texts = [markdown(section) for comparison in comparisons for section in describe(comparison)]
    written = {
        "plan_quality.csv": csv_text(Summary._fields, found),
        "plan_quality.json": "[\n" + ",\n".join(json.dumps(each._asdict()) for each in found) + "\n]\n",
        "plan_quality.md": "\n".join([*texts, *(note + "\n" for c in comparisons for note in c.notes)]),
        "plan_quality_queries.csv": csv_text((*Quality._fields, "ratio"), [(*row, row.ratio) for row in rows]),
    }
    for name, text in written.items():
        write_file(target / name, text)
    return [target / name for name in written]
