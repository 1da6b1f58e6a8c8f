"""Which ways count, and what the cheapest plan of each choice costs.

A way with an input that has no plan is no way. Groups that are inputs of one another (a merge can find such) would give
plans without end; among them, and nowhere else, a way counts only if its inputs have cheaper plans than its choice: then
every plan is finite, there are finitely many, and the cheapest plan of every choice is one of them.

Source of the order among recursive choices: Knuth, A generalization of Dijkstra's algorithm, IPL 1977.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from optimizer.memo.goal import INFINITY
from optimizer.plan_space.ways import Choice, Way


class Settled(NamedTuple):
    """By number of choice: the ways that count (none: no plan), and the cheapest cost. `order`: inputs come first."""

    ways: list[tuple[Way, ...]]
    best: list[float]
    order: list[int]


def settle(choices: Sequence[Choice], *roots: int) -> Settled:
    """Settle `roots` and all that they may choose from; other choices keep no ways."""
    ways: list[tuple[Way, ...]] = [()] * len(choices)
    best = [INFINITY] * len(choices)
    order: list[int] = []
    for component in _components(choices, roots):
        if len(component) > 1 or any(component[0] in way.inputs for way in choices[component[0]].ways):
            _settle_recursive(component, choices, ways, best, order)
            continue
        number = component[0]
        ways[number] = tuple(way for way in choices[number].ways if all(ways[i] for i in way.inputs))
        best[number] = min((cost_of(way, best) for way in ways[number]), default=INFINITY)
        order.append(number)
    return Settled(ways, best, order)


def cost_of(way: Way, best: Sequence[float]) -> float:
    """The cheapest plan through `way`. Added up in the order in which the search does, so that equal plans cost the same."""
    total = way.local
    for i in way.inputs:
        total += best[i]
    return total


def _settle_recursive(
    component: list[int], choices: Sequence[Choice], ways: list[tuple[Way, ...]], best: list[float], order: list[int]
) -> None:
    """Settle mutually recursive choices from the cheapest up; the rest of what they use is settled."""
    inside = set(component)
    users: dict[int, list[tuple[int, Way]]] = {number: [] for number in component}
    missing: dict[tuple[int, int], int] = {}  # by choice and way: inputs inside that are not settled yet
    ready: list[tuple[float, int]] = []
    kept: dict[int, list[Way]] = {number: [] for number in component}
    settled: set[int] = set()

    def admit(number: int, way: Way) -> None:
        if number not in settled:
            kept[number].append(way)
            heappush(ready, (cost_of(way, best), number))

    for number in component:
        for way in choices[number].ways:
            if any(not ways[i] for i in way.inputs if i not in inside):
                continue
            recursive = {i for i in way.inputs if i in inside}
            missing[number, id(way)] = len(recursive)
            for i in recursive:
                users[i].append((number, way))
            if not recursive:
                admit(number, way)
    while ready:
        cost, number = heappop(ready)
        if number in settled:
            continue
        settled.add(number)
        best[number] = cost
        order.append(number)
        for user, way in users[number]:
            missing[user, id(way)] -= 1
            if not missing[user, id(way)]:
                admit(user, way)
    for number in component:
        counted = set(map(id, kept[number]))
        ways[number] = tuple(way for way in choices[number].ways if id(way) in counted)
        if number not in settled:
            order.append(number)


def _components(choices: Sequence[Choice], roots: Sequence[int]) -> Iterator[list[int]]:
    """Strongly connected components of what `roots` reach, inputs before users. Iterative (Tarjan 1972)."""
    found: dict[int, int] = {}  # number of choice -> when it was first seen
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    stack: list[tuple[int, Iterator[int]]] = []

    def enter(number: int) -> None:
        found[number] = low[number] = len(found)
        open_.append(number)
        is_open.add(number)
        stack.append((number, iter(dict.fromkeys(i for way in choices[number].ways for i in way.inputs))))

    for root in roots:
        if root not in found:
            enter(root)
        while stack:
            number, below = stack[-1]
            for i in below:
                if i not in found:
                    enter(i)
                    break
                if i in is_open:
                    low[number] = min(low[number], found[i])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[number])
                if low[number] == found[number]:
                    component: list[int] = []
                    while not component or component[-1] != number:
                        component.append(open_.pop())
                        is_open.discard(component[-1])
                    component.reverse()
                    yield component
