"""A physical plan as a picture: a box per operator, shaded by its share of the cost, an edge as thick as its rows are many.

With actual rows each box compares them with the estimate: a q-error of 2 or more is printed in orange, of 10 in red.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import graphviz

from memo_viz.q_error import q_error
from memo_viz.style import FAINT, FONT, INK, RULE
from memo_viz.text import label_text, shorten, wrap
from optimizer.algebra.columns import Columns
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.printing import number

SHADES = ((0.4, "#f6b59a"), (0.2, "#fad4bd"), (0.08, "#fdeadd"), (0.0, "#f4f6f9"))


def plan_dot(plan: PlanNode, columns: Columns, actual: Mapping[int, int] | None = None, title: str = "") -> str:
    """DOT source; `actual` has rows by node id (nodes without an entry show the estimate alone). Any text is escaped."""
    dot = graphviz.Digraph("plan")
    dot.attr(rankdir="TB", ranksep="0.45", nodesep="0.3", fontname=FONT, fontsize="13", fontcolor=INK, bgcolor="white")
    dot.attr(pad="0.25", ordering="out")
    dot.attr("node", shape="plain", fontname=FONT, fontsize="10.5", fontcolor=INK)
    dot.attr("edge", color="#7d8b99", fontname=FONT, fontsize="9.5", fontcolor="#55616d", dir="back", arrowsize="0.6")
    if title:
        dot.attr(label=f"<<B>{label_text(title)}</B>>", labelloc="t", labeljust="l")
    rows = dict(actual or {})
    for node in plan.walk():
        share = node.local_cost / plan.cost if plan.cost > 0 else 0.0
        dot.node(f"p{node.id}", label=_box(node, columns, share, rows.get(node.id)))
        for child in node.inputs:
            known = rows.get(child.id, child.rows)
            width = 1 + 0.7 * math.log10(max(1.0, known))
            dot.edge(f"p{node.id}", f"p{child.id}", label=f"  {number(known)}", penwidth=f"{width:.2f}")
    return str(dot.source)


def _box(node: PlanNode, columns: Columns, share: float, actual: int | None) -> str:
    fill = next(color for least, color in SHADES if share >= least)
    detail = node.op.describe(columns.label)
    tip = label_text(" | ".join(filter(None, (f"{node.op.name} {detail}".strip(), _traits(node, columns)))))
    lines = [f"<B>{label_text(node.op.name.replace('_', ' '))}</B>"]
    lines += [f"{label_text(line)}" for line in wrap(detail, 44, 3)]
    order = ", ".join(k.show(columns.label) for k in node.alternative.delivered.collation)
    if order and order != detail:
        text = shorten(f"sorted by {order}", 50)
        lines.append(f'<FONT COLOR="#2b5c8a">{label_text(text)}</FONT>')
    figures = f"rows {number(node.rows)} estimated" + ("" if actual is None else f", <B>{number(float(actual))} actual</B>")
    lines.append(figures + _error(node.rows, actual))
    lines.append(
        f'<FONT COLOR="{FAINT if share < 0.08 else INK}">cost {number(node.local_cost)} · {share:.0%} of the plan</FONT>'
    )
    cells = "".join(f'<TR><TD ALIGN="LEFT" BGCOLOR="{fill}" TITLE="{tip}" HREF="#">{line}&#160;</TD></TR>' for line in lines)
    return f'<<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2" COLOR="{RULE}">{cells}</TABLE>>'


def _error(estimate: float, actual: int | None) -> str:
    if actual is None:
        return ""
    error = q_error(estimate, actual)
    if error < 2:
        return ""
    return f' <FONT COLOR="{"#c0392b" if error >= 10 else "#b9770e"}"><B>×{number(error)} off</B></FONT>'


def _traits(node: PlanNode, columns: Columns) -> str:
    needs = [t.show(columns.label) for t in node.alternative.inputs]
    parts = [f"needs {'; '.join(needs)}"] if any(need != "any" for need in needs) else []
    delivered = node.alternative.delivered.show(columns.label)
    return " | ".join(parts + ([] if delivered == "any" else [f"delivers {delivered}"]))
