"""The columns that a table of the dataset gets, and where each one comes from."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from optimizer.algebra.columns import DataType


@dataclass(frozen=True, slots=True)
class Target:
    """`name` and canonical `type` of a column; `required`: NULL is forbidden."""

    name: str
    type: DataType
    required: bool = False


def as_schema(targets: tuple[Target, ...]) -> pa.Schema:
    return pa.schema([pa.field(target.name, target.type, nullable=not target.required) for target in targets])
