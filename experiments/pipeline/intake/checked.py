"""Records checked against the columns they are to fill: rows of the right types, and rejected rows with the reason."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.intake.records import Records, Reject
from experiments.pipeline.intake.stream import MARKS
from experiments.pipeline.intake.values import from_values, is_text
from optimizer.algebra.types import type_name

_NOT_TEXT = "bytes that are no text in this encoding"


def checked(records: Records, schema: pa.Schema) -> tuple[pa.RecordBatch, list[Reject]]:
    """The good rows of `records`, in order, and one Reject for each other row, for the first column at fault.

    A column of `schema` that the records lack is NULL; one that is not nullable must have no NULL.
    """
    count = len(records)
    good = np.ones(count, bool)
    columns: list[pa.Array] = []
    rejects = list(records.broken)
    for field in schema:
        stored = records.columns.get(field.name)
        if stored is None:
            stored = pa.nulls(count, field.type)
        if records.marked and is_text(stored.type):
            dirty = pc.fill_null(pc.match_substring_regex(stored, f"[{MARKS}]"), False).to_numpy(zero_copy_only=False)
            _reject(records, good & dirty, _NOT_TEXT, field.name, rejects)
            good &= ~dirty
        values, failed = from_values(stored, field.type)
        _reject(records, good & failed, f"not a {type_name(field.type)}", field.name, rejects)
        good &= ~failed
        if not field.nullable:
            missing = values.is_null().to_numpy(zero_copy_only=False)
            _reject(records, good & missing, "NULL, which is forbidden here", field.name, rejects)
            good &= ~missing
        columns.append(values)
    batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))
    batch = batch if good.all() else batch.filter(pa.array(good))
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema), rejects


def _reject(records: Records, mask: np.ndarray, reason: str, column: str, rejects: list[Reject]) -> None:
    for i in np.flatnonzero(mask).tolist():
        row = None if records.rows is None else int(records.rows[i])
        rejects.append(Reject(reason, column, shown(_at(records, column, i)), record_text(records.columns, i), row))


def _at(records: Records, column: str, i: int) -> Any:
    stored = records.columns.get(column)
    return None if stored is None else stored[i].as_py()


def shown(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else value.hex() if isinstance(value, bytes) else str(value)


def record_text(columns: dict[str, pa.Array], i: int) -> str:
    """One row as a JSON object."""
    return json.dumps({name: column[i].as_py() for name, column in columns.items()}, ensure_ascii=False, default=shown)
