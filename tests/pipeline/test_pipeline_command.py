"""planscope pipeline: stages in order, skipped when done, gone on with after failures; mistakes told at once."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from experiments.bench import code_version
from experiments.cli import main
from experiments.lock import hold
from experiments.pipeline.stages.run import LOCK_FILE, STATE, is_brief, pipeline_status, read_state, run_pipeline, status_text
from experiments.pipeline.stages.spec import Sweep, read_pipeline
from experiments.pipeline.sweep import spec
from experiments.pipeline.sweep.columns import COLUMNS
from experiments.pipeline.sweep.problems import SpecError
from optimizer.errors import OutputError
from tests.pipeline.conftest import lay
from tests.processes import ROOT, run_python

SPECS = sorted((ROOT / "experiments" / "specs").glob("*.toml"))


@pytest.fixture(autouse=True)
def _one_version_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the optimizer that is saved during a test does not begin a new run."""
    assert len(code_version.code_digest()) == 12
    monkeypatch.setattr(spec, "code_digest", lambda: "test")


def written(folder: Path, text: str) -> Path:
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def mistakes(folder: Path, text: str) -> str:
    with pytest.raises(SpecError) as caught:
        read_pipeline(written(folder, text))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no stage: write a table [generate], [import], [analyze], [sweep], [report]"),
        ("[sweeep]", 'spec.toml, line 1: [sweeep]: there is no stage sweeep; did you mean "sweep"?'),
        ("sweep = 3", "sweep is a table: write [sweep]"),
        ("[sweep", "is not valid TOML"),
        ('[generate]\nkind = "tcph"\nscale = 1', 'line 2: [generate] kind: there is no kind of dataset "tcph"'),
        ('[generate]\nkind = "tpch"', "line 1: [generate]: scale is missing: it is a number above 0"),
        ('[generate]\nkind = "tpch"\nscale = 1\ninto = "../x"',
         "line 4: [generate] into: into is a folder within that of the pipeline"),
        ('[import]\nsources = ["d"]\ninto = "report"', "line 3: [import] into: into is a folder within that of the pipeline"),
        ('[import]\nsources = ["d"]\ninto = "results/run=x"', "and not results or report, not 'results/run=x'"),
        ('[import]\nsources = ["d"]\ninto = "./_planscope"', "and not results or report, not './_planscope'"),
        ('[import]\nsource = ["a"]', 'there is no source here; did you mean "sources"?'),
        ('[import]\nsources = ["a"]\non_reject = "drop"', "on_reject is one of keep, fail, not 'drop'"),
        ('[generate]\nkind = "tpch"\nscale = 1\n[import]\nsources = ["a"]', "both make the folder data"),
        ('[generate]\nkind = "tpch"\nscale = 1\n[import]\nsources = ["a"]\ninto = "./data/"', "both make the folder data"),
        ('[generate]\nkind = "tpch"\nscale = 1\n[import]\nsources = ["a"]\ninto = "data/a"',
         "a dataset cannot be within another"),
        ("[analyze]", 'nothing to analyze: write data = "FOLDER", or add [generate] or [import]'),
        ('[analyze]\ndata = "x"\nsample = 3', "sample is a share from 0 to 1, not 3"),
        ('[sweep]\nqueries = ["chain/3"]\n[report]\nbasline = "x"',
         'line 4: [report] basline: there is no basline here; did you mean "baseline"?'),
    ],
)  # fmt: skip
def test_mistakes_in_the_file(tmp_path: Path, text: str, message: str) -> None:
    assert message in mistakes(tmp_path, text)


def test_mistakes_of_all_stages_are_told_together(tmp_path: Path) -> None:
    told = mistakes(tmp_path, "[generate]\nkind = 3\n[sweep]\nqueries = []\n[report]\nx = 1")
    assert told.startswith("spec.toml has 4 mistakes") and all(f"line {n}:" in told for n in (1, 2, 4, 6))
    told = mistakes(
        tmp_path,
        '[swep]\n[generat]\n[analyze]\n[sweep]\nqueries = ["chain/3"]\nsettings = {pruning = "bth"}\n[report]\nbaseline = 7',
    )
    assert told.startswith("spec.toml has 4 mistakes") and all(f"line {n}:" in told for n in (1, 2, 6, 8)) and '"bth"' in told


TPCH, FILES = '[generate]\nkind = "tpch"\nscale = 0.01\n', '[import]\nsources = ["a.csv"]\n'
NOPE = 'there is no table "nope" to analyze\nthere is '


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TPCH + '[sweep]\nqueries = ["tpch/q01", "tpch/q77"]',
         ['line 5: [sweep] queries: there is no built-in query "tpch/q77"']),
        ('[import]\nsources = ["none"]\n[sweep]\nqueries = ["chain/3"]\ndata = "joingraph"\n[report]\nbaseline = "zzz"',
         ["spec.toml, line 1: [import]: there is no file or folder",
          'line 7: [report] baseline: there is no variant "zzz" in the sweep; there are default']),
        (FILES + 'jars = ["no.jar"]\n[analyze]\ndata = "nowhere"',
         ["spec.toml, line 1: [import]: there is no file ", "no.jar", "spec.toml, line 4: [analyze]: there is no folder"]),
        (TPCH + '[analyze]\ntables = ["nope"]', [NOPE]),
        (FILES + '[analyze]\ntables = ["nope"]', [NOPE]),
        ('[analyze]\ntables = ["nope"]\ndata = "."', [NOPE]),
    ],
)  # fmt: skip
def test_nothing_runs_where_a_later_stage_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: list[str]
) -> None:
    lay(tmp_path, {"spec.toml": text, "a.csv": "a\n1\n"})
    assert main(["pipeline", "run", str(tmp_path / "spec.toml"), "-o", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert all(each in told for each in said), told
    assert not (tmp_path / "out").exists()


def test_files_and_stages_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, TPCH + '[sweep]\nqueries = ["tpch/q01"]')
    assert main(["pipeline", "run", str(tmp_path / "missing.toml")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert main(["pipeline", "run", str(path), "--stage", "report"]) == 2
    assert "spec.toml has no stage report; it has generate, sweep" in capsys.readouterr().err


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert len(read_pipeline(written(tmp_path, "\ufeff" + SWEEP)).stages) == len(read_pipeline(written(tmp_path, SWEEP)).stages)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_example_specifications_can_be_carried_out(path: Path, tmp_path: Path) -> None:
    pipeline = read_pipeline(path)
    for stage in pipeline.stages:
        stage.check(tmp_path)
    assert [stage.name for stage in pipeline.stages][-2:] == ["sweep", "report"]


def test_the_example_of_join_graphs_has_some_2000_items() -> None:
    pipeline = read_pipeline(ROOT / "experiments" / "specs" / "join_graphs.toml")
    (sweep,) = (stage for stage in pipeline.stages if isinstance(stage, Sweep))
    plan = spec.plan_sweep(sweep.spec)
    assert plan.size == 2040
    (report,) = (stage for stage in pipeline.stages if stage.name == "report")
    assert report.words["baseline"] in [variant.name for variant in plan.variants]


def test_the_manual_lists_the_columns_of_results() -> None:
    manual = (ROOT / "docs" / "pipeline.md").read_text("utf-8")
    for column in COLUMNS:
        if not column.name.startswith("set_"):
            assert f"| `{column.name}` | " in manual and f"| {column.doc} |" in manual, column.name


def test_the_manual_s_specification_has_no_unknown_key(tmp_path: Path) -> None:
    manual = (ROOT / "docs" / "pipeline.md").read_text("utf-8")
    text = manual.split("```toml\n")[1].split("```")[0].replace('into = "data"\n\n[analyze]', 'into = "shop"\n\n[analyze]')
    assert [stage.name for stage in read_pipeline(written(tmp_path, text)).stages] == [
        "generate", "import", "analyze", "sweep", "report",
    ]  # fmt: skip


SWEEP = '[sweep]\nqueries = ["chain/2..3"]\n[sweep.settings]\npruning = ["none", "both"]\n[report]\n'


@pytest.mark.slow
def test_stages_are_skipped_when_done_and_made_again_when_damaged(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = written(tmp_path, SWEEP), tmp_path / "out"
    arguments = ["pipeline", "run", str(path), "-o", str(out)]
    assert main(arguments) == 0, capsys.readouterr().err
    first = capsys.readouterr()
    assert "sweep: run " in first.out and "(there already)" not in first.out and "compared with pruning=none" in first.out
    assert main(arguments) == 0
    second = capsys.readouterr()
    assert second.out.count("(there already)") == 2
    assert second.err.count("there already, nothing to do") == 2 and f"results are in {out}" in second.err

    assert main(["pipeline", "status", str(out)]) == 0
    told = capsys.readouterr().out
    assert "sweep     done" in told and "report    done" in told and "complete: 4 of 4 items" in told

    (out / "report" / "report.md").unlink()
    status = pipeline_status(out)
    assert [(stage["name"], stage["state"]) for stage in status["stages"]] == [("sweep", "done"), ("report", "damaged")]
    assert status["stages"][1]["missing"] == ["report/report.md"] and "missing or changed: 1 file, first" in status_text(status)
    done = run_pipeline(read_pipeline(path), out, lambda: spark, lambda line: None)
    assert (done["sweep"].made, done["report"].made) == (False, True)
    assert {stage["state"] for stage in pipeline_status(out)["stages"]} == {"done"}

    written(tmp_path, SWEEP + 'baseline = "nothing"\n')
    assert main(arguments) == 2
    assert 'there is no variant "nothing"' in capsys.readouterr().err
    status = pipeline_status(out)
    assert [stage["state"] for stage in status["stages"]] == ["done", "done"]


def test_status_tells_what_runs_and_what_was_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "status", str(tmp_path)]) == 2
    assert "no pipeline was run in" in capsys.readouterr().err
    pipeline = read_pipeline(written(tmp_path, SWEEP))

    def dies() -> SparkSession:
        with pytest.raises(OutputError, match="another process is at work on it"), hold(tmp_path / LOCK_FILE, "it"):
            pass
        status = pipeline_status(tmp_path)
        assert [(stage["name"], stage["state"]) for stage in status["stages"]] == [("sweep", "running"), ("report", "not begun")]
        assert status["process"]["host"] and "at work (process " in status_text(status)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"0 of 4 items are done; the same command goes on"):
        run_pipeline(pipeline, tmp_path, dies, lambda line: None)
    assert main(["pipeline", "status", str(tmp_path), "--format", "json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["stages"][0]["state"] == "stopped" and status["process"] is None
    assert status["runs"][0]["done"] == 0 and status["runs"][0]["items"] == 4

    state = read_state(tmp_path)
    assert state is not None
    state["stages"]["sweep"]["state"] = "running"  # a process that was killed has not said that it is not
    (tmp_path / STATE).write_text(json.dumps(state))
    assert pipeline_status(tmp_path)["stages"][0]["state"] == "stopped"


@pytest.mark.slow
def test_from_generated_data_to_a_report(spark: SparkSession, tmp_path: Path) -> None:
    text = TPCH + '[analyze]\n[sweep]\nqueries = ["tpch/q03", "tpch/q05"]\nexecute = true\nanalyze = true\n[report]'
    pipeline = read_pipeline(written(tmp_path, text))
    done = run_pipeline(pipeline, tmp_path / "out", lambda: spark, lambda line: None)
    assert [outcome.made for outcome in done.values()] == [True] * 4
    assert "8 tables, 86,805 rows" in done["generate"].text and "errors" not in done["sweep"].text
    again = run_pipeline(pipeline, tmp_path / "out", lambda: spark, lambda line: None)
    assert [outcome.made for outcome in again.values()] == [False] * 4
    assert {stage["state"] for stage in pipeline_status(tmp_path / "out")["stages"]} == {"done"}


@pytest.mark.slow
def test_from_files_to_a_report(spark: SparkSession, tmp_path: Path) -> None:
    shop = {"shop/orders.csv": "id,customer\n1,7\n2,7\n3,8\n", "shop/customers.csv": "id,name\n7,a\n8,b\n"}
    lay(tmp_path, {**shop, "count.sql": "select count(*) from orders o join customers c on o.customer = c.id"})
    text = '[import]\nsources = ["shop"]\n[analyze]\n[sweep]\nqueries = ["@count.sql"]\nexecute = true\n[report]'
    done = run_pipeline(read_pipeline(written(tmp_path, text)), tmp_path / "out", lambda: spark, lambda line: None)
    assert done["import"].text == "2 tables, 5 rows, 0 rejected"
    assert [outcome.made for outcome in done.values()] == [True] * 4 and "errors" not in done["sweep"].text


@pytest.mark.slow
def test_modules_beside_the_data_do_not_run(tmp_path: Path) -> None:
    """Spark's workers and the processes of a sweep start in the folder that the user is in."""
    lay(tmp_path, {"shop/t.csv": "a\n1\n", "p.toml": '[sweep]\nqueries = ["chain/3"]\nmemory = 0\n'})
    modules = ("socket.py", "platform.py", "pyspark.py", "experiments.py")
    lay(tmp_path, dict.fromkeys(modules, f"open({str(tmp_path / 'was-run')!r}, 'w')\n"))
    in_spark = "from experiments.pipeline.analyze import scan; scan.SMALL = 0"  # however small the data
    code = f"from experiments.cli import main; {in_spark}; main()"
    for words in (["data", "analyze", "shop"], ["pipeline", "run", "p.toml", "-o", "out"]):
        done = run_python("-c", code, *words, "--master", "local[1]", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "was-run").exists(), words


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        ('[sweep]\nqueries = ["chain/3"]', True),
        ('[import]\nsources = ["a.csv"]\n[analyze]', True),
        ('[import]\nsources = ["a.csv"]\n[analyze]\ndata = "shop"', False),
        ('[generate]\nkind = "tpch"\nscale = 1\n[analyze]', False),
        ('[import]\nsources = ["a.csv", "large.csv"]', False),
    ],
)
def test_java_is_told_when_there_is_little_to_do(tmp_path: Path, text: str, brief: bool) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    with (tmp_path / "large.csv").open("w") as file:
        file.truncate(1 << 30)
    assert is_brief(read_pipeline(written(tmp_path, text)), tmp_path / "out") is brief
