"""Random queries: SQL over tables of which only statistics are known.

Two to six relations, linked by equalities. Columns are drawn so that equalities run into each other (k = k = k) or not; on top
come implied equalities, several keys between two tables, constant keys, ranges, GROUP BY, and ORDER BY in all directions.
"""

from dataclasses import dataclass
from random import Random

import pyarrow as pa

from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from tests.search.graphs import SHAPES, edges_of

COLUMNS = ("id", "k", "j", "v")


@dataclass(frozen=True)
class Query:
    number: int
    sql: str
    catalog: Catalog
    relations: int


def random_query(number: int, most: int = 6) -> Query:
    """Query `number`, of at most so many relations."""
    random = Random(f"independent {number}")
    n = min(most, random.choice((2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6)))
    tables = [_table(f"t{i}", random) for i in range(n)]
    edges = _edges(n, random)
    conditions = _joins(tables, edges, random)
    filters = _filters(tables, conditions, random)
    selected, tail = _result(tables, random)
    texts = [f"t{i}.{a} = t{j}.{b}" for (i, a), (j, b) in conditions]
    if random.random() < 0.5:
        where = " where " + " and ".join(texts + filters)
        source = ", ".join(f"t{i}" for i in range(n))
    else:
        source, where = _joined(n, conditions, texts, random), " where " + " and ".join(filters) if filters else ""
    return Query(number, f"select {selected} from {source}{where}{tail}", Catalog("random", tables), n)


def _table(name: str, random: Random) -> Table:
    rows = round(10 ** random.uniform(0.3, 5.5))
    names = COLUMNS[: random.randrange(2, 5)]
    keys = random.choice(((), (), (("id",),), (("id",),), (("k",),), (("id", "k"),), (("id",), ("k",))))
    keyed = {column for key in keys for column in key}
    stats, columns = {}, []
    for column in names:
        ndv = float(rows) if (column,) in keys else max(1.0, rows ** random.uniform(0.2, 1.0))
        nullable = column not in keyed and random.random() < 0.5
        stats[column] = ColumnStats(
            nulls=random.choice((0, rows // 4)) if nullable else 0, min=0, max=10**6, ndv=ndv, avg_width=8.0
        )
        columns.append(TableColumn(column, pa.int64(), nullable))
    order = tuple(random.sample(names, random.randrange(1, min(3, len(names)) + 1))) if random.random() < 0.5 else ()
    return Table(name, tuple(columns), keys, (), order, TableStats(rows, rows * 8 * len(names), stats))


def _edges(n: int, random: Random) -> list[tuple[int, int]]:
    """Linked pairs; every relation but the first is linked to an earlier one."""
    shape = random.choice(SHAPES)
    if shape == "clique" and n < 6:
        return sorted(edges_of(shape, n, random), key=lambda edge: edge[1])
    return edges_of("random" if shape == "clique" else shape, n, random)


Place = tuple[int, str]  # a column of a table


def _joins(tables: list[Table], edges: list[tuple[int, int]], random: Random) -> list[tuple[Place, Place]]:
    alike = random.choice((0.2, 0.6, 0.95))  # how often an edge is k = k

    def column(i: int) -> Place:
        return i, "k" if random.random() < alike else random.choice(tables[i].columns).name

    found = [(column(i), column(j)) for i, j in edges for _ in range(random.choice((1, 1, 1, 2, 2, 3)))]
    if random.random() < 0.5:  # equalities that follow from others
        places = sorted({place for pair in found for place in pair})
        same = {place: place for place in places}
        for a, b in found:
            old, new = same[a], same[b]
            same = {place: new if leader == old else leader for place, leader in same.items()}
        implied = [(a, b) for a in places for b in places if a[0] < b[0] and same[a] == same[b] and (a, b) not in found]
        found += random.sample(implied, min(len(implied), random.randrange(1, 4)))
    return list(dict.fromkeys(found))


def _filters(tables: list[Table], conditions: list[tuple[Place, Place]], random: Random) -> list[str]:
    """Constants, at most one for the columns that are equal, and ranges."""
    found = []
    if random.random() < 0.4:
        place = random.choice(conditions)[random.randrange(2)] if random.random() < 0.6 else _any(tables, random)
        found.append(f"t{place[0]}.{place[1]} = 7")
    if random.random() < 0.2:
        i, column = _any(tables, random)
        found.append(f"t{i}.{column} < 500000")
    return found


def _any(tables: list[Table], random: Random) -> Place:
    i = random.randrange(len(tables))
    return i, random.choice(tables[i].columns).name


def _joined(n: int, conditions: list[tuple[Place, Place]], texts: list[str], random: Random) -> str:
    """`t0 join t1 on … join t2 on …`, each condition where both its tables are there."""
    source = "t0"
    for i in range(1, n):
        here = [text for ((a, _), (b, _)), text in zip(conditions, texts, strict=True) if max(a, b) == i]
        random.shuffle(here)
        source += f" join t{i} on " + " and ".join(here)
    return source


def _result(tables: list[Table], random: Random) -> tuple[str, str]:
    """The select list, and GROUP BY and ORDER BY."""
    kind = random.choice(("plain", "order", "order", "order", "group", "group and order"))
    if kind in ("plain", "order"):
        order = (
            _order(dict.fromkeys(_any(tables, random) for _ in range(random.randrange(1, 4))), random) if kind == "order" else ""
        )
        return random.choice(("*", "count(*)") if not order else ("*", "t0.id, t1.k")), order
    keys = [f"t{i}.{column}" for i, column in dict.fromkeys(_any(tables, random) for _ in range(random.randrange(1, 4)))]
    i, summed = _any(tables, random)
    selected = ", ".join(keys) + random.choice(("", ", count(*) as n", f", sum(t{i}.{summed}) as n"))
    tail = " group by " + ", ".join(keys)
    if kind == "group and order":
        names = random.sample(keys, random.randrange(1, len(keys) + 1))
        if selected.endswith(" as n") and random.random() < 0.2:
            names.insert(random.randrange(len(names) + 1), "n")
        tail += " order by " + ", ".join(name + _direction(random) for name in names)
    return selected, tail


def _order(places: dict[Place, None], random: Random) -> str:
    return " order by " + ", ".join(f"t{i}.{column}{_direction(random)}" for i, column in places)


def _direction(random: Random) -> str:
    return random.choice(("", "", "", " desc", " nulls first", " desc nulls first"))
