"""A raw part into its final one, without the rows that checks of keys removed: a task.

    in   {"raw", "raw_rejects", "part", "rejects", "number", "file", "removed": [{"folder", "reason", "column"}], "numbered"}
    out  {"kept", "part": {"bytes", "sha256"}, "rejected": as in `convert`, "reject_file"}

`numbered`: whether the place of a row tells its number in the file it came from. May be repeated: raw files stay.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.intake.checked import record_text, shown
from experiments.pipeline.intake.keys import places
from experiments.pipeline.intake.parts import COMPRESSION, PartWriter, RejectWriter, part_facts, whole
from experiments.pipeline.intake.records import REJECT_SCHEMA, Reject, numbers_without

_BATCH = 65_536


def finish(task: dict[str, Any]) -> dict[str, Any]:
    raw, part, rejects = Path(task["raw"]), Path(task["part"]), Path(task["rejects"])
    earlier = _earlier(Path(task["raw_rejects"]))
    gone = [(places(Path(one["folder"]), task["number"]), one["reason"], one["column"]) for one in task["removed"]]
    with pq.ParquetFile(raw, page_checksum_verification=True) as file, whole(rejects) as reject_path, whole(part) as part_path:
        rows = numbers_without(1, file.metadata.num_rows, _numbers(earlier)) if task["numbered"] else None
        writer, aside = PartWriter(part_path, file.schema_arrow), _Appending(reject_path, task["file"], earlier)
        before = 0
        for batch in file.iter_batches(_BATCH):
            keep = np.ones(batch.num_rows, bool)
            for found, reason, column in gone:
                here = found[(found >= before) & (found < before + batch.num_rows)] - before
                here = here[keep[here]]
                keep[here] = False
                aside.write([_reject(batch, int(i), before, rows, reason, column) for i in here])
            writer.write(batch if keep.all() else batch.filter(pa.array(keep)))
            before += batch.num_rows
        writer.close()
        any_rejected = aside.close()
    return {"kept": writer.rows, "part": part_facts(part), "rejected": aside.as_json(), "reject_file": any_rejected}


def source_row(raw_rejects: Path, place: int) -> int:
    """The number, in the file it came from, of the row at `place` of a raw part."""
    return int(numbers_without(1, place + 1, _numbers(_earlier(raw_rejects)))[place])


def _reject(batch: pa.RecordBatch, i: int, before: int, rows: np.ndarray | None, reason: str, column: str) -> Reject:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    names = column.split("\0")
    value = ", ".join(str(shown(columns[name][i].as_py())) for name in names)
    row = None if rows is None else int(rows[before + i])
    return Reject(reason, ", ".join(names), value, record_text(columns, i), row)


def _earlier(path: Path) -> pa.Table:
    return pq.read_table(path) if path.exists() else REJECT_SCHEMA.empty_table()


def _numbers(rejects: pa.Table) -> list[int]:
    return sorted(row for row in rejects.column("row").to_pylist() if row is not None)


class _Appending(RejectWriter):
    """Rejected rows after those of an earlier step, which are not counted again."""

    def __init__(self, path: Path, file: str, earlier: pa.Table) -> None:
        super().__init__(path, file)
        if earlier.num_rows:
            self._writer = pq.ParquetWriter(path, REJECT_SCHEMA, compression=COMPRESSION, write_page_checksum=True)
            self._writer.write_table(earlier.cast(REJECT_SCHEMA))
