"""Sketches as bytes: each a compressed Arrow stream of one row, a column for each number or array in it, at any depth."""

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_type_hints

import numpy as np
import pyarrow as pa

VERSION = 2  # of the bytes, and of what the sketches in them mean
Sketch = TypeVar("Sketch")


def to_bytes(sketch: object) -> bytes:
    batch = pa.RecordBatch.from_pydict(_columns(sketch, ""))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def from_bytes(kind: type[Sketch], data: bytes) -> Sketch:
    """A sketch of the class `kind`. Raises ArrowException or KeyError when `data` is damaged or something else."""
    with pa.ipc.open_stream(data) as reader:
        made: Sketch = _made(kind, reader.read_next_batch(), "")
    return made


def _columns(sketch: Any, path: str) -> dict[str, pa.Array]:
    found: dict[str, pa.Array] = {}
    for name in (field.name for field in fields(sketch)):
        value = getattr(sketch, name)
        if is_dataclass(value):
            found |= _columns(value, f"{path}{name}.")
        elif isinstance(value, int | float):
            found[path + name] = pa.array([value])
        else:
            flat = value if isinstance(value, pa.Array) else pa.array(value.reshape(-1))
            found[path + name] = pa.ListArray.from_arrays(pa.array([0, len(flat)], pa.int32()), flat)
    return found


def _made(kind: Any, batch: pa.RecordBatch, path: str) -> Any:
    values: dict[str, Any] = {}
    for name, type in _hints(kind).items():
        if is_dataclass(type):
            values[name] = _made(type, batch, f"{path}{name}.")
        else:
            stored = batch.column(path + name)
            values[name] = stored.flatten() if type in (pa.Array, np.ndarray) else stored[0].as_py()
            if type is np.ndarray:
                values[name] = values[name].to_numpy().copy()
    return kind(**values)


_hints = cache(get_type_hints)
