"""Which rules feed which: a networkx graph of the firings of a search.

"query"            what the query gave                expressions
"join_commute"     a rule     bound, fired, new (expressions), duplicates, chosen (members of the chosen plan that it made)
A -> B             B fired on expressions that A had made: fired, new
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx

from memo_viz.style import BEST_ROW, CHOSEN, FONT, INK, LOGICAL_ROW, RULE, drawing, heading, stacked, tip
from memo_viz.text import label_text, shorten, wrap
from optimizer.errors import many
from optimizer.trace.state import MemoState

QUERY = "query"


def rule_graph(events: Iterable[Mapping[str, Any]], final: MemoState) -> nx.DiGraph:
    """The graph of all firings in `events`; `final` is the state after them."""
    graph = nx.DiGraph()
    graph.add_node(QUERY, bound=0, fired=0, new=0, duplicates=0, chosen=0)
    made: dict[int, str] = {}
    for event in events:
        kind = event["kind"]
        if kind == "mexpr" and event["duplicate"]:
            if event.get("rule"):
                _rule(graph, event["rule"])["duplicates"] += 1
        elif kind == "mexpr" and not event.get("dropped"):
            made.setdefault(event["id"], event["rule"] or QUERY)
            graph.nodes[QUERY]["new"] += event["rule"] is None
        elif kind == "bind":
            _rule(graph, event["rule"])["bound"] += 1
        elif kind == "fire":
            rule, source = event["rule"], made.get(event["mexpr"], QUERY)
            data, new = _rule(graph, rule), len(event["new"])
            data["fired"] += 1
            data["new"] += new
            _rule(graph, source)
            if not graph.has_edge(source, rule):
                graph.add_edge(source, rule, fired=0, new=0)
            graph.edges[source, rule]["fired"] += 1
            graph.edges[source, rule]["new"] += new
    implements = {mexpr.op: mexpr.rule for mexpr in final.mexprs.values() if mexpr.rule and not mexpr.logical}
    for goal in final.winners():
        best = final.goals[goal].best
        if best is None or best.mexpr is None:
            continue
        rule = final.mexprs[best.mexpr].rule if best.mexpr >= 0 else implements.get(best.op)  # below zero: a split
        if rule in graph:
            graph.nodes[rule]["chosen"] += 1
    return graph


def rules_dot(graph: nx.DiGraph, title: str = "") -> str:
    """DOT source; an edge is as thick as the firings are many. Any text is escaped."""
    legend = [(BEST_ROW, INK, "★ operators of the chosen plan that the rule made")]
    dot = drawing("rules", heading(title, legend), rankdir="LR", ranksep="0.9", nodesep="0.18")
    dot.attr("edge", color="#8fa3b5", fontname=FONT, fontsize="9", fontcolor="#55616d", arrowsize="0.6")
    with dot.subgraph(name="cluster_rules") as inner:  # its label is what lies below the picture
        inner.attr(peripheries="0", labelloc="b", labeljust="l", label=_idle(graph))
        for node, data in graph.nodes(data=True):
            if _drawn(graph, node):
                inner.node(f"r_{node}", label=_box(node, data))
        for a, b, data in graph.edges(data=True):
            width = 0.8 + 0.9 * math.log10(data["fired"])
            words = f"×{data['fired']:,}" + ("" if data["new"] == data["fired"] else f", {data['new']:,} new")
            inner.edge(f"r_{a}", f"r_{b}", label=f" {words} ", penwidth=f"{width:.2f}")
    return str(dot.source)


def _idle(graph: nx.DiGraph) -> str:
    """HTML-like label: the rules that were asked and never fired."""
    idle = [f"{name.replace('_', ' ')} ({data['bound']:,})" for name, data in graph.nodes(data=True) if not _drawn(graph, name)]
    lines = wrap("Bound, never fired: " + ", ".join(idle), 150, 8)
    return f'<<FONT POINT-SIZE="10">{stacked(*map(label_text, lines))}</FONT>>' if idle else ""


def _drawn(graph: nx.DiGraph, rule: str) -> bool:
    """Whether it made something: a rule that stands for splits of sets of relations fires none of them."""
    return rule == QUERY or graph.degree(rule) > 0


def _box(name: str, data: Mapping[str, Any]) -> str:
    chosen = data["chosen"]
    fill = BEST_ROW if chosen else LOGICAL_ROW
    title = shorten(name.replace("_", " ") if name != QUERY else "the query", 40)
    figures = f"{many(data['new'], 'expression')} given"
    if name != QUERY:
        figures = f"bound {data['bound']:,} · " if data["bound"] else ""  # implementation rules always apply
        fired = f"fired {data['fired']:,} · new {data['new']:,}"
        figures += fired if data["fired"] else "what it makes was searched set by set"
        figures += f" · {data['duplicates']:,} known" if data["duplicates"] else ""
    lines = [f"<B>{label_text(title)}</B>&#160;", f'<FONT POINT-SIZE="9">{figures}</FONT>']
    if chosen:
        lines.append(f'<FONT POINT-SIZE="9" COLOR="{CHOSEN}">★ {chosen} of the chosen plan</FONT>')
    cells = "".join(f'<TR><TD ALIGN="LEFT" {tip(name)}>{line}</TD></TR>' for line in lines)
    color = CHOSEN if chosen else RULE
    return f'<<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2" COLOR="{color}" BGCOLOR="{fill}">{cells}</TABLE>>'


def _rule(graph: nx.DiGraph, name: str) -> dict[str, Any]:
    if name not in graph:
        graph.add_node(name, bound=0, fired=0, new=0, duplicates=0, chosen=0)
    data: dict[str, Any] = graph.nodes[name]
    return data
