"""What lies below the picture of a memo: the sets of relations that have no plan by name, or, where they are too many, all groups
by the number of relations that they join, a square each.

A square's sign says what became of its group. Names and figures are tooltips. A memo of thousands of groups has several of
them in one square.
"""

import math
from collections import Counter
from collections.abc import Sequence

import networkx as nx

from memo_viz.difference import SIGNS, is_difference
from memo_viz.graph import members
from memo_viz.style import CHANGES, CHOSEN, INK, LOGICAL_ROW, anchor, tip
from memo_viz.text import label_text, shorten
from optimizer.algebra.printing import number
from optimizer.errors import many

STATES = {  # what became of a group -> sign, fill, ink, words
    "chosen": ("★", CHOSEN, "white", "in the best plan of the query"),
    "planned": ("☆", "#bfe3d0", INK, "has a plan"),
    "dear": ("✗", "#f3d9c2", "#7a3e00", "proven too dear"),
    "abandoned": ("–", "#f3ecc2", "#5e5200", "given up with the budget"),
    "open": ("○", "#cfe0f5", INK, "open"),
    "idle": ("·", "#e3e8ee", "#55616d", "never asked for"),
}
SQUARES, A_LINE = 2000, 60  # squares in a picture, in a line
NAMED, CHARACTERS = 60, 150  # sets that are named, characters of a line of them


def sets_below(graph: nx.DiGraph, shelf: Sequence[str]) -> str:
    """What lies below the picture: sets of relations by name, or, where they are too many, all groups as squares."""
    return sizes_table(graph) if len(shelf) > NAMED else _shelf(graph, shelf) if shelf else ""


def _shelf(graph: nx.DiGraph, groups: Sequence[str]) -> str:
    """Sets of relations without a plan, by size: each with the sign of its state, but for those never asked for."""
    nodes = graph.nodes
    html = ['<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="3"><TR>']
    html.append('<TD ALIGN="LEFT" COLSPAN="2"><FONT POINT-SIZE="10">')
    signs = "".join(f", {sign} {words}" for sign, _, _, words in _seen(graph, groups).values() if sign != "·")
    html.append(f"<B>Sets of relations without a plan</B> &#160; (≥ the least that a plan of it costs{signs})")
    html.append("</FONT></TD></TR>")
    for size in sorted({len(nodes[g]["relations"]) for g in groups}):
        lines: list[list[str]] = [[]]
        room = CHARACTERS
        for group in sorted((g for g in groups if len(nodes[g]["relations"]) == size), key=lambda g: nodes[g]["lower"]):
            data = nodes[group]
            state = state_of(graph, group)
            sign = "" if state == "idle" else f"{STATES[state][0]} "
            text = f"{SIGNS[data['change']]}{sign}{shorten(data['whole'], 60)} ≥ {number(data['lower'])}"
            if room < len(text):
                lines.append([])
                room = CHARACTERS
            room -= len(text) + 2
            fill = CHANGES[data["change"]][1] if data["change"] else LOGICAL_ROW
            lines[-1].append(
                f'<TD BGCOLOR="{fill}" {tip(group_words(graph, group), anchor(graph, group))}>'
                f'<FONT POINT-SIZE="8.5" COLOR="#55616d">{label_text(text)}</FONT></TD>'
            )
        for line in lines:
            first = f"{size} relations" if line is lines[0] else " "
            html.append(
                f'<TR><TD ALIGN="RIGHT"><FONT POINT-SIZE="9.5">{first}</FONT></TD><TD ALIGN="LEFT" CELLPADDING="0">'
                '<TABLE ALIGN="LEFT" BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="2">'
                f"<TR>{''.join(line)}</TR></TABLE></TD></TR>"
            )
    return "<" + "".join([*html, "</TABLE>"]) + ">"


def state_of(graph: nx.DiGraph, group: str) -> str:
    """What became of a group: a key of STATES."""
    data = graph.nodes[group]
    if data["chosen"]:
        return "chosen"
    statuses = {status for _, status, _ in data["goals"]}
    if any(cost is not None for _, _, cost in data["goals"]):
        return "planned"
    known = (("open", "open"), ("abandoned", "abandoned"), ("below", "dear"), ("impossible", "dear"))
    return next((state for status, state in known if status in statuses), "idle")


def _seen(graph: nx.DiGraph, groups: Sequence[str]) -> dict[str, tuple[str, str, str, str]]:
    """Those of STATES that groups are in."""
    seen = {state_of(graph, group) for group in groups}
    return {state: look for state, look in STATES.items() if state in seen}


def sizes_table(graph: nx.DiGraph) -> str:
    """HTML-like label: a line for each number of relations, with counts and squares."""
    groups = [n for n, kind in graph.nodes(data="kind") if kind == "group"]
    by_size: dict[int, list[str]] = {}
    for group in groups:
        by_size.setdefault(len(graph.nodes[group]["relations"]), []).append(group)
    each = max(1, math.ceil(len(groups) / SQUARES))
    seen = _seen(graph, groups)
    signs, span = [sign for sign, *_ in seen.values()], 4 + len(seen)
    note = f"{many(len(groups), 'group')} by the number of relations joined"
    note += "" if each == 1 else f"; a square is {each} groups"
    words = ", ".join(f"{sign} {meaning}" for sign, _, _, meaning in seen.values())
    words += "; + new, − gone, ~ changed" if is_difference(graph) else ""
    html = [
        '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="2" CELLPADDING="3">',
        f'<TR><TD ALIGN="LEFT" COLSPAN="{span}"><FONT POINT-SIZE="11"><B>{note}</B>&#160;&#160; {words}</FONT></TD></TR>',
        "<TR>" + "".join(_cell(text, bold=True) for text in ("relations", "groups", "expressions", *signs)) + "<TD></TD></TR>",
    ]
    for size, found in sorted(by_size.items()):
        states = {state: [g for g in found if state_of(graph, g) == state] for state in seen}
        expressions = sum(graph.out_degree(g) for g in found)
        counts = [f"{len(s):,}" if s else "" for s in states.values()]
        figures = "".join(map(_cell, ("1 or other" if size == 1 else str(size), f"{len(found):,}", f"{expressions:,}", *counts)))
        html.append(f'<TR>{figures}<TD ALIGN="LEFT">{_squares(graph, states, each)}</TD></TR>')
    return "<" + "".join([*html, "</TABLE>"]) + ">"


def _squares(graph: nx.DiGraph, states: dict[str, list[str]], each: int) -> str:
    squares: list[str] = []
    for state, groups in states.items():
        sign, fill, ink, _ = STATES[state]
        groups = sorted(groups, key=lambda g: (graph.nodes[g]["change"], graph.nodes[g]["lower"]))
        for start in range(0, len(groups), each):
            some = groups[start : start + each]
            change = graph.nodes[some[0]]["change"]
            shown, color = (SIGNS[change], CHANGES[change][1]) if change else (sign, fill)
            words = group_words(graph, some[0]) + (f" | and {len(some) - 1} more" if len(some) > 1 else "")
            squares.append(
                f'<TD WIDTH="12" HEIGHT="12" FIXEDSIZE="TRUE" BGCOLOR="{color}" {tip(words, anchor(graph, some[0]))}>'
                f'<FONT COLOR="{ink}" POINT-SIZE="8">{shown}</FONT></TD>'
            )
    rows = [squares[i : i + A_LINE] for i in range(0, len(squares), A_LINE)]
    size = f'FIXEDSIZE="TRUE" WIDTH="{13 * len(rows[0]) + 1}" HEIGHT="{13 * len(rows) + 1}"'
    lines = "".join(f"<TR>{''.join(row)}</TR>" for row in rows)
    return f'<TABLE ALIGN="LEFT" BORDER="0" CELLBORDER="0" CELLSPACING="1" CELLPADDING="0" {size}>{lines}</TABLE>'


def group_words(graph: nx.DiGraph, group: str) -> str:
    """All about a group, for a tooltip."""
    data = graph.nodes[group]
    name = f"{data['whole']} {data['number']}".rstrip()
    lines = [f"{name}: {many(number(data['rows']), 'row')} estimated, no plan costs less than {number(data['lower'])}"]
    if data["columns"]:
        lines.append(f"columns: {', '.join(data['columns'])}")
    for traits, status, cost in data["goals"]:
        lines.append(f"goal {traits}: {status}" + ("" if cost is None else f", best plan costs {number(cost)}"))
    counts = Counter(graph.nodes[m]["logical"] for m in members(graph, group))
    if counts:
        lines.append(f"{counts[True]} logical and {many(counts[False], 'physical member')}")
    if not data["explored"] and data["id"] >= 0:
        lines.append("not explored")
    return " | ".join(lines)


def _cell(text: str, bold: bool = False) -> str:
    inner = f"<B>{label_text(text)}</B>" if bold else label_text(text) or " "
    return f'<TD ALIGN="RIGHT"><FONT POINT-SIZE="9.5">{inner}</FONT></TD>'
