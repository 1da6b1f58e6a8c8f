"""The cheapest joins of all sets of a region at once, by size, as arrays: one vector pass for each size, nothing is skipped.

    best[S]    = min over the splits (L, R) of S of  local + best[L] + best[R],  merge + some[L] + some[R]
    ordered[S] = min(best[S] + sort(S), min over the splits of
                     kept(L) + ordered[L] + best[R],  kept(R) + ordered[R] + best[L],
                     merge + min(ordered[L] + some[R], some[L] + ordered[R]))

`local` is the cheapest of the hash join that builds on the cheaper side and nested loops, `kept(X)` of those that keep the
order of X. `ordered` is what a plan costs at least whose order begins with a column of certain relations, `some` of one that
is in any order at all: the order begins at some sort, and every join from there on keeps it. Where no merge join can be the
cheapest, `best` is the cost of the cheapest plan; else it is a bound, as `ordered` is, since the two orders that a merge
join needs are taken to fit. So the search of goals with orders (`region_ways`) looks only at the few splits whose bound lies
below its plan.

A hash join costs the same whichever side is the left one, so a split stands for both.

Source: dynamic programming over connected subgraphs (Moerkotte and Neumann, VLDB 2006), its levels as in DPsize (Selinger et al.,
SIGMOD 1979).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from optimizer.algebra.columns import union
from optimizer.cost.joins import JoinCosts
from optimizer.joins.graph import Relations
from optimizer.joins.inner import InnerRegion
from optimizer.joins.set_splits import Level, OutOfTime, Sets, SetSplits

Costs: TypeAlias = npt.NDArray[np.float64]
KEPT_SPLITS = 500_000  # splits up to which their costs and what every order needs of them are kept, 48 bytes each
AT_ONCE = 2_000  # splits up to which those of all sizes are costed in one pass; longer arrays leave the caches


class Methods(NamedTuple):
    """The join algorithms that a region may use. `merge`: it may be the cheapest way to a set in no order."""

    hash: bool
    loop: bool
    merge: bool


class Beside(NamedTuple):
    """What the joins of some splits cost beside the part whose order they keep, the left or the right one: hash joins and nested
    loops; and the cheapest where a merge join may keep it too."""

    left: Costs
    right: Costs
    merging_left: Costs
    merging_right: Costs


class Starts(NamedTuple):
    """The relations that have a column by which an order may begin: `shared`, where a column of another relation equals it, so
    that a merge join may keep the order; `alone`, the others. `free`: those of both of which sets may have it for nothing, all of
    them or, where `whole`, those of such relations only. `costs`: what relations, by number, cost at least in such an order."""

    shared: Relations
    alone: Relations
    free: Relations
    whole: bool = False
    costs: tuple[tuple[int, float], ...] = ()


class SetTable:
    """`best[p]`: see above, for the set at position p of `splits.sets`; infinite where a set has no plan."""

    def __init__(
        self, region: InnerRegion, splits: SetSplits, costs: JoinCosts, methods: Methods, rows: Costs, leaves: list[float],
        sorted_leaves: Relations, constants: bool, late: Callable[[], bool] = bool,
    ) -> None:  # fmt: skip
        """`rows` of all sets, at least the costs' floor; `leaves`: costs of the relations; `sorted_leaves`: those that may be in
        some order without a sort; `constants`: whether joins read a column that is constant in a relation; `late`: asked before
        each size. Raises OutOfTime."""
        self._constants = constants
        self.splits, self.costs, self.methods, self.rows = splits, costs, methods, rows
        self._plain = region.plain
        sets = splits.sets
        self._calls, self._residual, self._keys = (np.zeros(len(sets)) for _ in range(3))
        for conjunct in region.conjuncts:
            within = sets & conjunct.relations == conjunct.relations
            self._calls += within * float(conjunct.calls)
            if self._plain:  # all of them are keys
                continue
            if conjunct.key:
                self._keys += within
            else:
                self._residual += within * float(conjunct.calls)
        self._fixed: Costs = costs.start + costs.out * rows  # what every join of a set costs, however it is made
        self._sort = costs.start + rows * (costs.sort + costs.compare * np.log2(rows + 1.0))  # at least, by one key
        self._sorted = sets & sorted_leaves != 0
        self._sorted_leaves = sorted_leaves
        self._merged_at: dict[int, float] = {}
        self._ordered: dict[Starts, Costs] = {}
        self._passes: dict[Starts, Costs] = {}
        self._levels: dict[int, Beside] = {}
        self._costed: list[Costs] = []  # of each size what the splits cost without merge joins
        self.best = np.full(len(sets), np.inf)
        self.best[: region.n] = leaves
        self._some = some = np.where(self._sorted, self.best, self.best + self._sort) if methods.merge else None
        for number, (level, local) in enumerate(zip(splits.levels, self._locals(), strict=True)):
            if late():
                raise OutOfTime
            self._fill(level, some, local)
            if some is not None:
                self._keep(level, some, self._of_level(number, some))
                some[level.sets] = np.where(self._sorted[level.sets], self.best[level.sets], some[level.sets])

    def of(self, s: Relations) -> tuple[float, float]:
        """Rows and cost of a set."""
        at = self.splits.position(s)
        return float(self.rows[at]), float(self.best[at])

    def ordered(self, starts: Starts) -> Costs:
        """`ordered` for plans whose order begins as said. Further keys are passed over: each would be another pass, and cuts next
        to nothing more."""
        known = self._ordered.get(starts)
        if known is None:
            if self._constants:  # a constant key says nothing: any merge join may keep an order
                known = self._begun(starts.shared | starts.alone, -1, starts)
            else:
                known = np.minimum(self._begun(starts.shared, starts.shared, starts), self._begun(starts.alone, 0, starts))
            self._ordered[starts] = known
        return known

    def _begun(self, leading: Relations, keyed: Relations, starts: Starts) -> Costs:
        """`ordered` for plans whose order begins with a column of the relations `leading`; merge joins keep it that have their
        key on both sides in relations `keyed` (-1: all)."""
        begun = starts._replace(shared=leading, alone=keyed, free=starts.free if starts.whole else starts.free & leading)
        known = self._passes.get(begun)
        if known is None:
            sets = self.splits.sets
            known = np.where(sets & leading != 0, self.best + self._sort, np.inf)
            if leading:
                free = sets & ~starts.free == 0 if starts.whole else sets & leading & starts.free != 0
                known = np.where(free & (sets & leading != 0), self.best, known)
                for number, cost in starts.costs:
                    if leading >> number & 1:
                        known[number] = min(known[number], cost)
                some = self._some_order()
                for number, level in enumerate(self.splits.levels):
                    self._keep(level, known, self._of_level(number, some), keyed)
            self._passes[begun] = known
        return known

    def learn(self, costs: dict[int, float]) -> None:
        """Relations, by number, cost at least so much in whatever order a merge join asks of them. Where such joins may be the
        cheapest the table is filled already."""
        if self.methods.merge or self._constants or costs == self._merged_at:
            return
        self._merged_at = costs
        others = union(1 << number for number in costs)
        self._sorted = self.splits.sets & self._sorted_leaves & ~others != 0
        self._some = None
        for kept in (self._ordered, self._passes, self._levels):
            kept.clear()

    def bounds(self, s: Relations, starts: Starts) -> tuple[Sets, Sets, Costs]:
        """The parts of all splits of a set, and what a plan through each costs at least, in an order (see `ordered`) or, where no
        relation may begin one, in any."""
        level = self._splits_of(s)
        if not starts.shared | starts.alone:
            bound = self._cost(level, self._some, self._local(level))
        else:
            bound = self._kept(level, self.ordered(starts), self._beside_of(s, level), -1 if self._constants else starts.shared)
        return self.splits.sets[level.left], self.splits.sets[level.right], bound + self._fixed[level.sets]

    def cheapest(self, s: Relations) -> tuple[Relations, Relations]:
        """The parts of the split by which a set gets its cost, where no merge join may be the cheapest."""
        _, number, its = self.splits.of(s)
        level = self.splits.levels[number]
        cost = self._costed[number][its] if self._costed else self._cost(part := self._splits_of(s), None, self._local(part))
        at = its.start + int(np.argmin(cost))
        return int(self.splits.sets[level.left[at]]), int(self.splits.sets[level.right[at]])

    def _splits_of(self, s: Relations) -> Level:
        at, number, its = self.splits.of(s)
        level, only = self.splits.levels[number], np.array([at], dtype=np.int32)
        return Level(level.left[its], level.right[its], only, np.zeros(1, dtype=np.int64), only)

    def _some_order(self) -> Costs:
        if self._some is None:
            some = np.where(self._sorted, self.best, self.best + self._sort)
            for number, cost in self._merged_at.items():
                some[number] = min(some[number], cost)
            for number, level in enumerate(self.splits.levels):  # each reads what smaller sets cost, which is known by then
                self._keep(level, some, self._of_level(number, some))
            self._some = some
        return self._some

    # -- one size -----------------------------------------------------------------------------------------------------------

    def _fill(self, level: Level, some: Costs | None, local: Costs) -> None:
        cost = self._cost(level, some, local)
        best = np.minimum.reduceat(cost, level.starts) + self._fixed[level.sets]
        self.best[level.sets] = best
        if some is not None:
            some[level.sets] = best + self._sort[level.sets]
        elif self.splits.count <= KEPT_SPLITS:
            self._costed.append(cost)

    def _keep(self, level: Level, ordered: Costs, beside: Beside, keyed: Relations = -1) -> None:
        kept = np.minimum.reduceat(self._kept(level, ordered, beside, keyed), level.starts) + self._fixed[level.sets]
        ordered[level.sets] = np.minimum(ordered[level.sets], kept)

    def _of_level(self, number: int, some: Costs) -> Beside:
        """What every order needs of the splits of one size."""
        known = self._levels.get(number)
        if known is None:
            known = self._beside(self.splits.levels[number], some)
            if self.splits.count <= KEPT_SPLITS:
                self._levels[number] = known
        return known

    def _beside_of(self, s: Relations, level: Level) -> Beside:
        """What every order needs of the splits of one set: a part of what it needs of those of its size."""
        _, number, its = self.splits.of(s)
        known = self._levels.get(number)
        return self._beside(level, self._some_order()) if known is None else Beside(*[each[its] for each in known])

    def _locals(self) -> Iterator[Costs]:
        """`_local` of each size."""
        levels = self.splits.levels
        if self.splits.count > AT_ONCE:
            yield from map(self._local, levels)
        elif levels:
            ends = np.cumsum([len(level.left) for level in levels[:-1]])
            yield from np.split(self._local(self.splits.together), ends)

    def _local(self, level: Level) -> Costs:
        """What the joins of some splits cost by themselves, without what is the same for all of a set; no merge joins."""
        x, y = self._inputs(level)
        local: Costs = np.minimum(np.minimum(*self._hash(level, x, y)), self._loops(level, x, y))
        return local

    def _cost(self, level: Level, some: Costs | None, local: Costs) -> Costs:
        """What a set costs by each of its splits, without what is the same for all."""
        left, right = level.left, level.right
        cost: Costs = local + self.best.take(left) + self.best.take(right)
        if some is not None:
            cost = np.minimum(cost, self._merge(level, *self._inputs(level)) + some.take(left) + some.take(right))
        return cost

    def _beside(self, level: Level, some: Costs) -> Beside:
        left, right = level.left, level.right
        x, y = self._inputs(level)
        loops, merged = self._loops(level, x, y), self._merge(level, x, y)
        from_left, from_right = self._hash(level, x, y)
        by_left: Costs = np.minimum(from_left, loops) + self.best.take(right)
        by_right: Costs = np.minimum(from_right, loops) + self.best.take(left)
        merging_left = np.minimum(by_left, merged + some.take(right))
        return Beside(by_left, by_right, merging_left, np.minimum(by_right, merged + some.take(left)))

    def _kept(self, level: Level, ordered: Costs, beside: Beside, keyed: Relations) -> Costs:
        """What a set costs in an order by each of its splits; for `keyed` see `_begun`."""
        by_left, by_right, merging_left, merging_right = beside
        if keyed < 0:
            by_left, by_right = merging_left, merging_right
        elif keyed:
            has = self.splits.sets & keyed != 0
            both = has.take(level.left) & has.take(level.right)
            by_left, by_right = np.where(both, merging_left, by_left), np.where(both, merging_right, by_right)
        kept: Costs = np.minimum(by_left + ordered.take(level.left), by_right + ordered.take(level.right))
        return kept

    def _inputs(self, level: Level) -> tuple[Costs, Costs]:
        """The rows of both parts."""
        return self.rows.take(level.left), self.rows.take(level.right)

    def _hash(self, level: Level, x: Costs, y: Costs) -> tuple[Costs, Costs]:
        """Hash joins that probe with the left part, and with the right one."""
        costs = self.costs
        if not self.methods.hash:
            never = np.full(len(level.left), np.inf)
            return never, never
        probing_left: Costs = costs.probe * x + costs.build * y
        probing_right: Costs = costs.probe * y + costs.build * x
        if not self._plain:
            more = np.where(self._within(self._keys, level) > 0, 0.0, np.inf)
            if costs.call:
                more += costs.call * self._within(self._residual, level) * self.rows.take(level.whole)
            probing_left, probing_right = probing_left + more, probing_right + more
        return probing_left, probing_right

    def _loops(self, level: Level, x: Costs, y: Costs) -> Costs:
        costs = self.costs
        if not self.methods.loop:
            return np.full(len(level.left), np.inf)
        each = costs.pair + costs.pair_call * self._within(self._calls, level) if costs.pair_call else costs.pair
        result: Costs = costs.loop * (x + y) + each * (x * y)
        return result

    def _merge(self, level: Level, x: Costs, y: Costs) -> Costs:
        merged: Costs = self.costs.merge * (x + y)
        return merged if self._plain else np.where(self._within(self._keys, level) > 0, merged, np.inf)

    def _within(self, figure: Costs, level: Level) -> Costs:
        """What a figure that adds up over conjuncts is for those that each join tests."""
        found: Costs = figure.take(level.whole) - figure.take(level.left) - figure.take(level.right)
        return found
