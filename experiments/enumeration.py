"""Join enumerators side by side: what they look at, how long it takes, and how good the order is that they find.

Every enumerator orders the same join graphs under C_out with random cardinalities and selectivities. Exact ones have to find the
same cost, no other may find less, and every cost is added up again from the tree; anything else is a bug.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from executor.atomic import make_folder, write_file
from experiments.enumerators.dp_left_deep import dp_left_deep
from experiments.enumerators.dp_size import dp_size, inner_of_dp_size
from experiments.enumerators.dp_sub import dp_sub, inner_of_dp_sub
from experiments.enumerators.dp_vectorized import dp_vectorized
from experiments.enumerators.top_down import top_down
from experiments.workloads.join_graphs import join_graph
from optimizer.errors import InternalError
from optimizer.joins.costing import COutCosting, Ordered
from optimizer.joins.csg import connected_sets, count_connected_sets
from optimizer.joins.dp_ccp import dp_ccp, pairs
from optimizer.joins.dp_hyp import dp_hyp
from optimizer.joins.goo_dp import goo_dp
from optimizer.joins.graph import JoinGraph, Relations, joins_of, relations_of
from optimizer.joins.greedy import greedy
from optimizer.joins.ikkbz import ikkbz
from optimizer.joins.linearized import linearized
from optimizer.joins.partition.min_cut_branch import min_cut_branch
from optimizer.joins.partition.min_cut_conservative import min_cut_conservative
from optimizer.joins.partition.naive import naive
from optimizer.joins.plan_table import Counted

GRAPHS = ("chain/5", "chain/10", "chain/20", "cycle/5", "cycle/10", "cycle/20", "star/5", "star/10", "clique/5", "clique/10")
MAX_WORK = 1_000_000  # steps of an enumerator that are predicted to be too many
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
    """`kind`: partition (pairs, no orders), exact, left-deep (the best of these) or heuristic.

    `steps`: how many it will take, about; None is too many to say.
    """

    name: str
    kind: str
    run: Callable[[JoinGraph, COutCosting], Ordered | Counted | int]
    steps: Callable[[Size], int | None]


class Measured(NamedTuple):
    """One enumerator on one graph, and a row of the result files. None where the figure has no meaning or is not known."""

    graph: str
    relations: int
    seed: int
    connected_sets: int | None
    pairs: int | None
    enumerator: str
    kind: str
    inner: int | None  # pairs of sets looked at, joined or not (DPsize, DPsub)
    costed: int | None  # joins costed, in either order
    ms: float
    us_per_pair: float | None
    cost: float | None
    ratio: float | None  # to the cheapest order


class Comparison(NamedTuple):
    """All enumerators on one graph; `left_out`: those predicted to take more than MAX_WORK steps."""

    graph: str
    size: Size
    rows: list[Measured]
    left_out: list[str]


def _by_partition(split: Callable[[JoinGraph, Relations], list[Relations]]) -> Callable[[JoinGraph, COutCosting], int]:
    """How many pairs partitioning every connected set gives."""
    return lambda graph, costing: sum(len(split(graph, s)) for s in connected_sets(graph))


def _pairs(size: Size) -> int | None:
    return size.pairs


def _naive(size: Size) -> int | None:
    return None if size.sets is None else 4 * inner_of_dp_sub(size.sets)


def _by_size(size: Size) -> int | None:
    return None if size.sets is None else inner_of_dp_size(size.sets)


def _by_subset(size: Size) -> int | None:
    return None if size.sets is None else inner_of_dp_sub(size.sets) + (TABLE_ENTRY << size.relations)


def _vectorized(size: Size) -> int | None:
    return None if size.sets is None or size.relations > 20 else inner_of_dp_sub(size.sets) // VECTORIZED + (1 << size.relations)


def _left_deep(size: Size) -> int | None:
    return None if size.sets is None else sum(size.sets) * size.relations


def _square(size: Size) -> int:
    return size.relations**2


def _intervals(size: Size) -> int:
    return size.relations**3 // 6


ENUMERATORS = (
    Enumerator("pairs_naive", "partition", _by_partition(naive), _naive),
    Enumerator("pairs_branch", "partition", _by_partition(min_cut_branch), _pairs),
    Enumerator("pairs_conservative", "partition", _by_partition(min_cut_conservative), _pairs),
    Enumerator("pairs_dpccp", "partition", lambda graph, costing: sum(1 for _ in pairs(graph)), _pairs),
    Enumerator("dp_size", "exact", dp_size, _by_size),
    Enumerator("dp_sub", "exact", dp_sub, _by_subset),
    Enumerator("dp_ccp", "exact", dp_ccp, _pairs),
    Enumerator("dp_hyp", "exact", dp_hyp, _pairs),
    Enumerator("dp_vectorized", "exact", dp_vectorized, _vectorized),
    Enumerator("top_down_branch", "exact", top_down, _pairs),
    Enumerator("top_down_conservative", "exact", lambda graph, costing: top_down(graph, costing, min_cut_conservative), _pairs),
    Enumerator("dp_left_deep", "left-deep", dp_left_deep, _left_deep),
    Enumerator("ikkbz", "heuristic", ikkbz, _square),
    Enumerator("linearized", "heuristic", linearized, _intervals),
    Enumerator("greedy", "heuristic", greedy, _square),
    Enumerator("goo_dp", "heuristic", goo_dp, _square),
)


def compare(
    names: Sequence[str], seed: int = 0, max_work: int = MAX_WORK, progress: Callable[[str], None] | None = None
) -> Iterator[Comparison]:
    """Run the enumerators on graphs named as in `join_graphs`. Raises SqlError for a name of no graph, before anything runs."""
    for named in [join_graph(name) for name in names]:
        if progress:
            progress(named.name)
        yield _compare(named.name, JoinGraph(named.relations, named.edges), seed, max_work)


def write_results(comparisons: Sequence[Comparison], folder: str) -> list[Path]:
    """`enumeration.csv` and `enumeration.json` with the same rows; the files written. Raises OutputError."""
    rows = [row for comparison in comparisons for row in comparison.rows]
    target = make_folder(folder)
    lines = [",".join(Measured._fields)]
    lines += [",".join("" if value is None else str(_number(value)) for value in row) for row in rows]
    write_file(target / "enumeration.csv", "\n".join(lines) + "\n")
    records = ",\n".join(json.dumps({name: _number(value) for name, value in row._asdict().items()}) for row in rows)
    write_file(target / "enumeration.json", f"[\n{records}\n]\n")
    return [target / "enumeration.csv", target / "enumeration.json"]


def _number(value: object) -> object:
    """JSON has no infinity: a cost beyond the range of floats is "Infinity"."""
    return "Infinity" if value == math.inf else value


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


def _compare(name: str, graph: JoinGraph, seed: int, max_work: int) -> Comparison:
    size = size_of(graph, max_work)
    costing = random_costing(graph, seed)
    rows: list[Measured] = []
    left_out: list[str] = []
    if size.sets is not None:
        for s in connected_sets(graph):  # so that no enumerator pays for what the next ones find done
            costing.rows(s)
    for enumerator in ENUMERATORS:
        steps = enumerator.steps(size)
        if steps is None or steps > max_work:
            left_out.append(enumerator.name)
            continue
        found, seconds = _timed(enumerator, graph, costing)
        rows.append(_row(name, graph, seed, size, enumerator, found, seconds))
        _check(rows[-1], graph, costing, found, size)
    optimum = _optimum(rows)
    return Comparison(name, size, [row if row.cost is None else _with_ratio(row, optimum) for row in rows], left_out)


def _timed(enumerator: Enumerator, graph: JoinGraph, costing: COutCosting) -> tuple[Ordered | Counted | int, float]:
    """The result and the least seconds of up to three runs. The graph is a new one each time."""
    best, spent = float("inf"), 0.0
    for _ in range(3):
        fresh = JoinGraph(graph.n, graph.edges())
        begin = time.perf_counter()
        found = enumerator.run(fresh, costing)
        seconds = time.perf_counter() - begin
        best, spent = min(best, seconds), spent + seconds
        if spent > ENOUGH_SECONDS:
            break
    return found, best


def _row(
    name: str, graph: JoinGraph, seed: int, size: Size, enumerator: Enumerator, found: Ordered | Counted | int, seconds: float
) -> Measured:
    per_pair = enumerator.kind in ("exact", "partition") and size.pairs
    return Measured(
        graph=name,
        relations=graph.n,
        seed=seed,
        connected_sets=None if size.sets is None else sum(size.sets),
        pairs=size.pairs,
        enumerator=enumerator.name,
        kind=enumerator.kind,
        inner=found.inner if isinstance(found, Counted) else None,
        costed=None if isinstance(found, int) else found.pairs,
        ms=seconds * 1e3,
        us_per_pair=seconds * 1e6 / per_pair if per_pair else None,
        cost=None if isinstance(found, int) else found.cost,
        ratio=None,
    )


def _check(row: Measured, graph: JoinGraph, costing: COutCosting, found: Ordered | Counted | int, size: Size) -> None:
    """Pairs are as many as counted, a cost is that of its tree, and the tree joins all relations."""
    if isinstance(found, int):
        if found != size.pairs:
            raise InternalError(f"{row.enumerator} gives {found:,} pairs of {row.graph}, which has {size.pairs:,}")
        return
    cost = sum(costing.rows(left | right) for left, right in joins_of(found.tree))
    if relations_of(found.tree) != graph.all or not math.isclose(cost, found.cost, rel_tol=TOLERANCE):
        raise InternalError(
            f"{row.enumerator} says that {found.tree}, its order of {row.graph}, costs {found.cost!r}, not {cost!r}"
        )


def _optimum(rows: list[Measured]) -> float | None:
    """The cost that the exact enumerators agree on; None without any."""
    costs = {row.enumerator: row.cost for row in rows if row.kind == "exact" and row.cost is not None}
    if not costs:
        return None
    least = min(costs.values())
    wrong = {name: cost for name, cost in costs.items() if cost > least * (1 + TOLERANCE)}
    wrong |= {row.enumerator: row.cost for row in rows if row.cost is not None and row.cost < least * (1 - TOLERANCE)}
    if wrong:
        raise InternalError(
            f"the cheapest order of {rows[0].graph}, seed {rows[0].seed}, should cost {least!r}; found were {wrong}"
        )
    return least


def _with_ratio(row: Measured, optimum: float | None) -> Measured:
    if row.cost is None or optimum is None or math.isinf(optimum):
        return row
    return row._replace(ratio=row.cost / optimum if optimum else 1.0)


def describe(comparison: Comparison) -> tuple[str, list[tuple[str, ...]], list[str]]:
    """A line on the graph; rows of (enumerator, kind, inner, costed, ms, µs/pair, cost, ratio); lines on what was left out."""
    size = comparison.size
    sets = "connected sets not counted" if size.sets is None else f"{sum(size.sets):,} connected sets"
    number = "pairs not counted" if size.pairs is None else f"{size.pairs:,} pairs"
    rows: list[tuple[str, ...]] = [
        (
            row.enumerator,
            row.kind,
            _text(row.inner, ",d"),
            _text(row.costed, ",d"),
            _text(row.ms, ",.3f"),
            _text(row.us_per_pair, ",.3f"),
            _text(row.cost, ".4g"),
            _text(row.ratio, ",.4g"),
        )
        for row in comparison.rows
    ]
    skipped = ", ".join(comparison.left_out)
    return (
        f"{comparison.graph}: {sets}, {number}",
        rows,
        [f"left out, with more steps than --max-work: {skipped}"] if skipped else [],
    )


def _text(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
