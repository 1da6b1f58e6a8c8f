"""How fast the search is: rates, join graphs, memory, and what a trace costs.

A benchmark, not a test: it fails when two ways of searching disagree on a cost, never because a machine is slow. The searches
compared are those of `search_bench.settings`; `experiments.timing` says how time is taken.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from operator import itemgetter

import pyarrow as pa

from experiments.bench import experiment
from experiments.bench.experiment import Item, Options, Row, Section, Table
from experiments.bench.summary import grouped
from experiments.search_bench import memory, rates, tracing
from experiments.search_bench.settings import DEFAULT, SEARCHES, differences
from experiments.timing import RUNS, least
from experiments.workloads.joingraph_data import JoinGraphCatalog
from experiments.workloads.queries import resolve_sql
from memo_viz.explain import regions_text
from optimizer.cost.model import linear_joins
from optimizer.errors import SqlError
from optimizer.pipeline import Optimizer
from optimizer.sql.bind import bind

NAME = "search"
HELP = """How fast the search is. All parts unless some are named.

\b
rates    microseconds for a costed join alternative, a task, an insertion
         into the memo
graphs   chains, stars, cycles and cliques: by default, exhaustively as tasks
         and as a table, by commute and associate
memory   bytes for an expression, a goal and a set of relations, and the peak
         of a clique
tracing  the same search without a trace and with one

\b
planscope bench search
planscope bench search rates tracing -o results
"""
ARGUMENT = "[PART]..."
OWN = ("data", "pairs", "plugins")
TIMEOUT = 600.0
KEYS = ("figure",)
SHARED = {"runs": ""}
PARTS = {
    "rates": ("Rates", "CPU time of the search alone, the quickest of up to three."),
    "graphs": ("Join graphs", "`ms`: from SQL text to plan, the quickest of up to three; `pairs`: unordered, looked at."),
    "memory": ("Memory", "Bytes: `sys.getsizeof` of an object and all it reaches that is of no other kind and no scalar, each "
               "counted once. Peaks: by tracemalloc, from SQL text to plan."),
    "tracing": ("Tracing", "CPU time of the search alone, the quickest of up to three."),
}  # fmt: skip
FIGURES = {"rates": rates.measure, "memory": memory.measure, "tracing": tracing.measure}
ENOUGH_SECONDS = 1.0  # after which a graph is not planned again
SIZES = (4, 6, 8, 10, 12, 14, 16, 20)
LARGEST = {"chain": 20, "star": 14, "cycle": 20, "clique": 12}
LARGEST_BY_RULES = {"chain": 20, "star": 10, "cycle": 20, "clique": 8}  # beyond, rules take many seconds
MOST_BY_RULES = {"star/6": 100.0, "chain/6": 100.0, "star/10": 5_000.0, "clique/8": 5_000.0}  # ms
QUICK_LARGEST = 6  # relations of a graph
TOLERANCE = 1e-9


def items(options: Options) -> list[Item]:
    """Raises SqlError for an unknown part."""
    for part in options.queries:
        if part not in PARTS:
            raise SqlError(
                f'there is no part "{part}"', hint=f"choose one of {', '.join(PARTS)}; bench plan has queries beside DuckDB"
            )
    return [
        {"part": part, "query": query, "search": search, "runs": 1 if options.quick else RUNS}
        for part in dict.fromkeys(options.queries or PARTS) for query, search in _searches(part, options.quick)
    ]  # fmt: skip


def _searches(part: str, quick: bool) -> Iterable[tuple[str, str]]:
    """(query, search); quick ones are over smaller graphs."""
    if part == "graphs":
        for shape, most in LARGEST.items():
            for n in SIZES:
                if n <= (min(most, QUICK_LARGEST) if quick else most):
                    some = ("default", "exhaustive", "table", *(("rules",) if n <= LARGEST_BY_RULES[shape] else ()))
                    yield from ((f"{shape}/{n}", search) for search in some)
        return
    found = {
        "rates": (
            *((("clique/12", "clique/8"), search) for search in ("exhaustive", "table")),
            *((("star/14", "star/8"), search) for search in ("exhaustive", "table", "default")),
            (("star/8", "star/6"), "rules, no pruning"), (("clique/8", "clique/6"), "rules"),
            (("clique/8", "clique/6"), rates.INSERTIONS),
        ),
        "memory": (
            (("star/8", "star/6"), memory.OBJECTS),
            *((("clique/12", "clique/8"), search) for search in ("exhaustive", "table", "default")),
        ),
        "tracing": (
            (("clique/9", "clique/6"), "exhaustive"), (("star/12", "star/8"), "default"), (("clique/6", "clique/5"), "rules"),
        ),
    }  # fmt: skip
    yield from ((queries[quick], search) for queries, search in found[part])


def measure(item: Item) -> list[Row]:
    """A row for each figure, or one for a join graph: milliseconds from SQL text to plan on the clock and of CPU time,
    `search_ms` of the search alone, and how its region of joins was searched."""
    query, search, runs = item["query"], item["search"], item["runs"]
    if item["part"] != "graphs":
        return list(FIGURES[item["part"]](query, search, runs))
    optimizer, sql = Optimizer(_catalog(), SEARCHES[search]), resolve_sql(query)
    bind(sql, _catalog())  # the tables of a graph are made when they are first asked for
    planned, times = least(lambda: optimizer.optimize(sql), runs, ENOUGH_SECONDS, collect=True)
    done = planned.search
    return [
        {
            "relations": int(query.partition("/")[2]), "regions": regions_text(done.regions), "pairs": done.joins_enumerated,
            "costed": done.costed, "tasks": done.tasks, "ms": times.ms, "cpu_ms": times.cpu_ms, "search_ms": planned.ms["search"],
            "cost": planned.cost, "proven": done.proven,
        }
    ]  # fmt: skip


@cache
def _catalog() -> JoinGraphCatalog:
    return JoinGraphCatalog()


def report(rows: pa.Table) -> list[Section]:
    """A section for each part."""
    sections = []
    for part, mine in grouped((row for row in rows.to_pylist() if row["status"] == "ok"), itemgetter("part")).items():
        title, text = PARTS[part]
        if part == "graphs":
            sections.append(_graphs(mine, title, text))
            by_rules = [row for row in mine if row["search"] == "rules" and row["query"] in MOST_BY_RULES]
            same = {"figure": "from SQL text to plan", "unit": "ms"}
            mine = [{**row, **same, "value": row["cpu_ms"], "target": MOST_BY_RULES[row["query"]]} for row in by_rules]
            title, text = "Join graphs by commute and associate", "CPU time from SQL text to plan."
        columns = ("figure", "query", "search", "note", "value", "unit", "target")
        table = pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in mine])
        caption = "`target`: what the value should be at most."
        sections.append(Section(title, text, [Table(part, caption, table, True)] if mine else ()))
    return sections


def _graphs(rows: list[Row], title: str, text: str) -> Section:
    linear = linear_joins(Optimizer(_catalog()).cost)
    merge_joins_matter = linear is None or not linear.join_costs().hash_beats_merge
    by_graph = grouped(rows, itemgetter("query")).values()
    problems = [found for mine in by_graph if (found := disagreement({row["search"]: row for row in mine}, merge_joins_matter))]
    searches = (
        f"`{name}`: {differences(SEARCHES[name]) or 'as they come'}" for name in ("default", "exhaustive", "table", "rules")
    )
    text += f"\n\n{'; '.join(searches)}.\n\n`exhaustive` and `table` have no merge joins: no join asks for an order, so all are "
    text += "costed by arithmetic, two for each pair."
    columns = ("query", "search", "regions", "pairs", "costed", "tasks", "ms", "cpu_ms", "search_ms", "cost", "proven")
    table = pa.Table.from_pylist([{name: row[name] for name in columns} for row in rows])
    points = [
        {"panel": row["query"].partition("/")[0], "series": row["search"], "x": row["relations"], "y": row["cpu_ms"]}
        for row in rows
    ]
    caption = "CPU milliseconds from SQL text to plan, by graph and relations."
    figure = experiment.Figure("graphs", caption, pa.Table.from_pylist(points), "lines", "relations", "CPU ms", log_y=True)
    return Section(title, text, [Table("join_graphs", "A row for each graph and search.", table, True)], [figure], problems)


def disagreement(rows: Mapping[str, Row], merge_joins_matter: bool) -> str | None:
    """What is wrong where two searches that prove their plans the cheapest of their spaces disagree.

    The space of `default` holds the others', and the same plans in graphs of more relations than its expand_joins. Those of
    `exhaustive` and `table` lack merge joins, which makes no difference where they are never the cheapest.
    """
    default = rows.get("default")
    for name, row in rows.items():
        if default is None or not (default["proven"] and row["proven"]):
            continue
        smaller = row["relations"] <= DEFAULT.expand_joins or (name in ("exhaustive", "table") and merge_joins_matter)
        apart = not math.isclose(row["cost"], default["cost"], rel_tol=TOLERANCE)
        if apart and (not smaller or row["cost"] < default["cost"]):
            return f"{row['query']}: the search {name} finds a plan of cost {row['cost']!r}, the default one {default['cost']!r}"
    return None
