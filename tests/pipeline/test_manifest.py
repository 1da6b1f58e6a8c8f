"""A stage is done when its manifest says so for the same inputs and settings, and its files are all there."""

import hashlib
from decimal import Decimal
from pathlib import Path

import pytest

from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.manifest import file_facts, finished, manifest_path, read_manifest, write_manifest
from tests.pipeline.conftest import lay

INPUTS = {"source": Path("a b.csv"), "sizes": (1, 2)}
SETTINGS = {"scale": Decimal("0.1"), "seed": 7, "é": None}
NO_INPUTS = '{"version": 1, "stage": "make", "files": {}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay(tmp_path, {"t/part 0": "rows", "schema.sql": ""})
    counts = {"rows": 3}
    write_manifest(tmp_path, "make", inputs=INPUTS, settings=SETTINGS, counts=counts, files=["t/part 0", tmp_path / "schema.sql"])
    return tmp_path


def test_what_it_says(folder: Path) -> None:
    manifest = read_manifest(folder, "make")
    assert manifest is not None
    assert manifest["files"] == {
        "schema.sql": {"bytes": 0, "sha256": hashlib.sha256().hexdigest()},
        "t/part 0": {"bytes": 4, "sha256": hashlib.sha256(b"rows").hexdigest()},
    }
    assert manifest["counts"] == {"rows": 3}
    assert manifest["settings"] == {"scale": "0.1", "seed": 7, "é": None}
    assert {"planscope", "python", "pyarrow", "pyspark"} == set(manifest["versions"])


def test_done_is_for_equal_inputs_and_settings(folder: Path) -> None:
    assert finished(folder, "make", INPUTS, SETTINGS) is not None
    assert finished(folder, "make", INPUTS, {**SETTINGS, "seed": 8}) is None
    assert finished(folder, "make", {**INPUTS, "sizes": (2, 1)}, SETTINGS) is None
    assert finished(folder, "analyze", INPUTS, SETTINGS) is None


def test_a_lost_or_cut_file_is_not_done(folder: Path) -> None:
    (folder / "t" / "part 0").write_bytes(b"row")
    assert finished(folder, "make", INPUTS, SETTINGS) is None
    (folder / "t" / "part 0").unlink()
    assert finished(folder, "make", INPUTS, SETTINGS) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", NO_INPUTS, '{"version": 99, "stage": "make", "files": {}}', '{"version": 1'])
def test_a_damaged_manifest_counts_as_none(folder: Path, text: str) -> None:
    manifest_path(folder, "make").write_text(text)
    assert read_manifest(folder, "make") is None
    assert finished(folder, "make", INPUTS, SETTINGS) is None


def test_facts_known_already_are_taken(tmp_path: Path) -> None:
    write_manifest(tmp_path, "make", inputs={}, settings={}, counts={}, files={"x": {"bytes": 1, "sha256": "00"}})
    manifest = read_manifest(tmp_path, "make")
    assert manifest is not None
    assert manifest["files"] == {"x": {"bytes": 1, "sha256": "00"}}
    assert finished(tmp_path, "make", {}, {}) is None, "x is not there"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"cannot read .*gone"):
        file_facts(tmp_path / "gone")
