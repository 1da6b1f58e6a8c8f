"""How cost models are judged: correlations by hand, the scatter plot, a small sample of real plans."""

from __future__ import annotations

import csv
import signal
from pathlib import Path

import pytest

from executor.session import Session
from experiments import cost_quality
from experiments.cost_quality import PlanRun, qualities, query_rows, sample_plans, write_results
from experiments.rank_correlation import spearman
from experiments.scatter import HEIGHT, text_scatter


@pytest.mark.parametrize(
    ("estimates", "actuals", "rho"),
    [
        ([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], 0.8207826816681233),  # with a tie, an example of SciPy's documentation
        ([1, 2, 3], [1, 4, 9], 1.0),
        ([1, 2, 3], [9, 4, 1], -1.0),
        ([1, 1, 2, 2], [3, 3, 3, 4], 1 / 3**0.5),
        ([1, 1], [1, 2], None),
        ([1], [1], None),
        ([], [], None),
    ],
)
def test_spearman(estimates: list[float], actuals: list[float], rho: float | None) -> None:
    assert spearman(estimates, actuals) == (None if rho is None else pytest.approx(rho))
    assert spearman(actuals, estimates) == (None if rho is None else pytest.approx(rho))


def run_of(query: str, ms: float, arrow: float, other: float) -> PlanRun:
    return PlanRun(query, 0, "scan", ms, 1.0 / ms, arrow, {"arrow": arrow, "other": other})


RUNS = [
    run_of("a", 1.0, 10.0, 3.0), run_of("a", 2.0, 20.0, 2.0), run_of("a", 3.0, 30.0, 1.0),
    run_of("b", 100.0, 90.0, 5.0), run_of("b", 200.0, 80.0, 6.0),
]  # fmt: skip


def test_qualities_over_all_and_within_queries() -> None:
    found = qualities(RUNS)
    assert [each.clock for each in found] == ["cpu", "elapsed"] * 3
    arrow, other, planned = found[1::2]
    assert arrow.spearman == pytest.approx(0.9) and arrow.spearman_within == pytest.approx(0.0)
    assert arrow.weighted_within == pytest.approx(0.0)
    assert other.spearman == pytest.approx(0.6) and other.weighted_within == pytest.approx(0.0)
    assert planned.spearman == arrow.spearman
    assert found[0].spearman == pytest.approx(-0.9)  # the CPU times of these runs fall where the others rise
    assert [row[:2] for row in query_rows(RUNS, "elapsed")] == [("a", "3"), ("b", "2")]
    assert query_rows(RUNS, "elapsed")[0][4] == "100.00"


def test_a_scatter_plot_of_text() -> None:
    lines = text_scatter([1.0, 1.0, 1.0, 1000.0], [2.0, 2.0, 2.0, 300.0], "x", "y")
    assert lines[0] == "y" and lines[-1].strip() == "x"
    plot = lines[1 : HEIGHT + 1]
    assert sum(line.count("·") for line in plot) == 1 and sum(line.count("+") for line in plot) == 1
    top = next(i for i, line in enumerate(plot) if "·" in line)
    low = next(i for i, line in enumerate(plot) if "+" in line)
    assert top < low and plot[top].index("·") > plot[low].index("+")
    assert "1000" in lines[-2]


def test_a_sample_is_run_costed_and_written(tpch, tmp_path: Path) -> None:
    done = sample_plans(Session(tpch), ["tpch/q03", "tpch/q12", "tpch/q06"], 9, 5.0, 30.0, 1)
    assert [run.query for run in done.runs] == ["tpch/q03"] * 3 + ["tpch/q12"] * 3
    assert list(done.skipped) == ["tpch/q06"] and not done.timed_out
    assert all(run.ms > 0 and set(run.costs) == {"arrow", "c_out", "c_mm", "spark"} for run in done.runs)
    paths = write_results(done.runs, "cpu", str(tmp_path / "out"))
    assert [path.name for path in paths] == ["costs.csv", "costs.svg", "costs.png"]
    with paths[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["rank"]) for row in rows] == [run.rank for run in done.runs]
    assert paths[1].read_text("utf-8").rstrip().endswith("</svg>")
    assert paths[2].read_bytes().startswith(b"\x89PNG")


def test_plans_that_take_too_long_are_left_out(tpch, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(query, counters=None):
        while True:
            signal.pause()

    monkeypatch.setattr(cost_quality, "reader", endless)
    done = sample_plans(Session(tpch), ["tpch/q12"], 3, 5.0, 0.1, 1)
    assert done.timed_out == 3 and not done.runs
