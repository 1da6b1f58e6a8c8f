"""Secrets of commands, options and URLs are not shown."""

import shlex
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.pipeline.intake.request import ImportRequest, planned
from experiments.redacted import command_text
from experiments.replay_case import write_case

SECRET = "hunter2"


@pytest.mark.parametrize(
    "word",
    [
        f"pass={SECRET}", f"--option=pass={SECRET}", f"--conf=spark.hadoop.fs.s3a.secret.key={SECRET}",
        f"spark.hadoop.fs.azure.account.key.me.dfs.core.windows.net={SECRET}", f"url=jdbc:oracle:thin:scott/{SECRET}@h:1",
        f"url=jdbc:x://h/d;passwd={SECRET}", f"url=jdbc:x://h?user=a&passphrase={SECRET}", f"s3a://KEY:{SECRET}@bucket/x",
        f"jdbc:mysql://user:{SECRET}@{SECRET}@h/db", f"fs.azure.sas.box.me.blob.core.windows.net={SECRET}",
        f"https://me.blob.core.windows.net/box/a.csv?sv=1&sig={SECRET}", f"https://h/a?X-Amz-Date=1&X-Amz-Signature={SECRET}&x=1",
        f"url=x;AccountName=me;AccountKey={SECRET}",
    ],
)  # fmt: skip
def test_a_command_without_secrets(word: str) -> None:
    assert SECRET not in command_text([word]) and "***" in command_text([word])


@pytest.mark.parametrize("word", ["hdfs://h:8020/a@b.csv", "--table=keys", "delimiter=tab", "jdbc:oracle:thin:@//h:1521/x",
                                  "select a from tokens where token=2"])  # fmt: skip
def test_what_is_no_secret(word: str) -> None:
    assert command_text([word]) == shlex.join(["planscope", word])


def test_a_case_of_a_bug_has_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    case = write_case(ValueError(), ["run", f"--conf=spark.hadoop.fs.s3a.secret.key={SECRET}"], {}, "0")
    assert case is not None and SECRET not in case.read_text()


def test_a_uri_with_a_secret() -> None:
    plan = planned(ImportRequest((f"s3a://KEY:{SECRET}@bucket/shop",), "out", format="parquet"))
    (table,) = plan.found.tables
    assert SECRET in str(table.path) and SECRET not in f"{table.label} {plan.settings}"


def test_how_to_go_on_with_a_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr("experiments.pipeline.stages.spec.read_pipeline", lambda file: None)
    monkeypatch.setattr("experiments.pipeline.stages.run.run_pipeline", lambda *given: heard.append(given[-1]) or {})
    command = ["pipeline", "run", "x.toml", "--conf", f"spark.hadoop.fs.s3a.secret.key={SECRET}", "-q"]
    monkeypatch.setattr("sys.argv", ["planscope", *command])
    assert main(command) == 0
    assert heard == ["planscope pipeline run x.toml --conf 'spark.hadoop.fs.s3a.secret.key=***' -q"]
