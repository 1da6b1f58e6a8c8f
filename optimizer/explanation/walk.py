"""A plan that was asked about, found again in the goals of a search: which move of which goal each of its operators is.

A move is a physical operator with its input traits, or an enforcer (`plan_space.of_search`): moves are found from rules and
operators alone and owe nothing to pruning, so a plan is found exactly when it is in the plan space.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from optimizer.algebra.plan import PlanNode
from optimizer.algebra.traits import satisfies
from optimizer.explanation.asked import Asked
from optimizer.memo.goal import Goal
from optimizer.plan_space.of_search import AllMoves, Move, Moves
from optimizer.search.search import Search


class Step(NamedTuple):
    """One operator of a plan: the move it is, for its goal."""

    goal: Goal
    move: Move
    inputs: tuple[Step, ...]
    enforcer: bool

    def walk(self) -> Iterator[Step]:
        """This step and all below it, parents first, left to right."""
        stack = [self]
        while stack:
            step = stack.pop()
            yield step
            stack.extend(reversed(step.inputs))


class Missing(NamedTuple):
    """The first operator of a plan, from the root down, that no move of its goal is. `near`: moves of the goal with that
    operator; `same`: those that also say the same of themselves, but deliver other traits."""

    goal: Goal
    asked: Asked
    near: tuple[Move, ...]
    same: tuple[Move, ...]


class Matcher:
    """`search` has ended; goals are added to its memo, which stay unsearched."""

    def __init__(self, search: Search) -> None:
        self._search, self._all = search, AllMoves(search)
        self._label = search.context.columns.label
        self._moves: dict[int, Moves] = {}
        self._known: dict[tuple[int, int, bool], Step | None] = {}
        self._kept: list[Asked] = []  # so that ids stay theirs

    def moves(self, goal: Goal) -> Moves:
        known = self._moves.get(goal.id)
        if known is None:
            known = self._moves[goal.id] = self._all.of(goal)
        return known

    def match(self, goal: Goal, asked: Asked, below: Goal | None = None) -> Step | None:
        """The plan as steps; None when the space does not have it. `below`: it is the input of an enforcer of that goal. Deep as
        the plan."""
        key = goal.id, id(asked), below is not None
        if key not in self._known:
            self._kept.append(asked)
            self._known[key] = self._match(goal, asked, below)
        return self._known[key]

    def _match(self, goal: Goal, asked: Asked, below: Goal | None) -> Step | None:
        for move, enforcer in self._candidates(goal, asked, below):
            inputs = []
            for want, under in zip(move.inputs, asked.inputs, strict=True):
                found = self.match(want, under, goal if enforcer else None)
                if found is None:
                    break
                inputs.append(found)
            else:
                return Step(goal, move, tuple(inputs), enforcer)
        return None

    def _candidates(self, goal: Goal, asked: Asked, below: Goal | None) -> Iterator[tuple[Move, bool]]:
        """Moves that say of themselves what is asked, and whether they are enforcers. Nothing is sorted twice, or in vain."""
        found = self.moves(goal)
        for move in found.native:
            if self._says(move, asked) and (below is None or not self._meets(move, below)):
                yield move, False
        if below is None:
            for move in found.enforcers:
                if self._says(move, asked):
                    yield move, True

    def _meets(self, move: Move, goal: Goal) -> bool:
        return satisfies(move.alternative.delivered, goal.required, self._search.memo.group(goal.group).props)

    def _says(self, move: Move, asked: Asked, traits: bool = True) -> bool:
        return (
            move.op.name == asked.operator
            and len(move.inputs) == len(asked.inputs)
            and (not traits or asked.traits is None or move.alternative.delivered.show(self._label) == asked.traits)
            and move.op.describe(self._label) == asked.detail
        )

    def missing(self, goal: Goal, asked: Asked) -> Missing:
        """Where a plan that does not match leaves the space."""
        below: Goal | None = None
        while True:
            best: tuple[int, Goal, Asked, Goal | None] | None = None
            for move, enforcer in self._candidates(goal, asked, below):
                under = goal if enforcer else None
                found = [self.match(want, each, under) is not None for want, each in zip(move.inputs, asked.inputs, strict=True)]
                if best is None or sum(found) > best[0]:
                    first = found.index(False)
                    best = sum(found), move.inputs[first], asked.inputs[first], under
            if best is None:
                every = [*self.moves(goal).native, *self.moves(goal).enforcers]
                near = tuple(move for move in every if move.op.name == asked.operator)
                return Missing(goal, asked, near, tuple(move for move in near if self._says(move, asked, traits=False)))
            _, goal, asked, below = best


def plan_of(search: Search, step: Step) -> PlanNode:
    """The steps as a plan with the groups of the memo. Costs are added up as the search does."""
    made: dict[int, PlanNode] = {}
    for each in reversed(list(step.walk())):
        inputs = tuple(made[id(below)] for below in each.inputs)
        cost = each.move.local
        for node in inputs:
            cost += node.cost
        group = search.memo.group(each.goal.group)
        made[id(each)] = PlanNode(
            each.move.op, inputs, group.props.columns, each.move.alternative, group.stats.rows, each.move.local, cost, group.id
        )
    return made[id(step)]
