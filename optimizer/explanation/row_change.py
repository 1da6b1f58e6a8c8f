"""The smallest change of one row count that would make a plan win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import NamedTuple

from optimizer.algebra.physical import TableScan
from optimizer.algebra.plan import PlanNode
from optimizer.explanation.changed import Rows
from optimizer.explanation.recost import Recosting

STEP = 2.0  # factor between two row counts that are tried
MOST_SEARCHES = 12  # changes that are compared with every plan, before the answer is that there is none
FARTHEST = 1e6  # the largest factor that is tried
HALVINGS = 8
EQUAL = 1e-9  # relative


class RowChange(NamedTuple):
    """If the relations `aliases` had `after` rows rather than `before`, the plan would cost `cost`, and no plan less."""

    aliases: frozenset[str]
    before: float
    after: float
    cost: float

    @property
    def factor(self) -> float:
        return max(self.after / self.before, self.before / self.after)


def smallest_change(
    memo: Recosting, asked: PlanNode, chosen: PlanNode, cost_of_asked: Callable[[Rows], float] | None = None
) -> RowChange | None:
    """The change of the rows of one set of relations, by the least factor up or down, that makes a plan the cheapest; None where
    no factor up to FARTHEST was found that does. Tried are single relations and the sets that one of the plans joins and the
    other does not; nodes of both plans have groups.

    A row count has to make the plan no dearer than the one chosen now, which is quickly told, and then than every other.
    `cost_of_asked`: what is asked costs under a change, where that is not one plan but the cheapest of several.
    """
    own = cost_of_asked or (lambda rows: memo.plan_costs((asked,), rows)[0])

    def wins(aliases: frozenset[str], rows: float) -> bool:
        changed = {aliases: rows}
        return own(changed) <= memo.under(changed).cost * (1.0 + EQUAL)

    waiting: list[tuple[float, int, frozenset[str], float, bool]] = []
    for aliases in _sets((asked, chosen)):
        before = memo.rows(aliases)
        for up in (True, False) if before is not None and before > 0.0 else ():
            assert before is not None
            waiting.append((1.0, len(waiting), aliases, before, up))
    searches = 0
    while waiting and searches < MOST_SEARCHES:
        last, order, aliases, before, up = heappop(waiting)
        factor = _next(memo, asked, chosen, aliases, before, up, last)
        if factor is None:
            continue
        if waiting and factor > max(waiting[0][0], last * STEP):  # another set may be nearer
            heappush(waiting, (factor / STEP, order, aliases, before, up))
            continue
        searches += 1
        if not wins(aliases, _changed(before, factor, up)):
            heappush(waiting, (factor, order, aliases, before, up))
            continue
        low, high = last, factor
        for _ in range(HALVINGS):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if wins(aliases, _changed(before, middle, up)) else (middle, high)
        after = _changed(before, high, up)
        return RowChange(aliases, before, after, own({aliases: after}))
    return None


def _next(
    memo: Recosting, asked: PlanNode, chosen: PlanNode, aliases: frozenset[str], before: float, up: bool, last: float
) -> float | None:
    """The next factor that is tried after `last` at which a plan costs no more than the chosen one."""
    factor = last
    while True:
        factor *= STEP
        rows = _changed(before, factor, up)
        if factor > FARTHEST or (not up and rows < min(1.0, before / STEP)):
            return None
        mine, theirs = memo.plan_costs((asked, chosen), {aliases: rows})
        if mine <= theirs * (1.0 + EQUAL):
            return factor


def _changed(before: float, factor: float, up: bool) -> float:
    return before * factor if up else before / factor


def _sets(plans: Iterable[PlanNode]) -> list[frozenset[str]]:
    """The relations that plans scan, and the sets that some plan joins and not every one, small sets first."""
    found: Counter[frozenset[str]] = Counter()
    for plan in plans:
        joined: set[frozenset[str]] = set()
        below: dict[int, frozenset[str]] = {}
        for node in reversed(list(plan.walk())):
            own = frozenset((node.op.scan.alias.lower(),)) if isinstance(node.op, TableScan) else frozenset()
            below[id(node)] = own.union(*(below[id(each)] for each in node.inputs))
            if isinstance(node.op, TableScan) or len(node.inputs) == 2:
                joined.add(below[id(node)])
        found.update(joined)
    kept = [names for names, count in found.items() if len(names) == 1 or count == 1]
    return sorted(kept, key=lambda names: (len(names), sorted(names)))
