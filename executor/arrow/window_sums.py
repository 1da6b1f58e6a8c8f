"""Exact sums over many ranges of rows by prefix sums, of integers and decimals.

Values whose sums could leave int64 are cut into pieces of 32 bits, whose sums cannot (up to 2^31 rows), and put together again
at the end. A sum of more digits than its type has raises ExecutionError.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from optimizer.algebra.columns import DataType

_MASK = np.int64(0xFFFF_FFFF)
_SAFE = 1 << 62
_LARGEST = 10**38


def limbs(array: pa.Array) -> list[np.ndarray]:
    """Integers or unscaled decimals as sums of arrays times 2^32, 2^64, …; 0 for NULL. One array where sums of all its values
    fit int64."""
    whole = decimals.unscaled(array)
    if whole is not None:
        if decimals.largest(whole) * max(len(whole), 1) < _SAFE:
            return [whole]
        return [whole & _MASK, whole >> 32]
    words = decimals.both_words(array).copy()
    if array.null_count:
        words[np.repeat(pc.is_null(array).to_numpy(zero_copy_only=False), 2)] = 0
    low, high = words[0::2], words[1::2]
    return [low & _MASK, (low >> 32) & _MASK, high & _MASK, high >> 32]


def prefix_sums(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, … values."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def decimals_of(sums: Sequence[np.ndarray], type: DataType, valid: np.ndarray) -> pa.Array:
    """The sums of limbs as decimals of `type`, NULL where not `valid`."""
    bitmap = None if valid.all() else pa.array(valid).buffers()[1]
    if len(sums) == 1:
        return decimals.from_unscaled(np.where(valid, sums[0], 0), type, bitmap)
    words, carry = [], np.zeros(len(valid), np.int64)
    for limb in (*sums, *(np.zeros(len(valid), np.int64),) * (5 - len(sums))):
        carry = carry + np.where(valid, limb, 0)
        words.append(carry & _MASK)
        carry = carry >> 32
    low, high = words[0] | words[1] << 32, words[2] | words[3] << 32
    if not np.array_equal(words[4] | carry << 32, high >> 63) or _too_large(low, high):
        raise decimals.does_not_fit(type)
    both = np.empty(2 * len(low), np.int64)
    both[0::2], both[1::2] = low, high
    return pa.Array.from_buffers(type, len(low), [bitmap, pa.py_buffer(both)])


def _too_large(low: np.ndarray, high: np.ndarray) -> bool:
    """Whether a 128-bit number has more than 38 digits."""
    below = low.view(np.uint64)
    top, rest = np.int64(_LARGEST >> 64), np.uint64(_LARGEST & ((1 << 64) - 1))
    over = (high > top) | ((high == top) & (below >= rest))
    bottom, least = np.int64(-_LARGEST >> 64), np.uint64(-_LARGEST & ((1 << 64) - 1))
    return bool((over | (high < bottom) | ((high == bottom) & (below <= least))).any())
