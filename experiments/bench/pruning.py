"""What pruning saves: the search under every mode, at the same cost of the plan.

A query is planned under pruning modes and seeds, by several ways to enumerate, drivers, cost models, estimators and required
orders, the joins of a region set by set (`region=tasks`), without budgets. Proven plans of one space must cost the same, whatever
was pruned; anything else is a bug. With --audit every skip is compared with the true optima of the same memo as well
(`optimizer.audit.audit`). The report is in `pruning_report`.
"""

import math
import shlex
from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

import click

from executor.session import Session
from experiments.bench.experiment import Item, Options, Row, names_of
from experiments.bench.pruning_report import FACTORS, MODES, SEARCHES, SHARES, report
from experiments.timing import least
from experiments.workloads.data import open_data, opened
from experiments.workloads.join_graphs import is_graph_name, join_graph
from experiments.workloads.queries import default_data, query_name, resolve_sql
from memo_viz.explain import regions_text
from optimizer.audit.audit import audit
from optimizer.errors import InternalError, SqlError
from optimizer.pipeline import Optimizer
from optimizer.settings import Settings
from optimizer.trace.recorder import Trace

NAME = "pruning"
__all__ = ["MODES", "items", "measure", "report"]
HELP = """What pruning saves: alternatives costed and skipped, goals, tasks, time, memory, and how good plans are before the end.

Without queries: join graphs, TPC-H, TPC-DS, JOB, STATS and JOB-M. Budgets are off. It fails if configurations that prove
their plans find different costs, or the audit finds a skip that is unsound.

\b
planscope bench pruning --quick -o out
planscope bench pruning --preset large -o out
planscope bench pruning star/8 job/4a --audit
planscope bench pruning clique/8 clique/10 --modes none,both+best \\
    --searches branch,rules -o out
planscope bench pruning job/4a --plugin mine.py --cost-models mine --audit
"""
ENDS = ("none", "both+best")  # where only the least and the most pruning are compared
FIXED = ("region=tasks", "expand_joins=0", "budget_tasks=0", "budget_mexprs=0", "budget_groups=0")
_PLURAL = {"search": "searches", "driver": "drivers", "cost_model": "cost-models", "estimator": "estimators", "order": "orders"}
_MORE = dict.fromkeys(("cost_model", "estimator"), ", or another that the setting takes")
PARAMETERS = (
    *(
        click.Option([f"--{_PLURAL[name]}", name], metavar="A,B,...", help=f"Of {', '.join(values)}{_MORE.get(name, '')}.")
        for name, values in FACTORS.items()
    ),
    click.Option(["--preset"], type=click.Choice(["large"]), help="large: cliques of 8 to 12 relations, stars of 8 to 14."),
    click.Option(["--audit"], is_flag=True, help="Compare every skip with the exhaustive search of the same memo."),
)
OWN_SETTINGS = {
    "pruning": "write --modes {value}",
    "seed": "write --modes both+{value}",
    **dict.fromkeys(("enumeration", "region", "exploration"), "--searches chooses it: --searches branch,rules"),
    **{name: f"write --{_PLURAL[name]} {{value}}" for name in ("driver", "cost_model", "estimator")},
    "rule_order": "--seeds N gives it 0 to N-1",
}
TIMEOUT = 15.0
COMPARED = ("costed", "tasks", "goals_opened", "groups", "logical", "duplicates", "skipped", "ms_search", "cost")

QUICK = ("chain/5", "chain/7", "star/5", "star/7", "cycle/5", "cycle/7", "clique/4", "clique/6", "grid/2x3", "snowflake/3x2",
         "random/7/1", "job/1a", "job/17a", "stats/010", "tpch/q03")  # fmt: skip
FULL = (
    *(f"{shape}/{n}" for shape, most in (("chain", 14), ("cycle", 14), ("star", 12), ("clique", 9)) for n in range(4, most + 1)),
    "grid/2x3", "grid/3x3", "grid/3x4", "snowflake/3x2", "snowflake/4x2", "snowflake/4x3",
    *(f"random/{n}/{seed}" for n in (8, 10, 12) for seed in (1, 2, 3)),
    *(f"steinbrunn_{shape}/8/{seed}" for shape in ("chain", "star", "cycle", "clique") for seed in (1, 2, 3)),
    "chain/40", "star/30", "snowflake/10x3",
    *(f"job/{number}a" for number in range(1, 34)),
    *(f"stats/{number:03}" for number in range(10, 147, 10)),
    *(f"job_m/{number}a" for number in range(1, 9)),
    *(f"tpch/q{number:02}" for number in (2, 3, 5, 7, 8, 9, 10, 11, 20, 21)),
    *(f"tpcds/q{number:02}" for number in (3, 7, 17, 19, 25, 29)),
)  # fmt: skip
PRESETS = {"large": (*(f"clique/{n}" for n in range(8, 13)), *(f"star/{n}" for n in range(8, 15)))}
VARIED = ("chain/5", "star/5", "clique/4")  # by the other factors, where no query is named
_DATA = {"tpch": "tpch:0.01", "tpcds": "tpcds:0.01"}
_ENOUGH_SECONDS = 0.1  # a time is the least of three runs, or of as many as this allows
_MOST_REPEATED = 20_000  # tasks of a search that is run again, to count bindings and tasks by class, and to end it earlier
_LEAST_TASKS = 64  # of a search that is worth ending earlier


def items(options: Options) -> list[Item]:
    """Named queries or factors: all combinations. Otherwise every query under all modes, and each other factor by itself."""
    chosen = {name: _values(name, options.own.get(name)) for name in FACTORS}
    asked = (*options.queries, *PRESETS.get(options.own.get("preset") or "", ()))
    named = bool(asked) or any(options.own.get(name) for name in FACTORS)
    queries = asked or _default_queries(options)
    about = {query: _query(query, options.data) for query in (*queries, *(() if named else VARIED))}
    _name_apart(about.values())
    configs = [dict(zip(chosen, values, strict=True)) for values in product(*chosen.values())]
    designs = [(query, mode, config) for query in queries for mode in options.modes for config in configs]
    if not named:
        ends = [mode for mode in options.modes if mode in ENDS]
        usual = {name: values[0] for name, values in FACTORS.items()}
        designs += [
            (query, mode, {**usual, factor: value})
            for query in VARIED for factor, values in FACTORS.items() for value in values[1:] for mode in ends
        ]  # fmt: skip
    for data in dict.fromkeys(item["data"] for item in about.values()):
        open_data(data)  # made, if need be, before the clock runs
    pairs, audit = {query: shlex.join(options.pairs_for(query)) for query in about}, bool(options.own.get("audit"))
    found = [
        {**about[query], "mode": mode, **config, "seed": seed, "pairs": pairs[query], "audit": audit}
        for seed in range(options.seeds) for query, mode, config in designs
    ]  # fmt: skip
    for item in found:
        _sql(item)
    return found


def _values(factor: str, text: str | None) -> tuple[str, ...]:
    names = names_of(text or FACTORS[factor][0])
    for name in names:
        if name not in FACTORS[factor] and factor not in ("cost_model", "estimator"):  # these may be a plug-in's
            raise SqlError(f'there is no {factor} "{name}"', hint=f"choose one of {', '.join(FACTORS[factor])}")
    return tuple(names)


def _default_queries(options: Options) -> tuple[str, ...]:
    names = QUICK if options.quick else FULL
    if options.data is None:
        return names
    workload = options.data.partition(":")[0]
    mine = tuple(name for name in names if name.startswith(f"{workload}/"))
    if not mine:
        raise SqlError(
            f"there are no default queries for {options.data}", hint="name some: SQL text, @file.sql or a built-in query"
        )
    return mine


def _query(text: str, data: str | None) -> Item:
    """What an item says of its query: a name and a dataset, and the text of one that is not built in, since files change and
    standard input is read once. Raises SqlError."""
    sql, known = resolve_sql(text), default_data(text) or _DATA.get(text.partition("/")[0])
    found = data or known
    if found is None:
        raise SqlError(f'"{text}" needs data', hint="-d names a folder of tables, or a built-in dataset such as tpch:0.1")
    if known:
        return {"query": text, "data": found}
    return {"query": query_name(text) or " ".join(sql.split())[:60], "data": found, "sql": sql}


def _name_apart(queries: Iterable[Item]) -> None:
    """Makes names of different texts different, since the report tells queries apart by them: q, q (2)."""
    texts: dict[str, list[str | None]] = {}
    for query in queries:
        same, sql = texts.setdefault(query["query"], []), query.get("sql")
        same += [sql] * (sql not in same)
        if number := same.index(sql):
            query["query"] += f" ({number + 1})"


def _sql(item: Item) -> str:
    """The query; with an order, the join of a graph sorted by a key of its first join. Raises SqlError."""
    query = item["query"]
    sql = str(item.get("sql") or resolve_sql(query))
    if item["order"] == "none":
        return sql
    if not is_graph_name(query):
        raise SqlError(f'an order can be asked of join graphs, not of "{query}"', hint="write ORDER BY into the query")
    column = "r{}.to{}".format(*join_graph(query).edges[0])
    return f"{sql.strip().rstrip(';').replace('count(*)', column)}\nORDER BY {column}"


# -- measuring ------------------------------------------------------------------------------------------------------------------


def settings_of(item: Item) -> Settings:
    """The settings that an item stands for."""
    pruning, _, seed = item["mode"].partition("+")
    factors = [f"{name}={item[name]}" for name in ("driver", "cost_model", "estimator")]
    search = SEARCHES[item["search"]].split()
    own = (*search, *factors, f"pruning={pruning}", f"seed={seed or 'none'}", f"rule_order={item['seed']}")
    return Settings.from_pairs((*FIXED, *shlex.split(item["pairs"]), *own))


def measure(item: Item) -> list[Row]:
    """One row: what the search did. Raises InternalError when the audit finds a skip that is unsound."""
    settings, sql = settings_of(item), _sql(item)
    optimizer = _optimizer(item, settings)
    planned, _ = least(lambda: optimizer.optimize(sql), enough_seconds=_ENOUGH_SECONDS)
    found = planned.search
    mechanisms = {name: count for name, count in found.pruned.items() if name != "dominated"}
    row: Row = {
        "relations": sum(1 for node in planned.plan.walk() if not node.inputs), "groups": found.groups,
        "logical": found.mexprs_logical, "physical": found.mexprs_physical, "duplicates": found.duplicates,
        "enumerated": found.joins_enumerated, "fired": sum(found.rules_fired.values()), "candidates": found.candidates,
        "costed": found.costed, **mechanisms, "skipped": sum(mechanisms.values()), "dominated": found.pruned["dominated"],
        "goals": found.goals, "goals_opened": found.goals_opened, "reopened_limit": found.reopened["limit"],
        "reopened_new": found.reopened["new expressions"], "tasks": found.tasks,
        **{f"ms_{stage}": ms for stage, ms in planned.ms.items()},
        "cost": planned.cost, "proven": found.proven, "gap": found.gap, "regions": regions_text(found.regions),
    }  # fmt: skip
    del planned
    row |= _traced(optimizer, sql, found.tasks) | _anytime(item, settings, sql, found.tasks, row["cost"])
    if item["audit"]:
        row["audited"] = _audited(item, optimizer, sql)
    return [row]


def _optimizer(item: Item, settings: Settings) -> Optimizer:
    return Session(opened(item["data"]), settings).optimizer


class _Tally(Trace):
    """Counts bindings, and tasks by class; keeps no event."""

    def __init__(self) -> None:
        super().__init__()
        self.bindings = 0
        self.classes: Counter[str] = Counter()

    def emit(self, kind: str, **fields: Any) -> None:
        if kind == "bind":
            self.bindings += 1
        elif kind == "task_push":
            self.classes[fields["name"]] += 1


def _traced(optimizer: Optimizer, sql: str, tasks: int) -> Row:
    if tasks > _MOST_REPEATED:
        return {}
    tally = _Tally()
    optimizer.optimize(sql, tally)
    return {"bindings": tally.bindings, **{f"task_{name}": count for name, count in sorted(tally.classes.items())}}


def _anytime(item: Item, settings: Settings, sql: str, tasks: int, cost: float) -> Row:
    """Cost of the plan when the search has to end after a share of its tasks."""
    if not _LEAST_TASKS <= tasks <= _MOST_REPEATED:
        return {}
    budgets = [math.ceil(share * tasks) for share in SHARES]
    costs = [_optimizer(item, settings.replace(budget_tasks=budget)).optimize(sql).cost for budget in budgets]
    return {"anytime_tasks": [*budgets, tasks], "anytime_cost": [*costs, cost]}


def _audited(item: Item, optimizer: Optimizer, sql: str) -> int:
    """The number of skips compared with the optimum."""
    trace = Trace()
    report = audit(optimizer.optimize(sql, trace).engine, trace)
    if report.finding is not None:
        raise InternalError(f"{item['query']}, mode {item['mode']}, search {item['search']}: {report}")
    return sum(report.skips.values())
