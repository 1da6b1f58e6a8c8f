"""The chosen plan: winners followed from the root goal down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.plan import PlanNode
from optimizer.memo.goal import Goal

if TYPE_CHECKING:
    from optimizer.search.search import Search


def extract(search: Search, root: Goal) -> PlanNode:
    """Build the plan of a goal that has one. Iterative: depth is no limit."""
    built: list[PlanNode] = []
    stack: list[tuple[Goal, bool]] = [(root, False)]
    while stack:
        goal, ready = stack.pop()
        candidate = search.plan_of(goal)
        if not ready:
            stack.append((goal, True))
            stack.extend((below, False) for below in reversed(candidate.inputs))
            continue
        arity = len(candidate.inputs)
        inputs = tuple(built[len(built) - arity :])
        del built[len(built) - arity :]
        group = search.memo.groups[goal.group]
        built.append(
            PlanNode(
                candidate.op,
                inputs,
                group.props.columns,
                candidate.alternative,
                group.stats.rows,
                candidate.local,
                goal.best_cost,
                group.id,
            )
        )
    return built[0]
