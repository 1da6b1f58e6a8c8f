"""An experiment measured in Spark tasks: the rows are those of the runner here, and either goes on with the other's."""

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from experiments.bench.command import command_of
from experiments.bench.experiment import Experiment
from experiments.bench.results import Results, read_rows
from experiments.bench.runner import Limits, run
from experiments.cli import main
from tests.bench import toy
from tests.processes import PATIENCE, kill_once, start_python

TIMED = ("item_s", "item_cpu_s", "peak_mb", "rss_mb", "ms_")


def bench(*words: str) -> None:
    command_of(toy.NAME).main([*words], standalone_mode=False)


def counted(folder: Path) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if not name.startswith(TIMED)} for row in read_rows(folder).to_pylist()]


def test_rows_are_those_of_the_runner_here(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = ("fine", "refuse", "die", "a", "bb")
    monkeypatch.chdir(tmp_path)
    words = ("--modes", "plain", "--timeout", str(PATIENCE))
    bench(*queries, *words, "-o", "here", "-q")
    here = capsys.readouterr().out
    bench(*queries[:2], *words, "-o", "there", "-q", "--spark")
    capsys.readouterr()
    bench(*queries, *words, "-o", "there", "--spark")
    there = capsys.readouterr()
    assert "2 of 5 items are done already" in there.err and "3 items in 1 Spark tasks" in there.err
    rows = [[{**row, "attempts": 1} for row in counted(tmp_path / name)] for name in ("there", "here")]
    assert rows[0] == rows[1]
    statuses = {row["query"]: row["status"] for row in rows[0]}
    assert statuses == {"fine": "ok", "refuse": "error", "die": "died", "a": "ok", "bb": "ok"}
    assert here.split("items failed")[0] == there.out.split("items failed")[0], "the reports differ"
    assert not (tmp_path / "there" / "_items").exists()


@pytest.mark.slow
def test_real_counts_and_files_named_from_the_current_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop").mkdir()
    Path("shop/t.csv").write_text("a,b\n1,2\n3,4\n")
    words = ("bench", "pruning", "select x.a from t x, t y where x.a = y.b", "-d", "shop", "--modes", "none,both", "-q")
    for where in (("-o", "here"), ("-o", "there", "--spark")):
        assert main([*words, *where]) == 0
    rows = {name: counted(tmp_path / name) for name in ("here", "there")}
    assert all(row["status"] == "ok" and row["costed"] > 0 for row in rows["there"])
    assert rows["here"] == rows["there"]


def test_workers_elsewhere_need_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "pruning", "chain/3", "--quick", "--master", "spark://nowhere:1"]) == 2
    assert "name a folder with -o that the workers of spark://nowhere:1 reach" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_killed_on_spark_goes_on_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, out = tmp_path / "log", tmp_path / "out"
    monkeypatch.setenv("TOY_LOG", str(log))
    queries = [*"abcdefghijkl", "hang"]
    code = f"from experiments.bench.command import command_of; command_of({toy.NAME!r}).main()"
    options = ["--modes", "plain", "--timeout", "1000", "--master", "local[2]", "-o", str(out)]
    driver = start_python("-c", code, *queries, *options, stderr=subprocess.DEVNULL)
    kill_once(driver, lambda: log.exists() and "hang" in log.read_text().split(), "it does not get on")
    before = log.read_text().split()
    items = [{"query": query, "mode": "plain"} for query in queries[:-1]]
    results = Results(out, cast(Experiment, toy), "a command", items)
    missing = [item["query"] for item in results.missing(items)]
    run(cast(Experiment, toy), items, results, Limits(PATIENCE))
    assert log.read_text().split()[len(before) :] == missing, "what was done was done again"
    assert len(set(before) & set(missing)) <= 1, "more was lost than what was under way"
    assert Counter(row["query"] for row in results.finish(items).to_pylist()) == dict.fromkeys(queries[:-1], 2)
