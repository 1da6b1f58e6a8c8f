"""The enforcers of a goal as candidates: moves to strictly weaker goals of the same group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.traits import Alternative
from optimizer.memo.goal import Candidate, Goal
from optimizer.rules.enforce.moves import enforcers

if TYPE_CHECKING:
    from optimizer.search.search import Search


def enforcing(search: Search, goal: Goal) -> list[Candidate]:
    """What may meet the goal by enforcing its traits; nothing when it requires none, or when no enforcer may be used."""
    group = search.memo.groups[goal.group]
    found = []
    for op, needs, delivers in enforcers(goal.required, group.offers, group.props, search.rules.enforcers):
        below = search.goal(group.id, needs)
        local = search.local(group, op, delivers, [group])
        search.counters.costed += 1
        search.counters.candidates += 1
        if search.trace is not None:
            search.trace.emit("enforce", goal=goal.id, op=op.name, local=local, inputs=[below.id])
        found.append(Candidate(goal, None, op, Alternative((needs,), delivers), (below,), local))
    return found
