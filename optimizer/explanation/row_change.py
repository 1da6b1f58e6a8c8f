"""The smallest change of one row count that would make a plan win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from optimizer.algebra.physical import TableScan
from optimizer.algebra.plan import PlanNode, aliases_below
from optimizer.explanation.changed import Rows
from optimizer.explanation.recost import Recosting
from optimizer.search.extract import give_groups

FARTHEST = 1e6  # the largest factor that is tried
STEP = 1.25  # between two factors that are tried, at least: a plan that wins for a shorter stretch may be overlooked
LEAP = 100.0  # the same where the plan falls behind
MOST_TRIES = 300
PRECISION = 1.01  # of the factor in the answer
EQUAL = 1e-9  # relative


class RowChange(NamedTuple):
    """If the relations `aliases` had `after` rows rather than `before`, the plan would cost `cost`, and no plan less; not
    `proven`: none of those that were searched."""

    aliases: frozenset[str]
    before: float
    after: float
    cost: float
    proven: bool

    @property
    def factor(self) -> float:
        return max(self.after / self.before, self.before / self.after)


class _Direction(NamedTuple):
    """The rows of a set, up or down. `factor`, `gap`: the last that was tried, and by how much the plan asked about was dearer
    than the cheapest; `won`: the least factor known with which it is cheaper."""

    aliases: frozenset[str]
    before: float
    up: bool
    factor: float
    gap: float
    won: float | None = None

    def rows(self, factor: float) -> float:
        return self.before * factor if self.up else self.before / factor

    @property
    def farthest(self) -> float:
        return FARTHEST if self.up else min(FARTHEST, max(self.before, STEP))


def smallest_change(
    memo: Recosting, asked: PlanNode, chosen: PlanNode, cost_of_asked: Callable[[Rows], float] | None = None
) -> RowChange | float:
    """The change of the rows of one set of relations, by the least factor up or down, that makes a plan the cheapest; or the
    factor below which there was none. Tried are single relations and the sets that one of the plans joins and the other does
    not; nodes of both plans have groups. No set gets less than one row, or more than FARTHEST times its rows.

    A try compares the plan with those that were cheaper before, and where it costs no more than they do, with every plan; the
    cheapest is then known too. It wins where it costs less than they do, and no plan less: with few rows plans cost the same
    that differ with more. The direction whose next try is the nearest is tried first, so that the first that wins does
    so by the smallest change. What a plan costs is about linear in the rows of one set, so by how much it is dearer than the
    cheapest of several is about convex: the line through two tries does not reach zero later, and the next try is there.
    `cost_of_asked`: what is asked costs under a change, where that is not one plan but the cheapest of several.
    """
    own = cost_of_asked or (lambda rows: memo.cost_of(asked, rows))
    rivals = [chosen]

    def gap(changed: Rows) -> float:
        mine, least = own(changed), min(memo.costs_of(rivals, changed))
        if mine <= least * (1.0 + EQUAL):
            found = memo.under(changed)
            if mine <= found.cost * (1.0 + EQUAL):
                return mine - least if mine < least * (1.0 - EQUAL) else 0.0
            least = found.cost
            assert found.search.root is not None
            give_groups(found.search, found.search.root, found.plan)
            rivals.append(found.plan)
        return mine - least

    first = gap({})
    waiting: list[tuple[float, int, _Direction]] = []
    for aliases in _sets((asked, chosen)):
        before = memo.rows(aliases)
        for up in (True, False) if before is not None and before > 0.0 else ():
            assert before is not None
            direction = _Direction(aliases, before, up, 1.0, first)
            waiting.append((min(STEP, direction.farthest), len(waiting), direction))
    heapify(waiting)
    tries = 0
    while waiting:
        factor, order, direction = heappop(waiting)
        if direction.won is not None:
            after = direction.rows(direction.won)
            changed = {direction.aliases: after}
            return RowChange(direction.aliases, direction.before, after, own(changed), memo.under(changed).proven)
        if tries >= MOST_TRIES:
            return factor
        tries += 1
        found = gap({direction.aliases: direction.rows(factor)})
        while found < 0.0:
            tries += 1
            low, high = direction.factor, factor
            while high / low > PRECISION:
                middle = (low * high) ** 0.5
                low, high = (low, middle) if gap({direction.aliases: direction.rows(middle)}) < 0.0 else (middle, high)
            if gap({direction.aliases: direction.rows(high)}) < 0.0:  # also less than plans that were cheaper just before
                heappush(waiting, (high, order, direction._replace(won=high)))
                break
            found = gap({direction.aliases: direction.rows(factor)})
        else:
            if factor < direction.farthest:
                further = min(_next(direction, factor, found), direction.farthest)
                heappush(waiting, (further, order, direction._replace(factor=factor, gap=found)))
    return FARTHEST


def _next(last: _Direction, factor: float, gap: float) -> float:
    """The factor to try after `factor`: where the line through the last two gaps is zero."""
    if gap >= last.gap:
        return factor * LEAP
    x0, x1 = last.rows(last.factor), last.rows(factor)
    zero = x1 - gap * (x1 - x0) / (gap - last.gap)
    reached = zero / last.before if last.up else last.before / zero if zero > 0.0 else FARTHEST
    return max(factor * STEP, reached)


def _sets(plans: Iterable[PlanNode]) -> list[frozenset[str]]:
    """The relations that plans scan, and the sets that some plan joins and not every one, small sets first."""
    found: Counter[frozenset[str]] = Counter()
    for plan in plans:
        below = aliases_below(plan)
        joined = [node for node in plan.walk() if isinstance(node.op, TableScan) or len(node.inputs) == 2]
        found.update({frozenset(map(str.lower, below[id(node)])) for node in joined})
    kept = [names for names, count in found.items() if len(names) == 1 or count == 1]
    return sorted(kept, key=lambda names: (len(names), sorted(names)))
