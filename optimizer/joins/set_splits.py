"""All connected sets of a join graph and all their splits, as arrays.

Sets are found size by size: each connected set of k + 1 relations is one of k with a neighbour. The splits of a set are those of
its part in each block of the graph (`partition.blocks`), each relation taking along what hangs on it: a bridge is cut in one
way, a complete block of p relations in 2^(p-1) - 1, and only other blocks need an algorithm, once for each part of a block.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from optimizer.joins.graph import Blocks, JoinGraph, Relations
from optimizer.joins.partition.blocks import blocks_of
from optimizer.joins.partition.min_cut_branch import branch

Sets: TypeAlias = npt.NDArray[np.int64]
Positions: TypeAlias = npt.NDArray[np.int32]

MOST_RELATIONS = 62  # that fit a 64-bit integer with its sign
MOST_SPLITS = 8_000_000  # 8 bytes each for as long as a region is planned, some 50 for those of one size
DIRECT = 22  # relations up to which the position of a set is looked up, not searched for
REMEMBERED = 400_000  # splits up to which those of a graph are kept for the next query


class Level(NamedTuple):
    """The splits of all sets of one size: positions of the two parts, and of the whole, those of a set together; where each set
    begins, and the positions of the sets."""

    left: Positions
    right: Positions
    whole: Positions
    starts: npt.NDArray[np.int64]
    sets: Positions


class SetSplits:
    """`sets`: connected sets by size, single relations first. `levels[i]`: the splits of those of i + 2 relations."""

    def __init__(self, sets: Sets, levels: list[Level], position: Positions | None) -> None:
        self.sets, self.levels, self._position = sets, levels, position
        self.count = sum(len(level.left) for level in levels)
        self._order = np.argsort(sets) if position is None else None

    def positions(self, wanted: Sets) -> Positions:
        """Where connected sets stand in `sets`."""
        if self._position is not None:
            return self._position[wanted]
        assert self._order is not None
        found: Positions = self._order[np.searchsorted(self.sets, wanted, sorter=self._order)].astype(np.int32)
        return found

    def position(self, s: Relations) -> int:
        """Where a connected set stands in `sets`."""
        return int(self.positions(np.array([s], dtype=np.int64))[0] if self._position is None else self._position[s])

    @property
    def together(self) -> Level:
        """The splits of all sizes, one size after the other; where sets begin is counted within each size."""
        return Level(*map(np.concatenate, zip(*self.levels, strict=True)))

    def of(self, s: Relations) -> tuple[int, int, slice]:
        """The position of a set of two relations or more, the number of its level, and where its splits are there."""
        at, size = self.position(s), s.bit_count() - 2
        level = self.levels[size]
        number = at - int(level.sets[0])  # every connected set has a split, in each kind of trees
        end = int(level.starts[number + 1]) if number + 1 < len(level.starts) else len(level.left)
        return at, size, slice(int(level.starts[number]), end)


class OutOfTime(Exception):
    """Whoever asked for arrays over all sets has no time left."""


def set_splits(
    graph: JoinGraph, left_deep: bool, most_sets: int, links: JoinGraph | None = None, late: Callable[[], bool] = bool
) -> SetSplits | None:
    """The sets and splits of a connected graph without hyperedges; None when there are too many. `left_deep`: only splits with
    a single relation on one side. `links`: those of its edges that are no cross products; the sets that they connect have no
    others. `late`: asked before each size. Raises OutOfTime."""
    if graph.n > MOST_RELATIONS:
        return None
    links = graph if links is None else links
    key = (tuple(graph.adjacency), tuple(links.adjacency), left_deep, most_sets)
    if key in _remembered:
        return _remembered[key]
    found = _find(graph, links, left_deep, most_sets, late)
    if found is None or found.count <= REMEMBERED:
        if len(_remembered) >= 64:
            _remembered.pop(next(iter(_remembered)))
        _remembered[key] = found
    return found


_remembered: dict[tuple[tuple[Relations, ...], tuple[Relations, ...], bool, int], SetSplits | None] = {}


def _find(graph: JoinGraph, links: JoinGraph, left_deep: bool, most_sets: int, late: Callable[[], bool]) -> SetSplits | None:
    blocks = blocks_of(graph)
    largest = max(map(len, blocks.complete), default=0)  # relations that are all joined with each other
    if not left_deep and (3**largest - 2 ** (largest + 1) + 1) // 2 > MOST_SPLITS:
        return None
    by_size = _connected_sets(graph, most_sets, late)
    if by_size is None:
        return None
    sets = np.concatenate(by_size)
    position = None
    if graph.n <= DIRECT:
        position = np.zeros(1 << graph.n, dtype=np.int32)
        position[sets] = np.arange(len(sets), dtype=np.int32)
    result = SetSplits(sets, [], position)
    linked = None
    if links is not graph:
        connected = _connected_sets(links, most_sets, late)
        assert connected is not None  # there are no more than of the graph
        linked = np.zeros(len(sets), dtype=bool)
        linked[result.positions(np.concatenate(connected))] = True
    cutters = _cutters(graph, blocks)
    first = graph.n
    for level in by_size[1:]:
        if late():
            raise OutOfTime
        owners: list[npt.NDArray[np.int64]] = []
        parts: list[Sets] = []
        for cut in cutters:
            for rows, found in cut(level):
                if left_deep:
                    single = (found & (found - 1) == 0) | ((level[rows] ^ found) & ((level[rows] ^ found) - 1) == 0)
                    rows, found = rows[single], found[single]
                owners.append(rows)
                parts.append(found)
        owner, part = np.concatenate(owners), np.concatenate(parts)
        if linked is not None:
            kept = ~linked[owner + first] | (linked[result.positions(part)] & linked[result.positions(level[owner] ^ part)])
            owner, part = owner[kept], part[kept]
        result.count += len(owner)
        if result.count > MOST_SPLITS:
            return None
        if len(cutters) > 1:
            order = np.argsort(owner, kind="stable")
            owner, part = owner[order], part[order]
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        left, right, whole = result.positions(part), result.positions(level[owner] ^ part), (owner + first).astype(np.int32)
        result.levels.append(Level(left, right, whole, starts, whole[starts]))
        first += len(level)
    return result


def _connected_sets(graph: JoinGraph, most: int, late: Callable[[], bool]) -> list[Sets] | None:
    """The connected sets of each size, ascending; None if there are more than `most`."""
    single = [np.int64(1 << i) for i in range(graph.n)]
    adjacency = np.array(graph.adjacency, dtype=np.int64)
    level = np.array(single, dtype=np.int64)
    levels, near, count = [level], adjacency.copy(), graph.n
    for size in range(2, graph.n + 1):
        free = near & ~level
        if count + int(np.bitwise_count(free).sum()) // size > most:  # a set is made of at most `size` smaller ones
            return None
        if late():
            raise OutOfTime
        level = np.unique(np.concatenate([level[free & bit != 0] | bit for bit in single]))
        count += len(level)
        if count > most:
            return None
        near = np.zeros_like(level)
        for i, bit in enumerate(single):
            near |= np.where(level & bit, adjacency[i], 0)
        levels.append(level)
    return levels


Found: TypeAlias = Iterator[tuple[npt.NDArray[np.int64], Sets]]  # rows of a level, and one part of a split of each


def _cut_bridge(ends: Relations, side: Relations, level: Sets) -> Found:
    """A block of two relations is cut between them."""
    rows = np.flatnonzero(level & ends == ends)
    yield rows, level[rows] & side


def _cut_complete(sides: Sets, level: Sets) -> Found:
    """A block in which any two relations are joined: its part of a set is split into any two."""
    present = level[:, None] & sides[None, :] != 0
    sizes = present.sum(axis=1)
    for size in range(2, len(sides) + 1):
        rows = np.flatnonzero(sizes == size)
        if len(rows):
            pieces = sides[np.nonzero(present[rows])[1]].reshape(len(rows), size)
            parts = pieces[:, :1]
            for i in range(1, size):
                parts = np.concatenate([parts, parts | pieces[:, i : i + 1]], axis=1)
            parts = parts[:, :-1] & level[rows][:, None]  # the last is the whole
            yield np.repeat(rows, parts.shape[1]), parts.ravel()


def _cut_other(
    adjacency: tuple[Relations, ...], block: Relations, sides: Sequence[tuple[Relations, Relations]], level: Sets
) -> Found:
    """Any other block: the splits of each part of it that is met are found once."""
    inner, number = np.unique(level & block, return_inverse=True)
    splits = [branch(adjacency, part) if part & (part - 1) else [] for part in inner.tolist()]
    cuts, sizes = np.array(list(chain(*splits)), dtype=np.int64), np.array(list(map(len, splits)), dtype=np.int64)
    for v, side in sides:
        if side != v:
            cuts = np.where(cuts & v, cuts | side, cuts)
    own = sizes[number]
    rows = np.repeat(np.arange(len(level)), own)
    offsets = np.cumsum(sizes) - sizes
    within = np.arange(len(rows)) - np.repeat(np.cumsum(own) - own, own)
    yield rows, cuts[np.repeat(offsets[number], own) + within] & level[rows]


def _cutters(graph: JoinGraph, blocks: Blocks) -> list[Callable[[Sets], Found]]:
    return [
        *(partial(_cut_bridge, ends, side) for ends, side in blocks.bridges),
        *(partial(_cut_complete, np.array(sides, dtype=np.int64)) for sides in blocks.complete),
        *(partial(_cut_other, graph.adjacency, relations, sides) for relations, sides in blocks.others),
    ]
