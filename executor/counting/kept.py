"""Counts kept from one run to the next, in a file for each state of a dataset.

A line for each count, `{"key": DIGEST, "rows": N}`, appended in one write under a lock where there are locks; lines that are cut
short or damaged count for nothing. Several processes may read and write at once: what one has counted the others find when they
look again. A folder that cannot be written costs only the counting.
"""

import contextlib
import json
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class KeptCounts:
    """Counts by key (32 hex digits) in the file `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._counts: dict[str, int] = {}
        self._read_to = 0  # bytes of the file read so far
        self._rest = b""  # of them, the last line's, which has no end yet

    def get(self, key: str) -> int | None:
        if key not in self._counts:
            self._read_on()
        return self._counts.get(key)

    def put(self, key: str, rows: int) -> None:
        self._counts[key] = rows
        line = "\n" + json.dumps({"key": key, "rows": rows}) + "\n"  # after a line that was cut short, a line of its own
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                os.write(file, line.encode())
            finally:
                os.close(file)

    def _read_on(self) -> None:
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size == self._read_to:
                    return
                file.seek(self._read_to)
                more = file.read()
        except OSError:
            return
        self._read_to += len(more)
        *lines, self._rest = (self._rest + more).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                if isinstance(entry["rows"], int) and entry["rows"] >= 0:
                    self._counts[str(entry["key"])] = entry["rows"]
