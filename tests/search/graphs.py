"""Random join graphs over statistics-only tables: what the search tests plan, and what the brute force checks."""

from dataclasses import dataclass
from random import Random

import pyarrow as pa

from optimizer.algebra import ColumnRef, Join, JoinKind, Node, Scalar, Scan, ScanColumn, SortKey, TraitSet, Tree
from optimizer.algebra.columns import Columns, column_set
from optimizer.algebra.predicates import compare, conjunction
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from tests.joins.shapes import EDGES

SHAPES = ("chain", "star", "cycle", "clique", "random")
INT = pa.int64()


@dataclass
class GraphQuery:
    """A join graph: `edges` are (i, j, conjunct); `order` is required of the result."""

    catalog: Catalog
    columns: Columns
    scans: list[Scan]
    edges: list[tuple[int, int, Scalar]]
    tree: Tree
    order: TraitSet


def edges_of(shape: str, n: int, random: Random) -> list[tuple[int, int]]:
    if shape in EDGES:
        return EDGES[shape](n)
    pairs = {(random.randrange(i), i) for i in range(1, n)}
    for _ in range(random.randrange(n)):
        i, j = sorted(random.sample(range(n), 2)) if n > 1 else (0, 0)
        if i != j:
            pairs.add((i, j))
    return sorted(pairs)


def graph_query(shape: str, n: int, seed: int) -> GraphQuery:
    """A connected query of n tables. Some tables are stored sorted, some edges share columns, some have two conjuncts."""
    random = Random(f"{shape}/{n}/{seed}")
    columns, tables, scans = Columns(), [], []
    for i in range(n):
        rows = round(10 ** random.uniform(0.3, 5))
        width = random.randrange(2, 5)
        names = [f"c{k}" for k in range(width)]
        stats = {
            name: ColumnStats(
                nulls=random.choice([0, 0, rows // 4]),
                min=0,
                max=10**6,
                ndv=max(1.0, rows ** random.uniform(0.3, 1.0)),
                avg_width=8.0,
            )
            for name in names
        }
        order = tuple(random.sample(names, random.randrange(0, 3))) if random.random() < 0.5 else ()
        keys = (("c0",),) if random.random() < 0.5 else ()
        tables.append(
            Table(
                f"t{i}",
                tuple(TableColumn(c, INT, not keys) for c in names),
                keys,
                (),
                order,
                TableStats(rows, rows * 8 * width, stats),
            )
        )
        ids = {name: columns.new(name, INT, not keys, f"t{i}.{name}").id for name in names}
        scans.append(
            Scan(
                f"t{i}", f"t{i}", tuple(ScanColumn(ids[name], name) for name in names),
                tuple(column_set(ids[c] for c in key) for key in keys), 0, tuple(SortKey(ids[name]) for name in order),
            )
        )  # fmt: skip
    edges = []
    for i, j in edges_of(shape, n, random):
        for _ in range(random.choice([1, 1, 1, 2])):
            a, b = (random.choice(scans[k].columns).id for k in (i, j))
            function = "=" if random.random() < 0.9 else "<"
            edges.append((i, j, compare(function, ColumnRef(a, INT), ColumnRef(b, INT))))
    order = TraitSet()
    if random.random() < 0.5:
        picked = random.sample([c.id for scan in scans for c in scan.columns], random.randrange(1, 3))
        order = TraitSet(tuple(SortKey(c, random.random() < 0.2) for c in picked))
    return GraphQuery(Catalog("graph", tables), columns, scans, edges, initial_tree(scans, edges, random), order)


def initial_tree(scans: list[Scan], edges: list[tuple[int, int, Scalar]], random: Random) -> Tree:
    """A random bushy tree without cross products, each conjunct at its lowest join."""
    parts: list[tuple[int, Node]] = [(1 << i, Tree(scan)) for i, scan in enumerate(scans)]
    while len(parts) > 1:
        linked = [
            (x, y)
            for x in range(len(parts))
            for y in range(len(parts))
            if x != y and any(parts[x][0] >> i & 1 and parts[y][0] >> j & 1 for i, j, _ in edges)
        ]
        x, y = random.choice(linked)
        (s, left), (t, right) = parts[x], parts[y]
        if random.random() < 0.5:
            s, left, t, right = t, right, s, left
        joined = Tree(Join(JoinKind.INNER, crossing(edges, s, t)), (left, right))
        parts = [p for k, p in enumerate(parts) if k not in (x, y)] + [(s | t, joined)]
    result = parts[0][1]
    assert isinstance(result, Tree)
    return result


def crossing(edges: list[tuple[int, int, Scalar]], s: int, t: int) -> tuple[Scalar, ...]:
    """The conjuncts between two sets of relations."""
    return conjunction(c for i, j, c in edges if (s >> i & 1 and t >> j & 1) or (t >> i & 1 and s >> j & 1))
