"""The columns that a table of the dataset gets, and where each one comes from."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

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


def schema_text(schema: pa.Schema) -> str:
    """A schema as text that JSON can hold."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def text_schema(text: str) -> pa.Schema:
    found: Any = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
    return found
