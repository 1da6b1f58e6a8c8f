"""Counting an inner equi-join without making its rows.

The rows of an input are no more than their join keys and how often each combination occurs: a factor, a function from values of
some variables (one for each set of equated keys) to a count. The number of joined rows is

    Σ over all values of all variables   Π over the factors f   f(values)

and, as sums and products distribute, variables that only one factor has are summed away at once. Where the variables of a factor
are all in another one it is multiplied into it row by row. In an acyclic join that is always possible until one factor is
left (Yannakakis, VLDB 1981; Abo Khamis, Ngo and Rudra, FAQ, PODS 2016), so the work is linear in the inputs, however many
rows are joined. Around a cycle the two factors with the smallest join are joined, at most the distinct keys of which are held.

Counts are exact: 64-bit integers while they fit, Python's beyond.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from executor.arrow.key_index import KeyIndex

Variable = int
_FITS = 1 << 62  # counts below are added and multiplied as 64-bit integers
_PAIRS = 1 << 22  # rows of a join made at a time


class Factor:
    """`keys[i]`: the values of variable `variables[i]`, as words; `counts`: rows with these values. One array entry a row."""

    __slots__ = ("counts", "keys", "variables")

    def __init__(self, variables: tuple[Variable, ...], keys: list[np.ndarray], counts: np.ndarray) -> None:
        self.variables, self.keys, self.counts = variables, keys, counts

    def renamed(self, variables: tuple[Variable, ...]) -> Factor:
        return Factor(variables, self.keys, self.counts)

    def total(self) -> int:
        return int(_addable(self.counts).sum()) if len(self.counts) else 0

    def summed(self, keep: frozenset[Variable]) -> Factor:
        """The factor with its other variables summed away, each combination of values once."""
        places = [i for i, variable in enumerate(self.variables) if variable in keep]
        variables = tuple(self.variables[i] for i in places)
        if not places:
            return Factor((), [], np.array([self.total()], object))
        keys, counts = [self.keys[i] for i in places], _addable(self.counts)
        if not len(counts):
            return Factor(variables, keys, counts)
        if counts.dtype != object:
            names = [f"k{i}" for i in range(len(keys))]
            table = pa.table([pa.array(each) for each in (*keys, counts)], names=[*names, "count"])
            table = table.group_by(names).aggregate([("count", "sum")])
            return Factor(variables, [table[name].to_numpy() for name in names], table["count_sum"].to_numpy())
        order = np.lexsort(keys)
        keys = [key[order] for key in keys]
        starts = np.concatenate([[True], np.logical_or.reduce([key[1:] != key[:-1] for key in keys])])
        first = np.flatnonzero(starts)
        return Factor(variables, [key[first] for key in keys], np.add.reduceat(counts[order], first))

    def times(self, other: Factor) -> Factor:
        """The product with a factor whose variables are all in this one, and which has each combination of values once."""
        if not other.variables:
            return Factor(self.variables, self.keys, _product(self.counts, np.full(len(self.counts), other.total(), object)))
        if not len(self.counts) or not len(other.counts):
            return Factor(self.variables, [key[:0] for key in self.keys], self.counts[:0])
        index = KeyIndex([pa.array(key) for key in other.keys])
        group = index.find([pa.array(self.keys[self.variables.index(variable)]) for variable in other.variables])
        found = np.flatnonzero(group >= 0)
        counts = other.counts[index.rows[index.first[group[found]]]]
        return Factor(self.variables, [key[found] for key in self.keys], _product(self.counts[found], counts))

    def shared(self, other: Factor) -> list[Variable]:
        return [variable for variable in self.variables if variable in other.variables]

    def joined_rows(self, other: Factor) -> int:
        """Rows of the product with another factor, before anything is summed away."""
        variables = frozenset(self.shared(other))
        one, two = (Factor(f.variables, f.keys, np.ones(len(f.counts), np.int64)).summed(variables) for f in (self, other))
        return one.times(two).total()

    def joined(self, other: Factor, keep: frozenset[Variable]) -> Factor:
        """The product with another factor, summed down to the variables of `keep`."""
        shared = self.shared(other)
        extra = [variable for variable in other.variables if variable not in shared]
        variables = (*self.variables, *extra)
        if not len(self.counts) or not len(other.counts):
            return _empty(variables).summed(keep)
        index = KeyIndex([pa.array(other.keys[other.variables.index(variable)]) for variable in shared])
        group = index.find([pa.array(self.keys[self.variables.index(variable)]) for variable in shared])
        here = np.flatnonzero(group >= 0)
        ends = np.cumsum(index.counts[group[here]])
        parts, done = [], 0
        while done < len(here):
            base = int(ends[done - 1]) if done else 0
            upto = max(done + 1, int(np.searchsorted(ends, base + _PAIRS, side="right")))
            place, right = index.pairs(group[here[done:upto]])
            left = here[done:upto][place]
            keys = [key[left] for key in self.keys] + [other.keys[other.variables.index(v)][right] for v in extra]
            parts.append(Factor(variables, keys, _product(self.counts[left], other.counts[right])).summed(keep))
            done = upto
        return _union(parts).summed(keep) if parts else _empty(variables).summed(keep)


def _empty(variables: Sequence[Variable]) -> Factor:
    return Factor(tuple(variables), [np.empty(0, np.int64) for _ in variables], np.empty(0, np.int64))


def product_total(factors: Sequence[Factor]) -> int:
    """The sum over all values of the product of the factors."""
    waiting = list(factors)
    total = 1
    while waiting:
        waiting = [f.summed(_elsewhere(waiting, i)) for i, f in enumerate(waiting)]
        for f in waiting:
            if not len(f.counts):
                return 0
            if not f.variables:
                total *= f.total()
        waiting = [f for f in waiting if f.variables]
        if len(waiting) > 1:
            waiting = _step(waiting)
    return total


def _elsewhere(factors: Sequence[Factor], at: int) -> frozenset[Variable]:
    return frozenset(v for i, f in enumerate(factors) if i != at for v in f.variables)


def _step(factors: list[Factor]) -> list[Factor]:
    """One factor fewer."""
    for small in sorted(range(len(factors)), key=lambda i: len(factors[i].counts)):
        for large, other in enumerate(factors):
            if large != small and set(factors[small].variables) <= set(other.variables):
                rest = [f for i, f in enumerate(factors) if i not in (small, large)]
                return [*rest, other.times(factors[small])]
    pairs = [(i, j) for i in range(len(factors)) for j in range(i) if factors[i].shared(factors[j])]
    i, j = min(pairs, key=lambda pair: factors[pair[0]].joined_rows(factors[pair[1]]))
    rest = [f for k, f in enumerate(factors) if k not in (i, j)]
    keep = frozenset(v for f in rest for v in f.variables)
    return [*rest, factors[i].joined(factors[j], keep)]


def _union(parts: Sequence[Factor]) -> Factor:
    keys = [np.concatenate([part.keys[i] for part in parts]) for i in range(len(parts[0].variables))]
    exact = any(part.counts.dtype == object for part in parts)
    counts = np.concatenate([part.counts.astype(object) if exact else part.counts for part in parts])
    return Factor(parts[0].variables, keys, counts)


def _addable(counts: np.ndarray) -> np.ndarray:
    """The counts in a type in which their sum fits."""
    if counts.dtype == object or float(counts.sum(dtype=np.float64)) < _FITS:
        return counts
    return counts.astype(object)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not len(a):
        return a
    if int(a.max()) * int(b.max()) < _FITS:
        return a.astype(np.int64) * b.astype(np.int64)
    return a.astype(object) * b.astype(object)
