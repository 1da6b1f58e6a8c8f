"""Other processes, and waiting for what they do: the one place of the tests that reads a clock or sleeps."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PATIENCE = 600  # seconds; only what hangs takes as long, on the busiest machine


def wait_until(holds: Callable[[], object], otherwise: str | Callable[[], str]) -> None:
    """Returns once `holds()` is true; fails with `otherwise` after PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, otherwise if isinstance(otherwise, str) else otherwise()
        time.sleep(0.02)


def descendants(pid: int) -> list[int]:
    """Processes that a process started, and theirs, by /proc."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def any_alive(pids: list[int]) -> bool:
    return any(Path(f"/proc/{pid}").exists() for pid in pids)


def start_python(*words: str, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Python in a process of its own, which has the packages wherever it starts, and imports nothing from there. `env`: what its
    environment has besides."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.Popen([sys.executable, "-P", *words], env=environment, text=True, **options)


def run_python(*words: str, input: str | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """The same, once it has ended: with what it printed."""
    pipes: dict[str, Any] = dict.fromkeys(("stdout", "stderr") + ("stdin",) * (input is not None), subprocess.PIPE)
    process = start_python(*words, **{**pipes, **options})
    try:
        printed = process.communicate(input, timeout=PATIENCE)
    finally:
        process.kill()
    return subprocess.CompletedProcess(words, process.returncode, *printed)


def kill_once(process: subprocess.Popen[Any], holds: Callable[[], object], otherwise: str | Callable[[], str]) -> None:
    """SIGKILLs a process once `holds()` is true; returns when all that it started has ended."""
    try:
        wait_until(lambda: holds() or process.poll() is not None, otherwise)
        assert process.poll() is None, "it has ended by itself"
        others = descendants(process.pid)
        assert others, "it has started nothing"
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not any_alive(others), "processes outlive the killed one")
