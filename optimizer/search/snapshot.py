"""The state of a live search in the form in which the replayer rebuilds it from a trace; a test compares the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.columns import column_ids
from optimizer.trace.state import BestState, GoalState, GroupState, MemoState, MExprState

if TYPE_CHECKING:
    from optimizer.search.search import Search


def snapshot(search: Search) -> MemoState:
    """Groups, expressions and goals as plain data. Merged groups are kept, empty, with what they were merged into."""
    memo, label = search.memo, search.context.columns.label
    state = MemoState(root=None if search.root is None else search.root.id)
    for group in memo.groups:
        home = memo.find(group.id)
        names = [label(c) for c in column_ids(group.props.columns)]
        shown = GroupState(group.id, names, group.stats.rows, group.lower, explored=group.explored)
        shown.merged_into = None if home == group.id else home
        shown.goals = [goal.id for goal in group.goals.values()]
        state.groups[group.id] = shown
        for logical in group.logical:
            shown.logical.append(logical.id)
            source = logical.source if logical.rule is not None else None
            inputs = [memo.find(g) for g in logical.inputs]
            detail = logical.op.describe(label)
            state.mexprs[logical.id] = MExprState(
                logical.id, group.id, logical.op.name, detail, inputs, True, logical.rule, source
            )
            for physical in logical.physical:
                shown.physical.append(physical.id)
                local = min(physical.costs.values(), default=None)
                state.mexprs[physical.id] = MExprState(
                    physical.id, group.id, physical.op.name, physical.op.describe(label), list(physical.inputs), False,
                    physical.rule, physical.source, local,
                )  # fmt: skip
        shown.physical.sort()
    for goal in memo.goals:
        best = None
        if goal.best is not None:
            chosen = goal.best
            best = BestState(
                None if chosen.mexpr is None else chosen.mexpr.id, chosen.op.name, chosen.op.describe(label),
                [i.id for i in chosen.inputs], chosen.alternative.delivered.show(label), chosen.local, goal.best_cost,
            )  # fmt: skip
        limit = goal.limit if goal.opened else float("inf")
        traits = goal.required.show(label)
        state.goals[goal.id] = GoalState(goal.id, goal.group, traits, goal.status.value, limit, goal.lower, best, goal.opened)
    return state
