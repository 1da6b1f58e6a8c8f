"""What orders and groupings were asked of which groups, and how each was met: an entry for each goal that asks for something."""

from __future__ import annotations

from typing import Any, NamedTuple

import graphviz

from memo_viz.graph import joined_relations
from memo_viz.names import ColumnNames, canonical_group, group_names
from memo_viz.style import CHOSEN_ROW, FAINT, FONT, INK, LOGICAL_ROW, OTHER_TITLE, RULE, heading, tip
from memo_viz.text import label_text, shorten
from optimizer.algebra.printing import number
from optimizer.trace.state import GoalState, MemoState

LINES = 80  # entries in a picture; those without a plan are left out first
SIGNS = {"optimal": "✓", "bounded": "≈", "open": "○", "new": "·", "below": "✗", "impossible": "✗", "abandoned": "✗"}


class Entry(NamedTuple):
    """A goal with traits. `plain`: what the group's best plan costs when nothing is asked of it (None: there is none); `chosen`:
    it is part of the chosen plan."""

    group: str
    relations: int
    traits: str
    status: str
    cost: float | None
    plain: float | None
    met_by: str
    chosen: bool


def trait_ledger(state: MemoState) -> list[Entry]:
    """Largest groups first, entries of a group as they were asked for."""
    names, relations = group_names(state), joined_relations(state)
    columns = ColumnNames(label for group in state.groups.values() for label in group.columns)
    chosen = set(state.winners())
    plain = {goal.group: goal.best.cost for goal in state.goals.values() if goal.traits == "any" and goal.best is not None}
    entries = []
    for goal in state.goals.values():
        if goal.traits != "any":
            id = canonical_group(state, goal.group)
            cost = None if goal.best is None else goal.best.cost
            met = columns(_met_by(state, goal))
            entries.append(
                Entry(names[id], len(relations[id]), columns(goal.traits), goal.status, cost, plain.get(goal.group), met,
                      goal.id in chosen)
            )  # fmt: skip
    entries.sort(key=lambda e: (-e.relations, e.group))
    return entries


def ledger_json(entries: list[Entry]) -> list[dict[str, Any]]:
    return [entry._asdict() for entry in entries]


def ledger_dot(entries: list[Entry], title: str = "") -> str:
    """DOT source of one table. Any text is escaped."""
    dot = graphviz.Digraph("traits")
    dot.attr(fontname=FONT, fontsize="13", fontcolor=INK, bgcolor="white", pad="0.25")
    legend = [(CHOSEN_ROW, INK, "★ in the chosen plan")]
    legend += [("white", INK, text) for text in ("✓ optimal", "≈ bounded", "○ open", "✗ proven too dear", "· never asked")]
    dot.attr(label=heading(title, legend), labelloc="t", labeljust="l")
    dot.node("ledger", shape="plain", fontname=FONT, fontsize="10.5", fontcolor=INK, label=_table(entries))
    return str(dot.source)


def _met_by(state: MemoState, goal: GoalState) -> str:
    """The operator that delivers the traits, and what it asks of its inputs for that."""
    best = goal.best
    if best is None:
        return ""
    below = [state.goals[i] for i in best.inputs]
    if best.mexpr is None:
        return f"{best.op.replace('_', ' ')} over {below[0].traits}"
    needs = [f"{'its input' if len(below) == 1 else ('left', 'right')[i]} {g.traits}" for i, g in enumerate(below[:2]) if g.traits != "any"]
    return best.op.replace("_", " ") + (f", asks {', '.join(needs)}" if needs else ", has it")


def _table(entries: list[Entry]) -> str:
    heads = ("", "group", "asked for", "", "cost", "without it", "more", "met by")
    html = ['<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4">']
    html.append("<TR>" + "".join(_cell(head, OTHER_TITLE, INK, bold=True) for head in heads) + "</TR>")
    shown = sorted(entries, key=lambda e: (not e.chosen, e.cost is None))[:LINES]
    last = None
    for entry in (e for e in entries if e in shown):
        fill = CHOSEN_ROW if entry.chosen else LOGICAL_ROW if entry.cost is not None else "white"
        ink = INK if entry.cost is not None else FAINT
        more = "" if entry.cost is None or not entry.plain else f"{100 * (entry.cost / entry.plain - 1):+.0f} %"
        sign = f"{SIGNS.get(entry.status, '')} {entry.status}"
        texts = ["★" if entry.chosen else "", entry.group if entry.group != last else "", entry.traits, sign,
                 "" if entry.cost is None else number(entry.cost), "" if entry.plain is None else number(entry.plain), more,
                 entry.met_by]  # fmt: skip
        html.append("<TR>" + "".join(_cell(text, fill, ink, right=i in (4, 5, 6)) for i, text in enumerate(texts)) + "</TR>")
        last = entry.group
    if len(entries) > len(shown):
        html.append(f'<TR><TD COLSPAN="8" ALIGN="LEFT"><FONT COLOR="{FAINT}">and {len(entries) - len(shown)} more</FONT></TD></TR>')
    if not entries:
        html.append('<TR><TD COLSPAN="8" ALIGN="LEFT">no order and no grouping was asked for</TD></TR>')
    return "<" + "".join([*html, "</TABLE>"]) + ">"


def _cell(text: str, fill: str, ink: str, right: bool = False, bold: bool = False) -> str:
    inner = label_text(shorten(text, 56)) or " "
    inner = f"<B>{inner}</B>" if bold else inner
    side = "RIGHT" if right else "LEFT"
    return f'<TD ALIGN="{side}" BGCOLOR="{fill}" SIDES="B" BORDER="1" COLOR="{RULE}" {tip(text)}><FONT COLOR="{ink}">{inner}</FONT></TD>'
