"""A physical plan as a picture: a box per operator, shaded by its share of the cost, an edge as thick as its rows are many.

With actual rows each box compares them with the estimate: a q-error of 2 or more is printed in orange, of 10 in red.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memo_viz.export import finite_json
from memo_viz.names import ColumnNames, canonical_group, column_names, group_names
from memo_viz.q_error import q_error
from memo_viz.style import FAINT, FONT, INK, RULE, drawing, heading, tip
from memo_viz.text import label_text, shorten, wrap
from optimizer.algebra.columns import Columns
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.printing import number
from optimizer.trace.state import MemoState

SHADES = ((0.4, "#f6b59a"), (0.2, "#fad4bd"), (0.08, "#fdeadd"), (0.0, "#f4f6f9"))


class Box(NamedTuple):
    """An operator of a plan. `rows` are estimated, `actual` known or None; `local`: its own cost; `order`: of its rows; `more`:
    what a tooltip adds; `inputs`: ids."""

    id: int
    op: str
    detail: str
    rows: float
    actual: int | None
    local: float
    order: str
    more: str
    inputs: tuple[int, ...]


def plan_dot(plan: PlanNode, columns: Columns, actual: Mapping[int, int] | None = None, title: str = "") -> str:
    """DOT source; `actual` has rows by node id (nodes without an entry show the estimate alone). Any text is escaped."""
    rows = dict(actual or {})
    return boxes_dot([_box_of(node, columns, rows.get(node.id)) for node in plan.walk()], title)


def winner_boxes(state: MemoState) -> list[Box]:
    """The best plan of the root as it stands, the root first; empty while there is none.

    A join of sets of relations that has no payload yet is described by the relations.
    """
    columns = column_names(state)
    if state.plan is not None:  # told at the end, with everything
        return _told(state.plan, columns)
    names = group_names(state)
    boxes: list[Box] = []
    pending = [(state.root, 0)] if state.winners() and state.root is not None else []
    count = len(pending)
    while pending:
        id, number_ = pending.pop()
        goal = state.goals[id]
        best = goal.best
        assert best is not None, f"goal {id} is in the chosen plan without a plan"
        below = tuple(range(count, count + len(best.inputs)))
        count += len(below)
        pending += reversed(list(zip(best.inputs, below, strict=True)))
        group = canonical_group(state, goal.group)
        boxes.append(
            Box(number_, best.op, columns(best.detail) or names[group], state.groups[group].rows, None, best.local_cost,
                _order(best.delivered, columns), "", below)
        )  # fmt: skip
    return boxes


def _told(nodes: Sequence[Mapping[str, Any]], columns: ColumnNames) -> list[Box]:
    """From the nodes of the last event: parents first, each with its depth."""
    inputs: list[list[int]] = [[] for _ in nodes]
    path: list[int] = []
    for i, node in enumerate(nodes):
        del path[node["depth"] :]
        if path:
            inputs[path[-1]].append(i)
        path.append(i)
    return [
        Box(i, node["op"], columns(node["detail"]), node["rows"], None, node["local"], _order(node["delivered"], columns),
            f"made by {node['rule']}" if node["rule"] else "", tuple(inputs[i]))
        for i, node in enumerate(nodes)
    ]  # fmt: skip


def _order(delivered: str, columns: ColumnNames) -> str:
    return columns(delivered[6:-1]) if delivered.startswith("order(") else ""


def boxes_json(boxes: Sequence[Box]) -> list[dict[str, Any]]:
    return [{**box._asdict(), "rows": finite_json(box.rows), "local": finite_json(box.local)} for box in boxes]


def boxes_dot(boxes: Sequence[Box], title: str = "") -> str:
    """DOT source for the operators of a plan; any text is escaped."""
    dot = drawing("plan", heading(title, ()), rankdir="TB", ranksep="0.45", nodesep="0.3", ordering="out")
    dot.attr("edge", color="#7d8b99", fontname=FONT, fontsize="9.5", fontcolor="#55616d", dir="back", arrowsize="0.6")
    if not boxes:
        dot.node("none", label="no plan yet", fontcolor=FAINT)
    cost = sum(box.local for box in boxes)
    out = {box.id: box.rows if box.actual is None else float(box.actual) for box in boxes}
    for box in boxes:
        dot.node(f"p{box.id}", label=_label(box, box.local / cost if cost > 0 else 0.0))
        for below in box.inputs:
            width = 1 + 0.7 * math.log10(max(1.0, out[below]))
            dot.edge(f"p{box.id}", f"p{below}", label=f"  {number(out[below])}", penwidth=f"{width:.2f}")
    return str(dot.source)


def _box_of(node: PlanNode, columns: Columns, actual: int | None) -> Box:
    needs = [t.show(columns.label) for t in node.alternative.inputs]
    parts = [f"needs {'; '.join(needs)}"] if any(need != "any" for need in needs) else []
    delivered = node.alternative.delivered.show(columns.label)
    traits = " | ".join(parts + ([] if delivered == "any" else [f"delivers {delivered}"]))
    order = ", ".join(k.show(columns.label) for k in node.alternative.delivered.collation)
    detail = node.op.describe(columns.label)
    inputs = tuple(child.id for child in node.inputs)
    return Box(node.id, node.op.name, detail, node.rows, actual, node.local_cost, order, traits, inputs)


def _label(box: Box, share: float) -> str:
    fill = next((color for least, color in SHADES if share >= least), SHADES[-1][1])
    link = tip(" | ".join(filter(None, (f"{box.op} {box.detail}".strip(), box.more))))
    lines = [f"<B>{label_text(box.op.replace('_', ' '))}</B>"]
    lines += [f"{label_text(line)}" for line in wrap(box.detail, 44, 3)]
    if box.order and box.order != box.detail:
        text = shorten(f"sorted by {box.order}", 50)
        lines.append(f'<FONT COLOR="#2b5c8a">{label_text(text)}</FONT>')
    figures = f"rows {number(box.rows)} estimated"
    figures += "" if box.actual is None else f", <B>{number(float(box.actual))} actual</B>"
    lines.append(figures + _error(box.rows, box.actual))
    lines.append(f'<FONT COLOR="{FAINT if share < 0.08 else INK}">cost {number(box.local)} · {share:.0%} of the plan</FONT>')
    cells = "".join(f'<TR><TD ALIGN="LEFT" BGCOLOR="{fill}" {link}>{line}&#160;</TD></TR>' for line in lines)
    return f'<<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2" COLOR="{RULE}">{cells}</TABLE>>'


def _error(estimate: float, actual: int | None) -> str:
    if actual is None:
        return ""
    error = q_error(estimate, actual)
    if error < 2:
        return ""
    return f' <FONT COLOR="{"#c0392b" if error >= 10 else "#b9770e"}"><B>×{number(error)} off</B></FONT>'
