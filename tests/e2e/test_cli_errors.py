"""Bad input, tried as a user would: one clear message, the right exit code, never a traceback. More of it is in `*.console`."""

import json
import os
import stat
import subprocess
import sys
import zipfile

import pytest

from executor.session import Session
from tests.e2e.conftest import start
from tests.processes import PATIENCE, ROOT, run_python

SELECT = "select name from people"


def test_a_file_is_named_with_an_at_sign(planscope, shop, monkeypatch):
    done = planscope("run", "README.md", "-d", str(shop))
    assert done.code == 2 and "README.md is a file" in done.err and "write @README.md" in done.err
    (file,) = shop.glob("people.*")
    monkeypatch.chdir(shop.parent)
    done = planscope("run", f"{shop.name}/{file.name}")
    assert done.code == 2 and f'for its rows: "select * from people" -d {shop.name}' in done.err


def test_output_is_not_written_over_input(planscope, shop, tmp_path):
    query = tmp_path / "q.sql"
    query.write_text("select 1")
    done = planscope("trace", str(query), "-d", str(shop), "-o", str(query))
    assert done.code == 2 and "no trace by its name" in done.err
    assert query.read_text() == "select 1"
    (file,) = shop.glob("people.*")
    before = file.read_bytes()
    done = planscope("run", "select 1 from people", "-d", str(shop), "-o", str(shop / "." / file.name))
    assert done.code == 2 and "is a file of the dataset" in done.err
    done = planscope("data", "import", str(shop), "-o", str(shop / "imported"))
    assert done.code == 2 and "choose a folder beside it" in done.err
    assert file.read_bytes() == before and not (shop / "imported").exists()


def test_settings_file(planscope, shop, tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('pruning = "none"\n')
    bad.write_text("pruning = \n")
    assert planscope("run", SELECT, "-d", str(shop), "--settings", str(good)).code == 0
    done = planscope("run", SELECT, "-d", str(shop), "--settings", str(bad))
    assert done.code == 2 and "bad.toml" in done.err


def test_corrupt_parquet(planscope, shop):
    file = shop / "people.parquet"
    file.write_bytes(file.read_bytes()[:100])
    done = planscope("run", SELECT, "-d", str(shop))
    assert done.code == 2 and "people.parquet" in done.err


def test_names_with_line_breaks_stay_on_their_line(planscope, tmp_path):
    (tmp_path / "t.csv").write_text('"a\nb",c\n1,2\n')
    assert planscope("run", "select x from t", "-d", str(tmp_path)).err.endswith("t has a\\nb, c\n")


def test_a_failed_run_leaves_the_old_file(planscope, shop, tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    assert planscope("run", "select cast(name as integer) from people", "-d", str(shop), "-o", str(target)).code == 2
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".part")] == []


def test_our_own_bug_leaves_a_replay_case(planscope, shop, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("boom")

    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(Session, "optimize", broken)
    done = planscope("run", SELECT, "-d", str(shop), "--set", "pruning=none")
    assert done.code == 1 and "bug" in done.err and "ZeroDivisionError: boom" in done.err
    folder = tmp_path / "home" / "cases"
    (case,) = folder.iterdir()
    assert str(case) in done.err
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and stat.S_IMODE(case.stat().st_mode) == 0o600  # its owner's only
    with zipfile.ZipFile(case) as file:
        kept = json.loads(file.read("bundle.json"))
        assert str(tmp_path) not in "".join(file.read(name).decode() for name in file.namelist())
    assert kept["sql"] == SELECT and kept["settings"]["pruning"] == "none" and kept["versions"]["pyarrow"]
    assert kept["raised"] == "ZeroDivisionError: boom" and "in broken" in kept["at"][-1]
    assert planscope("replay", str(case)).out.startswith("the same trace")


def test_a_bug_without_a_query_leaves_a_case_too(planscope, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("boom")

    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("experiments.rule_list.describe_rules", broken)
    done = planscope("rules")
    assert done.code == 1 and "ZeroDivisionError: boom" in done.err and "the same command on the same data replays it" in done.err
    (case,) = (tmp_path / "home" / "cases").iterdir()
    assert "has the command that ran into it" in planscope("replay", str(case)).err
    kept = json.loads(case.read_text())
    assert kept["command"] == "planscope rules" and "Traceback" in kept["traceback"][0]


def test_help_and_version_import_little():
    code = "import sys; from experiments.cli import main; main(['--help']); main(['--version'])\n"
    code += "heavy = {'pyarrow', 'sqlglot', 'networkx', 'numpy', 'graphviz', 'pygraphviz'} & set(sys.modules)\n"
    code += "assert not heavy, heavy"
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout and "planscope" in done.stdout


@pytest.mark.parametrize("command", [(), ("bench",)])
def test_a_command_group_alone_shows_all_of_its_help(planscope, command):
    assert planscope(*command).err.rstrip() == planscope(*command, "--help").out.rstrip()  # it was cut after 1,000 characters


def test_a_name_that_no_file_can_have(planscope, tmp_path):
    long = "x" * 300
    for command in (
        ("run", SELECT, "-d", long), ("explain", "chain/3", "-o", str(tmp_path / long)), ("data", "show", long),
        ("data", "import", long, "-o", str(tmp_path / "z")),
    ):  # fmt: skip
        done = planscope(*command)
        assert done.code == 2 and "no file can have this name: " in done.err, command


def test_files_whose_ending_is_another_kind(planscope, shop, tmp_path):
    for command, output, said in (("trace", "t.svg", "planscope memo"), ("bundle", "case.tar", "does not end in .zip")):
        done = planscope(command, SELECT, "-d", str(shop), "-o", str(tmp_path / output))
        assert done.code == 2 and said in done.err and not (tmp_path / output).exists()


def test_a_master_that_is_none(planscope, shop):
    done = planscope("run", SELECT, "-d", str(shop), "--engine", "spark", "--master", "locall[2]")
    assert done.code == 2 and '"locall[2]" is no master' in done.err and not done.out


def test_output_goes_into_a_pipe(planscope, shop):
    reads, writes = os.pipe()
    assert planscope("run", "select 1 as one", "-d", str(shop), "-o", f"/dev/fd/{writes}", "--format", "csv").code == 0
    os.close(writes)
    with open(reads) as pipe:
        assert pipe.read() == '"one"\n1\n'


def test_reader_that_goes_away():
    command = [sys.executable, "-m", "experiments", "run", "tpch/q01", "-d", "tpch:0.01", "--format", "csv", "-q"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(PATIENCE) == 141


def test_full_device(planscope):
    named = planscope("explain", "chain/3", "-o", "/dev/full")
    assert named.code == 2 and "cannot write /dev/full: " in named.err
    with open("/dev/full", "w") as full:
        done = run_python("-m", "experiments", "rules", stdout=full)
    assert done.returncode == 2 and "cannot write to standard output" in done.stderr


@pytest.mark.few(3)
@pytest.mark.parametrize("command", [("run", SELECT, "--format", "csv"), ("rules", "--program"), ("picture", "plan", SELECT)])
def test_closed_streams(shop, command):
    for closed, code in ((">&-", 2), ("2>&-", 0), ("<&- >&- 2>&-", 2)):
        data = () if command[0] == "rules" else ("-d", str(shop))
        words = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "experiments", *command, *data]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == code, done.stderr
        assert bool(done.stdout) is (code == 0) and ("standard output is closed" in done.stderr) is (closed == ">&-")


def test_no_colour_codes_when_piped(shop):
    done = start("explain", SELECT, "-d", str(shop))
    assert done.returncode == 0 and "\x1b" not in done.stdout


def test_a_table_whose_name_needs_quotes(planscope, tmp_path):
    (tmp_path / "customers-v2.csv").write_text("a,b\n1,2\n")
    done = planscope("run", "select * from customers-v2", "-d", str(tmp_path))
    assert done.code == 2 and 'write "customers-v2" in double quotes' in done.err
