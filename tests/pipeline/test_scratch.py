"""Temporary folders of Spark: gone with their process, or when the next one starts."""

import os
import signal
import subprocess
from pathlib import Path
from threading import Thread

import pytest

from experiments.pipeline.spark.session import scratch_folder
from tests.processes import start_python

HOLD = """
from experiments.pipeline.spark.session import scratch_folder
with scratch_folder() as folder:
    (folder / "blockmgr").mkdir()
    print(folder, flush=True)
    input()
"""


def test_folders_of_killed_processes_go_and_those_of_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    other = tmp_path / "planscope-spark-of-another-kind"
    other.mkdir()
    with start_python("-c", HOLD, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        assert (left / "blockmgr").is_dir() and left.parent == tmp_path
        with scratch_folder() as first:
            assert left.exists(), "its process lives"
            process.send_signal(signal.SIGKILL)
            process.wait()
            with scratch_folder() as second:
                assert not left.exists()
                assert set(tmp_path.iterdir()) == {other, first, second}
    assert list(tmp_path.iterdir()) == [other]


def test_what_is_no_lock_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "planscope-spark-x").mkdir()
    os.mkfifo(tmp_path / "planscope-spark-x" / ".held")
    start = Thread(target=lambda: scratch_folder().__enter__(), daemon=True)
    start.start()
    start.join(10)
    assert not start.is_alive() and (tmp_path / "planscope-spark-x").is_dir()


def test_folders_of_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "planscope-spark-x"
    left.mkdir()
    (left / ".held").touch()
    monkeypatch.setattr("os.getuid", lambda: left.stat().st_uid + 1)
    with scratch_folder() as new:
        assert set(tmp_path.iterdir()) == {left, new}
