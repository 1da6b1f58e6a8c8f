"""Other processes, and waiting for what they do: the one place of the tests that reads a clock or sleeps."""

import time
from collections.abc import Callable
from pathlib import Path

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
