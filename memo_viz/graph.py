"""A memo as an AND/OR graph (networkx): groups choose among members, members need all their input groups.

Nodes and their attribute `kind`
    "G7"   group       name, whole, id, number, rows, lower, columns, explored, relations, chosen,
                       root, goals (list of (traits, status, cost or None))
    "m12"  mexpr       name, op, detail, logical, inputs (group ids), over (their names), rule, source, own, total,
                       best_for, chosen
    "e5"   enforcer    as a mexpr; what goal 5 puts on top of a weaker goal of the same group (a sort)

Edges
    group -> member    kind "member"
    member -> group    kind "input", `positions` of that input, `chosen` when the chosen plan goes this way

A group's `name` says what it computes, `whole` is that name with all relations of a set, `relations` are the names of those (its
own name alone where it is no inner join), `number` is "G7" unless the name ends in it. A set of relations that the search knows
as a goal, not as a group, has an `id` below zero. The join chosen for it is the member "m-9", named "split". `detail` has columns
without their ids where a name is enough.

`own` is the local cost (None: never costed), `total` the cost with inputs (None unless the member is the best of some goal: of
several the one in the chosen plan, else the cheapest), `best_for` the traits of the goals it is best for, that one first.
`chosen` marks what belongs to the best plan of the query: at the end, the chosen one.
"""

from collections.abc import Mapping
from typing import Any

import networkx as nx

from memo_viz.names import REGIONS, ColumnNames, GroupName, called, canonical_group, column_names
from optimizer.errors import PlanscopeError
from optimizer.trace.state import BestState, MemoState

JOINS = frozenset(("join", *REGIONS, "apply", "mark_join", "single_join"))


def memo_graph(state: MemoState, *, focus: int | None = None, depth: int | None = None, winners: bool = False) -> nx.DiGraph:
    """The graph of `state`, or the part asked for.

    `focus`: only this group and what lies below it (a merged group stands for the one it went into). `depth`: only so
    many levels of input groups below the focus, or below the root. `winners`: only the chosen plan's groups and
    members. Raises PlanscopeError for a focus that is not in the memo.
    """
    graph, groups, columns = nx.DiGraph(), called(state), column_names(state)
    names = {id: each.name for id, each in groups.items()}
    _add_groups(graph, state, groups, columns)
    _add_mexprs(graph, state, names, columns)
    _mark_best(graph, state, names, columns)
    _mark_chosen(graph, state)
    start: str | None
    if focus is not None:
        if focus not in state.groups:
            raise PlanscopeError(f"the memo has no group G{focus}; it has {_group_range(state)}")
        start = group_node(canonical_group(state, focus))
    else:
        start = next((n for n, is_root in graph.nodes(data="root") if is_root), None)
    if winners:
        graph = graph.subgraph([n for n, chosen in graph.nodes(data="chosen") if chosen]).copy()
        if start not in graph and focus is not None:
            raise PlanscopeError(f"group G{focus} is not part of the best plan")
    if start is not None and start in graph and (focus is not None or depth is not None):
        graph = graph.subgraph(_within(graph, start, depth)).copy()
    return graph


def group_node(id: int) -> str:
    return f"G{id}"


def mexpr_node(id: int) -> str:
    return f"m{id}"


def members(graph: nx.DiGraph, group: str) -> list[str]:
    """Member nodes of a group node, in the order they entered the memo; enforcers last."""
    return [n for n in graph.successors(group) if graph.edges[group, n]["kind"] == "member"]


def input_groups(graph: nx.DiGraph, group: str) -> set[str]:
    """Group nodes that some member of `group` needs."""
    found = {target for member in members(graph, group) for target in graph.successors(member)}
    found.discard(group)
    return found


def _add_groups(graph: nx.DiGraph, state: MemoState, names: Mapping[int, GroupName], columns: ColumnNames) -> None:
    root = None if state.root is None else canonical_group(state, state.goals[state.root].group)
    for group in state.groups.values():
        if group.merged_into is None:
            graph.add_node(
                group_node(group.id),
                kind="group",
                name=names[group.id].name,
                whole=names[group.id].whole,
                id=group.id,
                number="" if group.id < 0 or f" (G{group.id})" in f" ({names[group.id].name})" else f"G{group.id}",
                rows=group.rows,
                lower=group.lower,
                columns=[columns(label) for label in group.columns],
                explored=group.explored,
                relations=tuple(names[leaf].name for leaf in names[group.id].relations),
                root=group.id == root,
                chosen=False,
                change="",
                goals=[],
            )
    for goal in state.goals.values():
        node = graph.nodes[group_node(canonical_group(state, goal.group))]
        node["goals"].append((columns(goal.traits), goal.status, None if goal.best is None else goal.best.cost))


def _add_mexprs(graph: nx.DiGraph, state: MemoState, names: dict[int, str], columns: ColumnNames) -> None:
    for mexpr in state.mexprs.values():
        inputs = [canonical_group(state, i) for i in mexpr.inputs]
        node = mexpr_node(mexpr.id)
        _add_member(
            graph, canonical_group(state, mexpr.group), node, inputs, names, kind="mexpr", op=mexpr.op,
            name=node if mexpr.id >= 0 else "split", detail=columns(mexpr.detail), logical=mexpr.logical, rule=mexpr.rule,
            source=mexpr.source, own=mexpr.local_cost,
        )  # fmt: skip


def _add_member(graph: nx.DiGraph, group: int, node: str, inputs: list[int], names: dict[int, str], **data: Any) -> None:
    over = [names[id] for id in inputs]
    graph.add_node(node, **data, inputs=inputs, over=over, total=None, best_for=[], chosen=False, change="")
    graph.add_edge(group_node(group), node, kind="member")
    for position, target in enumerate(map(group_node, inputs)):
        if graph.has_edge(node, target):  # a self-join of one group
            graph.edges[node, target]["positions"] += (position,)
        else:
            graph.add_edge(node, target, kind="input", positions=(position,), chosen=False)


def _mark_best(graph: nx.DiGraph, state: MemoState, names: dict[int, str], columns: ColumnNames) -> None:
    planned, chosen = [(goal, goal.best) for goal in state.goals.values() if goal.best is not None], set(state.winners())
    for goal, best in sorted(planned, key=lambda each: (each[0].id not in chosen, each[1].cost)):
        node = member_node(best, goal.id)
        if best.mexpr is None:
            group = canonical_group(state, goal.group)
            _add_member(
                graph, group, node, [group], names, kind="enforcer", op=best.op, name=node, detail=columns(best.detail),
                logical=False, rule=None, source=None, own=best.local_cost,
            )  # fmt: skip
        data = graph.nodes[node]
        data["best_for"].append(columns(goal.traits))
        if data["total"] is None:
            data["own"], data["total"] = best.local_cost, best.cost


def _mark_chosen(graph: nx.DiGraph, state: MemoState) -> None:
    for id in state.winners():
        goal = state.goals[id]
        assert goal.best is not None, f"goal {id} is in the chosen plan without a plan"
        node = member_node(goal.best, id)
        graph.nodes[node]["chosen"] = True
        graph.nodes[group_node(canonical_group(state, goal.group))]["chosen"] = True
        for below in goal.best.inputs:
            target = group_node(canonical_group(state, state.goals[below].group))
            if graph.has_edge(node, target):
                graph.edges[node, target]["chosen"] = True


def member_node(best: BestState, goal: int) -> str:
    """The member that is the best plan of a goal."""
    return f"e{goal}" if best.mexpr is None else mexpr_node(best.mexpr)


def _within(graph: nx.DiGraph, start: str, depth: int | None) -> list[str]:
    """Nodes of the groups at most `depth` input levels below `start`, each with its members."""
    levels = {start: 0}
    queue = [start]
    for group in queue:
        if depth is None or levels[group] < depth:
            for below in sorted(input_groups(graph, group), key=lambda n: int(n[1:])):
                if below not in levels:
                    levels[below] = levels[group] + 1
                    queue.append(below)
    kept = set(queue)
    kept.update(member for group in queue for member in members(graph, group))
    return [n for n in graph if n in kept]


def _group_range(state: MemoState) -> str:
    ids = sorted(id for id in state.groups if id >= 0)
    return f"G{ids[0]} to G{ids[-1]}" if ids else "no groups"
