"""HyperLogLog: how many different values were seen, in 4,096 bytes (Flajolet, Fusy, Gandouet and Meunier, AofA 2007).

The standard error is 1.04 / √4096 = 1.6 %. Registers are read off with Ertl's improved estimator (arXiv 1702.01284, section 4),
which has no ranges with formulas of their own. Two sketches merge into the one that would have seen both inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np
import pyarrow as pa

from executor.arrow.key_words import key_words
from experiments.workloads.permutation import mixed

BITS = 12
REGISTERS = 1 << BITS
STANDARD_ERROR = 1.04 / sqrt(REGISTERS)
_REST = 64 - BITS  # bits of a hash that are left to count zeros in
_TERMS = range(1, 64)  # of the sums in the estimator: further ones are below what a float shows


@dataclass(slots=True, eq=False)
class HyperLogLog:
    """`registers`: uint8, 4,096 of them."""

    registers: np.ndarray

    def estimate(self) -> float:
        counts = np.bincount(self.registers, minlength=_REST + 2)
        z = REGISTERS * _tau(1.0 - counts[_REST + 1] / REGISTERS)
        for k in range(_REST, 0, -1):
            z = 0.5 * (z + counts[k])
        z += REGISTERS * _sigma(counts[0] / REGISTERS)
        return 0.0 if z == inf else float(REGISTERS * REGISTERS / (2.0 * log(2.0) * z))


def counter_of(hashes: np.ndarray) -> HyperLogLog:
    """Of the values with these 64-bit hashes (uint64), however often each is there."""
    place = (hashes >> np.uint64(_REST)).astype(np.int64)
    rest = hashes & np.uint64((1 << _REST) - 1)
    rank = _REST + 1 - np.frexp(rest.astype(np.float64))[1]  # words below 2^52 are exact as floats
    registers = np.zeros(REGISTERS, np.uint8)
    np.maximum.at(registers, place, rank.astype(np.uint8))
    return HyperLogLog(registers)


def merge_counters(parts: Sequence[HyperLogLog]) -> HyperLogLog:
    return HyperLogLog(np.maximum.reduce([part.registers for part in parts]))


def _sigma(x: float) -> float:
    return inf if x == 1.0 else x + sum(x**2.0**k * 2.0 ** (k - 1) for k in _TERMS)


def _tau(x: float) -> float:
    return 0.0 if x == 0.0 else (1.0 - x - sum((1.0 - x**0.5**k) ** 2 * 0.5**k for k in _TERMS)) / 3.0


def hashes(*columns: pa.Array) -> np.ndarray:
    """uint64 for each row of one column or of several; equal where SQL's IS NOT DISTINCT FROM says so, NULL being a value."""
    words, _ = key_words(columns, null_safe=(1 << len(columns)) - 1)
    found = np.zeros(len(columns[0]), np.uint64)
    for word in words:  # a step of SplitMix64 each: a bijection in which each bit changes half of all bits
        found = mixed((found ^ word.view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15))
    return found
