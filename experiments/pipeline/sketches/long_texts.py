"""Texts too long to be kept, cut to bounds that are as good: a cut text is below, the next one after all with its start above."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.sketches.order import is_text

LONGEST = 1024  # bytes


def lengths(values: pa.Array) -> np.ndarray | None:
    """In bytes; None for types of which no value is long."""
    return pc.binary_length(values).to_numpy().astype(np.int64) if is_text(values.type) else None


def cut(values: pa.Array) -> pa.Array:
    """Each value, or what LONGEST bytes hold of it, which is below it. Ascending values stay so."""
    widths = lengths(values)
    if widths is None or not (widths > LONGEST).any():
        return values
    return pa.array([_start(value) for value in values.to_pylist()], values.type)


def cut_upwards(values: pa.Array) -> pa.Array:
    """Each value, or a shorter one above it and all others that start like it."""
    widths = lengths(values)
    if widths is None or not (widths > LONGEST).any():
        return values
    return pa.array([_above(value) for value in values.to_pylist()], values.type)


def _start(value: str | bytes) -> str | bytes:
    if isinstance(value, bytes):
        return value[:LONGEST]
    return value.encode()[:LONGEST].decode(errors="ignore") if len(value.encode()) > LONGEST else value


def _above(value: str | bytes) -> str | bytes:
    start = _start(value)
    if len(start) == len(value):
        return value
    if isinstance(start, bytes):
        kept = start.rstrip(b"\xff")
        return kept[:-1] + bytes([kept[-1] + 1]) if kept else value
    text = start.rstrip("\U0010ffff")
    if not text:
        return value
    following = ord(text[-1]) + 1
    return text[:-1] + chr(0xE000 if following == 0xD800 else following)
