"""The runner of experiments: limits, failures, what a killed run keeps, and the files of a report."""

import json
import shutil
import subprocess
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.bench import (
    code_version,
    decorrelation,
    enumeration,
    plan,
    quality,
    robustness,
    rules,
    search,
    space,
)
from experiments.bench import exec as execution
from experiments.bench.command import _command_line, command_of, report_command
from experiments.bench.inputs import input_digests
from experiments.bench.report import failed_section
from experiments.bench.results import Results, read_rows
from experiments.bench.runner import Limits, run
from experiments.bench.store import identity
from memo_viz.page_style import PAGE_STYLE
from optimizer.errors import InternalError, OutputError, PlanscopeError
from optimizer.settings import Settings
from tests.bench import toy
from tests.bench.clock import stop_clock
from tests.processes import PATIENCE, kill_once, start_python

HERE = toy.NAME


def _item(query: str, mode: str = "plain") -> dict[str, str]:
    return {"query": query, "mode": mode}


def test_an_item_that_fails_in_any_way_has_a_row_and_the_next_is_measured(tmp_path, monkeypatch):
    """The time that its data took to open is not counted."""
    stop_clock(monkeypatch, tmp_path)
    items = [_item(query) for query in ("hang", "die", "raise", "refuse", "open", "fine")]
    results = Results(tmp_path / "out", toy, "a command", items)
    run(toy, items, results, Limits(seconds=100.0))
    rows = results.finish(items).to_pylist()
    assert [(row["query"], row["status"]) for row in rows] == [
        ("hang", "timeout"), ("die", "died"), ("raise", "error"), ("refuse", "error"),
        ("open", "ok"), ("open", "ok"), ("fine", "ok"), ("fine", "ok"),
    ]  # fmt: skip
    assert rows[0]["error"] == "it took more than 100 s and was stopped"
    assert rows[1]["error"] == "its process ended with exit code 7"
    assert (rows[2]["error_kind"], rows[2]["error"]) == ("InternalError", "a bug of the toy")
    assert [row["cost"] for row in rows[4:]] == [4.0, 8.0] * 2
    assert rows[4]["peak_mb"] is None or rows[4]["peak_mb"] >= 0
    [section] = failed_section(read_rows(tmp_path / "out"))
    assert section.problems == ["InternalError: a bug of the toy"]
    assert section.title == "4 items failed"


def test_failed_items_are_told_apart_before_their_errors():
    error = "too little (least,\nlower_bound)\nraise it"
    failed = {"status": "error", "error": error, "error_kind": "BoundRefuted", "bug": True, "item_s": 1.0, "rss_mb": 1.0}
    rows = [{"item": mode, "query": "q", "seed": 0, "mode": mode, **failed} for mode in toy.MODES]
    [section] = failed_section(pa.Table.from_pylist(rows))
    assert section.tables[0].data.column_names == ["query", "mode", "status", "error_kind", "error", "item_s", "seed", "rss_mb"]
    assert section.tables[0].data["error"].to_pylist() == ["too little (least, lower_bound); raise it"] * 2


def test_an_item_may_not_take_more_memory_than_the_limit(tmp_path):
    """Also where it may take any time."""
    items = [_item("large")]
    results = Results(tmp_path, toy, "a command", items)
    run(toy, items, results, Limits(seconds=0, megabytes=300))
    [row] = results.finish(items).to_pylist()
    assert row["status"] == "memory" and row["error"].endswith("of the 300 MB allowed, and was stopped")


@pytest.mark.parametrize("limits", [Limits(0), Limits(PATIENCE, jobs=2)])
def test_rows_are_the_same_however_items_are_measured(tmp_path, limits):
    items = [_item(query, mode) for query in ("a", "bb") for mode in toy.MODES]
    results = Results(tmp_path, toy, "a command", items)
    run(toy, items, results, limits)
    rows = results.finish(items).to_pylist()
    assert [(row["query"], row["mode"], row["part"], row["cost"]) for row in rows] == [
        ("a", "plain", 1, 1.0), ("a", "plain", 2, 2.0), ("a", "wild", 1, 2.0), ("a", "wild", 2, 4.0),
        ("bb", "plain", 1, 2.0), ("bb", "plain", 2, 4.0), ("bb", "wild", 1, 4.0), ("bb", "wild", 2, 8.0),
    ]  # fmt: skip
    assert rows[0]["item"] == identity(HERE, items[0])


_PROGRAM = """
from experiments.bench.results import Results
from experiments.bench.runner import Limits, run
from experiments.bench.store import identity
from tests.bench import toy
items = [{"query": query, "mode": "plain"} for query in ("a", "b", "hang", "c")]
run(toy, items, Results(%r, toy, "a command", items), Limits(1000.0))
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path, monkeypatch):
    """What was done is not done again, and no process outlives the run."""
    log, folder = tmp_path / "log", tmp_path / "out"
    monkeypatch.setenv("TOY_LOG", str(log))
    process = start_python("-c", _PROGRAM % str(folder))
    kill_once(process, lambda: log.exists() and log.read_text().split()[-1:] == ["hang"], "the third item was never begun")
    assert sorted(row["query"] for row in read_rows(folder).to_pylist()) == ["a", "a", "b", "b"]
    said: list[str] = []
    items = [_item(query) for query in ("a", "b", "c")]
    results = Results(folder, toy, "a command", items)
    run(toy, items, results, Limits(PATIENCE), said.append)
    assert log.read_text().split() == ["a", "b", "hang", "c"]
    assert said[0] == f"{HERE}: 2 of 3 items are done already"
    assert [row["query"] for row in results.finish(items).to_pylist()] == ["a", "a", "b", "b", "c", "c"]
    assert pq.read_table(folder / "results.parquet").num_rows == 6
    assert not (folder / "_items").exists()


def test_what_was_under_way_when_a_run_was_interrupted_has_no_row(tmp_path):
    items = [_item("hang"), _item("a")]
    store = Results(tmp_path, toy, "a command", items)

    def interrupted(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(toy, items, store, Limits(PATIENCE, jobs=2), interrupted)
    assert store.missing(items) == items[:1]


def test_failed_items_are_measured_again_when_asked(tmp_path):
    """Those of the command, no others."""
    items = [_item("raise"), _item("fine"), _item("refuse")]
    results = Results(tmp_path, toy, "a command", items, retry=True)  # nothing has been measured yet
    run(toy, items, results, Limits(0))
    assert len(results.finished()) == 3
    results = Results(tmp_path, toy, "a command", items[:2], retry=True)
    assert results.finished() == {identity(HERE, item) for item in items[1:]}


def _measured(folder, item, module=toy, **given):
    """A folder with a row of the item."""
    results = Results(folder, module, "a command", [item], **given)
    results.add(item, [{"status": "ok"}])
    return results


def test_a_folder_of_other_results_is_refused(tmp_path, monkeypatch):
    _measured(tmp_path, _item("a"))
    monkeypatch.setattr("experiments.bench.results.code_digest", lambda: "other")
    with pytest.raises(PlanscopeError, match="another version of the code"):
        Results(tmp_path, toy, "a command", [])
    monkeypatch.undo()
    monkeypatch.setattr(toy, "NAME", "other")
    with pytest.raises(PlanscopeError, match=r"has results of bench tests\.bench\.toy"):
        Results(tmp_path, toy, "a command", [])
    with pytest.raises(OutputError, match="there are no results"):
        read_rows(tmp_path / "nothing")


@pytest.mark.parametrize("changed", ["plug-in mine.py", "injected file rows.csv", "query @q.sql", "dataset d"])
def test_results_of_other_inputs_are_refused(tmp_path, monkeypatch, changed):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    for name in ("mine.py", "rows.csv", "q.sql", "d/t.csv"):
        (tmp_path / name).write_text("a\n1\n")
    items = [{"query": "@q.sql", "data": "d"}]
    settings = Settings(plugins=("mine.py",), injected="rows.csv:q")

    def begin():
        return _measured(tmp_path / "out", items[0], inputs=input_digests([settings], items))

    assert begin().environment["inputs"].keys() == {"plug-in mine.py", "injected file rows.csv", "query @q.sql", "dataset d"}
    begin()
    file = {"dataset": "d/t.csv"}.get(changed.split()[0], changed.split()[-1].removeprefix("@"))
    (tmp_path / file).write_text("a\n2\n")
    with pytest.raises(PlanscopeError, match=rf"another version of {changed} \(\w{{12}}, now \w{{12}}\): name another"):
        begin()


@pytest.mark.parametrize(
    ("patched", "said"),
    [
        ("platform.python_version", r"of Python \(\w+ [\d.]+, now \w+ 0\.9\)"),
        ("importlib.metadata.version", r"of planscope \(.*, now 0\.9\), pyarrow"),
        ("experiments.bench.results._processor", r"of the processor \(.*, now 0\.9\)"),
    ],
)
def test_results_of_another_machine_are_refused_where_something_is_missing(tmp_path, monkeypatch, patched, said):
    before = _measured(tmp_path, _item("a")).environment
    monkeypatch.setattr(patched, lambda *name: "0.9")
    with pytest.raises(PlanscopeError, match=said):
        Results(tmp_path, toy, "a command", [_item("a"), _item("b")])
    with pytest.raises(PlanscopeError, match=said):
        Results(tmp_path, toy, "a command", [_item("a")], retry=True)
    assert Results(tmp_path, toy, "another", [_item("a")]).environment == {**before, "commands": ["a command", "another"]}


@pytest.mark.parametrize(
    ("module", "first", "second", "said"),
    [
        (execution, {"query": "a", "data": "d"}, {"query": "b", "data": "e"}, r"other data \(d, now e\)"),
        (execution, {"query": "a", "threads": 1}, {"query": "b", "threads": 2}, "other threads"),
        (plan, {"query": "a", "rounds": 1}, {"query": "b", "rounds": 3}, "other rounds"),
        (rules, {"query": "a", "data": "d"}, {"query": "a", "data": "e"}, "other data"),
        (rules, {"query": "a", "data": "d"}, {"query": "b", "data": "e"}, None),
        (space, {"query": "a", "plans": 100}, {"query": "b", "plans": 1000}, "other plans"),
        (space, {"query": "a", "run": False}, {"query": "a", "run": True}, "other run"),
        (robustness, {"query": "a", "points": 8}, {"query": "a", "points": 16}, "other points"),
        (robustness, {"query": "a", "points": 8}, {"query": "a", "scenarios": 10}, None),
        (decorrelation, {"form": "a", "data": "d"}, {"form": "a", "data": "e"}, "other data"),
        (quality, {"query": "a", "estimators": ["x"]}, {"query": "b", "estimators": ["x", "y"]}, "other estimators"),
        (quality, {"query": "a", "plans": False}, {"query": "a", "plans": True}, "other plans"),
        (search, {"query": "a", "runs": 1}, {"query": "b", "runs": 3}, "other runs"),
        (enumeration, {"query": "a", "max_work": 1}, {"query": "a", "max_work": 3}, "other max_work"),
    ],
)
def test_what_a_report_does_not_tell_apart_is_refused(tmp_path, module, first, second, said):
    _measured(tmp_path, first, module)
    if said is None:
        _measured(tmp_path, second, module)
        return
    with pytest.raises(PlanscopeError, match=f"has results of {said}.* name another folder with -o"):
        Results(tmp_path, module, "a command", [second])


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ({"query": "q", "sql": "select 1"}, True),
        ({"query": "select 1, 2", "sql": "select 1,  2\n, 3"}, True),
        ({"query": "select 1, 2", "sql": "select 1,\n2"}, False),
        ({"query": "tpch/q06", "sql": "select 1"}, False),
        ({"query": "tpch/q06"}, False),
        ({"form": "@~/q.sql"}, True),
    ],
)
def test_queries_whose_names_do_not_say_their_text_are_inputs(tmp_path, monkeypatch, item, named):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "q.sql").write_text("select 1")
    assert list(input_digests([], [item])) == [f"query {item.get('query') or item['form']}"] * named


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("experiments/timing.py", True), ("experiments/enumerators/dp_sub.py", True), ("experiments/bench/child.py", True),
        ("experiments/pipeline/sweep/measure.py", True), ("memo_viz/q_error.py", True), ("experiments/workloads/a/1.sql", True),
        ("experiments/workloads/stats/data/tags.parquet", True), ("experiments/commands/bench.py", False),
        ("experiments/cli.py", False), ("experiments/data_view/as_text.py", False), ("experiments/engines.py", True),
        ("experiments/pipeline/sweep/run.py", False), ("experiments/workloads/__pycache__/data.cpython-311.pyc", False),
    ],
)  # fmt: skip
def test_what_results_depend_on_is_code(tmp_path, monkeypatch, file, counts):
    digests = []
    for content in "ab":
        for name in (*code_version._FILES, file):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content if name == file else "")
        monkeypatch.setattr(code_version, "_root", lambda: tmp_path)
        digests.append(code_version.code_digest.__wrapped__())
    assert (digests[0] != digests[1]) == counts


def test_a_folder_has_one_set_of_settings_and_names_all_commands(tmp_path, capsys):
    def bench(*words):
        command_of(HERE).main([*words, "--timeout", "0", "-q", "-o", str(tmp_path)], standalone_mode=False)

    for words in (("a",), ("bb",), ("a",)):
        bench(*words)
    commands = [f"planscope bench {HERE} {query} --timeout 0" for query in ("a", "bb")]
    assert json.loads((tmp_path / "environment.json").read_text("utf-8"))["commands"] == commands
    assert f"made by <code>{'; '.join(commands)}</code>" in (tmp_path / "report.html").read_text("utf-8")
    with pytest.raises(PlanscopeError, match=r"of the settings \(default, now pruning=none\): name another folder with -o"):
        bench("a", "--set", "pruning=none")
    assert len(read_rows(tmp_path)) == 8


def test_a_command_is_kept_without_secrets():
    with command_of(HERE).make_context(HERE, ["a", "--conf", "spark.hadoop.fs.s3a.secret.key=HUSH"]):
        assert _command_line() == f"planscope bench {HERE} a --conf 'spark.hadoop.fs.s3a.secret.key=***'"


def test_the_command_writes_a_page_with_everything_in_it(tmp_path, monkeypatch, capsys):
    command_of(HERE).main([*("a", "bb"), "--timeout", "0", "-q", "-o", str(tmp_path)], standalone_mode=False)
    out = capsys.readouterr().out
    assert "A row for each part." in out
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<svg") == 1 and "Cost &amp; &lt;part&gt;" in page and "<code>toy</code>" in page
    assert 'src="' not in page and "<link" not in page and PAGE_STYLE in page
    assert "planscope bench tests.bench.toy a bb --timeout 0</code>" in page
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"cost.svg", "cost.pdf", "cost.csv"}
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"costs.csv", "costs.tex"}
    about = json.loads((tmp_path / "environment.json").read_text("utf-8"))
    clone = Path(__file__).parents[2]
    head = None
    if (clone / ".git").exists() and shutil.which("git"):
        head = subprocess.run(["git", "-C", clone, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip() or None
    assert about["commit"] in (head, f"{head}-changed")
    assert about["item_columns"] == ["query", "mode"] and about["finished"] is not None
    for name in ("report.html", "tables/failed.csv", "figures/old.svg", "tables/mine.csv"):
        (tmp_path / name).write_text("of an earlier report")
    with (tmp_path / "_report.txt").open("a") as listed:
        listed.write("tables/failed.csv\nfigures/old.svg\n../environment.json\n")
    monkeypatch.setattr("experiments.bench.command.EXPERIMENTS", (HERE,))
    report_command.main([str(tmp_path)], standalone_mode=False)
    assert (tmp_path / "report.html").read_text("utf-8") == page
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"costs.csv", "costs.tex", "mine.csv"}
    assert not (tmp_path / "figures" / "old.svg").exists()
    (tmp_path / "environment.json").write_text(json.dumps({**about, "started": "<b>", "code": "<i>"}))
    report_command.main([str(tmp_path)], standalone_mode=False)
    assert "toy a bb --timeout 0</code>, &lt;b&gt;, code &lt;i&gt;</p>" in (tmp_path / "report.html").read_text("utf-8")
    for wrong, said in (({"commands": [1]}, r"commands is \[1\]"), ({"versions": None}, "versions is None")):
        (tmp_path / "environment.json").write_text(json.dumps({**about, **wrong}))
        with pytest.raises(OutputError, match=said):
            report_command.main([str(tmp_path)], standalone_mode=False)
    (tmp_path / "environment.json").write_text(json.dumps({name: about[name] for name in ("experiment", "code", "commands")}))
    with pytest.raises(OutputError, match="it has no started"):
        report_command.main([str(tmp_path)], standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("robustness", "job/2a", "--modes", "orders"), "bench robustness: nothing to measure"),
        (("rules", "-"), "standard input can be read by one process only"),
        (("decorrelation", "@missing.sql"), "there is no file missing.sql"),
        (("plan", "-d", "tpch:1"), "No such option"),
        (("quality", "-d", "tpch:1"), "No such option"),
    ],
)
def test_what_cannot_be_measured_is_told_at_once(arguments, message):
    with pytest.raises((PlanscopeError, click.UsageError), match=message):
        command_of(arguments[0]).main([*arguments[1:], "-q"], standalone_mode=False)


def test_a_problem_fails_the_command():
    with pytest.raises(InternalError, match="a bug of the toy"):
        command_of(HERE).main(["raise", "--timeout", "0", "--modes", "wild", "-q"], standalone_mode=False)
    with pytest.raises(PlanscopeError, match='there is no mode "odd"'):
        command_of(HERE).main(["a", "--modes", "odd", "-q"], standalone_mode=False)
