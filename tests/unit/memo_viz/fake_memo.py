"""A finished memo of a join query, built by hand from a join graph: what the search would leave, without the search."""

from __future__ import annotations

from itertools import combinations

from optimizer.trace.state import BestState, GoalState, GroupState, MemoState, MExprState

Q5_ROWS = {"customer": 15000, "orders": 22958, "lineitem": 600572, "supplier": 1000, "nation": 25, "region": 1}
Q5_EDGES = [
    ("customer", "orders"), ("orders", "lineitem"), ("lineitem", "supplier"), ("customer", "supplier"), ("supplier", "nation"),
    ("nation", "region"),
]  # fmt: skip


def join_memo(rows: dict[str, int] | None = None, edges: list[tuple[str, str]] | None = None) -> MemoState:
    """Groups for every connected subset of the tables, all commuted joins, three implementations each, a sort at the root."""
    rows = Q5_ROWS if rows is None else rows
    edges = Q5_EDGES if edges is None else edges
    tables = list(rows)
    state = MemoState()
    groups: dict[frozenset[str], int] = {}
    goals: dict[frozenset[str], int] = {}
    for size in range(1, len(tables) + 1):
        for subset in combinations(tables, size):
            part = frozenset(subset)
            if not _connected(part, edges):
                continue
            group = _group(state, subset, _rows(part, rows, edges))
            groups[part] = group.id
            goal = GoalState(len(state.goals), group.id, "any", "optimal", lower=group.lower, opened=1)
            state.goals[goal.id] = goal
            group.goals.append(goal.id)
            goals[part] = goal.id
            if size == 1:
                _mexpr(state, group, "scan", subset[0], [], logical=True)
                scan = _mexpr(state, group, "table_scan", subset[0], [], logical=False, rule="scan_to_table_scan")
                scan.local_cost = float(rows[subset[0]])
                goal.best = BestState(scan.id, scan.op, scan.detail, [], "any", scan.local_cost, scan.local_cost)
            else:
                _joins(state, part, group, groups, goals, edges)
    top = goals[frozenset(tables)]
    _finish(state, groups[frozenset(tables)], top)
    return state


def _joins(state, part, group, groups, goals, edges):
    goal = state.goals[group.goals[0]]
    first = True
    for size in range(1, len(part)):
        for chosen in combinations(sorted(part), size):
            left, right = frozenset(chosen), part - frozenset(chosen)
            keys = [e for e in edges if len({*e} & left) == 1 and len({*e} & right) == 1]
            if left not in groups or right not in groups or not keys:
                continue
            on = "inner on " + " AND ".join(f"{a[0]}_{b}key#3 = {b[0]}_{b}key#7" for a, b in keys)
            inputs = [groups[left], groups[right]]
            logical = _mexpr(state, group, "join", on, inputs, logical=True, rule=None if first else "join_commute")
            first = False
            for op, factor in (("hash_join", 1.0), ("merge_join", 3.0), ("nested_loop_join", 90.0)):
                m = _mexpr(state, group, op, on, inputs, logical=False, rule=f"join_to_{op}", source=logical.id)
                spent = sum(state.goals[goals[side]].best.cost for side in (left, right))
                if goal.best is not None and spent > goal.best.cost:
                    continue  # pruned: never costed
                m.local_cost = factor * (state.groups[inputs[0]].rows + 2 * state.groups[inputs[1]].rows)
                if goal.best is None or spent + m.local_cost < goal.best.cost:
                    below = [goals[left], goals[right]]
                    goal.best = BestState(m.id, op, on, below, "any", m.local_cost, spent + m.local_cost)


def _finish(state, joined, goal):
    """An aggregation over the last join, sorted: an enforcer at the root."""
    group = _group(state, ("n_name", "revenue"), 5.0)
    text = "by n_name#41; revenue#52 := sum((l_extendedprice#22 * (1 - l_discount#23)))"
    _mexpr(state, group, "aggregate", text, [joined], logical=True)
    m = _mexpr(state, group, "hash_aggregate", text, [joined], logical=False, rule="aggregate_to_hash_aggregate")
    m.local_cost = 700.0
    below = state.goals[goal].best.cost
    plain = GoalState(len(state.goals), group.id, "any", "optimal", opened=1)
    plain.best = BestState(m.id, m.op, text, [goal], "any", 700.0, below + 700)
    state.goals[plain.id] = plain
    root = GoalState(len(state.goals), group.id, "order(revenue#52 desc)", "optimal", opened=1)
    root.best = BestState(None, "sort", "revenue#52 desc", [plain.id], "order(revenue#52 desc)", 12.0, below + 712)
    state.goals[root.id] = root
    group.goals += [plain.id, root.id]
    state.root = root.id


def _group(state, columns, rows) -> GroupState:
    group = GroupState(len(state.groups) + 1, [f"{c}#{i}" for i, c in enumerate(columns)], rows, rows / 2, explored=True)
    state.groups[group.id] = group
    return group


def _mexpr(state, group, op, detail, inputs, *, logical, rule=None, source=None) -> MExprState:
    m = MExprState(len(state.mexprs) + 1, group.id, op, detail, inputs, logical, rule, source)
    state.mexprs[m.id] = m
    (group.logical if logical else group.physical).append(m.id)
    return m


def _connected(part, edges) -> bool:
    reached = {min(part)}
    grown = True
    while grown:
        grown = False
        for a, b in edges:
            if a in part and b in part and (a in reached) != (b in reached):
                reached |= {a, b}
                grown = True
    return reached == part


def _rows(part, rows, edges) -> float:
    result = 1.0
    for table in part:
        result *= rows[table]
    for a, b in edges:
        if a in part and b in part:
            result /= max(1, min(rows[a], rows[b]))
    return max(1.0, result)
