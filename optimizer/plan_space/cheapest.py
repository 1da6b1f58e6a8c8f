"""Plans by cost, without listing the others: the k cheapest derivations of an AND/OR graph, found lazily.

The cheapest plan through a way takes the cheapest plan of every input. After a plan has been given out, the next ones through
its way replace the plan of one input by that input's next; to meet every combination once, only an input at or after the
last one that is not at its cheapest moves on. A combination costs at least what the one it was made from costs, so a heap
per choice gives plans out in order. A choice is asked for its next plan only when somebody needs it.

Sources: Huang and Chiang, Better k-best parsing, IWPT 2005 (algorithm 3); Knuth 1977 for the first plan.
"""

from heapq import heapify, heappop, heappush

from optimizer.plan_space.settle import Settled, cost_of
from optimizer.plan_space.ways import Way

Combination = tuple[float, int, tuple[int, ...]]  # cost, position of the way, position of each input's plan


class _Ranking:
    """The plans of one choice found so far, the cheapest first; `waiting`: a heap of what may come next.

    `last`: the plan given out last, while its successors are not in the heap yet.
    """

    __slots__ = ("found", "last", "waiting")

    def __init__(self, waiting: list[Combination]) -> None:
        self.found: list[Combination] = []
        self.waiting = waiting
        self.last: Combination | None = None


class Cheapest:
    """Rankings of all choices of a settled space, as far as they were asked for."""

    def __init__(self, settled: Settled) -> None:
        self._settled = settled
        self._rankings: dict[int, _Ranking] = {}

    def has(self, number: int, position: int) -> bool:
        """Whether choice `number` has a plan at `position` (from 0); if so it is found now. Iterative."""
        stack = [(number, position)]
        while stack:
            number, position = stack[-1]
            ranking = self._ranking(number)
            if len(ranking.found) > position:
                stack.pop()
                continue
            if ranking.last is not None:
                needed = self._needed(ranking.last, number)
                if needed:
                    stack.extend(needed)
                    continue
                self._push_successors(ranking, number)
            if not ranking.waiting:
                stack.pop()
                continue
            ranking.last = heappop(ranking.waiting)
            ranking.found.append(ranking.last)
        return len(ranking.found) > position

    def pick(self, number: int, position: int) -> tuple[Way, tuple[int, ...]]:
        """The way of the plan at `position`, and the positions of its inputs' plans."""
        assert self.has(number, position), f"choice {number} has no plan {position}"
        _, at, positions = self._rankings[number].found[position]
        return self._settled.ways[number][at], positions

    def _ranking(self, number: int) -> _Ranking:
        ranking = self._rankings.get(number)
        if ranking is None:
            ways, best = self._settled.ways[number], self._settled.best
            first = [(cost_of(way, best), at, (0,) * len(way.inputs)) for at, way in enumerate(ways)]
            heapify(first)
            ranking = self._rankings[number] = _Ranking(first)
        return ranking

    def _moving(self, combination: Combination, number: int) -> list[tuple[int, int, int]]:
        """The inputs that move on after a combination: (which input, its choice, the position it moves to)."""
        _, at, positions = combination
        inputs = self._settled.ways[number][at].inputs
        start = max((i for i, position in enumerate(positions) if position), default=0)
        return [(i, inputs[i], positions[i] + 1) for i in range(start, len(inputs))]

    def _needed(self, combination: Combination, number: int) -> list[tuple[int, int]]:
        """Plans of inputs that nobody has looked for yet."""
        needed = []
        for _, below, position in self._moving(combination, number):
            ranking = self._ranking(below)
            if len(ranking.found) <= position and (ranking.waiting or ranking.last is not None):
                needed.append((below, position))
        return needed

    def _push_successors(self, ranking: _Ranking, number: int) -> None:
        assert ranking.last is not None
        _, at, positions = ranking.last
        way = self._settled.ways[number][at]
        for i, below, position in self._moving(ranking.last, number):
            if len(self._rankings[below].found) > position:
                moved = (*positions[:i], position, *positions[i + 1 :])
                heappush(ranking.waiting, (self._cost(way, moved), at, moved))
        ranking.last = None

    def _cost(self, way: Way, positions: tuple[int, ...]) -> float:
        total = way.local
        for below, position in zip(way.inputs, positions, strict=True):
            total += self._rankings[below].found[position][0] if position else self._settled.best[below]
        return total
