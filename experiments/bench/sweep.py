"""The sweep of a pipeline's specification as an experiment: without Spark, with a report of its own, and to be compared."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table
from experiments.bench.store import table_of
from experiments.bench.summary import geometric_mean, grouped, median_of
from experiments.pipeline.stages.spec import Sweep, read_pipeline
from experiments.pipeline.sweep import measure as sweep
from experiments.pipeline.sweep.columns import SAME_UNIT
from experiments.pipeline.sweep.spec import plan_sweep
from optimizer.errors import PlanscopeError
from optimizer.settings import Settings

NAME = "sweep"
HELP = """Queries under settings and seeds of your own, from a file: the table [sweep] of a pipeline.

Seeds are those of the file, with --quick the first; limits of time and memory are options here. Ratios are to the first variant.

\b
planscope bench sweep experiments/specs/join_graphs.toml --jobs 2 -o results
planscope bench sweep experiments/specs/join_graphs.toml --spark -o results
"""
ARGUMENT = "SPEC.toml"
OWN = ("data", "pairs", "plugins")
SHARED = {"baseline": ""}
COMPARED = (
    "costed", "tasks", "goals_opened", "groups", "mexprs_logical", "duplicates", "plan_ms", "cost", "elapsed_ms", "q_error",
)  # fmt: skip
_RATIOS = ("costed", "tasks", "plan_ms", "cost", "elapsed_ms")


def items(options: Options) -> list[Item]:
    """Those of the plan. Raises SpecError that names every mistake, PlanscopeError for a file without [sweep]."""
    if len(options.queries) != 1:
        raise PlanscopeError("name one file with a table [sweep]")
    stages = [stage for stage in read_pipeline(Path(options.queries[0])).stages if isinstance(stage, Sweep)]
    if not stages:
        raise PlanscopeError(f"{options.queries[0]} has no table [sweep]")
    plan = plan_sweep(stages[0].spec)
    wanted = [item for item in plan.items if not options.quick or item["seed"] in (None, *plan.seeds[:1])]
    left_out, own = ("item", "number"), {"baseline": plan.variants[0].name}  # those of the run of a pipeline
    return [{name: _flat(value) for name, value in item.items() if name not in left_out} | own for item in wanted]


def settings_of(item: Item) -> Settings:
    """The settings that an item stands for."""
    return Settings.from_mapping(json.loads(item["settings"]))


def measure(item: Item) -> list[Row]:
    """The figures of a sweep (docs/pipeline.md), counts by name as texts."""
    rows = sweep.measure({**item, "settings": json.loads(item["settings"])})
    return [{name: _flat(value) for name, value in row.items()} for row in rows]


def _flat(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def report(rows: pa.Table) -> list[Section]:
    """A row for each variant, and how planning times are spread."""
    found = rows.to_pylist()
    done = [row for row in found if row["status"] == "ok"]
    by_variant = grouped(found, lambda row: row["variant"])
    baseline = found[0]["baseline"]  # whichever variant was measured first
    first = {_what(row): row for row in done if row["variant"] == baseline}
    lines: list[Row] = []
    for variant, every in by_variant.items():
        mine = [row for row in every if row["status"] == "ok"]
        pairs = [(first[_what(row)], row) for row in mine if _what(row) in first]
        ratios = {name: geometric_mean(_ratio(one, row, name) for one, row in pairs) for name in _RATIOS}
        lines.append({
            "variant": variant, "items": len(every), "failed": len(every) - len(mine),
            "proven": sum(row["proven"] for row in mine), "plan_ms": median_of(mine, "plan_ms"),
            **{f"{name}_ratio": value for name, value in ratios.items()},
            "q_error": geometric_mean(row.get("q_error") for row in mine),
        })  # fmt: skip
    caption = f"`_ratio`: to {baseline} with the same query, data and seed, geometric means; `plan_ms`: median."
    data = table_of([{"series": row["variant"], "x": row["plan_ms"]} for row in done])
    figures = [Figure("planning", "Planning times.", data, "shares", "planning time (ms)", "share of items", log_x=True)]
    return [Section("Variants", "", [Table("variants", caption, table_of(lines), whole=True)], figures if done else [])]


def _what(row: Row) -> tuple[Any, ...]:
    return row["query"], row["digest"], row["seed"]


def _ratio(first: Row, row: Row, name: str) -> float | None:
    """None where there is none: costs of other models and estimators are other units."""
    one, two = first.get(name), row.get(name)
    return two / one if one and two is not None and (name != "cost" or _unit(first) == _unit(row)) else None


def _unit(row: Row) -> list[Any]:
    settings = json.loads(row["settings"])
    return [settings.get(name) for name in SAME_UNIT]
