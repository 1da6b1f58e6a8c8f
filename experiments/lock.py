"""One process at a time: a lock file that says who holds it, and frees itself when its holder dies."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from optimizer.errors import OutputError


@contextmanager
def hold(path: Path, what: str) -> Iterator[None]:
    """Holds the lock `path` while the block runs. Raises OutputError, naming the holder of `what`, when somebody else does."""
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputError(f"another process is at work on {what}{who(holder(path))}; wait for it, or end it") from None
        with suppress(OSError):  # no space: the lock holds without saying for whom
            file.truncate(0)
            os.write(file.fileno(), json.dumps({"host": socket.gethostname(), "process": os.getpid(), "since": now()}).encode())
        yield
        with suppress(OSError):
            file.truncate(0)


def holder(path: Path) -> dict[str, Any] | None:
    """{"host", "process", "since"} of who holds the lock; None when nobody does."""
    try:
        with path.open("r", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            except OSError:
                pass
            found = json.loads(file.read() or "null")
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else {}


def who(found: dict[str, Any] | None) -> str:
    """` (process 12 on host, since …)`; nothing for nobody."""
    return f" (process {found['process']} on {found['host']}, since {found['since']})" if found else ""


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
