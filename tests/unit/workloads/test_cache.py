"""Datasets in the cache folder are whole or not there: interrupted, concurrent, damaged and refused builds."""

import multiprocessing
import os
import re
from pathlib import Path

import pytest

from experiments.workloads.cache import MANIFEST, cache_folder, cached_dataset, is_whole
from optimizer.errors import CatalogError
from tests.processes import PATIENCE, wait_until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def build(folder: Path) -> None:
    (folder / "t.csv").write_text("a\n1\n")


def nothing(line: str) -> None:
    pass


def test_made_once(home: Path) -> None:
    built: list[Path] = []
    folders = {cached_dataset("data", lambda folder: (built.append(folder), build(folder))[1], nothing) for _ in range(3)}
    assert folders == {home / "data"}
    assert len(built) == 1
    assert is_whole(home / "data")
    assert not built[0].exists()


def test_an_interrupted_build_leaves_nothing(home: Path) -> None:
    def interrupted(folder: Path) -> None:
        build(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_dataset("data", interrupted, nothing)
    assert [p.name for p in home.iterdir()] == [".data.lock"]
    assert cached_dataset("data", build, nothing) == home / "data"


def test_remains_of_a_killed_build_are_removed(home: Path) -> None:
    left, other = home / ".data.abc.partial", home / ".data-2.abc.partial"
    for partial in (left, other):
        partial.mkdir(parents=True)
        build(partial)
    cached_dataset("data", build, nothing)
    assert not left.exists()
    assert other.exists(), "it may be under construction"


@pytest.mark.parametrize(
    "damage", ["file missing", "file shorter", "other bytes", "no manifest", "manifest damaged", "other version"]
)
def test_a_damaged_dataset_is_made_again(home: Path, damage: str) -> None:
    folder = cached_dataset("data", build, nothing)
    manifest = folder / MANIFEST
    match damage:
        case "file missing":
            (folder / "t.csv").unlink()
        case "file shorter":
            (folder / "t.csv").write_text("a\n")
        case "other bytes":
            (folder / "t.csv").write_text("a\n2\n")
        case "no manifest":
            manifest.unlink()
        case "manifest damaged":
            manifest.write_text("[]")
        case "other version":
            manifest.write_text(re.sub(r'"version": \d+', '"version": 0', manifest.read_text()))
    lines: list[str] = []
    assert cached_dataset("data", build, lines.append) == folder
    assert is_whole(folder)
    assert sorted(p.name for p in home.iterdir()) == [".data.lock", "data"]
    assert "making it again" in lines[0]


def test_a_copy_is_whole_and_looked_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cached_dataset("data", build, nothing)
    os.utime(folder / "t.csv", (1, 1))
    assert is_whole(folder)
    monkeypatch.setattr("experiments.workloads.cache._digest", lambda path: pytest.fail("it is known by now"))
    assert is_whole(folder)


def made_by_several(tries: Path) -> None:
    """One process of three: says that it is about to ask for the dataset, and builds it, if it does, once all have said so."""
    (tries / str(os.getpid())).touch()

    def build_late(folder: Path) -> None:
        wait_until(lambda: len(list(tries.iterdir())) == 3, "the others do not start")
        build(folder)
        with (folder.parent / "builds.log").open("a") as log:
            log.write(f"{os.getpid()}\n")

    cached_dataset("data", build_late, nothing)


def test_three_processes_make_it_once(home: Path, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    tries.mkdir()
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=made_by_several, args=(tries,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert is_whole(home / "data")
    assert len((home / "builds.log").read_text().splitlines()) == 1


def test_a_cache_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path / "file" / "cache"))
    with pytest.raises(CatalogError, match=r"(?s)cannot write .*set PLANSCOPE_HOME to a folder that can be written"):
        cached_dataset("data", build, nothing)


def test_the_default_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLANSCOPE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "planscope"
    monkeypatch.setenv("PLANSCOPE_HOME", "~/elsewhere")
    assert cache_folder() == Path.home() / "elsewhere"
