"""The true optimum of every goal of a memo, by costing everything: what an audit compares a search with.

Choices are goals; a goal's ways are all its moves (`AllMoves`): every logical expression under every implementation rule, in
every alternative, and the enforcers. The cheapest plan of each is settled bottom-up without bounds or limits (`settle`).
"""

from collections.abc import Iterable

from optimizer.memo.goal import INFINITY, Goal
from optimizer.memo.mexpr import LogicalExpr
from optimizer.plan_space import Way
from optimizer.plan_space.of_search import AllMoves, Move, Numbered
from optimizer.plan_space.settle import settle
from optimizer.search.search import Search


class Optima:
    """Optima of `goals`, of what their plans are made of, and of single expressions. Goals are added to the memo."""

    def __init__(self, search: Search, goals: Iterable[Goal]) -> None:
        self._search, self._moves = search, AllMoves(search)
        self._of_goal: list[list[Move]] = []
        numbered = self._numbered = Numbered(search)
        roots = [numbered.of(goal) for goal in goals]
        for number, (goal, _) in enumerate(numbered.goals):  # which grow meanwhile
            moves = self._moves.of(goal)
            every = [*moves.native, *moves.enforcers]
            self._of_goal.append(every)
            numbered.choices[number].ways = [
                Way(move.op, tuple(map(numbered.of, move.inputs)), move.alternative, move.local) for move in every
            ]
        self._settled = settle(numbered.choices, *roots)
        self._through: dict[tuple[int, int], float] = {}

    def of(self, goal: Goal) -> float:
        """The cost of the cheapest plan for a goal; infinite when it has none."""
        return self._settled.best[self._numbered.of(goal)]

    def cost(self, move: Move) -> float:
        """The cost of the cheapest plan through one move."""
        return move.local + sum(map(self.of, move.inputs))

    def cheapest(self, goal: Goal) -> Move | None:
        """A move of a cheapest plan."""
        return min(self._of_goal[self._numbered.of(goal)], key=self.cost, default=None)

    def through(self, goal: Goal, mexpr: LogicalExpr) -> float:
        """The cost of the cheapest plan for a goal through one logical expression of its group."""
        known = self._through.get((goal.id, mexpr.id))
        if known is None:
            known = min(map(self.cost, self._moves.through(goal, mexpr)), default=INFINITY)
            self._through[goal.id, mexpr.id] = known
        return known

    def joining(self, goal: Goal, left: int, right: int) -> float:
        """The cost of the cheapest plan for a goal that joins two groups, in either order."""
        find = self._search.memo.find
        pair = sorted((find(left), find(right)))
        moves = self._of_goal[self._numbered.of(goal)]
        return min((self.cost(m) for m in moves if sorted(find(i.group) for i in m.inputs) == pair), default=INFINITY)

    def inputs_first(self) -> list[Goal]:
        """All goals that were settled, each after those its plans are made of; recursive ones from the cheapest up."""
        return [self._numbered.goals[number][0] for number in self._settled.order]
