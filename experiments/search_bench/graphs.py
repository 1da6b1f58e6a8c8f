"""Join graphs of four shapes and growing size, searched in four ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from experiments.search_bench.clock import RUNS, least
from experiments.search_bench.figure import Figure
from experiments.search_bench.settings import DEFAULT, SEARCHES
from experiments.workloads.joingraph_data import JoinGraphCatalog
from experiments.workloads.queries import resolve_sql
from memo_viz.explain import regions_text
from optimizer.catalog.table import Catalog
from optimizer.cost.model import LinearJoins
from optimizer.errors import InternalError
from optimizer.pipeline import Optimizer
from optimizer.sql.bind import bind

SIZES = (4, 6, 8, 10, 12, 14, 16, 20)
LARGEST = {"chain": 20, "star": 14, "cycle": 20, "clique": 12}
LARGEST_BY_RULES = {"chain": 20, "star": 10, "cycle": 20, "clique": 8}  # beyond, rules take many seconds
MOST_BY_RULES = {"star/6": 100.0, "chain/6": 100.0, "star/10": 5_000.0, "clique/8": 5_000.0}  # ms
TOLERANCE = 1e-9


class GraphRow(NamedTuple):
    """One graph searched in one way, and a row of the result files. Times in milliseconds: `ms` from SQL text to plan on the
    clock, `cpu_ms` the same as CPU time, `search_ms` the part of `ms` that the search took. `regions`: how the
    region of joins was searched."""

    graph: str
    relations: int
    search: str
    regions: str
    pairs: int
    costed: int
    tasks: int
    ms: float
    cpu_ms: float
    search_ms: float
    cost: float
    proven: bool


def measure(progress: Callable[[str], None] | None = None, largest: int = max(SIZES), runs: int = RUNS) -> Iterator[GraphRow]:
    """Every graph of up to `largest` relations in every way that is feasible. Raises InternalError when costs disagree."""
    catalog = JoinGraphCatalog()
    cost = Optimizer(catalog).cost
    merge_joins_matter = not (isinstance(cost, LinearJoins) and cost.join_costs().hash_beats_merge)
    for shape, most in LARGEST.items():
        for n in SIZES:
            if n > min(most, largest):
                break
            graph = f"{shape}/{n}"
            if progress:
                progress(f"graphs: {graph}")
            rows = [
                _row(graph, n, search, catalog, runs)
                for search in ("default", "exhaustive", "table", "rules")
                if search != "rules" or n <= LARGEST_BY_RULES[shape]
            ]
            check({row.search: row for row in rows}, merge_joins_matter)
            yield from rows


def by_rules(rows: Sequence[GraphRow]) -> list[Figure]:
    """The graphs for which it was said how long the classical search may take at most."""
    return [
        Figure("graphs", "from SQL text to plan", f"{row.graph}, rules", row.cpu_ms, "ms", MOST_BY_RULES[row.graph])
        for row in rows
        if row.search == "rules" and row.graph in MOST_BY_RULES
    ]


def _row(graph: str, relations: int, search: str, catalog: Catalog, runs: int) -> GraphRow:
    optimizer, sql = Optimizer(catalog, SEARCHES[search]), resolve_sql(graph)
    bind(sql, catalog)  # the tables of a graph are made when they are first asked for
    query, times = least(lambda: optimizer.optimize(sql), runs)
    done = query.search
    return GraphRow(
        graph, relations, search, regions_text(done.regions), done.joins_enumerated, done.costed, done.tasks,
        times.wall, times.cpu, query.ms["search"], query.cost, done.proven,
    )  # fmt: skip


def check(rows: Mapping[str, GraphRow], merge_joins_matter: bool) -> None:
    """Raises InternalError where two searches that prove their plans the cheapest of their spaces disagree.

    The space of `default` holds the others', and the same plans in graphs of more relations than its expand_joins. Those of
    `exhaustive` and `table` lack merge joins, which makes no difference where they are never the cheapest.
    """
    default = rows["default"]
    for row in rows.values():
        if not (default.proven and row.proven) or math.isclose(row.cost, default.cost, rel_tol=TOLERANCE):
            continue
        smaller = row.relations <= DEFAULT.expand_joins or (row.search in ("exhaustive", "table") and merge_joins_matter)
        if not smaller or row.cost < default.cost:
            raise InternalError(
                f"{row.graph}: the search {row.search} finds a plan of cost {row.cost!r}, the default one {default.cost!r}"
            )
