"""Random trees of joins of all kinds over small tables: what the reordering rules are tried on.

Table i is `ti` with columns k, x and y (INT); its rows repeat and hold NULLs, or there are none. A quarter of the tables have the
key k.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pyarrow as pa

from optimizer.algebra.columns import Columns, ColumnSet, column_ids
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Join, Scan, ScanColumn
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Scalar, compare, conjunction
from optimizer.algebra.traits import TraitSet
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from tests.search.graphs import GraphQuery

INT = pa.int64()
NAMES = ("k", "x", "y")
KINDS = (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT, JoinKind.FULL)


@dataclass
class JoinTree:
    """`query` can be searched; `tables` are several databases to run it over."""

    query: GraphQuery
    tables: list[dict[str, pa.Table]]


def join_tree(n: int, seed: int, kinds: tuple[JoinKind, ...] = KINDS, strict: int = 100, wide: int = 0) -> JoinTree:
    """A random tree of n relations. Each predicate is one comparison of a visible column on either side.

    `strict`: percentage of predicates that reject NULLs on both sides; the others reject them on one side or on none.
    `wide`: percentage of joins with a second conjunct.
    """
    random = Random(f"{n}/{seed}")
    columns, scans, tables, keyed = Columns(), [], [], []
    for i in range(n):
        ids = [columns.new(name, INT, name != "k", f"t{i}.{name}").id for name in NAMES]
        keyed.append(random.random() < 0.25)
        keys = (1 << ids[0],) if keyed[-1] else ()
        scans.append(Scan(f"t{i}", f"t{i}", tuple(map(ScanColumn, ids, NAMES)), keys, 1 << ids[0]))
        rows = random.choice([3, 40, 1000])
        stats = TableStats(rows, rows * 24, {name: ColumnStats(0, 0, 9, float(min(rows, 10)), 8.0) for name in NAMES})
        declared = tuple(TableColumn(name, INT, name != "k") for name in NAMES)
        tables.append(Table(f"t{i}", declared, (("k",),) if keyed[-1] else (), stats=stats))
    parts: list[Tree] = [Tree(scan) for scan in scans]
    while len(parts) > 1:
        left = parts.pop(random.randrange(len(parts)))
        right = parts.pop(random.randrange(len(parts)))
        kind = random.choice(kinds)
        conjuncts = [comparison(random, left.columns, right.columns, strict)]
        if random.randrange(100) < wide:
            conjuncts.append(comparison(random, left.columns, right.columns, strict))
        parts.append(Tree(Join(kind, conjunction(conjuncts)), (left, right)))
    databases = [{f"t{i}": rows_of(random, keyed[i], d) for i in range(n)} for d in range(3)]
    return JoinTree(GraphQuery(Catalog("joins", tables), columns, scans, [], parts[0], TraitSet()), databases)


def comparison(random: Random, left: ColumnSet, right: ColumnSet, strict: int) -> Scalar:
    a, b = (ColumnRef(random.choice(list(column_ids(side))), INT) for side in (left, right))
    if random.randrange(100) < strict:
        return compare("=", a, b)
    if random.random() < 0.3:
        return compare("is_not_distinct_from", a, b)
    lenient = random.choice([a, b])
    return Call("or", tuple(sorted((compare("=", a, b), Call("is_null", (lenient,), BOOL)), key=lambda s: s.text)), BOOL)


def rows_of(random: Random, keyed: bool, database: int) -> pa.Table:
    """Up to four rows of the values 0 to 2 and NULL; in the last database a third of the tables is empty."""
    count = 0 if database == 2 and random.random() < 0.35 else random.randrange(1, 5)
    rows = [
        (k if keyed else random.randrange(3), *(random.choice([0, 1, 2, None]) for _ in range(2)))
        for k in random.sample(range(4), count)
    ]
    return pa.table({name: pa.array([row[i] for row in rows], INT) for i, name in enumerate(NAMES)})
