"""The cheapest joins of all sets of a region at once, by size, as arrays.

    best[S] = min over the splits (L, R) of S of  best[L] + best[R] + local(L, R)        one vector pass for each size

`local` is the cheapest of the hash join that builds on the cheaper side, nested loops, and, where it may be the cheapest, a
merge join whose inputs are taken to be sorted already. Without merge joins `best` is the cost of the cheapest plan. With them, and
for plans in some order, it is a bound: such a plan costs no less than the one of the same shape whose sorts are free. So the
search of goals with orders looks only at splits whose bound lies within what it has (`region_ways`).

Nothing is skipped: 14 ns a split is less than a bound would take. Hash join costs are the same whichever side is the left one, so a
split stands for both.

Source: dynamic programming over connected subgraphs (Moerkotte and Neumann, VLDB 2006), its levels as in DPsize (Selinger et al.,
SIGMOD 1979).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from optimizer.algebra.physical import HashJoin, NestedLoopJoin
from optimizer.cost.joins import JoinCosts
from optimizer.joins.graph import Relations
from optimizer.joins.inner import InnerRegion
from optimizer.joins.set_splits import Positions, Sets, SetSplits
from optimizer.memo.goal import Split

Costs: TypeAlias = npt.NDArray[np.float64]


class Methods(NamedTuple):
    """The join algorithms that a region may use. `merge`: it may be the cheapest of them."""

    hash: bool
    loop: bool
    merge: bool


class SetTable:
    """`best[p]`: see above, for the set at position p of `splits.sets`; infinite where a set has no plan."""

    def __init__(
        self, region: InnerRegion, splits: SetSplits, costs: JoinCosts, methods: Methods, rows: Costs, leaves: list[float]
    ) -> None:
        """`rows` of all sets, at least the costs' floor; `leaves`: costs of the relations."""
        self.splits, self.costs, self.methods, self.rows = splits, costs, methods, rows
        self._plain = region.plain
        sets = splits.sets
        self._calls, self._residual, self._keys = (np.zeros(len(sets)) for _ in range(3))
        for conjunct in region.conjuncts:
            within = sets & conjunct.relations == conjunct.relations
            self._calls += within * float(conjunct.calls)
            if conjunct.key:
                self._keys += within
            else:
                self._residual += within * float(conjunct.calls)
        self.best = np.full(len(sets), np.inf)
        self.best[: region.n] = leaves
        for level in splits.levels:
            local = self._local(level.left, level.right, level.sets, np.diff(level.starts, append=len(level.left)))
            local += self.best[level.left]
            local += self.best[level.right]
            self.best[level.sets] = np.minimum.reduceat(local, level.starts) + self._fixed(level.sets)

    def of(self, s: Relations) -> tuple[float, float]:
        """Rows and cost of a set."""
        at = self.splits.positions(np.array([s], dtype=np.int64))[0]
        return float(self.rows[at]), float(self.best[at])

    def bounds(self, s: Relations) -> tuple[Sets, Sets, Costs]:
        """The parts of all splits of a set, and what a plan through each costs at least."""
        at, left, right = self.splits.of(s)
        owner = np.array([at], dtype=np.int32)
        bound = self._local(left, right, owner, np.array([len(left)])) + self.best[left] + self.best[right] + self._fixed(owner)
        return self.splits.sets[left], self.splits.sets[right], bound

    def cheapest(self, s: Relations) -> tuple[Split, float]:
        """The split that gives a set its cost, and the cost of that join alone. A hash join builds on the right."""
        at, left, right = self.splits.of(s)
        owner = np.array([at], dtype=np.int32)
        local = self._local(left, right, owner, np.array([len(left)]))
        number = int(np.argmin(local + self.best[left] + self.best[right]))
        a, b = int(self.splits.sets[left[number]]), int(self.splits.sets[right[number]])
        if bool(self.rows[left[number]] < self.rows[right[number]]) is (self.costs.build > self.costs.probe):
            a, b = b, a
        hashed = self._hash(left[[number]], right[[number]], owner, np.array([1]))
        method = HashJoin if hashed[0] <= local[number] else NestedLoopJoin
        return Split(method, a, b), float(local[number] + self._fixed(owner)[0])

    def _fixed(self, sets: Positions) -> Costs:
        """What every join of a set costs, however it is made."""
        fixed: Costs = self.costs.start + self.costs.out * self.rows[sets]
        return fixed

    def _local(self, left: Positions, right: Positions, sets: Positions, counts: npt.NDArray[np.int64]) -> Costs:
        """The cheapest join of each split, `counts[i]` of them for set i, without what is the same for all joins of the set."""
        costs, methods = self.costs, self.methods
        x, y = self.rows[left], self.rows[right]
        result = self._hash(left, right, sets, counts)
        if methods.merge:
            merged = costs.merge * (x + y)
            if not self._plain:
                merged = np.where(self._within(self._keys, left, right, sets, counts) > 0, merged, np.inf)
            result = np.minimum(result, merged)
        if methods.loop:
            loops = costs.pair * x * y
            if costs.pair_call:
                loops += costs.pair_call * self._within(self._calls, left, right, sets, counts) * x * y
            result = np.minimum(result, costs.loop * (x + y) + loops)
        return result

    def _hash(self, left: Positions, right: Positions, sets: Positions, counts: npt.NDArray[np.int64]) -> Costs:
        costs = self.costs
        if not self.methods.hash:
            return np.full(len(left), np.inf)
        x, y = self.rows[left], self.rows[right]
        most, least = max(costs.build, costs.probe), min(costs.build, costs.probe)
        result: Costs = most * np.minimum(x, y) + least * np.maximum(x, y)
        if not self._plain:
            if costs.call:
                residual = self._within(self._residual, left, right, sets, counts)
                result += costs.call * residual * np.repeat(self.rows[sets], counts)
            result = np.where(self._within(self._keys, left, right, sets, counts) > 0, result, np.inf)
        return result

    @staticmethod
    def _within(figure: Costs, left: Positions, right: Positions, sets: Positions, counts: npt.NDArray[np.int64]) -> Costs:
        """What a figure that adds up over conjuncts is for those that a join tests."""
        found: Costs = np.repeat(figure[sets], counts) - figure[left] - figure[right]
        return found
