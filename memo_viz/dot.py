"""The memo graph as DOT: a table per group, a row per member, an edge per input group.

How to read it: the root is on top; a title says what the group computes, then its rows and lower bound; logical members come
first, then physical ones, cheapest first, then enforcers. Green rows and thick edges are the best plan of the query (at the end,
the chosen one); ☆ is the best plan of a goal that it does not use; grey rows were pruned before they were costed. Sets of
relations that have no expression lie below the picture. Full texts are tooltips. A memo that is too large for this is drawn by
`overview`.
"""

from dataclasses import dataclass
from typing import Any

import graphviz
import networkx as nx

from memo_viz.difference import SIGNS, is_difference
from memo_viz.graph import JOINS, members
from memo_viz.names import REGIONS
from memo_viz.overview import overview_dot
from memo_viz.relation_sets import group_words, sets_below
from memo_viz.style import (
    BEST_ROW,
    CHANGES,
    CHOSEN,
    CHOSEN_ROW,
    FAINT,
    INK,
    LOGICAL_ROW,
    OTHER_TITLE,
    RULE,
    anchor,
    attribute,
    drawing,
    heading,
    stacked,
    tip,
)  # fmt: skip
from memo_viz.text import label_text, shorten, wrap
from optimizer.algebra.printing import number


@dataclass(frozen=True)
class Layout:
    """What is left out of a picture. None: nothing.

    `members`: rows of a group in the chosen plan; `others`: rows of any other group (members that are the best of a goal
    are always shown). `detail`, `other_detail`: characters of a payload, in a group of the chosen plan and in others (0: none,
    it is in the tooltip).
    """

    members: int | None
    others: int | None
    detail: int
    other_detail: int


COMPLETE = Layout(members=None, others=None, detail=90, other_detail=90)
SMALL = Layout(members=16, others=12, detail=60, other_detail=60)
MEDIUM = Layout(members=9, others=3, detail=46, other_detail=0)
SMALL_MEMO, MEDIUM_MEMO = 12, 40  # groups with expressions; a larger memo is drawn as an overview
NAME = 30  # characters of an input's name in a row
TITLE = 46  # characters of a line of a group's name


def memo_dot(graph: nx.DiGraph, layout: Layout | None = None, title: str = "") -> str:
    """DOT source for a graph of `memo_graph`; `title` goes above it. Any text in the graph is escaped.

    Without `layout` the size of the memo decides; beyond MEDIUM_MEMO it is an overview.
    """
    total = [n for n, kind in graph.nodes(data="kind") if kind == "group"]
    groups = [g for g in total if graph.nodes[g]["root"] or graph.nodes[g]["chosen"] or not _is_only_a_set(graph, g)]
    groups = groups or total  # a set that is looked at by itself
    if layout is None and len(groups) > MEDIUM_MEMO:
        return overview_dot(graph, title)
    if layout is None:
        layout = SMALL if len(groups) <= SMALL_MEMO else MEDIUM
    ordering = "out" if all(graph.nodes[g]["chosen"] for g in groups) else ""
    places = {"rankdir": "TB", "ranksep": "0.5", "nodesep": "0.22", "outputorder": "edgesfirst", "ordering": ordering}
    dot = drawing("memo", heading(title, _legend(graph)), **places)
    dot.attr("edge", color=RULE, arrowsize="0.55", penwidth="0.8")
    shelf = [g for g in total if g not in set(groups)]
    with dot.subgraph(name="cluster_memo") as inner:  # its label is what lies below the picture
        inner.attr(peripheries="0", labelloc="b", labeljust="l", label=sets_below(graph, shelf))
        for group in groups:
            rows, hidden = _visible(graph, group, layout)
            table = _group_table(graph, group, rows, hidden, layout)
            inner.node(group, label=table, tooltip=attribute(group_words(graph, group)), id=group.replace("-", "_"))
        _edges(inner, graph, groups, every=len(groups) <= SMALL_MEMO)
    return str(dot.source)


def _is_only_a_set(graph: nx.DiGraph, group: str) -> bool:
    """Relations that are joined, but nobody has looked at how."""
    found = members(graph, group)
    return len(graph.nodes[group]["relations"]) > 1 and all(graph.nodes[m]["op"] in REGIONS for m in found)


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
    length = layout.detail if data["chosen"] else layout.other_detail
    sign, (border, changed) = SIGNS[data["change"]], CHANGES[data["change"]]
    if data["change"]:
        fill, ink = changed, INK
    name = data["whole"] + (" · root" if data["root"] else "")
    lines = [f"{sign} {line}" if sign and not i else line for i, line in enumerate(wrap(name, TITLE, 4))]
    figures = " · ".join(filter(None, (data["number"], f"rows {number(data['rows'])}", f"lower {number(data['lower'])}")))
    head = f'<TD BGCOLOR="{fill}" ALIGN="RIGHT" VALIGN="BOTTOM" %s><FONT COLOR="{ink}" POINT-SIZE="9">%s</FONT></TD>'
    title = stacked(*(f"<B>{label_text(line)}</B>&#160;" for line in lines), f'<FONT POINT-SIZE="9">{label_text(figures)}</FONT>')
    color = border or (CHOSEN if data["chosen"] else RULE)
    width, words = 2 if border else 1, tip(group_words(graph, group), anchor(graph, group))
    html = [
        f'<TABLE BORDER="{width}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3" COLOR="{color}">',
        f'<TR><TD BGCOLOR="{fill}" COLSPAN="{3 if length else 2}" ALIGN="LEFT" {words}>'
        f'<FONT COLOR="{ink}">{title}</FONT></TD>'
        f"{head % (tip('own cost', anchor(graph, group, 1)), 'own')}"
        f"{head % (tip('cost with inputs', anchor(graph, group, 2)), 'total')}</TR>",
    ]
    html += [_member_row(graph, data, n, length) for n in rows]
    if hidden:
        html.append(f'<TR><TD COLSPAN="{5 if length else 4}" ALIGN="LEFT"><FONT COLOR="{FAINT}">+{hidden} more</FONT></TD></TR>')
    html.append("</TABLE>")
    return "<" + "".join(html) + ">"


def _member_row(graph: nx.DiGraph, group: dict[str, Any], node: str, length: int) -> str:
    """`length`: characters of the payload; 0 leaves that column out."""
    data = graph.nodes[node]
    chosen, best, costed = data["chosen"], bool(data["best_for"]), data["own"] is not None
    fill = CHOSEN_ROW if chosen else BEST_ROW if best else LOGICAL_ROW if data["logical"] else "white"
    fill = CHANGES[data["change"]][1] if data["change"] else fill
    ink = INK if costed or data["logical"] else FAINT
    mark = SIGNS[data["change"]] + ("★" if chosen else "☆" if best else "")
    words = [data["op"].replace("_", " "), inputs_text(group, data)]
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
    html = []
    for i, (align, text, color, bold) in enumerate(cells):
        link = tip(_member_tip(data), anchor(graph, node, i))
        inner = label_text(text) or " "
        inner = f"<B>{inner}</B>" if bold else inner
        inner = f"<S>{inner}</S>" if data["change"] == "gone" and inner != " " else inner
        html.append(f'<TD ALIGN="{align}" BGCOLOR="{fill}" {link}><FONT COLOR="{color}">{inner}</FONT></TD>')
    return f"<TR>{''.join(html)}</TR>"


def inputs_text(group: dict[str, Any], data: dict[str, Any]) -> str:
    """What a member is over, in few words: in a join "others" are the relations of its group that the other side has not."""
    over, joined = data["over"], len(group["relations"]) > 1
    if data["kind"] == "enforcer" or (joined and data["op"] in REGIONS):
        return ""
    if joined and len(over) == 2:
        longer = max(range(2), key=lambda i: len(over[i]))
        if len(over[longer]) > NAME // 2:
            over = [shorten(over[1 - longer], NAME)] if not longer else [shorten(over[0], NAME)]
            return f"others ⋈ {over[0]}" if longer == 0 else f"{over[0]} ⋈ others"
    return (" ⋈ " if data["op"] in JOINS or data["op"].endswith("_join") else " ").join(shorten(name, NAME) for name in over)


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


def _legend(graph: nx.DiGraph) -> list[tuple[str, str, str]]:
    """(fill, ink, words) of what is explained above the picture."""
    changes = [("+ new", "new"), ("− gone", "gone"), ("~ another best plan, cost or status", "changed")]
    return [
        *([(CHANGES[change][1], INK, words) for words, change in changes] if is_difference(graph) else []),
        (CHOSEN_ROW, INK, "★ best plan of the query"),
        (BEST_ROW, INK, "☆ best of another goal"),
        (LOGICAL_ROW, INK, "logical"),
        ("white", INK, "physical: own cost; of ★ and ☆ the total with inputs, too"),
        ("white", FAINT, "pruned, never costed"),
    ]


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
        name = f"{group}.{target}".replace("-", "_")
        dot.edge(group, target, color=color, penwidth=width, arrowsize=arrow, weight=weight, id=name)
