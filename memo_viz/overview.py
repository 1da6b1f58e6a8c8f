"""A large memo as DOT: the chosen plan as a tree of groups, and below it all groups by the number of relations that they join,
a square each (`relation_sets`)."""

import networkx as nx

from memo_viz.difference import SIGNS
from memo_viz.graph import members
from memo_viz.relation_sets import group_words, sizes_table
from memo_viz.style import BEST_ROW, CHOSEN, CHOSEN_ROW, FAINT, drawing, heading, tip
from memo_viz.text import label_text, shorten, wrap
from optimizer.algebra.printing import number

NAME = 44  # characters of a line of a group's name


def overview_dot(graph: nx.DiGraph, title: str = "") -> str:
    """DOT source for a graph of `memo_graph`, whatever its size. Any text in the graph is escaped."""
    dot = drawing("memo", heading(title, ()), "10", rankdir="TB", ranksep="0.32", nodesep="0.25", ordering="out")
    dot.attr("edge", color=CHOSEN, arrowsize="0.6", penwidth="1.8")
    with dot.subgraph(name="cluster_plan") as plan:
        plan.attr(peripheries="0", labelloc="b", labeljust="l", label=sizes_table(graph))
        groups = [n for n, data in graph.nodes(data=True) if data["kind"] == "group" and data["chosen"]]
        if not groups:
            plan.node("none", label="no plan yet", fontcolor=FAINT)
        for group in groups:
            plan.node(group, label=_box(graph, group), id=group.replace("-", "_"))
            for member in members(graph, group):
                for target, edge in sorted(graph.adj[member].items(), key=lambda item: item[1]["positions"]):
                    if edge["chosen"] and target != group:
                        plan.edge(group, target, id=f"{group}.{target}".replace("-", "_"))
    return str(dot.source)


def _box(graph: nx.DiGraph, group: str) -> str:
    """A group of the chosen plan: its name, and the operators that the plan has there, the topmost first."""
    data = graph.nodes[group]
    chosen = [graph.nodes[m] for m in reversed(members(graph, group)) if graph.nodes[m]["chosen"]]
    words = tip(group_words(graph, group))
    lines = [f"<B>{label_text(line)}</B>&#160;" for line in wrap(f"{SIGNS[data['change']]} {data['whole']}".lstrip(), NAME, 3)]
    lines += [f"{label_text(shorten(member['op'].replace('_', ' '), NAME))}" for member in chosen]
    figures = [f"rows {number(data['rows'])}", *(f"cost {number(m['total'])}" for m in chosen[:1] if m["total"] is not None)]
    lines.append(f'<FONT COLOR="#55616d" POINT-SIZE="9">{label_text(" · ".join(figures))}</FONT>')
    cells = "".join(
        f'<TR><TD ALIGN="LEFT" BGCOLOR="{CHOSEN_ROW if line != lines[-1] else BEST_ROW}" {words}>{line}</TD></TR>'
        for line in lines
    )
    return f'<<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2" COLOR="{CHOSEN}">{cells}</TABLE>>'
