"""The state of a live search in the form in which the replayer rebuilds it from a trace; a test compares the two."""

from optimizer.algebra.columns import column_ids
from optimizer.memo.goal import Split
from optimizer.search.search import Search
from optimizer.trace.state import BestState, GoalState, GroupState, MemoState, MExprState, set_id


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
        for logical in group.members():
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
    homes = {goal.id: goal.group if goal.group >= 0 else set_id(goal.id) for goal in memo.goals}
    for region in search.regions.made:
        for s, figures in region.sets.items():
            if figures.goal.group < 0:
                at = homes[figures.goal.id]
                rows = region.output(figures.goal)[1]
                relations = region.members(s)
                state.groups[at] = GroupState(at, [], rows, figures.lower, goals=[figures.goal.id], relations=relations)
    for goal in memo.goals:
        best = None
        at = homes[goal.id]
        if goal.way is not None:
            way = goal.way
            inputs = [i.id for i in way.inputs]
            if isinstance(way.what, Split):
                number, name = set_id(goal.id), way.what.method.name
                best = BestState(number, name, "", inputs, "any", way.local, goal.best_cost)
                below = [homes[i] for i in inputs]
                state.mexprs[number] = MExprState(number, at, name, "", below, False, None, None, way.local)
                state.groups[at].physical.append(number)
            else:
                op, alternative, mexpr = way.what
                delivered, id = alternative.delivered.show(label), None if mexpr is None else mexpr.id
                best = BestState(id, op.name, op.describe(label), inputs, delivered, way.local, goal.best_cost)
        limit = goal.limit if goal.opened else float("inf")
        traits = goal.required.show(label)
        state.goals[goal.id] = GoalState(goal.id, at, traits, goal.status.value, limit, goal.lower, best, goal.opened)
    for shown in state.groups.values():
        shown.physical.sort()
        shown.goals.sort()
    return state
