"""The type of a column of texts: the narrowest one that all values of all files have.

In this order: BIGINT, DECIMAL(38,0) for longer whole numbers, BOOLEAN (true and false), DATE, TIMESTAMP (all without a zone, or
all with one, which makes them UTC), DOUBLE, VARCHAR. A column without values is VARCHAR. Every value is looked at, so that no
value of an inferred column is ever rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.intake.values import from_text
from optimizer.algebra.columns import DataType

TYPES: dict[str, DataType] = {
    "integer": pa.int64(),
    "long integer": pa.decimal128(38, 0),
    "truth": pa.bool_(),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
    "time with zone": pa.timestamp("us"),
    "number": pa.float64(),
}
_ZONED = r":.*[0-9:.]([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)\s*$"
_LONG = r"^\s*[+-]?[0-9]{17,}\s*$"  # whole numbers that a DOUBLE may not hold exactly
_FIT = {  # kinds of JSON values -> what they may be, when all are of that kind
    "number": ("integer", "long integer", "number"),
    "text": ("date", "time", "time with zone"),
    "truth": ("truth",),
}


class Inference:
    """What the values of one column can be, as far as they have been seen."""

    def __init__(self, possible: Iterable[str] = tuple(TYPES), valued: bool = False) -> None:
        self.possible, self.valued = list(possible), valued

    def see(self, texts: pa.Array) -> None:
        texts = texts.drop_null()
        if not len(texts):
            return
        self.valued = True
        self.possible = [name for name in self.possible if _all_are(texts, name)]

    def as_json(self) -> dict[str, Any]:
        return {"possible": self.possible, "valued": self.valued}


def inferred_type(seen: Sequence[Mapping[str, Any]], kinds: Iterable[str] = ()) -> DataType:
    """The type of a column from what its files said (`as_json`); `kinds`: the kinds of its JSON values."""
    valued = [one for one in seen if one["valued"]]
    possible = set(TYPES).intersection(*(one["possible"] for one in valued)) if valued else set()
    kinds = set(kinds)
    if kinds:
        possible &= set(_FIT[kinds.pop()]) if len(kinds) == 1 else set()
    return next((type for name, type in TYPES.items() if name in possible), pa.string())


def _all_are(texts: pa.Array, name: str) -> bool:
    if name == "truth" and not pc.all(pc.is_in(pc.utf8_lower(texts), pa.array(["true", "false"]))).as_py():
        return False
    if name == "long integer" and not pc.all(pc.match_substring_regex(texts, r"^\s*[+-]?[0-9]+\s*$")).as_py():
        return False
    if name == "number" and pc.any(pc.match_substring_regex(texts, _LONG)).as_py():
        return False
    if name in ("time", "time with zone"):
        zoned = pc.match_substring_regex(texts, _ZONED)
        if not pc.all(zoned if name == "time with zone" else pc.invert(zoned)).as_py():
            return False
    for start in (0, min(100, len(texts))):  # most types are ruled out by the first few values
        piece = texts[:100] if start == 0 else texts[start:]
        if from_text(piece, TYPES[name])[1].any():
            return False
    return True
