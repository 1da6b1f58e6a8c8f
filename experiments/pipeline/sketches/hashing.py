"""64 well mixed bits for each value: what sketches of distinct values live on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from executor.arrow.key_words import key_words


def hashes(*columns: pa.Array) -> np.ndarray:
    """uint64 for each row of one column or of several; equal where SQL's IS NOT DISTINCT FROM says so, NULL being a value."""
    words, _ = key_words(columns, null_safe=(1 << len(columns)) - 1)
    mixed = np.zeros(len(columns[0]), np.uint64)
    for word in words:
        mixed = _splitmix(mixed ^ word.view(np.uint64))
    return mixed


def _splitmix(words: np.ndarray) -> np.ndarray:
    """A step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection in which each bit changes half of all bits."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
