"""The command line as tests use it: in this process where that is enough, else in a new one."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.bench.child import measured
from experiments.bench.experiment import Item, Row
from experiments.bench.results import read_rows
from experiments.cli import main
from experiments.workloads.data import open_data
from tests.processes import run_python

JOIN = "select p.name, count(*) as n from people p join sales s on p.id = s.person group by p.name order by n desc"


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def measured_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experiments measure in this process, which is quicker, and where defects can be planted."""

    class Here:
        def __init__(self, name: str, seconds: float, megabytes: int) -> None:
            self.name = name

        def measure(self, item: Item) -> list[Row]:
            return measured(self.name, item)

        def close(self) -> None:
            pass

    monkeypatch.setattr("experiments.bench.runner.Child", Here)


@pytest.fixture
def planscope(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs the command line in this process."""

    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        code = main(arguments)
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Outcome(code, out, err)

    return run


@pytest.fixture
def trace(planscope: Callable[..., Outcome], shop: Path, tmp_path: Path) -> str:
    """A file with the trace of JOIN."""
    path = tmp_path / "a.jsonl"
    assert planscope("trace", JOIN, "-d", str(shop), "-o", str(path), "-q").code == 0
    return str(path)


def rows_of(folder: Path) -> list[Row]:
    """What an experiment measured."""
    return read_rows(folder).to_pylist()


def start(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a process of its own."""
    done = run_python("-m", "experiments", *arguments, **options)
    assert "Traceback" not in done.stdout + done.stderr
    return done


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small dataset with NULLs, decimals, an empty table and awkward texts."""
    folder = tmp_path / "shop"
    folder.mkdir()
    people = {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "name": pa.array(["Ann", None, "NULL", 'quo"te, <b>&\n'], pa.string()),
        "balance": pa.array(["1.10", "-20.00", None, "0.05"], pa.string()).cast(pa.decimal128(9, 2)),
    }
    sales = {
        "person": pa.array([1, 1, 2, 9, None], pa.int64()),
        "amount": pa.array([10.5, 2.0, None, 1e20, 0.1], pa.float64()),
        "day": pa.array(["2024-01-01", "2024-02-29", None, "1999-12-31", "2024-01-01"], pa.string()).cast(pa.date32()),
    }
    pq.write_table(pa.table(people), folder / "people.parquet")
    pq.write_table(pa.table(sales), folder / "sales.parquet")
    pq.write_table(pa.table(sales).slice(0, 0), folder / "nothing.parquet")
    (folder / "schema.sql").write_text("create table people (id bigint not null primary key);\n")
    open_data(str(folder), lambda _: None)  # says that its keys are believed, as it does once
    return folder
