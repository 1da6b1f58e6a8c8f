"""Values sorted and told apart: for each type a NumPy array that orders as SQL orders the values, texts by their bytes.

Texts too long to be kept are cut to bounds that are as good: a cut text is below, the next one after all with its start above.
"""

from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from executor.arrow.key_words import is_ordered, key_words

LONGEST = 1024  # bytes of a text that is kept whole


def ranked(values: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """For each value the rank of its distinct value, from 0; and these, ascending. No NULL, no NaN, and -0.0 is 0.0."""
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[encoded.indices], encoded.dictionary.take(order)


def sortable(values: pa.Array) -> np.ndarray | None:
    """Numbers that compare as the values do; None for decimals too large for that."""
    type = values.type
    if pa.types.is_floating(type):
        return values.to_numpy(zero_copy_only=False)
    if is_ordered(type):
        return key_words([values])[0][0]
    return decimals.unscaled(values) if pa.types.is_decimal128(type) else None


def from_sortable(words: np.ndarray, type: pa.DataType) -> pa.Array:
    """The values that `sortable` gave these numbers for."""
    if pa.types.is_decimal128(type):
        return decimals.from_unscaled(words, type, None)
    return pa.array(words.astype(np.int32) if pa.types.is_date32(type) else words).cast(type)


def python_values(values: pa.Array) -> list[Any]:
    """Each as a Python object; of a date or timestamp beyond years 1 to 9999, such as "infinity", the nearest that Python has."""
    if pa.types.is_date32(values.type) or pa.types.is_timestamp(values.type):
        kind = date if pa.types.is_date32(values.type) else datetime
        first, last = pa.array([kind.min, kind.max], values.type)
        values = pc.min_element_wise(pc.max_element_wise(values, first), last)
    found: list[Any] = values.to_pylist()
    return found


def is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_binary(type))


def lengths(values: pa.Array) -> np.ndarray | None:
    """In bytes; None for types of which no value is long."""
    return pc.binary_length(values).to_numpy().astype(np.int64) if is_text(values.type) else None


def cut(values: pa.Array, upwards: bool = False) -> pa.Array:
    """Each value, or what LONGEST bytes hold of it, which is below it; upwards with the greatest character after it, which is
    above it. Ascending values stay so."""
    widths, found = lengths(values), list[Any]()
    if widths is None or not (widths > LONGEST).any():
        return values
    for value in values.to_pylist():
        start: Any = value[:LONGEST] if isinstance(value, bytes) else value.encode()[:LONGEST].decode(errors="ignore")
        top: Any = b"\xff" if isinstance(value, bytes) else "\U0010ffff"
        stays = len(start) == len(value) or (upwards and value.startswith(top, len(start)))
        found.append(value if stays else start + top if upwards else start)
    return pa.array(found, values.type)
