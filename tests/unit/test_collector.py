"""The collector of reference cycles while a query is planned, and what it finds afterwards: nothing."""

import gc
import weakref
from typing import Any

import pytest

from experiments.workloads.data import open_data
from experiments.workloads.queries import resolve_sql
from optimizer import collector
from optimizer.collector import collector_paused
from optimizer.errors import SqlError
from planscope import Optimizer, Settings
from tests.conftest import UNFREEZE


@pytest.mark.parametrize("on", [True, False])
def test_it_is_as_before_after_planning(on: bool) -> None:
    optimizer = Optimizer(open_data("job"))
    before = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        optimizer.optimize("select 1 as one from title")
        assert gc.isenabled() is on
        with pytest.raises(SqlError):
            optimizer.optimize("select nothing from nowhere")
        assert gc.isenabled() is on
    finally:
        (gc.enable if before else gc.disable)()


def test_it_is_off_meanwhile() -> None:
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize(
    "query",
    ["tpch/q04", "tpch/q05", "tpch/q21", "tpch/q22", "job/17e", "tpcds/q04", "tpcds/q14", "tpcds/q61", "tpcds/q77", "tpcds/q95"],
)
def test_a_query_that_is_dropped_is_freed_at_once(query: str) -> None:
    assert _left_of(query, Settings()) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"driver": "iterative"}, {"exploration": "interleaved"}, {"exploration": "on_demand"},
        {"region": "tasks", "partitioner": "branch"}, {"enumeration": "left_deep"}, {"enumeration": "rules"},
        {"pruning": "none", "decorrelate": "cost"}, {"budget_tasks": 10},
    ],
    ids=str,
)  # fmt: skip
def test_whatever_the_settings(settings: dict[str, Any]) -> None:
    assert _left_of("tpch/q05", Settings(**settings)) == []
    assert _left_of("tpch/q21", Settings(**settings)) == []


def _left_of(query: str, settings: Settings) -> list[str]:
    """The types of what is left of a planned query in reference cycles."""
    optimizer = Optimizer(open_data("job" if query.startswith("job") else f"{query.partition('/')[0]}:0.01"), settings)
    sql = resolve_sql(query)
    optimizer.optimize(sql)  # fills what is kept for later queries
    gc.collect()
    gc.disable()
    try:
        optimizer.optimize(sql)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return sorted(type(each).__name__ for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


class _Loop:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_the_cycles_of_others_are_found_sometimes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "unfreeze", UNFREEZE)
    loop = weakref.ref(_Loop())
    for _ in range(collector.EVERY):
        with collector_paused():
            pass
    assert loop() is None
