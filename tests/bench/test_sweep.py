"""A sweep of a pipeline's file as an experiment: the items and figures of the pipeline, without Spark."""

import pyarrow as pa
import pytest

from experiments.bench import sweep
from experiments.bench.command import command_of
from experiments.bench.compare import compare
from experiments.bench.experiment import Options
from experiments.bench.results import read_rows
from experiments.pipeline.sweep.measure import measure
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep
from optimizer.errors import PlanscopeError

SPEC = """
[sweep]
queries = ["chain/3..4", {query = "select to1 from chain_3_r0 tablesample (1 rows)", name = "unsupported", data = "joingraph"}]
seeds = [0, 5]
[sweep.settings]
pruning = ["none", "both"]
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return str(path)


def _run(spec, folder, *words):
    command_of("sweep").main([spec, "--timeout", "0", "-q", "-o", str(folder), *words], standalone_mode=False)
    return read_rows(folder).to_pylist()


def test_the_figures_are_those_of_the_pipeline(spec, tmp_path, capsys):
    rows = _run(spec, tmp_path / "out")
    plan = plan_sweep(SweepSpec(["chain/3..4"], settings={"pruning": ["none", "both"]}, seeds=[0, 5]), code="test")
    assert [(row["query"], row["variant"], row["seed"]) for row in rows[:8]] == [
        (item["query"], item["variant"], item["seed"]) for item in plan.items
    ]
    for row, item in zip(rows, plan.items, strict=False):
        [expected] = measure(item)
        assert (row["costed"], row["cost"], row["groups"]) == (expected["costed"], expected["cost"], expected["groups"])
    assert [row["status"] for row in rows] == ["ok"] * 8 + ["error"] * 4
    shown = capsys.readouterr().out
    assert "4 items failed" in shown and "pruning=both" in shown
    [section] = sweep.report(read_rows(tmp_path / "out"))
    assert section.tables[0].caption.startswith("`_ratio`: to pruning=none with")
    [other] = sweep.report(read_rows(tmp_path / "out").take(list(range(11, -1, -1))))  # measured in another order
    assert other.tables[0].data.to_pylist() == section.tables[0].data.to_pylist()[::-1]
    none, both = section.tables[0].data.to_pylist()
    assert (none["costed_ratio"], none["failed"]) == (1.0, 2) and both["costed_ratio"] < 1.0 and both["cost_ratio"] == 1.0


def test_costs_in_other_units_are_not_compared(tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text('[sweep]\nqueries = ["chain/3"]\n[sweep.settings]\ncost_model = ["arrow", "c_out"]\n')
    [section] = sweep.report(pa.Table.from_pylist(_run(str(spec), tmp_path / "out")))
    arrow, c_out = section.tables[0].data.to_pylist()
    assert arrow["cost_ratio"] == 1.0 and c_out["cost_ratio"] is None and c_out["tasks_ratio"] is not None


@pytest.mark.slow
def test_runs_of_a_file_are_compared(spec, tmp_path):
    whole, quick = tmp_path / "whole", tmp_path / "quick"
    assert (len(_run(spec, whole)), len(_run(spec, quick, "--quick"))) == (12, 6)
    changes, *_ = compare(whole, quick)
    assert "6 items in both runs, 6 in the first only" in changes.text
    assert {row["measure"]: row["changed"] for row in changes.tables[0].data.to_pylist()}["costed"] == 0


def test_a_file_that_is_no_sweep_is_refused(tmp_path):
    (tmp_path / "other.toml").write_text('[analyze]\ndata = "x"\n')
    with pytest.raises(PlanscopeError, match="has no table"):
        sweep.items(Options((str(tmp_path / "other.toml"),)))
    with pytest.raises(PlanscopeError, match="name one file"):
        sweep.items(Options())
    (tmp_path / "wrong.toml").write_text('[sweep]\nqueries = ["chain/3"]\nseed = 3\n')
    with pytest.raises(PlanscopeError, match=r"line 3: .*there is no seed here"):
        sweep.items(Options((str(tmp_path / "wrong.toml"),)))
