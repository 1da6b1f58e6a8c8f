"""The rewrites of stages before the search, one below the other: the part of the tree before and after, what went and what came
marked by sign and colour. What stayed as it was is folded into one line."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memo_viz.names import ColumnNames, column_labels
from memo_viz.style import CHANGES, FAINT, INK, OTHER_TITLE, drawing, heading, stacked, tip
from memo_viz.text import label_text, wrap
from optimizer.errors import PlanscopeError, many
from optimizer.trace.tree import FlatTree, depth_of

SUBQUERIES = ("subqueries", "filters", "decorrelate")
LINES, CHARACTERS, ROWS = 30, 64, 8  # of a tree that are shown, of a line; lines that an operator that changed has


class Step(NamedTuple):
    """A rewrite: trees are flat, see `optimizer.trace.tree`."""

    stage: str
    rule: str
    note: str | None
    before: FlatTree
    after: FlatTree


class Line(NamedTuple):
    """An operator of a tree, `sign` "−", "+" or ""; `below`: how many operators under it are folded away."""

    depth: int
    text: str
    sign: str
    below: int


def rewrite_steps(events: Iterable[Mapping[str, Any]], stages: Sequence[str] = SUBQUERIES) -> list[Step]:
    """The rewrites of `stages`, in order. Raises PlanscopeError where a trace has no such stage; of SUBQUERIES one is enough."""
    events = list(events)
    known = [event["name"] for event in events if event["kind"] == "stage"]
    missing = [stage for stage in stages if stage not in known]
    if missing and (tuple(stages) != SUBQUERIES or len(missing) == len(SUBQUERIES)):
        what = "the query has no subquery, so nothing was decorrelated" if tuple(stages) == SUBQUERIES else (
            f"there is no stage {', '.join(missing)}"
        )  # fmt: skip
        what = what if has_search(events) else "the trace ends before these stages"
        raise PlanscopeError(f"{what}; its stages are {', '.join(known) or 'none'}")
    found = (event for event in events if event["kind"] == "rewrite" and event["stage"] in stages)
    return [Step(e["stage"], e["rule"], e["note"], e["before"], e["after"]) for e in found]


def steps_dot(steps: Sequence[Step], title: str = "") -> str:
    """DOT source of one table. Any text is escaped."""
    legend = [(CHANGES["gone"][1], INK, "− goes"), (CHANGES["new"][1], INK, "+ comes"), ("white", INK, "stays")]
    dot = drawing("steps", heading(title, legend), "10")
    dot.node("steps", label=_table(steps))
    return str(dot.source)


def has_search(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a trace goes as far as the goal of the query, or to the plan: all joins of the query are in the memo then."""
    return any(event["kind"] in ("root", "plan") for event in events)


def changed_lines(before: FlatTree, after: FlatTree) -> tuple[list[Line], list[Line]]:
    """Both trees, an operator a line; subtrees of two operators and more that both have are one line."""
    return _lines(before, after, "−"), _lines(after, before, "+")


def _lines(tree: FlatTree, other: FlatTree, sign: str) -> list[Line]:
    ids: dict[tuple[object, ...], int] = {}
    kept = {id for id, _ in _subtrees(other, ids)}
    subtrees = _subtrees(tree, ids)
    single = Counter((op, detail) for _, op, detail in other)
    lines: list[Line] = []
    at = 0
    while at < len(tree):
        depth, (_, op, detail) = depth_of(tree[at]), tree[at]
        text = f"{op}  {detail}".rstrip()
        id, size = subtrees[at]
        if id in kept:
            lines.append(Line(depth, text, "", size - 1))
            at += size
            continue
        same = single[op, detail] > 0
        single[op, detail] -= same
        lines.append(Line(depth, text, "" if same else sign, 0))
        at += 1
    return lines


def _subtrees(tree: FlatTree, ids: dict[tuple[object, ...], int]) -> list[tuple[int, int]]:
    """For each operator the number that `ids` has for the tree at it, the same for equal trees, and how many operators it has."""
    found = [(0, 0)] * len(tree)
    above: list[tuple[int, int]] = []  # depth and place of trees whose parent comes, the leftmost last
    for at in range(len(tree) - 1, -1, -1):
        depth, inputs, size = depth_of(tree[at]), [], 1
        while above and above[-1][0] > depth:
            id, own = found[above.pop()[1]]
            inputs.append(id)
            size += own
        found[at] = ids.setdefault((*tree[at][1:], *inputs), len(ids)), size
        above.append((depth, at))
    return found


def _table(steps: Sequence[Step]) -> str:
    texts = (str(detail) for step in steps for tree in (step.before, step.after) for _, _, detail in tree)
    columns = ColumnNames(label for text in texts for label in column_labels(text))
    html = ['<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3">']
    if not steps:
        html.append('<TR><TD ALIGN="LEFT">nothing was rewritten</TD></TR>')
    for number, step in enumerate(steps, 1):
        stage = f'<FONT COLOR="#55616d">{label_text(step.stage)}</FONT>'
        words = [f"<B>{number}&#160; {label_text(step.rule)}</B>&#160;&#160; {stage}"]
        words += [label_text(line) for line in wrap(columns(step.note or ""), 2 * CHARACTERS, 3)]
        html.append(f'<TR><TD COLSPAN="5" ALIGN="LEFT" BGCOLOR="{OTHER_TITLE}">{stacked(*words)}</TD></TR>')
        before, after = (_cells(lines, columns) for lines in changed_lines(step.before, step.after))
        for i in range(max(len(before), len(after))):
            arrow = "→" if i == 0 else " "
            left, right = (cells[i] if i < len(cells) else "<TD></TD><TD></TD>" for cells in (before, after))
            html.append(f"<TR>{left}<TD>{arrow}</TD>{right}</TR>")
    return "<" + "".join([*html, "</TABLE>"]) + ">"


def _cells(lines: Sequence[Line], columns: ColumnNames) -> list[str]:
    """Two cells a line: its sign and its text."""
    cells = []
    for line in lines[:LINES]:
        fill = CHANGES["gone" if line.sign == "−" else "new"][1] if line.sign else "white"
        ink = "#55616d" if line.below else INK
        text = wrap(columns(line.text), max(16, CHARACTERS - 2 * line.depth), ROWS if line.sign else 1)
        stays = f"over {many(line.below, 'operator')} as before"
        more = f'&#160;&#160; <FONT COLOR="{FAINT}">{stays}</FONT>' if line.below else ""
        indent = "&#160;" * (4 * min(line.depth, 20))
        rows = [f'{indent}<FONT COLOR="{ink}">{label_text(row)}</FONT>' for row in text]
        paragraph = stacked(*rows) if len(rows) > 1 else rows[0]
        cells.append(
            f'<TD><B>{line.sign or " "}</B></TD><TD ALIGN="LEFT" BGCOLOR="{fill}" {tip(line.text)}>{paragraph}{more}</TD>'
        )
    if len(lines) > LINES:
        cells.append(f'<TD></TD><TD ALIGN="LEFT"><FONT COLOR="{FAINT}">and {len(lines) - LINES} more</FONT></TD>')
    return cells
