"""Join enumerators side by side: what they look at, how long it takes, and how good the order is that they find.

Every enumerator orders the same join graphs under C_out with random cardinalities and selectivities. Exact ones have to find the
same cost, no other may find less, and every cost is added up again from the tree; anything else is a bug.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from random import Random
from typing import NamedTuple

import click
import pyarrow as pa

from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table
from experiments.bench.summary import geometric_mean, grouped
from experiments.enumerators.dp_ccp import dp_ccp, pairs
from experiments.enumerators.dp_hyp import dp_hyp
from experiments.enumerators.dp_left_deep import dp_left_deep
from experiments.enumerators.dp_size import dp_size, inner_of_dp_size
from experiments.enumerators.dp_sub import dp_sub, inner_of_dp_sub
from experiments.enumerators.dp_vectorized import dp_vectorized
from experiments.enumerators.ikkbz import ikkbz
from experiments.enumerators.naive import naive
from experiments.enumerators.plan_table import Counted
from experiments.enumerators.top_down import top_down
from experiments.timing import Times, least
from experiments.workloads.join_graphs import join_graph
from optimizer.errors import InternalError
from optimizer.joins.costing import COutCosting, Ordered
from optimizer.joins.csg import connected_sets, count_connected_sets
from optimizer.joins.goo_dp import goo_dp
from optimizer.joins.graph import JoinGraph, Relations, joins_of, relations_of
from optimizer.joins.greedy import greedy
from optimizer.joins.linearized import linearized
from optimizer.joins.partition.min_cut_branch import min_cut_branch
from optimizer.joins.partition.min_cut_conservative import min_cut_conservative
from optimizer.plugins.load import load_plugins, own_enumerators
from optimizer.settings import Settings

NAME = "enumeration"
HELP = """Join enumerators on join graphs: pairs, inner counters, time, and cost compared with the optimum.

Costs are rows of intermediate results (C_out). It fails if exact enumerators differ.

\b
planscope bench enumeration --quick
planscope bench enumeration clique/12 star/14 grid/3x4 random/12/1 -o results
planscope bench enumeration --plugin mine.py
"""
ARGUMENT = "[GRAPH]..."
OWN = ("data", "pairs", "plugins")
KEYS = ("enumerator",)
SHARED = {"max_work": ""}
COMPARED = ("pairs", "inner", "joins_costed", "us_per_pair", "ms", "cost")
NOT_EXACT = ("left-deep", "heuristic", "plug-in")
GRAPHS = ("chain/5", "chain/10", "chain/20", "cycle/5", "cycle/10", "cycle/20", "star/5", "star/10", "clique/5", "clique/10")
QUICK = ("chain/5", "cycle/5", "star/5", "clique/5")
MAX_WORK = 1_000_000  # steps of an enumerator that are predicted to be too many
PARAMETERS = (
    click.Option(["--max-work"], type=click.IntRange(1), default=MAX_WORK, show_default=True, metavar="N",
                 help="Leave out what is predicted to take more steps."),
    click.Option(["--plugin", "plugins"], multiple=True, metavar="FILE.py", help="Its enumerators too (repeatable)."),
)  # fmt: skip
ENOUGH_SECONDS = 0.1  # a time is the least of three runs, or of as many as this allows
VECTORIZED = 100  # steps of DPsub with NumPy that take as long as one without, on large graphs
TABLE_ENTRY = 20  # steps of DPsub that it takes to find out whether a set is connected
TOLERANCE = 1e-9


class Size(NamedTuple):
    """What a join graph makes exact enumerators do. `sets` by size, `pairs` unordered; `None`: more than MAX_WORK."""

    relations: int
    sets: tuple[int, ...] | None
    pairs: int | None


class Enumerator(NamedTuple):
    """`kind`: partition (pairs, no orders), exact, left-deep (the best of these), heuristic or plug-in (the best that it allows).

    `steps`: how many it will take, about; None is too many to say.
    """

    name: str
    kind: str
    run: Callable[[JoinGraph, COutCosting], Ordered | Counted | int]
    steps: Callable[[Size], int | None]


def _by_partition(split: Callable[[JoinGraph, Relations], list[Relations]]) -> Callable[[JoinGraph, COutCosting], int]:
    """How many pairs partitioning every connected set gives."""
    return lambda graph, costing: sum(len(split(graph, s)) for s in connected_sets(graph))


def _pairs(size: Size) -> int | None:
    return size.pairs


def _of_sets(steps: Callable[[Size, tuple[int, ...]], int | None]) -> Callable[[Size], int | None]:
    """Steps that follow from the number of connected sets of each size; None where these are too many."""
    return lambda size: None if size.sets is None else steps(size, size.sets)


def _vectorized(size: Size, sets: tuple[int, ...]) -> int | None:
    return None if size.relations > 20 else inner_of_dp_sub(sets) // VECTORIZED + (1 << size.relations)


def _square(size: Size) -> int:
    return size.relations**2


ENUMERATORS = (
    Enumerator("pairs_naive", "partition", _by_partition(naive), _of_sets(lambda size, sets: 4 * inner_of_dp_sub(sets))),
    Enumerator("pairs_branch", "partition", _by_partition(min_cut_branch), _pairs),
    Enumerator("pairs_conservative", "partition", _by_partition(min_cut_conservative), _pairs),
    Enumerator("pairs_dpccp", "partition", lambda graph, costing: sum(1 for _ in pairs(graph)), _pairs),
    Enumerator("dp_size", "exact", dp_size, _of_sets(lambda size, sets: inner_of_dp_size(sets))),
    Enumerator("dp_sub", "exact", dp_sub, _of_sets(lambda size, sets: inner_of_dp_sub(sets) + (TABLE_ENTRY << size.relations))),
    Enumerator("dp_ccp", "exact", dp_ccp, _pairs),
    Enumerator("dp_hyp", "exact", dp_hyp, _pairs),
    Enumerator("dp_vectorized", "exact", dp_vectorized, _of_sets(_vectorized)),
    Enumerator("top_down_branch", "exact", top_down, _pairs),
    Enumerator("top_down_conservative", "exact", partial(top_down, partition=min_cut_conservative), _pairs),
    Enumerator("dp_left_deep", "left-deep", dp_left_deep, _of_sets(lambda size, sets: sum(sets) * size.relations)),
    Enumerator("ikkbz", "heuristic", ikkbz, _square),
    Enumerator("linearized", "heuristic", linearized, lambda size: size.relations**3 // 6),
    Enumerator("greedy", "heuristic", greedy, _square),
    Enumerator("goo_dp", "heuristic", goo_dp, _square),
)


def of_plugins(files: Sequence[str]) -> list[Enumerator]:
    """The enumerators of plug-ins, with all orders from the top down that they allow."""
    own = own_enumerators(load_plugins(files))
    return [Enumerator(name, "plug-in", partial(top_down, partition=splits), _pairs) for name, splits in own.items()]


def items(options: Options) -> list[Item]:
    """One for each graph and seed. Raises SqlError for a name of no graph."""
    graphs = [join_graph(name).name for name in options.queries or (QUICK if options.quick else GRAPHS)]
    most = options.own.get("max_work", MAX_WORK)
    own = {"plugins": files} if (files := [*Settings.from_pairs(options.pairs).plugins]) else {}
    return [{"query": graph, "seed": seed, "max_work": most, **own} for seed in range(options.seeds) for graph in graphs]


def random_costing(graph: JoinGraph, seed: int) -> COutCosting:
    """Cardinalities from 10 to a million. On a tree an edge leaves 0.1 to 5 rows for each row of the smaller relation; the more
    edges beyond a tree, the less selective each."""
    random = Random(f"{graph.edges()} {seed}")
    cardinalities = [float(round(10 ** random.uniform(1, 6))) for _ in range(graph.n)]
    edges = graph.edges()
    exponent = (graph.n - 1) / max(1, len(edges))
    selectivity = {}
    for u, v in edges:
        rows = random.choice((random.uniform(0.1, 1), random.uniform(1, 5)))
        selectivity[u, v] = min(1.0, rows / max(cardinalities[u], cardinalities[v])) ** exponent
    return COutCosting(cardinalities, selectivity)


def size_of(graph: JoinGraph, max_work: int) -> Size:
    if count_connected_sets(graph, max_work) > max_work:
        return Size(graph.n, None, None)
    sizes = [0] * (graph.n + 1)
    number: int | None = 0
    for s in connected_sets(graph):
        sizes[s.bit_count()] += 1
        if number is not None:
            number += len(min_cut_branch(graph, s))
            number = None if number > max_work else number
    return Size(graph.n, tuple(sizes), number)


def measure(item: Item) -> list[Row]:
    """A row for each enumerator; of those predicted to take too many steps, one that says so. Raises InternalError for a cost
    that its tree does not have, and where exact enumerators differ."""
    named = join_graph(item["query"])
    graph = JoinGraph(named.relations, named.edges)
    size, costing = size_of(graph, item["max_work"]), random_costing(graph, item["seed"])
    if size.sets is not None:
        for s in connected_sets(graph):  # so that no enumerator pays for what the next ones find done
            costing.rows(s)
    rows: list[Row] = []
    for enumerator in (*ENUMERATORS, *of_plugins(item.get("plugins", ()))):
        steps = enumerator.steps(size)
        row: Row = {"enumerator": enumerator.name, "kind": enumerator.kind, "relations": graph.n, "pairs": size.pairs}
        row["connected_sets"] = None if size.sets is None else sum(size.sets)
        if steps is None or steps > item["max_work"]:
            rows.append({**row, "left_out": True})
            continue
        found, times = _timed(enumerator, graph, costing)
        rows.append({**row, "left_out": False, **_figures(enumerator, size, found, times.ms)})
        _check(rows[-1], graph, costing, found, size)
    optimum = _optimum(item, rows)
    for row in rows:
        if row.get("cost") is not None and optimum is not None and not math.isinf(optimum):
            row["ratio"] = row["cost"] / optimum if optimum else 1.0
    return rows


def _timed(enumerator: Enumerator, graph: JoinGraph, costing: COutCosting) -> tuple[Ordered | Counted | int, Times]:
    """The result, and the times of up to three runs. The graph is a new one each time."""
    fresh = partial(JoinGraph, graph.n, graph.edges())
    return least(lambda graph: enumerator.run(graph, costing), enough_seconds=ENOUGH_SECONDS, fresh=fresh)


def _figures(enumerator: Enumerator, size: Size, found: Ordered | Counted | int, ms: float) -> Row:
    """`inner`: pairs of sets looked at, joined or not (DPsize, DPsub); `joins_costed`: in either order. None without meaning."""
    per_pair = enumerator.kind in ("exact", "partition") and size.pairs
    return {
        "inner": found.inner if isinstance(found, Counted) else None,
        "joins_costed": None if isinstance(found, int) else found.pairs,
        "ms": ms,
        "us_per_pair": ms * 1e3 / per_pair if per_pair else None,
        "cost": None if isinstance(found, int) else found.cost,
    }


def _check(row: Row, graph: JoinGraph, costing: COutCosting, found: Ordered | Counted | int, size: Size) -> None:
    """Pairs are as many as counted, a cost is that of its tree, and the tree joins all relations."""
    if isinstance(found, int):
        if found != size.pairs:
            raise InternalError(f"{row['enumerator']} gives {found:,} pairs, where there are {size.pairs:,}")
        return
    cost = sum(costing.rows(left | right) for left, right in joins_of(found.tree))
    if relations_of(found.tree) != graph.all or not math.isclose(cost, found.cost, rel_tol=TOLERANCE):
        raise InternalError(f"{row['enumerator']} says that its order {found.tree} costs {found.cost!r}, not {cost!r}")


def _optimum(item: Item, rows: list[Row]) -> float | None:
    """The cost that the exact enumerators agree on; None without any."""
    costs = {row["enumerator"]: row["cost"] for row in rows if row.get("cost") is not None}
    exact = [row["enumerator"] for row in rows if row["kind"] == "exact" and row["enumerator"] in costs]
    if not exact:
        return None
    least = min(costs[name] for name in exact)
    wrong = {name: costs[name] for name in exact if costs[name] > least * (1 + TOLERANCE)}
    wrong |= {name: cost for name, cost in costs.items() if cost < least * (1 - TOLERANCE)}
    if wrong:
        text = f"the cheapest order of {item['query']}, seed {item['seed']}, should cost {least!r}; found were {wrong}"
        raise InternalError(text)
    return float(least)


def report(rows: pa.Table) -> list[Section]:
    """All enumerators by graph, and what heuristics lose."""
    found = [row for row in rows.to_pylist() if row["status"] == "ok" and not row["left_out"]]
    if not found:
        return [Section("Nothing was measured")]
    columns = ("query", "seed", "connected_sets", "pairs", "enumerator", "kind", *COMPARED[1:], "ratio")
    whole = pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in found])
    points = [
        {"panel": query.partition("/")[0], "series": name, "x": mine[0]["relations"], "y": min(row["ms"] for row in mine)}
        for (query, name), mine in grouped(found, itemgetter("query", "enumerator")).items() if mine[0]["kind"] == "exact"
    ]  # fmt: skip
    caption = "Milliseconds of the exact enumerators, by graph and relations."
    figure = Figure("ms", caption, pa.Table.from_pylist(points), "lines", "relations", "ms", log_y=True) if points else None
    lost = [
        {"enumerator": name, "cases": len(ratios), "mean": geometric_mean(ratios), "worst": max(ratios)}
        for name, mine in grouped(found, itemgetter("enumerator")).items()
        if mine[0]["kind"] in NOT_EXACT and (ratios := [row["ratio"] for row in mine if row.get("ratio")])
    ]  # fmt: skip
    left_out = [row for row in rows.to_pylist() if row["status"] == "ok" and row["left_out"]]
    text = "Exact enumerators found the same costs, no other found less, and every cost is that of its tree. Costs are C_out. "
    if left_out:
        names = [f"{row['enumerator']} on {row['query']}" for row in left_out]
        text += f"Left out, with more steps than `--max-work`: {', '.join(names)}."
    tables = [Table("enumerators", "A row for each enumerator; `inner`: pairs of sets looked at, joined or not.", whole)]
    if lost:
        about = "Cost over the optimum, geometric mean; a case is a graph and a seed whose optimum is known."
        tables.append(Table("heuristics", about, pa.Table.from_pylist(lost)))
    return [Section("Enumerators", text, tables, [figure] if figure else [])]
