"""planscope bench plan: one row a workload, whose stages add up to its time. No time is looked at."""

from __future__ import annotations

import pytest

from experiments import plan_bench


@pytest.mark.parametrize("duckdb", [True, False])
def test_stages_add_up_and_a_missing_duckdb_is_left_out(duckdb, monkeypatch):
    monkeypatch.setattr(plan_bench, "QUICK_STEP", 21)  # the first and the last query
    if not duckdb:
        monkeypatch.setattr(plan_bench, "duckdb_module", lambda: None)
    (row,) = plan_bench.measure(["tpch"], 1, True, None)
    assert (row.workload, row.queries, row.slowest in ("tpch/q01", "tpch/q22")) == ("tpch", 2, True)
    assert sum(row.stages) == pytest.approx(row.ms)
    assert (row.prepare_ms is not None) == duckdb
    assert len(row.cells()) == len(plan_bench.HEAD)
