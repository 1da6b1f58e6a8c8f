"""The memo graph as DOT: a table per group, a row per member, an edge per input group.

How to read it: the root is on top; a title gives the group's rows and lower bound; logical members come first, then
physical ones, cheapest first, then enforcers. Green rows and thick edges are the chosen plan; ☆ is the best plan of a
goal that the chosen plan does not use; grey rows were pruned before they were costed. Full texts are tooltips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import graphviz
import networkx as nx

from memo_viz.graph import input_groups, members
from memo_viz.text import label_text, shorten
from optimizer.algebra.printing import number

FONT = "Helvetica,Arial,DejaVu Sans,sans-serif"
INK, FAINT, RULE = "#1d2733", "#9aa3ad", "#c9d0d8"
CHOSEN, CHOSEN_ROW, LOGICAL_ROW, OTHER_TITLE = "#1b6e53", "#d3eedf", "#f1f4f9", "#e4e8ee"
BEST_ROW = "#eef7f1"


@dataclass(frozen=True)
class Layout:
    """What is left out of a picture. None: nothing.

    `members`: rows of a group in the chosen plan; `others`: rows of any other group (members that are the best of a goal
    are always shown). `groups`: groups drawn. `detail`, `other_detail`: characters of a payload, in a group of the
    chosen plan and in others (0: none, it is in the tooltip).
    """

    members: int | None
    others: int | None
    groups: int | None
    detail: int
    other_detail: int


COMPLETE = Layout(members=None, others=None, groups=None, detail=90, other_detail=90)
SMALL = Layout(members=16, others=12, groups=None, detail=60, other_detail=60)
LARGE = Layout(members=9, others=3, groups=90, detail=46, other_detail=0)
SMALL_MEMO = 12  # groups


def memo_dot(graph: nx.DiGraph, layout: Layout | None = None, title: str = "") -> str:
    """DOT source for a graph of `memo_graph`; `title` goes above it. Any text in the graph is escaped."""
    total = [n for n, kind in graph.nodes(data="kind") if kind == "group"]
    if layout is None:
        layout = SMALL if len(total) <= SMALL_MEMO else LARGE
    groups = total if layout.groups is None else _nearest(graph, total, layout.groups)
    dot = graphviz.Digraph("memo")
    dot.attr(rankdir="TB", ranksep="0.6", nodesep="0.22", fontname=FONT, fontsize="13", fontcolor=INK, bgcolor="white")
    dot.attr(pad="0.25", outputorder="edgesfirst")
    if all(graph.nodes[g]["chosen"] for g in groups):
        dot.attr(ordering="out")  # a tree: left inputs on the left
    dot.attr("node", shape="plain", fontname=FONT, fontsize="10.5", fontcolor=INK)
    dot.attr("edge", color=RULE, arrowsize="0.55", penwidth="0.8")
    dot.attr(label=_heading(title, len(groups), len(total)), labelloc="t", labeljust="l")
    for group in groups:
        rows, hidden = _visible(graph, group, layout)
        dot.node(group, label=_group_table(graph, group, rows, hidden, layout), tooltip=_attribute(_group_tip(graph, group)))
    _edges(dot, graph, groups, every=len(groups) <= SMALL_MEMO)
    return str(dot.source)


def _nearest(graph: nx.DiGraph, groups: list[str], limit: int) -> list[str]:
    """At most `limit` groups: the chosen plan's, then those fewest input edges away from it."""
    if len(groups) <= limit:
        return groups
    queue = [g for g in groups if graph.nodes[g]["chosen"]] or groups[:1]
    seen = set(queue)
    for group in queue:
        if len(queue) >= limit:
            break
        for below in sorted(input_groups(graph, group), key=lambda n: int(n[1:])):
            if below in graph and below not in seen and len(queue) < limit:
                seen.add(below)
                queue.append(below)
    return [g for g in groups if g in seen]


def _visible(graph: nx.DiGraph, group: str, layout: Layout) -> tuple[list[str], int]:
    """The member nodes to draw, logical first, and how many are left out."""
    nodes = graph.nodes
    everyone = members(graph, group)
    logical = [n for n in everyone if nodes[n]["logical"]]
    physical = [n for n in everyone if not nodes[n]["logical"]]
    physical.sort(key=lambda n: (not nodes[n]["chosen"], not nodes[n]["best_for"], _infinite(nodes[n]["own"])))
    limit = layout.members if nodes[group]["chosen"] else layout.others
    if limit is None or len(everyone) <= limit + 1:
        return logical + physical, 0
    best = sum(1 for n in physical if nodes[n]["chosen"] or nodes[n]["best_for"])
    first = logical[: max(1, limit * 2 // 5)]
    rows = first + physical[: max(best, limit - len(first))]
    return rows, len(everyone) - len(rows)


def _infinite(cost: float | None) -> float:
    return float("inf") if cost is None else cost


def _group_table(graph: nx.DiGraph, group: str, rows: list[str], hidden: int, layout: Layout) -> str:
    data = graph.nodes[group]
    fill, ink = (CHOSEN, "white") if data["chosen"] else (OTHER_TITLE, INK)
    name = f"{data['name']}{' · root' if data['root'] else ''}"
    title = f"{name} · rows {number(data['rows'])} · lower {number(data['lower'])}"
    html = [f'<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3" COLOR="{CHOSEN if data["chosen"] else RULE}">']
    length = layout.detail if data["chosen"] else layout.other_detail
    head = f'<TD BGCOLOR="{fill}" ALIGN="RIGHT"><FONT COLOR="{ink}" POINT-SIZE="9">%s</FONT></TD>'
    html.append(
        f'<TR><TD BGCOLOR="{fill}" COLSPAN="{3 if length else 2}" ALIGN="LEFT" {_tip(_group_tip(graph, group))}>'
        f'<FONT COLOR="{ink}"><B>{label_text(title)}</B></FONT></TD>{head % "own"}{head % "total"}</TR>'
    )
    html += [_member_row(graph.nodes[n], length) for n in rows]
    if hidden:
        html.append(f'<TR><TD COLSPAN="{5 if length else 4}" ALIGN="LEFT"><FONT COLOR="{FAINT}">+{hidden} more</FONT></TD></TR>')
    html.append("</TABLE>")
    return "<" + "".join(html) + ">"


def _member_row(data: dict[str, Any], length: int) -> str:
    """`length`: characters of the payload; 0 leaves that column out."""
    chosen, best, costed = data["chosen"], bool(data["best_for"]), data["own"] is not None
    fill = CHOSEN_ROW if chosen else BEST_ROW if best else LOGICAL_ROW if data["logical"] else "white"
    ink = INK if costed or data["logical"] else FAINT
    mark = "★" if chosen else "☆" if best else ""
    words = [data["op"].replace("_", " "), " ".join(data["over"])]
    detail = shorten(data["detail"], length) if length else ""
    wanted = [t for t in data["best_for"] if t != "any"]
    if wanted and length and data["kind"] != "enforcer":
        detail = shorten(f"{detail}  → {'; '.join(wanted)}", length + 24)
    cells = [
        ("LEFT", f"{mark} {data['name']}".strip(), FAINT if not (chosen or best) else ink, False),
        ("LEFT", "  ".join(filter(None, words)), ink, chosen),
        *([("LEFT", detail, ink, False)] if length else []),
        ("RIGHT", number(data["own"]) if costed else "", ink, False),
        ("RIGHT", number(data["total"]) if data["total"] is not None else "", ink, chosen or best),
    ]
    tip = _tip(_member_tip(data))
    html = []
    for align, text, color, bold in cells:
        inner = label_text(text) or " "
        if bold:
            inner = f"<B>{inner}</B>"
        html.append(f'<TD ALIGN="{align}" BGCOLOR="{fill}" {tip}><FONT COLOR="{color}">{inner}</FONT></TD>')
    return f"<TR>{''.join(html)}</TR>"


def _group_tip(graph: nx.DiGraph, group: str) -> str:
    data = graph.nodes[group]
    lines = [f"{data['name']}: {number(data['rows'])} rows estimated, no plan costs less than {number(data['lower'])}"]
    if data["columns"]:
        lines.append(f"columns: {', '.join(data['columns'])}")
    for traits, status, cost in data["goals"]:
        lines.append(f"goal {traits}: {status}" + ("" if cost is None else f", best plan costs {number(cost)}"))
    if not data["explored"] and not data["relations"]:
        lines.append("not explored")
    return " | ".join(lines)


def _member_tip(data: dict[str, Any]) -> str:
    lines = [f"{data['name']}: {data['op']} {' '.join(data['over'])}".rstrip(), data["detail"]]
    if data["kind"] == "enforcer":
        lines.append("enforcer: sorts another plan of this group")
    elif data["name"] == "split":
        lines.append("the cheapest join of two sets of relations; no expression of the memo")
    elif data["rule"] is None:
        lines.append("given by the query")
    else:
        lines.append(f"made by {data['rule']}" + ("" if data["source"] is None else f" from m{data['source']}"))
    if data["best_for"]:
        lines.append(f"best for {'; '.join(data['best_for'])}: own cost {number(data['own'])}, total {number(data['total'])}")
    elif not data["logical"]:
        lines.append("never costed" if data["own"] is None else f"own cost {number(data['own'])}; not the best of any goal")
    return " | ".join(filter(None, lines))


def _tip(text: str) -> str:
    return f'TITLE="{label_text(text)}" HREF="#"'


def _attribute(text: str) -> str:
    return str(graphviz.escape(label_text(text).replace("\\\\", "\\")))


def _heading(title: str, drawn: int, total: int) -> str:
    """The title and, below it, the legend in one line."""
    legend = [
        (CHOSEN_ROW, INK, "★ chosen plan"),
        (BEST_ROW, INK, "☆ best of another goal"),
        (LOGICAL_ROW, INK, "logical"),
        ("white", INK, "physical: own cost, total with inputs"),
        ("white", FAINT, "pruned, never costed"),
    ]
    if drawn < total:
        legend.append(("white", INK, f"{drawn} of {total} groups drawn; --focus G12 --depth 2 draws the others"))
    cells = "".join(
        f'<TD BORDER="1" COLOR="{RULE}" BGCOLOR="{fill}"><FONT COLOR="{ink}" POINT-SIZE="10"> {label_text(text)} </FONT></TD>'
        for fill, ink, text in legend
    )
    name = f'<TR><TD ALIGN="LEFT" COLSPAN="{len(legend)}"><B>{label_text(title)}</B></TD></TR>' if title else ""
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="4">{name}<TR>{cells}</TR></TABLE>>'


def _edges(dot: graphviz.Digraph, graph: nx.DiGraph, groups: list[str], every: bool) -> None:
    """Thick edges for the chosen plan, thin ones for the other bests, faint ones for the rest.

    One edge per pair of groups. Unless `every`, a faint edge is drawn only where it is the sole edge into a group:
    hundreds of them hide the picture, and each row names its inputs anyway.
    """
    shown = set(groups)
    ranks = ((CHOSEN, "2.4", "0.8", "12"), ("#8fa3b5", "1", "0.55", "2"), ("#dfe4ea", "0.7", "0.45", "0"))
    pairs: dict[tuple[str, str], int] = {}
    for group in groups:
        for member in members(graph, group):
            best = bool(graph.nodes[member]["best_for"])
            for target, edge in graph.adj[member].items():
                if target != group and target in shown:
                    rank = 0 if edge["chosen"] else 1 if best else 2
                    pairs[group, target] = min(rank, pairs.get((group, target), 2))
    reached = {target for (_, target), rank in pairs.items() if rank < 2}
    for (group, target), rank in pairs.items():
        if rank == 2 and not every:
            if target in reached:
                continue
            reached.add(target)
        color, width, arrow, weight = ranks[rank]
        dot.edge(group, target, color=color, penwidth=width, arrowsize=arrow, weight=weight)
