"""A memo as text: a block per group, members below it, the best plan marked with a star."""

from typing import Any

import networkx as nx

from memo_viz.graph import members, memo_graph
from memo_viz.text import clean
from optimizer.algebra.printing import number
from optimizer.trace.state import MemoState


def memo_listing(state: MemoState) -> str:
    """The whole memo."""
    return graph_listing(memo_graph(state))


def graph_listing(graph: nx.DiGraph) -> str:
    """Every group of a graph of `memo_graph` with its members: ★ best plan of the query, ☆ best of another goal, costs."""
    groups = [n for n, kind in graph.nodes(data="kind") if kind == "group"]
    return "\n\n".join(_group(graph, group) for group in groups)


def _group(graph: nx.DiGraph, group: str) -> str:
    data = graph.nodes[group]
    head = "  ".join(filter(None, (clean(data["whole"]), data["number"])))
    lines = [f"{head}  rows {number(data['rows'])}, lower {number(data['lower'])}{', root' if data['root'] else ''}"]
    for traits, status, cost in data["goals"]:
        lines.append(f"    goal {clean(traits)}: {status}{'' if cost is None else ', cost ' + number(cost)}")
    for node in members(graph, group):
        member = graph.nodes[node]
        mark = "★" if member["chosen"] else "☆" if member["best_for"] else " "
        inputs = clean(" ".join(member["over"]))
        text = "  ".join(filter(None, (f"{member['op']} {inputs}".rstrip(), clean(member["detail"]))))
        lines.append(f"  {mark} {member['name']:<6}{text}{_cost(member)}")
    return "\n".join(lines)


def _cost(member: dict[str, Any]) -> str:
    if member["logical"]:
        return f"  ({clean(member['rule'])})" if member["rule"] else ""
    if member["own"] is None:
        return "  [never costed]"
    total = "" if member["total"] is None else f", total {number(member['total'])}"
    return f"  [own {number(member['own'])}{total}]"
