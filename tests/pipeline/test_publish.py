"""A dataset folder under construction: unseen until whole, whatever happens on the way."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.pipeline.spark.make import make_dataset
from experiments.pipeline.spark.manifest import write_manifest
from experiments.pipeline.spark.publish import SCRATCH, Plan, staged
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, Interrupted, OutputError
from tests.pipeline.conftest import lay, no_spark

REQUEST = Plan("make", "letters at scale 1", {}, {"scale": 1}, lambda inside: ({}, {}), "make letters")


def fill(inside: Path) -> None:
    order = '{"version": 1, "tables": {}}'
    lay(inside, {"t/part-0.csv": "a\n1\n", "u.csv": "b\n2\n", "_planscope/order.json": order})


def fail(folder: Path, table: str, error: BaseException) -> None:
    """Write a table, if a name is given, and then raise."""
    with staged(folder, REQUEST) as inside:
        (inside / f"{SCRATCH}x").mkdir()
        if table:
            (inside / table).write_text("a\n1\n")
        raise error


def test_everything_has_its_place_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    with staged(folder, REQUEST) as inside:
        fill(inside)
        lay(inside, {f"{SCRATCH}x/scrap.csv": "x"})
        assert (inside / "request.json").stat().st_mode & 0o77 == 0, "there may be a secret in it"
        with pytest.raises(CatalogError, match=r"unfinished letters at scale 1.*\n.*go on with it: make letters"):
            open_dataset(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["_planscope", "t", "u.csv"]
    assert [path.name for path in (folder / "_planscope").iterdir()] == ["order.json"]
    assert set(open_dataset(folder).tables) == {"t", "u"}


def test_a_failure_before_the_first_table_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"^no generator$"):
        fail(tmp_path / "data", "", CatalogError("no generator"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (KeyboardInterrupt(), Interrupted, "interrupted; what is there stays: make letters"),
        (CatalogError("bad"), CatalogError, "(?s)bad.*goes on where it stopped"),
        (OSError(errno.ENOSPC, "No space left on device", "x"), OutputError, "(?s)cannot write x: No space left.*make letters"),
        (ZeroDivisionError("bug"), ZeroDivisionError, "bug"),
    ],
)
def test_a_failure_after_it_leaves_what_is_there(
    tmp_path: Path, error: BaseException, expected: type[BaseException], message: str
) -> None:
    with pytest.raises(expected, match=message):
        fail(tmp_path / "data", "t.csv", error)
    with pytest.raises(CatalogError, match="unfinished letters"):
        open_dataset(tmp_path / "data")
    with staged(tmp_path / "data", REQUEST) as inside:
        assert (inside / "t.csv").exists()
    assert set(open_dataset(tmp_path / "data").tables) == {"t"}


@pytest.mark.parametrize("moved", range(5))
def test_a_kill_while_everything_moves(tmp_path: Path, moved: int) -> None:
    """As much as `moved` entries have their place; the next call moves the rest, and makes nothing."""
    plan = replace(REQUEST, fill=lambda inside: pytest.fail("it is made already"))
    inside = tmp_path / "_planscope" / "unfinished"
    inside.mkdir(parents=True)
    fill(inside)
    write_manifest(inside, plan.stage, **plan.facts, counts={}, files=["t/part-0.csv", "u.csv"])
    content = {"version": 1, "what": plan.what, "settings": plan.facts, "resume": ""}
    (inside / "request.json").write_text(json.dumps(content))
    for name in ["u.csv", "t", "_planscope/order.json", "_planscope/manifests"][:moved]:
        (inside / name).rename(tmp_path / name)
    with pytest.raises(CatalogError, match="unfinished"):
        open_dataset(tmp_path)
    assert make_dataset(plan, tmp_path, no_spark, print).manifest["counts"] == {}
    assert set(open_dataset(tmp_path).tables) == {"t", "u"}
    assert not inside.exists() and not make_dataset(plan, tmp_path, no_spark, print).made


def test_other_sources_for_what_is_unfinished(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="bad"):
        fail(tmp_path / "data", "t.csv", CatalogError("bad"))
    other = replace(REQUEST, settings={"scale": 2})
    for resume, said in (
        ("make letters", "begun with other sources or settings.*\nname another"),
        ("", "make letters finishes it; or"),
    ):
        with pytest.raises(OutputError, match=said), staged(tmp_path / "data", replace(other, resume=resume)):
            raise AssertionError("begun")


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """In an empty folder, which may be there."""
    with staged(tmp_path, REQUEST) as inside:
        with pytest.raises(OutputError, match="another process is at work on the dataset in"), staged(tmp_path, REQUEST):
            raise AssertionError("two at work")
        fill(inside)
    assert set(open_dataset(tmp_path).tables) == {"t", "u"}


def test_a_kill_right_at_the_start_or_the_end_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "_planscope" / "unfinished").mkdir(parents=True)
    (tmp_path / "_planscope" / ".unfinished.done").mkdir()
    with staged(tmp_path, REQUEST) as inside:
        fill(inside)
    assert set(open_dataset(tmp_path).tables) == {"t", "u"}
    assert [path.name for path in (tmp_path / "_planscope").iterdir()] == ["order.json"]


def test_a_damaged_request_is_unfinished_too(tmp_path: Path) -> None:
    lay(tmp_path, {"_planscope/unfinished/request.json": "{", "u.csv": "b\n2\n"})
    with pytest.raises(CatalogError, match="holds an unfinished dataset"):
        open_dataset(tmp_path)
