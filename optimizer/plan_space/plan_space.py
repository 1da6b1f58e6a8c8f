"""A plan space: how many plans there are, the plan of a number, the number of a plan, and plans drawn at random.

    N(choice) = Σ over its ways of Π over the way's inputs of N(input)

The plans of a choice are numbered 0 … N - 1: way by way in their order, and within a way by the numbers of the inputs' plans
as the digits of a mixed radix, the first input changing fastest. Numbers are exact integers of any size.

What is counted are plans as the search sees them: operators with what each was asked for and promises. The same operators
may run under different promises (a hash join that must keep the order of its left input, or need not); those are two
plans here and one tree in `operator_trees`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import accumulate, islice
from math import prod
from random import Random
from sys import maxsize
from typing import TypeVar

from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.traits import Alternative
from optimizer.plan_space.cheapest import Cheapest
from optimizer.plan_space.operator_trees import count_operator_trees
from optimizer.plan_space.settle import settle
from optimizer.plan_space.ways import Choice, Way

Token = TypeVar("Token")
WayKey = tuple[PhysicalOperator, Alternative, tuple[int, ...]]


def show_count(count: int) -> str:
    """A number of plans for people: exact up to 15 digits, else like 3.21e+47, of whatever size."""
    if count < 10**15:
        return f"{count:,}"
    return f"{Decimal(count):.2e}"


class PlanSpace:
    """The plans of choice `root`. `count`: how many; `best_cost`: what the cheapest costs (infinite when there is none).

    Plans are made anew by each call, with every column of their groups (`prune_columns` narrows them for an executor).
    """

    def __init__(self, choices: Sequence[Choice], root: int) -> None:
        self.choices, self.root = choices, root
        self.settled = settle(choices, root)
        self._counts = [0] * len(choices)
        for number in self.settled.order:
            self._counts[number] = sum(self._through(way) for way in self.settled.ways[number])
        self._ends: dict[int, list[int]] = {}
        self._numbers: dict[int, dict[WayKey, int]] = {}

    @property
    def count(self) -> int:
        return self._counts[self.root]

    @property
    def best_cost(self) -> float:
        return self.settled.best[self.root]

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many choices and ways it takes to describe the space."""
        numbers = [n for n in self.settled.order if self._counts[n]]
        return len(numbers), sum(len(self.settled.ways[n]) for n in numbers)

    def operator_trees(self) -> int | None:
        """How many different trees of operators the plans are; None where counting them would take too long."""
        return count_operator_trees(self.choices, self.settled, self.root)

    def unrank(self, rank: int) -> PlanNode:
        """The plan of number `rank`. Raises ValueError outside 0 … count - 1."""
        if not 0 <= rank < self.count:
            raise ValueError(f"there is no plan {rank}: there are {show_count(self.count)}, numbered from 0")

        def pick(number: int, rank: int) -> tuple[Way, list[int]]:
            ends = self._ends_of(number)
            at = bisect_right(ends, rank)
            way = self.settled.ways[number][at]
            rank -= ends[at - 1] if at else 0
            digits = []
            for i in way.inputs:
                rank, digit = divmod(rank, self._counts[i])
                digits.append(digit)
            return way, digits

        return self._build(rank, pick)

    def rank(self, plan: PlanNode) -> int:
        """The number of a plan. Raises ValueError when it is not of this space."""
        ranks: list[int] = []
        stack: list[tuple[PlanNode, int, int]] = [(plan, self.root, -1)]
        while stack:
            node, number, at = stack.pop()
            if at < 0:
                at = self._number_of(node, number)
                stack.append((node, number, at))
                way = self.settled.ways[number][at]
                stack.extend((child, i, -1) for child, i in zip(reversed(node.inputs), reversed(way.inputs), strict=True))
                continue
            inputs = self.settled.ways[number][at].inputs
            rank = 0
            for i in reversed(inputs):
                rank = rank * self._counts[i] + ranks.pop()
            ranks.append(rank + (self._ends_of(number)[at - 1] if at else 0))
        return ranks[0]

    def sample_ranks(self, size: int, random: Random, distinct: bool = False) -> list[int]:
        """Numbers of `size` plans, each plan as likely as any other; `distinct`: no plan twice, all of them if they are fewer.

        Raises ValueError for an empty space.
        """
        if not self.count:
            raise ValueError("there is no plan to draw")
        if not distinct:
            return [random.randrange(self.count) for _ in range(size)]
        if size >= self.count:
            return list(range(self.count))
        if self.count <= maxsize:
            return random.sample(range(self.count), size)
        found: dict[int, None] = {}
        while len(found) < size:
            found[random.randrange(self.count)] = None
        return list(found)

    def cheapest(self) -> Iterator[PlanNode]:
        """Every plan from the cheapest up, each found when it is asked for; equal costs in a fixed order."""
        by_cost = Cheapest(self.settled)
        position = 0
        while by_cost.has(self.root, position):
            yield self._build(position, by_cost.pick)
            position += 1

    def top(self, size: int) -> list[PlanNode]:
        """The `size` cheapest plans, the cheapest first; all plans if they are fewer."""
        return list(islice(self.cheapest(), size))

    def _through(self, way: Way) -> int:
        return prod(self._counts[i] for i in way.inputs)

    def _ends_of(self, number: int) -> list[int]:
        """For each way of a choice, the first number that is no longer of a plan through it."""
        ends = self._ends.get(number)
        if ends is None:
            ends = self._ends[number] = list(accumulate(self._through(way) for way in self.settled.ways[number]))
        return ends

    def _number_of(self, node: PlanNode, number: int) -> int:
        """Which way of a choice has the operator, promises and input groups of a plan's root."""
        known = self._numbers.get(number)
        if known is None:
            ways, groups = self.settled.ways[number], self.choices
            known = {(w.op, w.alternative, tuple(groups[i].group for i in w.inputs)): at for at, w in enumerate(ways)}
            self._numbers[number] = known
        at = known.get((node.op, node.alternative, tuple(child.group for child in node.inputs)))
        if at is None:
            raise ValueError(f"the plan is not in the space: group {self.choices[number].group} has no such {node.op.name}")
        return at

    def _build(self, token: Token, pick: Callable[[int, Token], tuple[Way, Sequence[Token]]]) -> PlanNode:
        """The plan that `pick` chooses: at each choice a way, and tokens for its inputs. Iterative."""
        built: list[PlanNode] = []
        stack: list[tuple[int, Token, Way | None]] = [(self.root, token, None)]
        while stack:
            number, token, way = stack.pop()
            if way is None:
                way, tokens = pick(number, token)
                stack.append((number, token, way))
                stack.extend((i, below, None) for i, below in zip(reversed(way.inputs), reversed(tokens), strict=True))
                continue
            arity = len(way.inputs)
            inputs = tuple(built[len(built) - arity :])
            del built[len(built) - arity :]
            cost = way.local
            for child in inputs:
                cost += child.cost
            choice = self.choices[number]
            built.append(PlanNode(way.op, inputs, choice.columns, way.alternative, choice.rows, way.local, cost, choice.group))
        return built[0]
