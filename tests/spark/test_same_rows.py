"""A plan in many tasks gives the rows that it gives in one process: TPC-H, TPC-DS, and random queries with DuckDB beside."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from executor.session import Session
from experiments.workloads.data import open_data
from experiments.workloads.queries import built_in_queries, resolve_sql
from optimizer.catalog.table import Catalog
from optimizer.errors import NoPlan
from tests.conftest import quick_and_slow
from tests.differential.datasets import dataset
from tests.differential.engines import Engines
from tests.differential.test_random_queries import ANY_WAY, STATEMENTS, TWICE_THE_SAME, try_queries
from tests.reference.compare import assert_result, rows_of
from tests.spark.conftest import copied
from tests.spark.tasks import Tasks, in_row_groups

TPCH = [query.name for query in built_in_queries() if query.name.startswith("tpch/")]
TPCDS = [query.name for query in built_in_queries() if query.name.startswith("tpcds/")]
QUERIES = st.one_of(STATEMENTS, STATEMENTS, TWICE_THE_SAME)


def assert_same(catalog: Catalog, name: str, settings: dict[str, Any], engine: Tasks) -> None:
    sql = resolve_sql(name)
    one = Session(catalog, settings).sql(sql).table
    many = Session(catalog, settings, engine=engine).sql(sql)
    assert many.table.schema == one.schema
    assert_result(rows_of(one), rows_of(many.table), ())
    order = [key.column for key in many.explanation.query.order]
    keys = [i for i, output in enumerate(many.explanation.query.outputs) if output.id in order]
    assert [[row[i] for i in keys] for row in rows_of(many.table)] == [[row[i] for i in keys] for row in rows_of(one)]


@pytest.mark.parametrize("name", TPCH)
def test_tpch(shared_tpch: Catalog, name: str) -> None:
    assert_same(shared_tpch, name, {"cost_model": "spark"}, Tasks(3, seed=TPCH.index(name)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"decorrelate": "none"}, {"cost_model": "arrow", "common_parts": "always"}, {"disable": ("join_to_hash_join",)}],
    ids=lambda each: "-".join(each),
)
@pytest.mark.parametrize("name", TPCH)
def test_tpch_by_other_plans(shared_tpch: Catalog, name: str, settings: dict[str, Any]) -> None:
    assert_same(shared_tpch, name, {"cost_model": "spark", **settings}, Tasks(5, seed=TPCH.index(name) + 100))


@pytest.fixture(scope="module")
def shared_tpcds(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return copied(open_data("tpcds:0.01"), tmp_path_factory.mktemp("tpcds"))


@pytest.mark.slow
@pytest.mark.parametrize("name", TPCDS)
def test_tpcds(shared_tpcds: Catalog, name: str) -> None:
    assert_same(shared_tpcds, name, {"cost_model": "spark"}, Tasks(4, seed=TPCDS.index(name)))


class InTasks(Engines):
    """The same with planscope's plans in so many tasks, as the number of the dataset says, at any costs."""

    def __init__(self, data: Any, index: int) -> None:
        super().__init__(data._replace(folder=in_row_groups(data.folder, 5)))
        self._tasks = 1 + index % 5

    def optimized(self, sql: str, settings: dict[str, Any]) -> pa.Table:
        engine = Tasks(self._tasks, seed=len(sql))
        try:
            return Session(self.catalog, settings, engine=engine).sql(sql).table
        except NoPlan:
            return Session(self.catalog, engine=engine).sql(sql).table


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Engines]:
    root: Path = tmp_path_factory.mktemp("in_tasks")
    return functools.cache(lambda index: InTasks(dataset(root, index), index))


@pytest.mark.parametrize(("seed_number", "count"), quick_and_slow([(4000, 40)], [(4001 + part, 400) for part in range(5)]))
def test_random_queries(pool: Callable[[int], Engines], seed_number: int, count: int) -> None:
    try_queries(pool, seed_number, count, QUERIES, ANY_WAY)
