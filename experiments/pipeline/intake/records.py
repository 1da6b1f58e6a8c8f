"""Rows as they come from a source, before any check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from experiments.pipeline.intake.stream import unmarked


class Reject(NamedTuple):
    """A row that is not imported. `row` counts the rows of its file from 1, without header and blank lines; None: unknown.

    `reason` in a few words, the same for all rows with this fault; `column` and `value` where one of them is at fault;
    `record`: the row, as the file has it or as a JSON object.
    """

    reason: str
    column: str | None
    value: str | None
    record: str | None
    row: int | None


REJECT_SCHEMA = pa.schema(
    [
        ("reason", pa.string()),
        ("column", pa.string()),
        ("value", pa.string()),
        ("record", pa.string()),
        ("file", pa.string()),
        ("row", pa.int64()),
    ]
)


def reject_table(rejects: Sequence[Reject], file: str) -> pa.Table:
    rows = [
        {**one._asdict(), **{name: storable(getattr(one, name)) for name in ("column", "value", "record")}, "file": file}
        for one in rejects
    ]
    return pa.Table.from_pylist(rows, REJECT_SCHEMA)


def storable(text: str | None) -> str | None:
    """`text` as it may be written down: bytes that were no text as \\xNN."""
    return None if text is None else unmarked(text).encode("utf-8", "replace").decode()


@dataclass(slots=True)
class Records:
    """Some rows: columns by name, equally long; `rows`: their numbers in the file, None unknown; `broken`: rows between them
    that could not even be told apart into columns; `marked`: texts may hold marked bytes (`stream`)."""

    columns: dict[str, pa.Array]
    rows: np.ndarray | None
    broken: list[Reject] = field(default_factory=list)
    marked: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0


def numbers_without(start: int, count: int, left_out: Sequence[int]) -> np.ndarray:
    """The first `count` whole numbers from `start` on that are not in `left_out` (ascending)."""
    numbers = np.arange(start, start + count + len(left_out))
    return numbers[~np.isin(numbers, np.asarray(left_out, dtype=np.int64))][:count]
