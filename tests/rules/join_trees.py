"""Random trees of joins of all kinds over small tables: what the reordering rules are tried on.

Table i is `ti` with columns k, x and y (INT); its rows repeat and hold NULLs, or there are none. Some tables have the
key k, and in some x is a foreign key to it.
"""

from dataclasses import dataclass
from random import Random

import pyarrow as pa

from optimizer.algebra import Columns, ColumnSet, Join, JoinKind, TraitSet, Tree, column_ids, compare, conjunction
from optimizer.algebra.logical import Scan, ScanColumn, ScanForeignKey
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Scalar
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from tests.search.graphs import GraphQuery

INT = pa.int64()
NAMES = ("k", "x", "y")
KINDS = (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)


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
    columns = Columns()
    ids = [[columns.new(name, INT, name != "k", f"t{i}.{name}").id for name in NAMES] for i in range(n)]
    keyed = [random.random() < 0.35 for _ in range(n)]
    refers = [
        random.choice([j for j in range(n) if keyed[j] and j != i] or [-1]) if random.random() < 0.5 else -1 for i in range(n)
    ]
    scans, tables = [], []
    for i in range(n):
        foreign = (ScanForeignKey((ids[i][1],), f"t{refers[i]}", ("k",)),) if refers[i] >= 0 else ()
        keys = (1 << ids[i][0],) if keyed[i] else ()
        scans.append(Scan(f"t{i}", f"t{i}", tuple(map(ScanColumn, ids[i], NAMES)), keys, 1 << ids[i][0], foreign_keys=foreign))
        rows = random.choice([3, 40, 1000])
        stats = TableStats(rows, rows * 24, {name: ColumnStats(0, 0, 9, float(min(rows, 10)), 8.0) for name in NAMES})
        declared = tuple(TableColumn(name, INT, name != "k") for name in NAMES)
        tables.append(Table(f"t{i}", declared, (("k",),) if keyed[i] else (), stats=stats))
    along = {(ids[i][1], ids[j][0]) for i, j in enumerate(refers) if j >= 0}
    parts: list[Tree] = [Tree(scan) for scan in scans]
    while len(parts) > 1:
        left = parts.pop(random.randrange(len(parts)))
        right = parts.pop(random.randrange(len(parts)))
        kind = random.choice(kinds)
        followed = [(a, b) for a, b in along if left.columns >> a & 1 and right.columns >> b & 1 and random.random() < 0.5]
        if followed:
            a, b = min(followed)
            conjuncts: list[Scalar] = [compare("=", ColumnRef(a, INT), ColumnRef(b, INT))]
        else:
            conjuncts = [comparison(random, left.columns, right.columns, strict)]
        if random.randrange(100) < wide:
            conjuncts.append(comparison(random, left.columns, right.columns, strict))
        parts.append(Tree(Join(kind, conjunction(conjuncts)), (left, right)))
    databases = [database(random, keyed, refers, some_empty=d == 2) for d in range(3)]
    return JoinTree(GraphQuery(Catalog("joins", tables), columns, scans, [], parts[0], TraitSet()), databases)


def comparison(random: Random, left: ColumnSet, right: ColumnSet, strict: int) -> Scalar:
    a, b = (ColumnRef(random.choice(list(column_ids(side))), INT) for side in (left, right))
    if random.randrange(100) < strict:
        return compare("=", a, b)
    if random.random() < 0.3:
        return compare("is_not_distinct_from", a, b)
    lenient, other = random.choice([(a, b), (b, a)])
    alternative: Scalar = Call("is_null", (lenient,), BOOL)
    if random.random() < 0.5:  # rejects the other side's NULLs
        alternative = Call("and", (alternative, Call("is_not_null", (other,), BOOL)), BOOL)
    return Call("or", tuple(sorted((compare("=", a, b), alternative), key=lambda s: s.text)), BOOL)


def database(random: Random, keyed: list[bool], refers: list[int], some_empty: bool) -> dict[str, pa.Table]:
    """Up to four rows a table of the values 0 to 2 and NULL; foreign keys hold."""
    counts = [0 if some_empty and random.random() < 0.35 else random.randrange(1, 5) for _ in keyed]
    ks = [
        random.sample(range(4), n) if key else [random.randrange(3) for _ in range(n)]
        for n, key in zip(counts, keyed, strict=True)
    ]
    result = {}
    for i, k in enumerate(ks):
        values = [0, 1, 2, None] if refers[i] < 0 else [*ks[refers[i]], None]
        rows = [(each, random.choice(values), random.choice([0, 1, 2, None])) for each in k]
        result[f"t{i}"] = pa.table({name: pa.array([row[c] for row in rows], INT) for c, name in enumerate(NAMES)})
    return result
