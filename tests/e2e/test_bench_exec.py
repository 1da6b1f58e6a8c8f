"""planscope bench exec, plan and trace: tables, rows, what is refused. No test here looks at a time."""

import os
import threading

import pyarrow as pa
import pytest

from experiments.bench import exec as execution
from experiments.bench import plan
from experiments.bench.child import Child
from experiments.bench.experiment import Options
from tests.e2e.conftest import rows_of
from tests.processes import PATIENCE, any_alive, descendants, wait_until

pytestmark = pytest.mark.usefixtures("measured_here")


def test_planscope_beside_duckdb(planscope, tmp_path):
    before = set(descendants(os.getpid()))
    done = planscope("bench", "exec", "tpch/q06", "few_groups", "-d", "tpch:0.01", "--rounds", "1", "--engines", "duckdb",
                     "-o", str(tmp_path))  # fmt: skip
    assert done.code == 0, done.err
    assert "Execution on tpch:0.01" in done.out and "planscope to duckdb, 2 queries: geometric mean" in done.out
    assert set(descendants(os.getpid())) <= before, "an engine outlives the command"
    rows = rows_of(tmp_path)
    assert [(row["query"], row["engine"], row["rows"], row["problem"]) for row in rows] == [
        ("tpch/q06", "planscope", 1, ""), ("tpch/q06", "duckdb", 1, ""),
        ("few_groups", "planscope", 4, ""), ("few_groups", "duckdb", 4, ""),
    ]  # fmt: skip
    assert all(row["ms"] > 0 and row["cpu_ms"] >= 0 for row in rows)


@pytest.mark.slow
def test_rows_that_differ_are_said(planscope):
    """Row values are compared three-valued here, two-valued by DuckDB."""
    sql = "select (1, null) = (1, null) from region where r_regionkey = 0"
    done = planscope("bench", "exec", sql, "-d", "tpch:0.01", "--rounds", "1", "-q", "--engines", "duckdb")
    assert done.code == 0 and f"{sql}, duckdb: other rows: 1 of 1 differ" in " ".join(done.out.split())


@pytest.mark.slow
def test_a_query_that_does_not_run_is_said(planscope):
    before = set(descendants(os.getpid()))
    sql = "select no_such from region"
    done = planscope("bench", "exec", sql, "-d", "tpch:0.01", "--engines", "duckdb", "-q")
    assert done.code == 2 and "no item has a result" in done.err
    assert "1 item failed" in done.out and 'unknown column "no_such"' in " ".join(done.out.split())
    assert set(descendants(os.getpid())) <= before, "an engine outlives the command"


@pytest.mark.slow
def test_no_engine_outlives_an_item_that_is_ended():
    sql = "select count(*) from lineitem a, lineitem b, lineitem c where a.l_comment < b.l_comment and b.l_comment < c.l_comment"
    item = {"query": sql, "sql": sql, "data": "tpch:0.01", "engines": ["planscope"], "pairs": [], "threads": 1, "rounds": 1}
    child = Child("exec", PATIENCE, 0)
    threading.Thread(target=child.measure, args=(item,), daemon=True).start()
    wait_until(lambda: child._process is not None and descendants(child._process.pid), "no engine was started")
    engines = descendants(child._process.pid)
    child._process.kill()
    wait_until(lambda: not any_alive(engines), "an engine outlived its item")


@pytest.mark.slow
def test_files_that_duckdb_does_not_read_are_said(planscope, tmp_path, monkeypatch):
    with pa.ipc.new_file(tmp_path / "t.arrow", pa.schema({"a": pa.int64()})) as writer:
        writer.write_table(pa.table({"a": [1]}))
    monkeypatch.setattr("experiments.bench.exec.installed", lambda name: name != "polars")
    done = planscope("bench", "exec", "select a from t", "-d", str(tmp_path), "--rounds", "1", "-q", "--engines", "duckdb")
    text = " ".join(done.out.split())
    assert done.code == 0 and "duckdb: t is stored as arrow, which DuckDB does not read" in text and "polars" not in text


def _row(query: str, engine: str, ms: float | None, ratio: float | None, problem: str = "") -> dict:
    figures = {"rows": 1, "ms": ms, "cpu_ms": ms, "plan_ms": 1.0, "mb": None, "ratio": ratio, "cpu_ratio": ratio}
    return {"status": "ok", "query": query, "engine": engine, **figures, "problem": problem, "data": "data", "threads": 1,
            "engines": ["planscope", "duckdb", "polars"]}  # fmt: skip


def test_what_an_engine_cannot_run_is_left_out_of_the_means():
    rows = [
        _row("a", "planscope", 8.0, None), _row("a", "duckdb", 2.0, 4.0),
        _row("b", "planscope", 5.0, None), _row("b", "duckdb", None, None, "refused"),
        _row("c", "planscope", 2.0, None), _row("c", "duckdb", 2.0, 1.0),
    ]  # fmt: skip
    text = execution.summary(rows, "duckdb")
    assert text.startswith("planscope to duckdb, 2 queries: geometric mean 2.00 (1.00 on c to 4.00 on a;")
    assert text.endswith("of the sums 2.50")
    [section] = execution.report(pa.Table.from_pylist(rows))
    line = section.tables[0].data.to_pylist()[1]
    assert line["query"] == "b" and line["duckdb"] is line["ratio to duckdb"] is None and "b, duckdb: refused" in section.text
    assert "polars is not installed" in section.text


def test_queries_about_a_dataset_are_all_of_its_workload():
    assert len(execution.items(Options(data="stats"))) == 146


def test_rows_are_compared_whatever_the_types_of_numbers():
    ours = pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", None], "c": pa.array([1, 2], pa.time64("us"))})
    ours = ours.append_column("d", pa.array([(0, 1, 0), None], pa.month_day_nano_interval()))
    theirs = pa.table({"x": pa.array([2.0, 1.0]), "y": pa.array([None, "x"], pa.large_string())})
    theirs = pa.Table.from_arrays([*theirs.columns, *(column.take([1, 0]) for column in ours.columns[2:])], ["x", "y", "z", "w"])
    assert execution.different(ours, theirs) == ""
    assert execution.different(ours, theirs.slice(1)) == "1 row, not 2"
    assert execution.different(ours, theirs.select([0])) == "1 column, not 4"


@pytest.mark.parametrize("duckdb", [True, False])
def test_stages_of_planning_add_up_and_a_missing_duckdb_is_left_out(duckdb, monkeypatch, planscope, tmp_path):
    plan._duckdb.cache_clear()
    if not duckdb:
        monkeypatch.setattr(plan, "duckdb_module", lambda: None)
    done = planscope("bench", "plan", "tpch/q01", "tpch/q22", "--quick", "-o", str(tmp_path))
    plan._duckdb.cache_clear()
    assert done.code == 0 and "proven, of 14 relations or fewer: none" in done.out
    rows = rows_of(tmp_path)
    assert [row["query"] for row in rows] == ["tpch/q01", "tpch/q22"]
    for row in rows:
        assert sum(row[f"{stage}_ms"] for stage in plan.STAGES) == pytest.approx(row["ms"])
        assert (row.get("prepare_ms") is not None) == duckdb
    assert ("pip install 'planscope[test]'" in " ".join(done.out.split())) is not duckdb


def test_queries_that_fail_are_listed_beside_those_that_are_planned(planscope, tmp_path):
    order = "join_order=(lineitem part)"  # q06 does not read part
    done = planscope("bench", "plan", "tpch/q14", "tpch/q06", "--quick", "--set", order, "-o", str(tmp_path))
    assert done.code == 0 and "1 item failed" in done.out, done.err
    assert 'no relation "part"; its relations' in " ".join(done.out.split())
    rows = {row["query"]: row for row in rows_of(tmp_path)}
    assert rows["tpch/q14"]["pairs"] == 1 and rows["tpch/q06"]["status"] == "error"
    assert rows["tpch/q06"]["settings"] == [order]


@pytest.mark.slow
def test_a_trace_is_walked_through(planscope):
    done = planscope("bench", "trace", "clique/4", "-q")
    assert done.code == 0
    assert "The trace of clique/4" in done.out and "until merge" in done.out and "a step back, longest" in done.out
    assert "page, a thousand events" in done.out
    done = planscope("bench", "trace", "tpch/q05", "-q")
    assert done.code == 2 and "belongs to one dataset" in done.err
