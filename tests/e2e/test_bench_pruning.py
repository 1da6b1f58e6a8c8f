"""planscope bench pruning: what is measured, modes that have to agree, and audits that have to pass."""

import pyarrow.csv as pacsv
import pytest

from experiments.bench import pruning
from experiments.bench.experiment import Options
from experiments.bench.pruning_report import FACTORS, MODES
from optimizer.search import region_start
from optimizer.search.tasks import optimize_inputs
from tests.e2e.conftest import rows_of
from tests.search.mutations import plant, too_high

HERE = ("-q",)
pytestmark = pytest.mark.usefixtures("measured_here")


@pytest.mark.slow
def test_every_mode_finds_the_same_cost_and_pruning_saves_work(planscope, tmp_path):
    done = planscope("bench", "pruning", "star/5", "job/1a", *HERE, "-o", str(tmp_path))
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 120 and "columns more, kept with -o" in done.out
    assert "2 queries" in done.out and "the largest relative difference of their costs is" in " ".join(done.out.split())
    rows = rows_of(tmp_path)
    for query in ("star/5", "job/1a"):
        of = {row["mode"]: row for row in rows if row["query"] == query}
        assert tuple(of) == MODES
        assert len({round(row["cost"], 6) for row in of.values()}) == 1
        assert all(row["proven"] and "audited" not in row for row in of.values())
        none, best = of["none"], of["both+best"]
        assert none["skipped"] == none["group_bound"] == none["limit"] == 0 < none["bindings"]
        assert best["costed"] * 5 < none["costed"] and best["goals_opened"] < none["goals_opened"] and best["group_bound"] > 0
        assert none["task_OptimizeGroup"] > best["task_OptimizeGroup"] > 0
        assert (
            none["anytime_cost"][-1] == none["cost"] == min(none["anytime_cost"]) and none["anytime_tasks"][-1] == none["tasks"]
        )
        assert [row["dominated"] > 0 for row in of.values()] == [mode not in ("none", "upper") for mode in of]
    last = done.out[done.out.index("All items") :].splitlines()
    head = next(line for line in last if line.startswith("query"))
    assert " ".join(head.split()).startswith("query mode data costed tasks ms search cost ")
    savings = pacsv.read_csv(tmp_path / "figures/saving_by_relations.csv").to_pylist()
    assert {(point["panel"], point["x"]) for point in savings} == {("star", 5), ("job", 5)}
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<svg") == 4 and "saving, mean" in page


@pytest.mark.slow
def test_counts_are_the_same_for_equal_seeds(tmp_path, planscope, monkeypatch):
    """Whatever process measures them; another seed is another order of rules, with the same cost."""
    counts = {}
    for name, jobs in (("a", "1"), ("b", "2")):
        folder = tmp_path / name
        arguments = ("cycle/4", "--modes", "both,none", "--searches", "rules", "--seeds", "2", "--timeout", "600", "--jobs", jobs)
        assert planscope("bench", "pruning", *arguments, "-q", "-o", str(folder)).code == 0
        monkeypatch.undo()  # the second run is in processes of its own
        timed = ("ms_", "item_", "peak_mb", "rss_mb", "attempts")
        counts[name] = [{key: value for key, value in row.items() if not key.startswith(timed)} for row in rows_of(folder)]
    assert counts["a"] == counts["b"] and len(counts["a"]) == 4
    assert len({round(row["cost"], 6) for row in counts["a"]}) == 1


@pytest.mark.slow
def test_factors_are_compared(planscope, tmp_path):
    chosen = ("--searches", "branch,rules,left_deep,table", "--cost-models", "arrow,c_out", "--orders", "none,key")
    done = planscope("bench", "pruning", "chain/4", "--modes", "both+best,none", *chosen, *HERE, "-o", str(tmp_path))
    assert done.code == 0
    assert len(rows_of(tmp_path)) == 2 * 4 * 2 * 2
    for title in ("By search", "By cost model", "By order"):
        assert title in done.out
    assert "By driver" not in done.out


@pytest.mark.slow
def test_an_audit_says_how_many_skips_it_checked(planscope, tmp_path):
    done = planscope("bench", "pruning", "cycle/4", "--audit", *HERE, "-o", str(tmp_path))
    assert done.code == 0
    audited = {row["mode"]: row["audited"] for row in rows_of(tmp_path)}
    assert [mode for mode, count in audited.items() if not count] == ["none", "dominance"]
    assert f"The audit compared {sum(audited.values()):,} skips with the true optima; all are sound." in " ".join(
        done.out.split()
    )


def test_queries_over_data_and_other_settings(planscope, tpch, tmp_path):
    joined = "o_custkey = c_custkey and c_nationkey = n_nationkey"
    (tmp_path / "mine.sql").write_text(f"select o_totalprice, c_name, n_name from orders, customer, nation where {joined}")
    other = ("-d", "tpch:0.01", "--set", "ctes=inline", "--searches", "rules", "--modes", "none,both", "--audit")
    done = planscope("bench", "pruning", str(tmp_path / "mine.sql"), *other, *HERE, "-o", str(tmp_path / "out"))
    assert done.code == 0
    rows = rows_of(tmp_path / "out")
    assert {(row["query"], row["data"], row["pairs"]) for row in rows} == {("mine", "tpch:0.01", "ctes=inline")}
    assert [row["mode"] for row in rows] == ["none", "both"]
    assert rows[0]["cost"] == pytest.approx(rows[1]["cost"]) and rows[1]["audited"] > rows[0]["audited"] == 0


@pytest.mark.parametrize(("words", "said"), [((), True), (("--cost-models", "mine"), False)])
def test_a_cost_model_of_a_plug_in_that_no_item_uses_is_told(planscope, tmp_path, words, said):
    file = tmp_path / "mine.py"
    file.write_text(
        "from optimizer.cost.c_out import COut\nfrom planscope.plugin import cost_model\n"
        "@cost_model\nclass Mine(COut):\n    name = 'mine'\n"
    )
    done = planscope("bench", "pruning", "chain/3", "--modes", "both", "--plugin", str(file), *words)
    assert done.code == 0 and ("--cost-models mine does" in done.err) == said


def test_where_nothing_can_be_compared_nothing_is_said_of_it(planscope):
    done = planscope("bench", "pruning", "steinbrunn_chain/4/1", "--modes", "both", *HERE)
    assert done.code == 0 and "1 item of 1 query." in done.out and "were compared" not in done.out


def test_the_large_preset_has_cliques_and_stars_in_all_modes():
    found = pruning.items(Options(modes=MODES, own={"preset": "large"}))
    graphs = {item["query"] for item in found}
    assert {"clique/8", "clique/12", "star/8", "star/14"} < graphs and len(found) == len(graphs) * len(MODES) == 96


def test_what_is_measured_when_no_query_is_named():
    everything = pruning.items(Options(data=None, modes=MODES, quick=True))
    assert {item["query"] for item in everything} >= set(pruning.QUICK)
    usual = {name: values[0] for name, values in FACTORS.items()}
    for factor, values in FACTORS.items():
        for value in values:
            wanted = {**usual, factor: value}
            assert any(wanted.items() <= item.items() for item in everything)
    tpch = pruning.items(Options(data="tpch:0.01", modes=("none",), quick=True))
    assert {item["query"] for item in tpch} >= {"tpch/q03"}


def test_an_unsound_skip_is_a_bug(planscope, monkeypatch, tmp_path):
    """The audit finds it even where the plan is still the cheapest; the message names query, mode, goal and numbers."""
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    plant((region_start, "set_bound", too_high(1.4)), monkeypatch)
    refused = planscope("bench", "pruning", "star/5", "--modes", "lower", *HERE)
    assert refused.code == 1 and "says to be the least" in refused.err, "the search sees a part of such bounds by itself"
    monkeypatch.setattr(optimize_inputs, "ALMOST", 0.0)
    done = planscope("bench", "pruning", "star/5", "--modes", "lower", "--audit", *HERE)
    assert done.code == 1
    assert "star/5, mode lower, search branch: " in done.err and "UNSOUND" in done.err
    assert "costs less than was proved" in done.err


def test_modes_that_disagree_are_a_bug(planscope, monkeypatch, tmp_path):
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    plant((region_start, "set_bound", too_high(4)), monkeypatch)
    monkeypatch.setattr(optimize_inputs, "ALMOST", 0.0)
    done = planscope("bench", "pruning", "cycle/5", "--modes", "none,lower", *HERE)
    assert done.code == 1
    assert "cycle/5 lower branch" in done.err and "finds a plan of cost" in done.err and "cycle/5 none branch" in done.err
