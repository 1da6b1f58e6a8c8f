"""planscope bench search: tables, files, counts that do not depend on the machine. No test here looks at a time."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys

import pytest

from experiments.search_bench import graphs, job
from experiments.search_bench.graphs import GraphRow
from optimizer.errors import InternalError
from tests.e2e.conftest import ROOT
from tests.processes import PATIENCE

PAIRS = {  # unordered pairs of connected sets that together are connected
    "chain": lambda n: (n**3 - n) // 6,
    "star": lambda n: (n - 1) * 2 ** (n - 2),
    "cycle": lambda n: (n**3 - 2 * n**2 + n) // 2,
    "clique": lambda n: (3**n - 2 ** (n + 1) + 1) // 2,
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """One quick run of every part: exit code, standard output, standard error, folder of the files."""
    folder = tmp_path_factory.mktemp("bench") / "new" / "results"
    done = _start("--quick", "-o", str(folder)).communicate(timeout=PATIENCE)
    return done, folder


def _start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "experiments", "bench", "search", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=listen_to_ctrl_c
    )


def listen_to_ctrl_c() -> None:
    """What runs in the background of a shell does not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _record(folder) -> dict:
    return json.loads((folder / "search.json").read_text("utf-8"))


def test_every_part_has_a_table(quick):
    (out, err), folder = quick
    for title in (
        "Rates",
        "Join graphs",
        "Join Order Benchmark",
        "Join Order Benchmark, all queries",
        "Memory",
        "Tracing",
    ):
        assert f"\n{title}\n" in f"\n{out}", title
    assert "so all are costed by arithmetic" in out and "disable=join_to_merge_join" in out
    for head in ("pairs", "costed", "tasks", "CPU ms", "search ms", "proven", "EXPLAIN", "PREPARE", "parse", "prepass"):
        assert head in out
    assert "graphs: clique/6" in err and "Traceback" not in out + err
    assert err.splitlines()[-1] == f"wrote {folder / 'search.json'}"


def test_csv_and_json_say_the_same(quick):
    _, folder = quick
    record = _record(folder)
    assert set(record) == {"environment", "settings", "figures", "graphs", "job"}
    for name in ("figures", "graphs", "job"):
        with (folder / f"search_{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [{key: "" if value is None else str(value) for key, value in row.items()} for row in record[name]] == rows
    assert record["settings"]["exhaustive"]["pruning"] == "none"
    assert not list(folder.glob("*.part"))


def test_graphs_are_searched_as_announced(quick):
    _, folder = quick
    rows = _record(folder)["graphs"]
    assert {(row["graph"], row["search"]) for row in rows} == {
        (f"{shape}/{n}", search) for shape in PAIRS for n in (4, 6) for search in ("default", "exhaustive", "table", "rules")
    }
    for row in rows:
        every = PAIRS[row["graph"].split("/")[0]](row["relations"])
        assert row["proven"] is True
        assert row["pairs"] == every or row["search"] == "default", row
        if row["search"] in ("exhaustive", "table"):
            assert row["costed"] >= 2 * every and row["regions"] == ("tasks" if row["search"] == "exhaustive" else "table")
        assert row["search"] != "rules" or row["regions"] == ""
    both = {s: {r["graph"]: (r["pairs"], r["costed"]) for r in rows if r["search"] == s} for s in ("exhaustive", "table")}
    assert both["exhaustive"] == both["table"]


def test_figures_have_what_was_asked_for(quick):
    _, folder = quick
    found = {(figure["part"], figure["figure"]) for figure in _record(folder)["figures"]}
    assert found >= {
        ("rates", "costed join alternative"), ("rates", "task"), ("rates", "insertion"),
        ("memory", "logical multi-expression"), ("memory", "physical multi-expression"),
        ("memory", "relation set"), ("memory", "goal"), ("memory", "way"), ("memory", "peak"),
        ("job", "ratio of CPU times"), ("job", "ratio of times on the clock"), ("job", "queries not proven"),
        ("tracing", "search without a trace"), ("tracing", "search with a trace"),
    }  # fmt: skip


def test_queries_are_proven_and_beside_duckdb(quick):
    _, folder = quick
    record = _record(folder)
    assert len(record["job"]) == 10
    for row in record["job"]:
        assert row["duckdb_explain_ms"] > 0 and row["duckdb_prepare_ms"] > 0
        assert 4 <= row["relations"] <= 17 and row["pairs"] > 0
        assert row["proven"] is (row["relations"] <= 14)
    assert record["environment"]["duckdb"] == "1.5.5"


def test_without_duckdb_its_columns_are_empty(planscope, monkeypatch, tmp_path):
    monkeypatch.setattr(job, "duckdb_module", lambda: None)
    monkeypatch.setattr(job, "QUICK_STEP", 50)
    done = planscope("bench", "search", "job", "--quick", "-q", "-o", str(tmp_path))
    assert done.code == 0
    assert "pip install 'planscope[test]'" in done.out and "ratio" not in done.out
    assert {row["duckdb_explain_ms"] for row in _record(tmp_path)["job"]} == {None}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["search.json", "search_figures.csv", "search_job.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("graph",), "'graph' is not one of 'rates', 'graphs', 'job', 'memory', 'tracing'"),
        (("graphs", "-o", "{file}"), "cannot make folder"),
    ],
)
def test_wrong_input(planscope, tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    done = planscope("bench", "search", *(text.format(file=tmp_path / "file") for text in arguments))
    assert done.code == 2 and message in done.err


def test_interrupted(tmp_path):
    process = _start("graphs", "-o", str(tmp_path))
    assert process.stderr is not None
    while not process.stderr.readline().startswith("graphs: chain/"):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("error: ") and "Traceback" not in out + err
    assert not list(tmp_path.iterdir())


def _row(search: str, cost: float, relations: int = 8, proven: bool = True) -> GraphRow:
    return GraphRow(f"chain/{relations}", relations, search, "", 1, 1, 1, 1.0, 1.0, 1.0, cost, proven)


@pytest.mark.parametrize(
    ("other", "merge_joins_matter", "agree"),
    [
        (_row("exhaustive", 100.0), False, True),
        (_row("exhaustive", 100.1), False, False),
        (_row("exhaustive", 100.1), True, True),  # it has no merge joins
        (_row("exhaustive", 99.9), True, False),
        (_row("table", 100.1), False, False),
        (_row("table", 100.1), True, True),
        (_row("rules", 100.1), True, False),
        (_row("rules", 100.1, relations=4), True, True),  # it pushes no aggregates into joins
        (_row("rules", 99.9, relations=4), True, False),
        (_row("rules", 200.0, proven=False), True, True),
    ],
)
def test_searches_that_disagree_are_a_bug(other, merge_joins_matter, agree):
    rows = {"default": _row("default", 100.0, other.relations), other.search: other}
    if agree:
        graphs.check(rows, merge_joins_matter)
    else:
        with pytest.raises(InternalError, match=f"the search {other.search} finds a plan of cost"):
            graphs.check(rows, merge_joins_matter)
