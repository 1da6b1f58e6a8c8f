"""A raw part into its final one, without the rows that checks of keys removed: a task.

    in   {"raw", "part", "rejects", "earlier", "number", "file", "before", "count", "removed": [{"folder", "reason", "column"}]}
    out  {"rows", "rejected": as in `checked`}

`earlier`: where the rows that were rejected before are; `before`: how many rows of `file` come before those of the part, and
`count` how many it had with the rejected ones, from which their numbers follow; null where rows have none. May be repeated.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from executor.atomic import make_folder
from experiments.pipeline.intake.keys import places

REJECT_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("reason", "column", "value", "record", "file")] + [("row", pa.int64())]
)
_GROUP_ROWS = 122_880


def finish(task: dict[str, Any]) -> dict[str, Any]:
    table = pq.read_table(task["raw"], page_checksum_verification=True)
    numbers = row_numbers(table.num_rows, task["file"], task["before"], task["count"], Path(task["earlier"]))
    keep = np.ones(table.num_rows, bool)
    rejects, counts = [], []
    for one in task["removed"]:
        gone = places(Path(one["folder"]), task["number"])
        gone = gone[keep[gone]]
        keep[gone] = False
        names = one["column"].split("\0")
        column = ", ".join(names)
        for place, record in zip(gone.tolist(), table.take(pa.array(gone)).to_pylist(), strict=True):
            value = ", ".join(str(_shown(record[name])) for name in names)
            row = None if numbers is None else int(numbers[place])
            text = json.dumps(record, ensure_ascii=False, default=_shown)
            rejects.append(
                {"reason": one["reason"], "column": column, "value": value, "record": text, "file": task["file"], "row": row}
            )
        if len(gone):
            counts.append({**rejects[-len(gone)], "value": rejects[-len(gone)]["value"][:80], "rows": len(gone)})
    _write(pa.Table.from_pylist(rejects, REJECT_SCHEMA), Path(task["rejects"]))
    _write(table.filter(pa.array(keep)), Path(task["part"]))
    return {"rows": int(keep.sum()), "rejected": counts}


def row_numbers(rows: int, file: str, before: int | None, count: int, rejects: Path) -> np.ndarray | None:
    """The numbers, in the file they came from, of the rows of a raw part, which rejected ones are missing from."""
    if before is None:
        return None
    numbers = np.arange(before + 1, before + count + 1)
    if rejects.exists():
        gone = ds.dataset(rejects).to_table(columns=["row"], filter=ds.field("file") == file)["row"].to_numpy()
        numbers = numbers[~np.isin(numbers, gone)]
    return numbers[:rows]


def _write(table: pa.Table, path: Path) -> None:
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.part")
    pq.write_table(table, temporary, row_group_size=_GROUP_ROWS, compression="zstd", write_page_checksum=True)
    os.replace(temporary, path)


def _shown(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else value.hex() if isinstance(value, bytes) else str(value)
