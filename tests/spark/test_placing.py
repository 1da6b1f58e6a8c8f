"""Where exchanges stand: what moves, what is read by every task, and what works in two steps."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from executor.spark.operators import Exchange, PartScan
from optimizer.algebra import Columns, FilterRows, PlanNode, ProjectRows, TableScan
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from planscope import Session, SparkEngine
from tests.cases import Case, params, read


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


SETTINGS: dict[str, dict[str, Any]] = {
    "hashed": {"disable": ("join_to_merge_join", "aggregate_to_streaming_aggregate")},
    "merged": {"disable": ("join_to_hash_join", "join_to_nested_loop_join", "aggregate_to_hash_aggregate")},
    "spooled": {"ctes": "spool", "disable": ("join_to_merge_join", "aggregate_to_streaming_aggregate")},
    "applied": {"decorrelate": "none"},
}


@pytest.mark.parametrize("case", params(read(Path(__file__).with_name("placing.cases"), *SETTINGS)))
def test_exchanges(case: Case) -> None:
    (name,) = set(case.marks) - {"="} or {"hashed"}
    assert placed(case.sql, SETTINGS[name]) == " ".join(case.marks["="].split())
