"""The plan spaces of a search: all plans that its memo, rules and operators allow, and those that it did not prune.

The *full* space owes nothing to pruning: every logical expression of every reachable group under every implementation rule,
every alternative (pass-through and derive) for every goal reached, and the enforcers. It is what the search would look
at without bounds. The *searched* space has only the candidates that the search costed to the end.

Below an enforcer there are only plans that an operator of the group gives, not another enforcer's, and none that has the
required traits already: nothing is sorted twice, or in vain.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import NamedTuple

from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import Alternative, satisfies
from optimizer.errors import SpaceTooLarge
from optimizer.memo.alternatives import alternatives
from optimizer.memo.goal import Goal, Split
from optimizer.memo.mexpr import LogicalExpr, PhysicalExpr
from optimizer.plan_space import Choice, PlanSpace, Way
from optimizer.plan_space.expansion import expand_all
from optimizer.rules.enforce.moves import enforcers
from optimizer.search.counters import Counters
from optimizer.search.firing import implementations
from optimizer.search.search import Search


class Move(NamedTuple):
    """One way to meet a goal, as goals: `inputs` must be met, by anything or, for an enforcer, by operators alone."""

    op: PhysicalOperator
    alternative: Alternative
    inputs: tuple[Goal, ...]
    local: float


class Moves(NamedTuple):
    native: list[Move]
    enforcers: list[Move]


def full_space(search: Search, heard: Callable[[int], None] | None = None) -> PlanSpace:
    """The space of the goal of the search, before pruning. `heard`: told how many choices are known, again and again.

    Groups that the search left unexpanded are expanded first. Reads the memo and adds goals to it, which stay unsearched;
    expressions the search never implemented are implemented on the side. Raises SpaceTooLarge where the limits on the size of
    the memo leave no whole plan.
    """
    complete = expand_all(search)
    goal = search.root
    assert goal is not None, "the plan space of a search that has not run"
    space = _space(search, goal, AllMoves(search).of, heard)
    if not space.count and goal.way is not None:
        assert not complete, f"goal {goal.id} has a plan, but its plan space is empty"
        settings = search.context.settings
        raise SpaceTooLarge(
            f"the joins of this query are more expressions than budget_mexprs={settings.budget_mexprs} allows"
            f"{f' (budget_groups={settings.budget_groups})' if settings.budget_groups else ''}\n"
            "set it higher, or to 0 for no limit; --searched has the plans that were not pruned"
        )
    return space


def searched_space(search: Search) -> PlanSpace:
    """The part of the space of the goal of the search that was costed to the end."""
    goal = search.root
    assert goal is not None, "the plan space of a search that has not run"
    return _space(search, goal, lambda goal: _costed_moves(search, goal))


def _costed_moves(search: Search, goal: Goal) -> Moves:
    """The ways of a goal whose inputs all have plans."""
    moves = Moves([], [])
    source = search.sources.of(goal)
    for way in source.costed(search, goal):
        op, alternative, mexpr = source.implementation(search, goal, way)
        enforcer = mexpr is None and not isinstance(way.what, Split)
        (moves.enforcers if enforcer else moves.native).append(Move(op, alternative, way.inputs, way.local))
    return moves


class AllMoves:
    """Every move of a goal, found from rules and operators alone, in an order that does not depend on what was searched."""

    def __init__(self, search: Search) -> None:
        self._search = copy(search)
        self._search.trace, self._search.counters = None, Counters()  # looking at the space is no part of the search
        self._physical: dict[int, list[PhysicalExpr]] = {}

    def of(self, goal: Goal) -> Moves:
        search, moves = self._search, Moves([], [])
        group = search.memo.group(goal.group)
        for mexpr in group.members():
            moves.native.extend(self.through(goal, mexpr))
        for op, needs, delivers in enforcers(goal.required, group.offers, group.props, search.rules.enforcers):
            local = search.local(group, op, delivers, [group])
            moves.enforcers.append(Move(op, Alternative((needs,), delivers), (search.goal(group.id, needs),), local))
        return moves

    def through(self, goal: Goal, mexpr: LogicalExpr) -> list[Move]:
        """The native moves of a goal that implement one logical expression of its group."""
        search, moves = self._search, []
        for physical in self.implementations(mexpr):
            for alternative in alternatives(search.memo, goal, physical):
                inputs = tuple(map(search.goal, physical.inputs, alternative.inputs))
                local = search.local_cost(goal, physical, alternative.delivered)
                moves.append(Move(physical.op, alternative, inputs, local))
        return moves

    def implementations(self, mexpr: LogicalExpr) -> list[PhysicalExpr]:
        """What the implementation rules make of one logical expression."""
        known = self._physical.get(mexpr.id)
        if known is None:
            find = self._search.memo.find
            group, inputs = find(mexpr.group), tuple(map(find, mexpr.inputs))
            known = self._physical[mexpr.id] = [
                PhysicalExpr(-1, group, op, inputs, rule.name, mexpr.id)
                for rule, operators in implementations(self._search, mexpr)
                for op in operators
            ]
        return known


class Numbered:
    """Choices of a space, numbered as they are asked for: `goals`, each with the positions of those of its native moves that an
    enforcer may be put on, None: it may be met by anything."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._numbers: dict[tuple[Goal, tuple[int, ...] | None], int] = {}
        self.goals: list[tuple[Goal, tuple[int, ...] | None]] = []
        self.choices: list[Choice] = []

    def of(self, goal: Goal, native: tuple[int, ...] | None = None) -> int:
        number = self._numbers.setdefault((goal, native), len(self.goals))
        if number == len(self.goals):
            self.goals.append((goal, native))
            self.choices.append(Choice(goal.group, *self._search.output(goal)))
        return number


def _space(
    search: Search, root: Goal, moves_of: Callable[[Goal], Moves], heard: Callable[[int], None] | None = None
) -> PlanSpace:
    """Number the choices that `root` reaches, and turn moves between goals into ways between choices.

    A choice is a goal, or what an enforcer may be put on: a goal and the positions of those of its native moves.
    """
    numbered = Numbered(search)

    @cache
    def moves(goal: Goal) -> Moves:
        return _distinct(moves_of(goal))

    numbered.of(root)
    for number, (goal, native) in enumerate(numbered.goals):  # which grow meanwhile
        if heard is not None:
            heard(len(numbered.goals))
        ways: list[Way] = []
        all_native = moves(goal).native
        for move in all_native if native is None else [all_native[at] for at in native]:
            ways.append(Way(move.op, tuple(map(numbered.of, move.inputs)), move.alternative, move.local))
        for move in moves(goal).enforcers if native is None else ():
            (below,) = move.inputs
            props = search.memo.group(goal.group).props
            delivered = [other.alternative.delivered for other in moves(below).native]
            met = {traits: satisfies(traits, goal.required, props) for traits in set(delivered)}
            unmet = tuple(at for at, traits in enumerate(delivered) if not met[traits])
            ways.append(Way(move.op, (numbered.of(below, unmet),), move.alternative, move.local))
        numbered.choices[number].ways = ways
    return PlanSpace(numbered.choices, 0)


def _distinct(moves: Moves) -> Moves:
    """Each native move once: two logical expressions may have one implementation in common."""
    first: dict[tuple[PhysicalOperator, Alternative, tuple[int, ...]], Move] = {}
    for move in moves.native:
        first.setdefault((move.op, move.alternative, tuple(below.id for below in move.inputs)), move)
    return Moves(list(first.values()), moves.enforcers)
