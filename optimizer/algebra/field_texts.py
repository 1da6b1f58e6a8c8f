"""How a text in a file is read where its column is declared as a type: loosely as to form, exactly as to value.

Blanks around it do not count. A BOOLEAN is one of DuckDB's words, in any case; an integer has digits only, after a sign; a time
with a zone becomes UTC, and zeros may follow its microseconds.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from optimizer.algebra.columns import DataType
from optimizer.algebra.types import FALSE_TEXTS, TRUE_TEXTS

_BLANK = " \t\r\n"
_INTEGER = "^[-+]?[0-9]+$"
_ZONED = r"[ T].*(Z|[-+][0-9:]+)$"


def from_texts(texts: Any, type: DataType) -> Any:
    """Values of a canonical type, for an array or an expression of texts. Raises ArrowInvalid for a text that is none."""
    t = pa.types
    trimmed = pc.utf8_trim(texts, _BLANK)
    if t.is_boolean(type):
        lower = pc.utf8_lower(trimmed)
        for word, spelled in (("true", TRUE_TEXTS), ("false", FALSE_TEXTS)):
            lower = pc.if_else(pc.is_in(lower, pa.array(spelled)), word, lower)
        return lower.cast(type)
    if t.is_integer(type):
        digits = pc.if_else(pc.match_substring_regex(trimmed, _INTEGER), trimmed, "")
        return digits.cast(pa.decimal128(19, 0)).cast(type)
    if t.is_decimal(type):  # Arrow would overflow silently
        return trimmed.cast(pa.decimal256(76, type.scale)).cast(type)
    if t.is_timestamp(type):
        short = pc.replace_substring_regex(trimmed, r"(\.[0-9]{6})0+", r"\1")
        zoned = pc.match_substring_regex(short, _ZONED)
        utc = pc.if_else(zoned, short, None).cast(pa.timestamp("us", "UTC"))
        return pc.coalesce(utc.cast(type), pc.if_else(zoned, None, short).cast(type))
    return trimmed.cast(type)
