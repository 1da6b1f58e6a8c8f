"""planscope bench pruning: tables, files, modes that have to agree, and audits that have to pass."""

from __future__ import annotations

import csv
import json

import pytest

from experiments import pruning
from optimizer.search import region_start
from tests.search.mutations import plant, too_high


def test_tables_and_files(planscope, tmp_path):
    folder = tmp_path / "new" / "results"
    done = planscope("bench", "pruning", "star/6", "clique/5", "job/1a", "-o", str(folder))
    assert done.code == 0
    titles = [line for line in done.out.splitlines() if " relations, " in line]
    assert titles == [f"{query} relations, regions of joins: tasks" for query in ("star/6: 6", "clique/5: 5", "job/1a: 5")]
    assert done.err.splitlines()[:3] == ["star/6", "clique/5", "job/1a"]
    records = json.loads((folder / "pruning.json").read_text("utf-8"))
    with (folder / "pruning.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [{name: "" if value is None else str(value) for name, value in record.items()} for record in records] == rows
    for query in ("star/6", "clique/5", "job/1a"):
        of = {(r["pruning"], r["seed"]): r for r in records if r["query"] == query}
        assert tuple(of) == pruning.MODES
        assert len({round(r["cost"], 6) for r in of.values()}) == 1
        assert all(r["proven"] and r["audited"] is None and r["ms"] > 0 for r in of.values())
        none, best = of["none", "none"], of["both", "best"]
        assert none["ratio"] == 1.0
        assert none["group_bound"] == none["predicted"] == none["accumulated"] == none["limit"] == 0
        assert best["ratio"] == pytest.approx(none["costed"] / best["costed"])
        assert best["costed"] * 5 < none["costed"]
        assert best["goals_opened"] < none["goals_opened"]
        assert best["group_bound"] > 0
        assert {r["regions"] for r in of.values()} == {"tasks"}
        assert [r["dominated"] > 0 for r in of.values()] == [mode in ("lower", "both") for mode, _ in of]


def test_an_audit_says_how_many_skips_it_checked(planscope, tmp_path):
    done = planscope("bench", "pruning", "cycle/5", "--audit", "-q", "-o", str(tmp_path))
    assert done.code == 0
    records = json.loads((tmp_path / "pruning.json").read_text("utf-8"))
    audited = {(r["pruning"], r["seed"]): r["audited"] for r in records}
    assert audited["none", "none"] == 0
    assert all(count > 0 for mode, count in audited.items() if mode != ("none", "none"))
    assert f"cycle/5: 5 relations, regions of joins: tasks, {sum(audited.values()):,} skips audited, all sound" in done.out
    assert "audited" in done.out.splitlines()[1]


def test_queries_over_data_and_other_settings(planscope, tpch):
    joined = "o_custkey = c_custkey and c_nationkey = n_nationkey"
    sql = f"select o_totalprice, c_name, n_name from orders, customer, nation where {joined}"
    done = planscope("bench", "pruning", sql, "-d", "tpch:0.01", "--set", "enumeration=rules", "--audit", "-q")
    assert done.code == 0
    assert f"{sql}: 3 relations" in done.out


def test_the_default_queries():
    assert pruning.default_queries(None) == (*pruning.GRAPHS, *pruning.JOB)
    assert pruning.GRAPHS == ("chain/8", "star/8", "clique/6")
    assert pruning.default_queries("tpch:0.01") == pruning.TPCH


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ring/5",), 'there is no built-in query "ring/5"'),
        (("select 1",), '"select 1" needs data'),
        (("star/4", "--set", "pruning"), "is not a setting"),
        (("-d", "job"), "there are no default queries for job"),
        (("star/4", "-o", "{file}"), "cannot make folder"),
    ],
)
def test_wrong_input(planscope, tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    done = planscope("bench", "pruning", *(text.format(file=tmp_path / "file") for text in arguments))
    assert done.code == 2
    assert message in done.err


def _scale_bounds(monkeypatch, factor):
    """Bounds of relation sets that are too high."""
    sound = region_start.set_bound

    def scaled(*of_region):
        bound = sound(*of_region)
        return lambda s, rows: factor * bound(s, rows)

    monkeypatch.setattr(region_start, "set_bound", scaled)


def test_an_unsound_skip_is_a_bug(planscope, monkeypatch, tmp_path):
    """The audit finds it even where the plan is still the cheapest; the message names query, mode, goal and numbers."""
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    plant((region_start, "set_bound", too_high(1.4)), monkeypatch)
    done = planscope("bench", "pruning", "star/6", "--audit", "-q")
    assert done.code == 1
    assert "star/6, pruning=lower, seed=none: " in done.err
    assert "UNSOUND" in done.err
    assert "costs less than was proved" in done.err


def test_modes_that_disagree_are_a_bug(planscope, monkeypatch, tmp_path):
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    plant((region_start, "set_bound", too_high(4)), monkeypatch)
    done = planscope("bench", "pruning", "cycle/7", "-q")
    assert done.code == 1
    assert "cycle/7 costs " in done.err
    assert "with pruning=none, seed=none" in done.err
