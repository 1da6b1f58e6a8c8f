"""The dataset `joingraph`: figures, no rows, for the tables behind every join graph (`join_graphs`).

The table of relation i of a graph has one column `toJ` for each edge i–J. Everything follows from the graph's name:

    rows       spread evenly by magnitude: 300 to 1 million; the hub of a star or snowflake 1 to 10 million; fewer in graphs of
               more than 65
    main edge  every relation but r0 has one, to a relation before it: in seven of ten, of a star in nine, its own column is a
               key, and in most of those every value of the other column finds a partner, in the others some do not; in the rest
               a value occurs a few times on both sides. No foreign keys are declared, so that no join is dropped for being one
    others     few distinct values, the fewer the more such edges a relation has

So any set that the main edges connect joins to a number of rows that neither explodes nor vanishes, whatever the shape;
what the edges of a clique leave out is an expensive detour.

A graph `steinbrunn_...` has tables drawn instead: the rows of a relation and, for each of its columns, the size of the domain
that its values are from, by the figures of Steinbrunn, Moerkotte and Kemper, Heuristic and Randomized Optimization for the Join
Ordering Problem, VLDB Journal 1997 (read off two public implementations, which agree). Columns are independent and no keys, so
intermediate results grow and shrink by orders of magnitude.
"""

import random
from collections import Counter
from collections.abc import Mapping
from math import log10
from typing import NamedTuple

import pyarrow as pa

from experiments.workloads.join_graphs import Edge, JoinGraph, graph_of_table, join_graph
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats

NAME = "joingraph"
SAMPLES = ("chain/4", "star/4", "cycle/4", "clique/4", "grid/2x3", "random/6/1")


# share of draws -> from, to, both included
STEINBRUNN_ROWS = {0.15: (10, 100), 0.30: (100, 1_000), 0.35: (1_000, 10_000), 0.20: (10_000, 100_000)}
STEINBRUNN_DOMAINS = {0.05: (2, 10), 0.50: (10, 100), 0.30: (100, 500), 0.15: (500, 1_000)}


class JoinGraphCatalog(Catalog):
    """Knows the tables of every join graph. `tables` are those of a few small ones; others are made when asked for."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[str, Table] = {}
        super().__init__(NAME, [table for name in SAMPLES for table in graph_tables(join_graph(name))])

    def table(self, name: str) -> Table | None:
        wanted = name.lower()
        if wanted not in self._made:
            graph = graph_of_table(wanted)
            if graph is None:
                return None
            self._made.update((table.name, table) for table in graph_tables(graph))
        return self._made[wanted]


def graph_tables(graph: JoinGraph, scale: float = 1.0) -> list[Table]:
    """The tables of a graph by relation number: the same in every process.

    `scale`: of rows, and of the distinct counts of main edges, which keep pace with rows; the few of the others stay.
    """
    if graph.seed is not None:
        return _steinbrunn_tables(graph, scale)
    rows = [_rows(graph, i) for i in range(graph.relations)]
    main = _main_edges(graph)
    reduced: set[int] = set()
    others = Counter(i for edge in graph.edges if edge not in main for i in edge)
    columns: list[list[TableColumn]] = [[] for _ in rows]
    stats: list[dict[str, ColumnStats]] = [{} for _ in rows]
    keys: list[list[tuple[str, ...]]] = [[] for _ in rows]
    for edge in graph.edges:
        low, high = edge
        names = f"to{high}", f"to{low}"
        generator = random.Random(f"edge {graph.prefix} {low} {high}")
        if edge in main:
            counts = _main_counts(graph, rows[low], rows[high], low not in reduced, generator)
            if counts.low > counts.high:
                reduced.add(low)
            counts = Counts(_scaled(counts.low, scale), _scaled(counts.high, scale), counts.key)
        else:
            count = _round(10 ** (0.6 / max(others[low], others[high]) * generator.uniform(0.5, 1.5)), generator)
            counts = Counts(min(count, _scaled(rows[low], scale)), min(count, _scaled(rows[high], scale)))
        for i, name, ndv in zip(edge, names, counts[:2], strict=True):
            columns[i].append(TableColumn(name, pa.int64(), nullable=False))
            stats[i][name] = ColumnStats(0, 1, max(counts[:2]), float(ndv), 8.0)
        if counts.key:
            keys[high].append((names[1],))
            stats[high][names[1]] = ColumnStats(0, 1, _scaled(rows[high], scale), float(_scaled(rows[high], scale)), 8.0)
    return [
        Table(graph.table(i), tuple(columns[i]), tuple(keys[i]), (), stats=TableStats(_scaled(rows[i], scale), 0, stats[i]))
        for i in range(graph.relations)
    ]


def _steinbrunn_tables(graph: JoinGraph, scale: float) -> list[Table]:
    generator = random.Random(graph.name)
    tables = []
    for i in range(graph.relations):
        rows = _scaled(_drawn(STEINBRUNN_ROWS, generator), scale)
        names = [f"to{high if i == low else low}" for low, high in graph.edges if i in (low, high)]
        domains = {name: _drawn(STEINBRUNN_DOMAINS, generator) for name in names}
        stats = {name: ColumnStats(0, 1, domain, float(min(domain, rows)), 8.0) for name, domain in domains.items()}
        columns = tuple(TableColumn(name, pa.int64(), nullable=False) for name in names)
        tables.append(Table(graph.table(i), columns, (), (), stats=TableStats(rows, 0, stats)))
    return tables


def _drawn(shares: Mapping[float, tuple[int, int]], generator: random.Random) -> int:
    (low, high), *_ = generator.choices(list(shares.values()), list(shares))
    return generator.randint(low, high)


class Counts(NamedTuple):
    """Distinct counts of an edge's columns, in the lower and the higher relation; whether the latter is a key."""

    low: int
    high: int
    key: bool = False


def _scaled(count: int, scale: float) -> int:
    return max(1, round(count * scale))


def _rows(graph: JoinGraph, relation: int) -> int:
    generator = random.Random(f"rows {graph.shape} {relation}")
    if graph.shape in ("star", "snowflake") and relation == 0:
        return _round(10 ** generator.uniform(6.0, 7.0), generator)
    # up to 100 relations their product stays within the range of floats, whatever order an estimator multiplies in
    scale = max(0.66, min(1.0, 65 / graph.relations))
    return _round(10 ** (scale * generator.uniform(2.5, 6.0)), generator)


def _main_edges(graph: JoinGraph) -> set[Edge]:
    """A spanning tree: for each relation but r0 one edge to a relation before it."""
    before: list[list[int]] = [[] for _ in range(graph.relations)]
    for low, high in graph.edges:
        before[high].append(low)
    generator = random.Random(f"main edges {graph.prefix}")
    return {(generator.choice(lows), high) for high, lows in enumerate(before) if lows}


def _main_counts(graph: JoinGraph, low: int, high: int, may_reduce: bool, generator: random.Random) -> Counts:
    """Distinct counts of a main edge between tables of `low` and `high` rows; `may_reduce`: the lower side may have more.

    That is so at most once per relation: estimators that take several predicates on one table as dependent would make
    little of the second.
    """
    many_to_many = 0.1 if graph.shape == "star" else 0.3
    kind = generator.random()
    if kind < many_to_many:
        count = _round(high ** generator.uniform(0.75, 1.0), generator)
        return Counts(max(1, min(low, _round(count * generator.uniform(0.2, 1.0), generator))), count)
    if may_reduce and kind < many_to_many + 0.2 and low >= 2 * high:
        return Counts(min(low, _round(high * generator.uniform(1.5, 6.0), generator)), high, True)
    return Counts(max(1, min(low, _round(high * generator.uniform(0.3, 1.0), generator))), high, True)


def _round(value: float, generator: random.Random) -> int:
    """Two digits; below 10 a whole number, up or down at random so that the mean of many stays `value`."""
    if value < 10:
        return max(1, int(value) + (generator.random() < value % 1))
    unit: int = 10 ** (int(log10(value)) - 1)
    return round(value / unit) * unit
