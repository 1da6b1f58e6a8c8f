"""Join keys as 64-bit words that are equal exactly where SQL says the keys are equal.

Integers, dates, timestamps, booleans: one word, the value. Decimals: the unscaled value, in two words beyond 18 digits. Floats:
the bits, after -0.0 and NaN were made one each. Text: one word, a hash of the bytes; the caller compares the texts themselves
where words agree (`exact` says when that is needed).
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.comparisons import normalized, stored_words
from executor.arrow.decimals import both_words
from executor.arrow.selection import flags
from optimizer.algebra.columns import DataType
from optimizer.errors import ExecutionError

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_FLAGS = 63  # keys whose NULLs a word has bits for


def is_exact(type: DataType) -> bool:
    """Whether equal words mean equal values."""
    return not (pa.types.is_string(type) or pa.types.is_binary(type))


def is_ordered(type: DataType) -> bool:
    """Whether a key of the type is one word that orders as its values do."""
    t = pa.types
    whole = t.is_integer(type) or t.is_boolean(type) or t.is_date32(type) or t.is_timestamp(type)
    return whole or (t.is_decimal128(type) and type.precision <= 18)


def rises(type: DataType) -> bool:
    """Whether `rising_words` knows the type."""
    return is_ordered(type) or pa.types.is_decimal128(type) or pa.types.is_floating(type)


def rising_words(key: pa.Array) -> np.ndarray:
    """A number for each value that never falls where the values rise: of a long decimal its upper half, of NaN infinity. Those
    of NULLs mean nothing."""
    if pa.types.is_floating(key.type):
        values = key.cast(pa.float64()).fill_null(0.0).to_numpy()
        return np.where(np.isnan(values), np.inf, values)
    return _words(key, 0)[-1]


def key_words(keys: Sequence[pa.Array], seed: int = 0, null_safe: int = 0) -> tuple[list[np.ndarray], np.ndarray | None]:
    """The words (int64 arrays, one word a row), and which rows have no NULL among their keys (None: all).

    Words of rows with a NULL mean nothing. `seed` chooses the hash of texts. In the keys of the bitset `null_safe` NULL is a
    value like others: it does not make a row invalid, and the last words say which of these keys are NULL.
    """
    words: list[np.ndarray] = []
    valid: np.ndarray | None = None
    nulls = [np.zeros(len(keys[0]), np.int64) for _ in range(0, len(keys), _FLAGS)] if null_safe else []
    for i, key in enumerate(keys):
        own_words = _words(key, seed)
        if key.null_count:
            own = flags(pc.is_valid(key))
            if null_safe >> i & 1:
                nulls[i // _FLAGS] |= np.where(own, 0, 1 << i % _FLAGS)
                own_words = [np.where(own, word, 0) for word in own_words]
            else:
                valid = own if valid is None else valid & own
        words += own_words
    return words + nulls, valid


def _words(key: pa.Array, seed: int) -> list[np.ndarray]:
    t = pa.types
    type = key.type
    if t.is_decimal128(type):
        return [np.ascontiguousarray(stored_words(key))] if type.precision <= 18 else _two_words(key)
    if not is_exact(type):
        return [_text_hash(key, seed)]
    if t.is_floating(type):
        key = normalized(key.cast(pa.float64()))
        return [key.fill_null(0.0).to_numpy().view(np.int64)]
    if t.is_null(type):
        return [np.zeros(len(key), np.int64)]
    if t.is_boolean(type):
        key = key.cast(pa.int8())
    elif not (t.is_integer(type) or t.is_date32(type) or t.is_timestamp(type)):
        raise ExecutionError(f"keys of type {type} cannot be joined")
    return [stored_words(key).astype(np.int64, copy=False)]


def _two_words(key: pa.Array) -> list[np.ndarray]:
    if len(key) == 0:
        return [np.empty(0, np.int64), np.empty(0, np.int64)]
    words = both_words(key)
    return [np.ascontiguousarray(words[0::2]), np.ascontiguousarray(words[1::2])]


def _text_hash(key: pa.Array, seed: int) -> np.ndarray:
    """A 64-bit hash of each text, eight bytes at a time; rows drop out as their texts end."""
    rows = len(key)
    if rows == 0:
        return np.empty(0, np.int64)
    offsets = np.frombuffer(key.buffers()[1], np.int32)[key.offset : key.offset + rows + 1].astype(np.int64)
    begin, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    starts, lengths = offsets[:-1] - begin, np.diff(offsets)
    data = key.buffers()[2]
    raw = np.zeros(size + 8, np.uint8)  # padded, so that the last eight bytes can be read as a whole
    if data is not None:
        raw[:size] = np.frombuffer(data, np.uint8)[begin : begin + size]
    eight = np.ndarray(size + 1, np.uint64, raw.data, 0, (1,))  # the eight bytes from each place on
    mixed = mix(lengths.astype(np.uint64) + np.array([seed], np.uint64) * _ODD)
    live = np.flatnonzero(lengths > 0)
    place = 0
    while len(live):
        left = lengths[live] - place
        chunk = eight[starts[live] + place]
        short = left < 8
        if short.any():
            bits = (8 * left[short]).astype(np.uint64)
            chunk[short] &= (np.uint64(1) << bits) - np.uint64(1)
        mixed[live] = mix(mixed[live] ^ chunk)
        live = live[~short & (left > 8)]
        place += 8
    return mixed.view(np.int64)


def mixed_words(words: Sequence[np.ndarray]) -> np.ndarray:
    """One well spread unsigned word for each row's words."""
    mixed = mix(words[0].view(np.uint64))
    for word in words[1:]:
        mixed = mix(mixed ^ word.view(np.uint64))
    return mixed


def mix(values: np.ndarray) -> np.ndarray:
    """Spreads each bit of unsigned words over all bits."""
    values = values * _ODD
    values ^= values >> _SHIFT
    values *= _ODD
    values ^= values >> np.uint64(32)
    return values


def rows_by(number: np.ndarray) -> np.ndarray:
    """The rows by their numbers, equal ones as they stand. A word of both is sorted in a tenth of the time of places: the largest
    number times the rows is below 2^62, and the rows are fewer than 2^31."""
    bits = len(number).bit_length()
    word = number.astype(np.int64)
    word <<= bits
    word |= np.arange(len(word), dtype=np.int32)
    word.sort()
    word &= (1 << bits) - 1
    return word.astype(np.int32)
