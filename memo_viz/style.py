"""Colours and pieces that all pictures share. Colours differ in lightness too, and nothing is said by colour alone."""

from collections.abc import Sequence

import graphviz
import networkx as nx

from memo_viz.text import label_text, shorten

FONT = "Helvetica,Arial,DejaVu Sans,sans-serif"
INK, FAINT, RULE = "#1d2733", "#5f6973", "#c9d0d8"
CHOSEN, CHOSEN_ROW, LOGICAL_ROW, OTHER_TITLE = "#1b6e53", "#d3eedf", "#f1f4f9", "#e4e8ee"
BEST_ROW = "#eef7f1"
CHANGES = {"": ("", ""), "new": ("#1f5fa8", "#d6e6fa"), "gone": ("#b35a00", "#fbe0c4"), "changed": ("#6b4fa0", "#e6def5")}
LONGEST = 2000  # characters of a tooltip


def tip(text: str, anchor: str = "") -> str:
    """Attributes of a cell that make `text` its tooltip; graphviz asks for a link too, which `svg` takes out. `anchor`: in an SVG
    the cell is the element of the id a_`anchor`."""
    named = f' ID="{anchor}"' if anchor else ""
    return f'TITLE="{label_text(shorten(text, LONGEST))}" HREF="#"{named}'


def anchor(graph: nx.DiGraph, node: str, cell: int = 0) -> str:
    """The id of a cell of a node in a graph that `growth` animates, none in others."""
    return f"{node.replace('-', '_')}.{cell}" if graph.graph.get("anchors") else ""


def attribute(text: str) -> str:
    """`text` for an attribute of a node or edge that is no HTML-like label."""
    return str(graphviz.escape(label_text(shorten(text, LONGEST)).replace("\\\\", "\\")))


def stacked(first: str, *more: str) -> str:
    """HTML-like lines one below the other. A blank that is higher than the text sets each apart from the line above, as graphviz
    leaves no space between lines."""
    return '<BR ALIGN="LEFT"/>'.join([first, *(f'{line}<FONT POINT-SIZE="14">&#160;</FONT>' for line in more), ""])


def drawing(name: str, heading: str, size: str = "10.5", **attributes: str) -> graphviz.Digraph:
    """An empty picture under a heading; its nodes are HTML-like labels. `size`: of their texts; `attributes`: of the graph."""
    dot = graphviz.Digraph(name)
    dot.attr(fontname=FONT, fontsize="13", fontcolor=INK, bgcolor="white", pad="0.25", **attributes)
    dot.attr(label=heading, labelloc="t", labeljust="l")
    dot.attr("node", shape="plain", fontname=FONT, fontsize=size, fontcolor=INK)
    return dot


def heading(title: str, legend: Sequence[tuple[str, str, str]]) -> str:
    """The title and, below it, the legend in one line: (fill, ink, words) each."""
    cells = "".join(
        f'<TD BORDER="1" COLOR="{RULE}" BGCOLOR="{fill}"><FONT COLOR="{ink}" POINT-SIZE="10"> {label_text(text)} </FONT></TD>'
        for fill, ink, text in legend
    )
    name = f'<TR><TD ALIGN="LEFT" COLSPAN="{len(legend) + 1}"><B>{label_text(shorten(title, 200))}</B></TD></TR>' if title else ""
    if not name and not cells:
        return ""
    line = f"<TR>{cells}<TD></TD></TR>" if cells else ""
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="4">{name}{line}</TABLE>>'
