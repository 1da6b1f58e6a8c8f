"""What orders and groupings were asked of which groups, and how each was met: an entry for each goal that asks for something."""

from typing import Any, NamedTuple

from memo_viz.comparison import cost_change
from memo_viz.names import canonical_group, column_names, group_names
from memo_viz.style import CHOSEN_ROW, FAINT, INK, LOGICAL_ROW, OTHER_TITLE, RULE, drawing, heading, tip
from memo_viz.text import label_text, shorten
from optimizer.algebra.printing import number
from optimizer.trace.state import GoalState, MemoState

FIGURES = (4, 5, 6)  # columns
LINES = 80  # entries in a picture; those without a plan are left out first
STATUSES = {  # status -> as a row has it, what the legend says of it
    "optimal": ("✓ optimal", "its best plan is known"),
    "bounded": ("≈ bounded", "another plan may cost less"),
    "open": ("○ open", "being searched"),
    "new": ("· new", "not searched"),
    "below": ("✗ below", "proven too dear"),
    "impossible": ("✗ impossible", "it has no plan"),
    "abandoned": ("✗ abandoned", "the budget was spent"),
}


class Entry(NamedTuple):
    """A goal with traits. `plain`: what the group's best plan costs when nothing is asked of it (None: there is none); `chosen`:
    it is part of the chosen plan."""

    group: str
    traits: str
    status: str
    cost: float | None
    plain: float | None
    met_by: str
    chosen: bool


def trait_ledger(state: MemoState) -> list[Entry]:
    """From the root down, entries of a group as they were asked for."""
    names = group_names(state)
    columns = column_names(state)
    chosen = set(state.winners())
    plain = {goal.group: goal.best.cost for goal in state.goals.values() if goal.traits == "any" and goal.best is not None}
    entries = []
    place = {id: i for i, id in enumerate(_from_the_root(state))}
    for goal in sorted(state.goals.values(), key=lambda g: (place.get(canonical_group(state, g.group), len(place)), g.group)):
        if goal.traits != "any":
            id = canonical_group(state, goal.group)
            cost = None if goal.best is None else goal.best.cost
            met = columns(_met_by(state, goal))
            entries.append(
                Entry(names[id], columns(goal.traits), goal.status, cost, plain.get(goal.group), met,
                      goal.id in chosen)
            )  # fmt: skip
    return entries


def ledger_json(entries: list[Entry]) -> list[dict[str, Any]]:
    return [entry._asdict() for entry in entries]


def ledger_dot(entries: list[Entry], title: str = "") -> str:
    """DOT source of one table. Any text is escaped."""
    legend = [(CHOSEN_ROW, INK, "★ in the best plan of the query")]
    seen = {entry.status for entry in entries}
    legend += [("white", INK, ": ".join(words)) for status, words in STATUSES.items() if status in seen]
    dot = drawing("traits", heading(title, legend))
    dot.node("ledger", label=_table(entries))
    return str(dot.source)


def _from_the_root(state: MemoState) -> list[int]:
    """Groups breadth first; sets of relations that no expression reads come last, the larger ones first."""
    queue = [] if state.root is None else [canonical_group(state, state.goals[state.root].group)]
    seen = set(queue)
    for id in queue:
        for mexpr in (*state.groups[id].logical, *state.groups[id].physical):
            for below in (canonical_group(state, i) for i in state.mexprs[mexpr].inputs):
                if below not in seen:
                    seen.add(below)
                    queue.append(below)
    rest = [group for group in state.groups.values() if group.id not in seen and group.merged_into is None]
    return queue + [group.id for group in sorted(rest, key=lambda g: -len(g.relations or ()))]


def _met_by(state: MemoState, goal: GoalState) -> str:
    """The operator that delivers the traits, and what it asks of its inputs for that."""
    best = goal.best
    if best is None:
        return ""
    below = [state.goals[i] for i in best.inputs]
    if best.mexpr is None:
        return f"{best.op.replace('_', ' ')} over {below[0].traits}"
    sides = ("its input",) if len(below) == 1 else ("left", "right")
    needs = [f"{side} {g.traits}" for side, g in zip(sides, below, strict=False) if g.traits != "any"]
    return best.op.replace("_", " ") + (f", asks {', '.join(needs)}" if needs else ", has it")


def _table(entries: list[Entry]) -> str:
    heads = ("", "group", "asked for", "", "cost", "without it", "more", "met by")
    html = ['<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="4">']
    titles = (_cell(head, OTHER_TITLE, INK, i in FIGURES, bold=True) for i, head in enumerate(heads))
    html.append(f"<TR>{''.join(titles)}</TR>")
    shown = sorted(entries, key=lambda e: (not e.chosen, e.cost is None))[:LINES]
    last = None
    for entry in (e for e in entries if e in shown):
        fill = CHOSEN_ROW if entry.chosen else LOGICAL_ROW if entry.cost is not None else "white"
        ink = INK if entry.cost is not None else FAINT
        more = cost_change(entry.plain, entry.cost)
        status, _ = STATUSES.get(entry.status, (entry.status, ""))
        texts = ["★" if entry.chosen else "", entry.group if entry.group != last else "", entry.traits, status,
                 "" if entry.cost is None else number(entry.cost), "" if entry.plain is None else number(entry.plain), more,
                 entry.met_by]  # fmt: skip
        html.append("<TR>" + "".join(_cell(text, fill, ink, i in FIGURES) for i, text in enumerate(texts)) + "</TR>")
        last = entry.group
    if len(entries) > len(shown):
        html.append(
            f'<TR><TD COLSPAN="8" ALIGN="LEFT"><FONT COLOR="{FAINT}">and {len(entries) - len(shown)} more</FONT></TD></TR>'
        )
    if not entries:
        html.append('<TR><TD COLSPAN="8" ALIGN="LEFT">no order and no grouping was asked for</TD></TR>')
    return "<" + "".join([*html, "</TABLE>"]) + ">"


def _cell(text: str, fill: str, ink: str, right: bool = False, bold: bool = False) -> str:
    inner = label_text(shorten(text, 56)) or " "
    inner = f"<B>{inner}</B>" if bold else inner
    side = "RIGHT" if right else "LEFT"
    look = f'ALIGN="{side}" BGCOLOR="{fill}" SIDES="B" BORDER="1" COLOR="{RULE}"'
    return f'<TD {look} {tip(text)}><FONT COLOR="{ink}">{inner}</FONT></TD>'
