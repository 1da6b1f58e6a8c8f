"""Two memo graphs of one search at two events as one graph that says what came, what went and what changed between them."""

from typing import Any

import networkx as nx

SIGNS = {"": "", "new": "+", "gone": "−", "changed": "~"}


def memo_difference(before: nx.DiGraph, after: nx.DiGraph) -> nx.DiGraph:
    """`after`, with what only `before` has put back; every group and member has `change`: new, gone, changed or "".

    A group has changed when the status or best plan of a goal did, a member when its cost did or what it is the best of.
    """
    before = nx.relabel_nodes(before, _placed(before, after))
    graph = nx.compose(before, after)  # attributes of `after` win
    for node, data in graph.nodes(data=True):
        if node not in before:
            data["change"] = "new"
        elif node not in after:
            data.update(change="gone", chosen=False)
        else:
            old, new = before.nodes[node], after.nodes[node]
            data["change"] = "changed" if any(old[k] != new[k] for k in _watched(data)) else ""
    for a, b, data in graph.edges(data=True):
        if (a, b) not in after.edges and data["kind"] == "input":
            data["chosen"] = False
    for group in [n for n, kind in graph.nodes(data="kind") if kind == "group"]:
        if not graph.nodes[group]["change"] and any(graph.nodes[m]["change"] for m in graph.successors(group)):
            graph.nodes[group]["change"] = "changed"
    graph.graph["difference"] = True
    return graph


def _placed(before: nx.DiGraph, after: nx.DiGraph) -> dict[str, str]:
    """Sets of relations that have become groups of the memo."""
    groups = {d["relations"]: n for n, d in after.nodes(data=True) if d["kind"] == "group" and d["id"] >= 0}
    gone = ((n, d) for n, d in before.nodes(data=True) if d["kind"] == "group" and d["id"] < 0 and n not in after)
    return {node: groups[data["relations"]] for node, data in gone if data["relations"] in groups}


def is_difference(graph: nx.DiGraph) -> bool:
    return bool(graph.graph.get("difference"))


def _watched(data: dict[str, Any]) -> tuple[str, ...]:
    return ("goals", "root") if data["kind"] == "group" else ("own", "total", "best_for", "chosen")
