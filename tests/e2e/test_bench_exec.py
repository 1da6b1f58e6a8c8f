"""planscope bench exec: the table, the files, what is refused. No test here looks at a time."""

from __future__ import annotations

import json
import multiprocessing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.exec_bench import measure, report
from experiments.exec_bench.measure import Row


def test_planscope_beside_duckdb(planscope, tmp_path):
    done = planscope("bench", "exec", "tpch/q06", "few_groups", "-d", "tpch:0.01", "--rounds", "1", "--engines", "duckdb",
                     "-o", str(tmp_path))  # fmt: skip
    assert done.code == 0, done.err
    assert "Execution on tpch:0.01" in done.out and "planscope to duckdb, 2 queries: geometric mean" in done.out
    assert not multiprocessing.active_children()
    record = json.loads((tmp_path / "exec.json").read_text("utf-8"))
    rows = record["rows"]
    assert pq.read_table(tmp_path / "exec.parquet").to_pylist() == rows
    assert [(row["query"], row["engine"], row["rows"], row["problem"]) for row in rows] == [
        ("tpch/q06", "planscope", 1, ""), ("tpch/q06", "duckdb", 1, ""),
        ("few_groups", "planscope", 4, ""), ("few_groups", "duckdb", 4, ""),
    ]  # fmt: skip
    assert all(row["ms"] > 0 and row["cpu_ms"] >= 0 for row in rows)
    assert record["environment"]["engines"]["duckdb"] == "1.5.5"


def test_rows_that_differ_are_said(planscope):
    """Row values are compared three-valued here, two-valued by DuckDB."""
    sql = "select (1, null) = (1, null) from region where r_regionkey = 0"
    done = planscope("bench", "exec", sql, "-d", "tpch:0.01", "--rounds", "1", "-q", "--engines", "duckdb")
    assert done.code == 0 and f"{sql}, duckdb: other rows: 1 of 1 differ" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engines", "postgres"), 'no engine "postgres"'),
        (("job/1a", "-d", "job"), "statistics only"),
        (("select no_such from region", "-d", "tpch:0.01", "-q"), "no_such"),
        (("-o", "{file}"), "cannot make folder"),
    ],
)
def test_wrong_input(planscope, tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    done = planscope("bench", "exec", *(text.format(file=tmp_path / "file") for text in arguments))
    assert done.code in (1, 2) and message in done.err and "Traceback" not in done.err
    assert not multiprocessing.active_children()


def _row(query: str, engine: str, ms: float | None, ratio: float | None, problem: str = "") -> Row:
    return Row(query, engine, 1, ms, ms, 1.0, None, ratio, ratio, problem)


def test_what_an_engine_cannot_run_is_left_out_of_the_means():
    rows = [
        _row("a", "planscope", 8.0, None), _row("a", "duckdb", 2.0, 4.0),
        _row("b", "planscope", 5.0, None), _row("b", "duckdb", None, None, "refused"),
        _row("c", "planscope", 2.0, None), _row("c", "duckdb", 2.0, 1.0),
    ]  # fmt: skip
    text = report.summary(rows, "duckdb")
    assert text.startswith("planscope to duckdb, 2 queries: geometric mean 2.00 (1.00 on c to 4.00 on a;")
    assert text.endswith("of the sums 2.50")
    section = report.section(rows, "data", 1)
    assert section.rows[1][6:] == ("–", "–", "–", "–", "–") and "b, duckdb: refused" in section.notes


def test_rows_are_compared_whatever_the_types_of_numbers():
    ours = pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", None]})
    theirs = pa.table({"x": pa.array([2.0, 1.0]), "y": pa.array([None, "x"], pa.large_string())})
    assert measure._different(ours, theirs) == ""
    assert measure._different(ours, theirs.slice(1)) == "1 rows, not 2"
    assert measure._different(ours, theirs.select([0])) == "1 columns, not 2"
