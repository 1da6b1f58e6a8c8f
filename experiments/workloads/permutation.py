"""Permutations of large ranges by arithmetic alone: so that rows of synthetic tables can be made in any order, in parts."""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.uint64]
_ROUNDS = 4


def permuted(numbers: Integers, size: int, name: str) -> Integers:
    """Where a permutation of 0 … size-1, chosen by `name`, takes each of `numbers`."""
    half = max(1, ((size - 1).bit_length() + 1) // 2)  # a network over 2·half bits: at most 4 · size
    keys = [int.from_bytes(hashlib.sha256(f"{name} {i}".encode()).digest()[:8], "little") for i in range(_ROUNDS)]
    found = numbers.copy()
    outside = np.arange(len(found))
    while len(outside):  # a permutation of a larger range, applied until it lands in ours, is one of ours
        found[outside] = _network(found[outside], half, keys)
        outside = outside[found[outside] >= np.uint64(size)]
    return found


def _network(values: Integers, half: int, keys: Sequence[int]) -> Integers:
    """Feistel rounds: (left, right) becomes (right, left xor f(right)); f is splitmix64's finalizer."""
    mask, shift = np.uint64((1 << half) - 1), np.uint64(half)
    left, right = values >> shift, values & mask
    for key in keys:
        left, right = right, left ^ (mixed(right ^ np.uint64(key)) & mask)
    return (left << shift) | right


def mixed(values: Integers) -> Integers:
    """The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
