"""Parquet files that appear whole or not at all, written by Spark tasks that may be repeated or killed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.intake.records import REJECT_SCHEMA, Reject, reject_table, storable
from experiments.pipeline.spark.errors import PipelineError

COMPRESSION = "zstd"
_GROUP_ROWS = 122_880
_GROUP_BYTES = 128 << 20


class PartWriter:
    """Batches into row groups of about 100,000 rows; `rows` so far."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression=COMPRESSION, write_page_checksum=True)
        self._schema = schema
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        self._held.append(batch)
        self.rows += batch.num_rows
        self._held_rows += batch.num_rows
        self._held_bytes += batch.nbytes
        if self._held_rows >= _GROUP_ROWS or self._held_bytes >= _GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        with suppress(Exception):
            self._writer.close()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held, self._schema), row_group_size=_GROUP_ROWS)
        self._held, self._held_rows, self._held_bytes = [], 0, 0


class RejectWriter:
    """Rejected rows of one file, in the order of finding; makes no file when there are none. Counts them by reason and column."""

    def __init__(self, path: Path, file: str) -> None:
        self._path, self._file = path, file
        self._writer: Any = None
        self.counts: dict[tuple[str, str | None], int] = {}
        self.samples: list[dict[str, Any]] = []

    def write(self, rejects: Sequence[Reject]) -> None:
        if not rejects:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, REJECT_SCHEMA, compression=COMPRESSION, write_page_checksum=True)
        self._writer.write_table(reject_table(rejects, self._file))
        for one in rejects:
            key = (one.reason, one.column)
            self.counts[key] = self.counts.get(key, 0) + 1
            if self.counts[key] == 1:
                value = one.record if one.value is None else one.value
                value = None if value is None else storable(value[:80])
                self.samples.append({"reason": one.reason, "column": one.column, "value": value, "row": one.row})

    def close(self) -> bool:
        """Whether there is a file."""
        if self._writer is not None:
            self._writer.close()
        return self._writer is not None

    def as_json(self) -> list[dict[str, Any]]:
        samples = {(one["reason"], one["column"]): one for one in self.samples}
        return [{**samples[key], "rows": count, "file": self._file} for key, count in self.counts.items()]


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; what is there at the end of the block takes its place, nothing if it fails."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:12]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if temporary.exists():
            os.replace(temporary, path)
    except OSError as error:
        raise PipelineError(f"cannot write {path}: {_reason(error)}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _reason(error: OSError) -> str:
    """What the system said; Arrow hides it at the end of its own words."""
    found = re.search(r".*\[errno \d+\] (.*)", str(error), re.IGNORECASE)
    return found[1] if found else error.strerror or str(error)


def part_facts(path: Path) -> dict[str, Any]:
    """Size and checksum of a file of ours."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
