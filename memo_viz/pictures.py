"""Every picture that can be drawn of a trace, as DOT and as JSON values: the memo, the chosen plan, join graphs, rewrites before
the search, rules, traits.

    picture = memo_picture(events, title="tpch/q05")
    render(picture.dot, "png")
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import networkx as nx

from memo_viz.difference import memo_difference
from memo_viz.dot import COMPLETE, memo_dot
from memo_viz.export import finite_json
from memo_viz.graph import memo_graph
from memo_viz.growth import growth_svg
from memo_viz.join_graph import join_graphs, joins_dot
from memo_viz.names import group_names, groups_called
from memo_viz.overview import overview_dot
from memo_viz.plan_graph import boxes_dot, boxes_json, winner_boxes
from memo_viz.rewrite_steps import SUBQUERIES, has_search, rewrite_steps, steps_dot
from memo_viz.rule_graph import rule_graph, rules_dot
from memo_viz.text import shorten
from memo_viz.trait_ledger import ledger_dot, ledger_json, trait_ledger
from optimizer.errors import PlanscopeError
from optimizer.trace.replay import Replay
from optimizer.trace.state import MemoState

Events = Sequence[dict[str, Any]]


class Picture(NamedTuple):
    """`svg`: the document, where it is not what `dot` gives. `note`: what it lacks, to be said beside it."""

    dot: str
    json: Any
    svg: str | None = None
    note: str = ""


def memo_picture(
    events: Events, *, overview: bool = False, detail: bool = False, animate: float | None = None, title: str = "", **part: Any
) -> Picture:
    """The memo, or the part of it that `memo_shown` gives: as an `overview`, in `detail`, or as its size asks. `animate`: the SVG
    shows in that many seconds how the whole memo grew. Raises PlanscopeError."""
    if overview and detail:
        raise PlanscopeError("--overview and --detail do not go together")
    graph = memo_shown(events, **part)
    at, since = part.get("at"), part.get("since")
    words = [title, *([] if at is None else [f"event {at:,}"]), *([] if since is None else [f"since event {since:,}"])]
    title = " · ".join(filter(None, words))
    narrowed = any(part.get(name) not in (None, False) for name in ("focus", "depth", "winners"))
    dot = overview_dot(graph, title) if overview else memo_dot(graph, COMPLETE if narrowed or detail else None, title)
    svg = None
    if animate is not None:
        if narrowed or since is not None or overview or detail:
            raise PlanscopeError(
                "the whole memo is animated: leave out --focus, --depth, --winners, --since, --overview, --detail"
            )
        svg = growth_svg(events if at is None else events[: at + 1], animate, title)
    note = ""
    if (focus := part.get("focus")) is not None and not any(data.get("best_for") for _, data in graph.nodes(data=True)):
        note = f"{focus} has no plan" + (": the search never needed one" if at is None else f" at event {at:,}")
    return Picture(dot, graph_json(graph), svg, note)


def memo_shown(
    events: Events, *, at: int | None = None, since: int | None = None, focus: str | None = None, depth: int | None = None,
    winners: bool = False,
) -> nx.DiGraph:  # fmt: skip
    """The graph of the memo after event `at` (None: the last). `since`: what changed after that earlier event is marked.
    `focus`: see `find_group`; `depth`, `winners`: see `memo_graph`. Raises PlanscopeError.
    """
    replay = Replay(events)
    state = state_at(replay, at)
    id = None if focus is None else find_group(state, focus)
    graph = memo_graph(state, focus=id, depth=depth, winners=winners)
    if since is None:
        return graph
    last = len(events) - 1 if at is None else at
    if since >= last:
        raise PlanscopeError(f"event {since} is not before event {last}")
    state = state_at(replay, since)
    there = (id is None or id in state.groups) and (not winners or id is None)
    return memo_difference(memo_graph(state, focus=id, depth=depth, winners=winners) if there else nx.DiGraph(), graph)


def plan_picture(events: Events, *, at: int | None = None, title: str = "") -> Picture:
    """The best plan of the root after event `at`."""
    boxes = winner_boxes(state_at(Replay(events), at))
    return Picture(boxes_dot(boxes, title if at is None else f"{title} · event {at:,}"), boxes_json(boxes))


def joins_picture(events: Events, *, title: str = "") -> Picture:
    """The join graph of each region of joins. Raises PlanscopeError where nothing is joined."""
    graphs = join_graphs(Replay(events).final())
    if not graphs:
        joined = has_search(events)
        raise PlanscopeError(
            f"the {'query joins nothing, so it has' if joined else 'trace ends before the joins: it has'} no join graph"
        )
    return Picture(joins_dot(graphs, title), [graph_json(graph) for graph in graphs])


def steps_picture(events: Events, *, stages: Sequence[str] = (), title: str = "") -> Picture:
    """The rewrites of stages before the search, by default of those that remove subqueries. Raises PlanscopeError."""
    steps = rewrite_steps(events, stages or SUBQUERIES)
    return Picture(steps_dot(steps, title), [step._asdict() for step in steps])


def rules_picture(events: Events, *, title: str = "") -> Picture:
    """Which rules fed which in the search."""
    graph = rule_graph(events, Replay(events).final())
    return Picture(rules_dot(graph, title), graph_json(graph))


def traits_picture(events: Events, *, at: int | None = None, title: str = "") -> Picture:
    """The orders and groupings asked for, as met after event `at`."""
    entries = trait_ledger(state_at(Replay(events), at))
    return Picture(ledger_dot(entries, title if at is None else f"{title} · event {at:,}"), ledger_json(entries))


def state_at(replay: Replay, at: int | None) -> MemoState:
    """The state after event `at`, the last one for None. Raises PlanscopeError where there is no such event."""
    if at is not None and not 0 <= at < len(replay.events):
        raise PlanscopeError(f"there is no event {at}; the trace has events 0 to {len(replay.events) - 1}")
    return replay.final() if at is None else replay.seek(at + 1)


def find_group(state: MemoState, text: str) -> int:
    """The group that `text` means: G12, its name, or the relations of a set in any order, {orders, customer}.

    Raises PlanscopeError where there is none, or more than one.
    """
    digits = text[1:] if text[:1] in "Gg" else text
    if digits.isdecimal() and digits.isascii() and len(digits) < 12:
        return int(digits)
    found, names = sorted(groups_called(state, text)), group_names(state)
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"G{id}" if id >= 0 else names[id] for id in found)
        raise PlanscopeError(f'several groups are called "{shorten(text, 60)}": {several}')
    some = ", ".join(list(dict.fromkeys(names.values()))[:8])
    raise PlanscopeError(f'no group is called "{shorten(text, 60)}"; groups are {some}{" ..." if len(names) > 8 else ""}')


def graph_json(graph: nx.DiGraph) -> Any:
    """Nodes and edges as networkx writes them (`networkx.node_link_graph` reads them); infinite figures are null."""
    return finite_json(nx.node_link_data(graph, edges="edges"))
