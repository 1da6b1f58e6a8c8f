"""planscope bench estimates and bench quality: tables, files, figures that add up, bad input."""

from __future__ import annotations

import csv
import json

import pytest

from experiments import duckdb_estimates, estimates, plan_quality


@pytest.fixture(scope="module", autouse=True)
def few_queries(request: pytest.FixtureRequest):
    """Ten queries of each workload, among them some whose tables all have rows."""
    patch = pytest.MonkeyPatch()
    whole = estimates.true_cardinalities

    def some(workload: str):
        return dict(list(whole(workload).items())[:10])

    patch.setattr(estimates, "true_cardinalities", some)
    patch.setattr(plan_quality, "true_cardinalities", some)
    yield
    patch.undo()


def test_tables_and_files(planscope, tmp_path):
    folder = tmp_path / "new"
    done = planscope("bench", "estimates", "stats", "job_light", "--worst", "2", "-o", str(folder))
    assert done.code == 0
    assert "stats: q-errors of sub-plans whose tables have rows" in done.out
    assert "job_light is planned from published statistics" in done.out
    assert done.err.splitlines()[-4:] == [f"wrote {folder / name}" for name in (
        "estimates.csv", "estimates.json", "estimates.md", "estimates_sub_plans.csv")]  # fmt: skip
    with (folder / "estimates_sub_plans.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = json.loads((folder / "estimates.json").read_text("utf-8"))
    with (folder / "estimates.csv").open(encoding="utf-8", newline="") as file:
        assert [{k: str(v) for k, v in each.items()} for each in found] == list(csv.DictReader(file))
    assert {each["estimator"] for each in found} == {"histogram", "system_r", "upper_bound", "duckdb"}
    for each in found:
        own = [
            row for row in rows
            if (row["workload"], row["estimator"]) == (each["workload"], each["estimator"])
            and (each["scope"] == "all" or row["with_rows"] == "True")
            and each["relations"] in (0, int(row["relations"]))
        ]  # fmt: skip
        errors = sorted(float(row["q_error"]) for row in own)
        assert each["sub_plans"] == len(own)
        assert 1 <= errors[0] <= each["median"] <= each["p90"] <= each["p95"] <= each["p99"] <= each["max"] == errors[-1]
        if each["estimator"] == "upper_bound":
            assert each["under"] == 0.0
    assert "| estimator | sub-plans |" in (folder / "estimates.md").read_text("utf-8")


def test_q_errors():
    def row(estimate, true):
        return estimates.SubPlan("w", "w/1", "a+b", 2, "e", estimate, true, False)

    assert row(50.0, 100).q_error == row(200.0, 100).q_error == 2.0
    assert row(0.001, 0).q_error == row(0.3, 1).q_error == 1.0  # fewer rows than one count as one
    assert row(0.5, 10).q_error == 10.0
    assert row(9.0, 10).under and not row(10.0 - 1e-12, 10).under and not row(0.0, 1).under


def test_without_duckdb(planscope, monkeypatch):
    def missing(catalog):
        raise ImportError("duckdb")

    monkeypatch.setattr(estimates, "DuckDBEstimates", missing)
    done = planscope("bench", "estimates", "stats", "--estimators", "system_r", "-q")
    assert done.code == 0 and done.err == ""
    assert duckdb_estimates.MISSING in done.out and "duckdb  " not in done.out


def test_plan_quality(planscope, tmp_path):
    done = planscope("bench", "quality", "stats", "job_m", "--estimators", "histogram,upper_bound", "-o", str(tmp_path))
    assert done.code == 0
    assert "job_m: rows of single relations were not published" in done.out
    found = json.loads((tmp_path / "plan_quality.json").read_text("utf-8"))
    assert len(found) == 8  # two workloads, cost models and estimators
    for each in found:
        assert each["queries"] == 10 and 1.0 <= each["geometric_mean"] <= each["max"]
        assert 1.0 <= each["median"] <= each["p90"] <= each["max"]
    with (tmp_path / "plan_quality_queries.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 80 and all(float(row["cost"]) >= float(row["best"]) * (1 - 1e-6) for row in rows)
    assert "| c_out | histogram |" in (tmp_path / "plan_quality.md").read_text("utf-8")


def test_plan_quality_counts_empty_plans_as_one():
    def ratio(cost, best):
        return plan_quality.Quality("w", "w/1", "c_out", "e", 3, cost, best).ratio

    assert ratio(0.0, 0.0) == 1.0 and ratio(20.0, 0.0) == 20.0 and ratio(30.0, 10.0) == 3.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("estimates", "tpch"), 'no true cardinalities are known for "tpch"'),
        (("estimates", "stats", "--estimators", "nothing:Such"), "there is no module"),
        (("quality", "job"), 'no true cardinalities are known for "job"'),
        (("quality", "stats", "--cost-models", "guess"), 'setting cost_model cannot be "guess"'),
        (("estimates", "stats", "--set", "speed=9"), 'unknown setting "speed"'),
    ],
)
def test_bad_input(planscope, monkeypatch, arguments, message):
    from experiments.workloads.true_cardinalities import true_cardinalities

    monkeypatch.setattr(estimates, "true_cardinalities", true_cardinalities)
    monkeypatch.setattr(plan_quality, "true_cardinalities", true_cardinalities)
    done = planscope("bench", *arguments, "-q")
    assert done.code == 2 and message in done.err and not done.out
