"""The enforcer of a goal as a candidate: a move to a strictly weaker goal of the same group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.traits import Alternative
from optimizer.memo.goal import Candidate, Goal
from optimizer.rules.enforce import sort

if TYPE_CHECKING:
    from optimizer.search.search import Search


def enforcer(search: Search, goal: Goal) -> Candidate | None:
    """What may meet the goal by enforcing its traits; None when it requires none, or when no enforcer may be used."""
    enforced = sort.enforce(goal.required) if sort.name in search.rules.enforcers else None
    if enforced is None:
        return None
    op, weaker = enforced
    group = search.memo.groups[goal.group]
    below = search.goal(group.id, weaker)
    local = search.cost.local(op, goal.required, group.stats, [group.stats])
    search.counters.costed += 1
    search.counters.candidates += 1
    if search.trace is not None:
        search.trace.emit("enforce", goal=goal.id, op=op.name, local=local, inputs=[below.id])
    return Candidate(goal, None, op, Alternative((weaker,), goal.required), (below,), local)
