"""Where exchanges stand: what moves, what is read by every task, and what works in two steps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from executor.session import Session
from executor.spark.engine import SparkEngine
from executor.spark.operators import Exchange, PartScan
from optimizer.algebra.columns import Columns
from optimizer.algebra.physical import FilterRows, ProjectRows, TableScan
from optimizer.algebra.plan import PlanNode
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats


def table(name: str, rows: int, **distinct: int) -> Table:
    columns = tuple(TableColumn(each, pa.int64()) for each in distinct)
    return Table(name, columns, stats=TableStats(rows, columns={k: ColumnStats(nulls=0, ndv=n) for k, n in distinct.items()}))


TABLES = Catalog(
    "clustered",
    [
        table("fact", 100_000_000, k=20_000_000, g=50_000, v=1_000),
        table("other", 80_000_000, k=20_000_000, w=1_000),
        table("dim", 1_000, g=1_000, n=10),
    ],
)


def sketch(node: PlanNode, columns: Columns) -> str:
    """`hash_join(part of fact, dim)`: operators over their inputs, filters and projections left out."""
    below = ", ".join(sketch(each, columns) for each in node.inputs)
    match node.op:
        case FilterRows() | ProjectRows():
            return below
        case TableScan(scan):
            return f"part of {scan.table}" if isinstance(node.op, PartScan) else scan.table
        case Exchange(place):
            return f"{place.show(lambda id: columns[id].name)}({below})"
    return f"{node.op.name}({below})"


def placed(sql: str, settings: dict[str, Any]) -> str:
    session = Session(TABLES, settings, engine=SparkEngine(nodes=16))
    explained = session.explain(sql)
    return sketch(explained.plan.root, explained.query.columns)


HASHED = {"disable": ("join_to_merge_join", "aggregate_to_streaming_aggregate")}
MERGED = {"disable": ("join_to_hash_join", "join_to_nested_loop_join", "aggregate_to_hash_aggregate")}
JOINED = "select fact.k, sum(w) from fact, other where fact.k = other.k group by fact.k"
TWICE = "with t as (select k, sum(v) s from fact group by k) select * from t a, t b where a.s = b.k"
RECURSIVE = "with recursive t(a) as (select g from dim union select a + 1 from t, dim where a = g) select * from t"


@pytest.mark.parametrize(
    ("sql", "settings", "expected"),
    [
        ("select count(*) from fact", HASHED, "final_groups(to one task(partial_groups(part of fact)))"),
        (
            "select g, sum(v) from fact group by g",
            HASHED,
            "to one task(final_groups(by hash of g(partial_groups(part of fact))))",
        ),
        (
            "select g, sum(v) from fact group by rollup (g)",
            HASHED,
            "final_groups(to one task(partial_groups(part of fact)))",
        ),
        (
            "select g, count(distinct v) from fact group by rollup (g)",
            HASHED,
            "hash_grouping_sets(to one task(part of fact))",
        ),
        (
            "select count(*) from fact, dim where fact.g = dim.g",
            HASHED,
            "final_groups(to one task(partial_groups(hash_join(final_groups(by hash of g(partial_groups(part of fact))), dim))))",
        ),
        (
            "select * from fact, other where fact.k = other.k",
            HASHED,
            "to one task(hash_join(by hash of k(part of fact), by hash of k(part of other)))",
        ),
        (
            JOINED,
            HASHED,
            "to one task(hash_aggregate(hash_join(by hash of k(part of other), hash_aggregate(by hash of k(part of fact)))))",
        ),
        (
            JOINED,
            MERGED,
            "to one task(streaming_aggregate("
            "merge_join(streaming_aggregate(sort(by hash of k(part of fact))), sort(by hash of k(part of other)))))",
        ),
        ("select count(*) from dim group by n", HASHED, "hash_aggregate(dim)"),  # no task is worth its start
        (
            "select count(*) from fact join dim on fact.g = dim.g join (select n, max(g) from dim group by n) m on m.n = dim.n",
            HASHED,
            "final_groups(to one task(partial_groups(hash_join("
            "hash_join(final_groups(by hash of g(partial_groups(part of fact))), dim), hash_aggregate(dim)))))",
        ),
        ("select * from fact left join dim on fact.g = dim.g", HASHED, "to one task(hash_join(part of fact, dim))"),
        (
            "select * from dim left join fact on fact.g = dim.g",
            HASHED,
            "to one task(hash_join(by hash of g(part of fact), by hash of g(part of dim)))",
        ),
        (
            "select * from dim full join fact on fact.g = dim.g",
            HASHED,
            "to one task(hash_join(by hash of g(part of fact), by hash of g(part of dim)))",
        ),
        ("select * from fact where g not in (select g from dim)", HASHED, "to one task(hash_join(part of fact, dim))"),
        (
            "select * from dim where g not in (select g from fact)",
            HASHED,
            "to one task(hash_join(part of dim, to every task(part of fact)))",
        ),
        (
            "select *, row_number() over (partition by g order by v) from fact",
            HASHED,
            "to one task(window_rows(sort(by hash of g(part of fact))))",
        ),
        ("select *, row_number() over (order by n) from dim", HASHED, "window_rows(sort(dim))"),
        ("select * from fact order by v limit 10", HASHED, "top_k(to one task(top_k(part of fact)))"),
        (
            "select * from (select * from fact order by v limit 10) t, dim where t.g = dim.g",
            HASHED,
            "hash_join(dim, top_k(to one task(top_k(part of fact))))",
        ),
        ("select * from fact order by v", HASHED, "sort(to one task(part of fact))"),
        ("select * from fact union all select * from fact", HASHED, "to one task(union_all(part of fact, part of fact))"),
        (
            "select k from fact intersect select k from other",
            HASHED,
            "to one task(hash_set_op(by hash of k(part of fact), by hash of k(part of other)))",
        ),
        (
            "select * from fact join (select * from dim where random() < 0.5) d on fact.g = d.g",
            HASHED,
            "to one task(hash_join(part of fact, to every task(part of dim)))",
        ),
        (
            "select * from fact join (values (1), (2)) t(a) on g = a",
            HASHED,
            "to one task(hash_join(part of fact, constant_rows()))",
        ),
        (
            TWICE,
            {"ctes": "spool", **HASHED},
            "to one task(with_spools(fill_spool(kept where they are made(hash_aggregate(by hash of k(part of fact)))), "
            "hash_join(read_spool(), to every task(read_spool()))))",
        ),
        (
            RECURSIVE,
            HASHED,
            "with_spools(fill_spool(kept where they are made("
            "recurse(fill_spool(dim), hash_join(dim, read_spool())))), read_spool())",
        ),
        (
            "select g, (select sum(w) from other where other.k = dim.g and w > n) from dim",
            {"decorrelate": "none"},
            "nested_apply(dim, hash_aggregate(range_lookup(sort(other))))",
        ),
    ],
)
def test_exchanges(sql: str, settings: dict[str, Any], expected: str) -> None:
    assert placed(sql, settings) == expected
