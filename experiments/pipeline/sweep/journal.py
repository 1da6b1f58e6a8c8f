"""Rows of a chunk that is not finished: so that what was done by a task that was killed is not done again.

Every attempt at a chunk writes a journal of its own, a JSON line a row, handed to the system after each item. The next attempt
reads all that are there and begins with what they lack. A line that was cut off is no row.

    .chunk-00017.AB12CD34.journal
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any

from experiments.pipeline.spark.errors import PipelineError


class Journal:
    """`rows`: of earlier attempts and this one, by item id. A context manager."""

    def __init__(self, folder: Path, chunk: int) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self._earlier = journals(folder, chunk)
        for path in self._earlier:
            self.rows.update((row["item"], row) for row in read_rows(path))
        self._path = folder / f".chunk-{chunk:05}.{uuid.uuid4().hex[:8]}.journal"

    def __enter__(self) -> Journal:
        try:
            self._file = self._path.open("x", encoding="utf-8")
        except OSError as error:
            raise PipelineError(f"cannot write {self._path}: {error.strerror}") from error
        return self

    def add(self, row: dict[str, Any]) -> None:
        """Raises PipelineError when it cannot be written."""
        try:
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()
        except OSError as error:
            raise PipelineError(f"cannot write {self._path}: {error.strerror}") from error
        self.rows[row["item"]] = row

    def drop(self) -> None:
        """The chunk is finished, so its journals have served."""
        for path in [*self._earlier, self._path]:
            path.unlink(missing_ok=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._file.close()
        except OSError:
            if kind is None:
                raise


def journals(folder: Path, chunk: int | None = None) -> list[Path]:
    """The journals in a run's folder, of one chunk or of all."""
    return sorted(folder.glob(f".chunk-{'*' if chunk is None else f'{chunk:05}'}.*.journal"))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The whole rows of a journal; of one that another attempt has just dropped, none."""
    rows = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    except OSError:
        return []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return [row for row in rows if isinstance(row, dict) and "item" in row]
