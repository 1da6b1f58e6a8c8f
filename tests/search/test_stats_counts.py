"""STATS-CEB: real data with skew and NULLs, and published counts of what its queries join."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import experiments.workloads
from executor.counting.counter import RowCounter
from experiments.sub_plans import SubPlans
from experiments.workloads.data import open_data
from experiments.workloads.queries import resolve_sql
from optimizer.catalog.table import Catalog
from optimizer.stats.true import TrueRows
from planscope import Estimator, Optimizer, Session, Settings, row_counter
from tests.conftest import quick_and_slow

CARDINALITIES = Path(experiments.workloads.__file__).parent / "stats" / "true_cardinalities.parquet"
WITHOUT_ROWS = {"c", "ph"}
WHOLE = "foreign_key_join_remove"  # else relations disappear
EAGER = ("aggregate_push_join", "aggregate_split_join", "aggregate_pull_join")  # else joins of groups are asked for, too


@cache
def published() -> dict[str, list[tuple[frozenset[str], int]]]:
    """(aliases, rows) by query."""
    found = defaultdict(list)
    for row in pq.read_table(CARDINALITIES).to_pylist():
        found[row["query"]].append((frozenset(row["aliases"]), row["cardinality"]))
    return dict(sorted(found.items()))


@pytest.fixture(scope="module")
def stats() -> Catalog:
    return open_data("stats")


@pytest.fixture(scope="module")
def counter(stats: Catalog) -> RowCounter:
    """Counts without what was kept of earlier ones."""
    return RowCounter(row_counter(stats)._run)


@pytest.mark.parametrize(("step", "exact"), quick_and_slow([(24, 55)], [(1, 1105)]))
def test_true_counts(stats: Catalog, counter: RowCounter, step: int, exact: int) -> None:
    compared = 0
    for name in list(published())[::step]:
        with_rows = [(aliases, rows) for aliases, rows in published()[name] if not aliases & WITHOUT_ROWS]
        estimator: Callable[..., Estimator] = lambda catalog, columns: TrueRows(catalog, columns, counter)  # noqa: E731
        query = Optimizer(stats, Settings(disable=(WHOLE,)), estimator=estimator).optimize(resolve_sql(f"stats/{name}"))
        sub_plans = SubPlans(query)
        assert {aliases: sub_plans.rows(aliases) for aliases, _ in with_rows} == dict(with_rows), name
        compared += len(with_rows)
    assert compared == exact


@pytest.mark.parametrize("step", quick_and_slow([6], [1]))
def test_injected_cardinalities_are_all_that_queries_need(stats: Catalog, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **kwargs: object) -> float:
        raise AssertionError("asked for an estimate")

    for method in ("inner_region", "region", "_scan"):
        monkeypatch.setattr(Estimator, method, refused)
    for module in ("estimator", "filtered", "region"):
        monkeypatch.setattr(f"optimizer.stats.{module}.selectivity", refused, raising=False)
        monkeypatch.setattr(f"optimizer.stats.{module}.conjunction_selectivity", refused, raising=False)
    for name in list(published())[::step]:
        settings = Settings(estimator="injected", injected=f"{CARDINALITIES}:{name}", disable=(WHOLE, *EAGER))
        query = Session(stats, settings).optimize(resolve_sql(f"stats/{name}"))
        known = {rows for _, rows in published()[name]}
        joins = [node for node in query.plan.walk() if node.op.name.endswith("_join")]
        assert all(node.rows in known for node in joins)
        assert joins[0].rows == dict(published()[name])[max((aliases for aliases, _ in published()[name]), key=len)]
