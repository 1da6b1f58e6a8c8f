"""Two searches side by side: settings, plans, winners, groups, expressions, counts, and the first event at which they part.

Everything comes from the two traces, and nothing of it is a time. `comparison_text` shows it in a terminal, `comparison_json` to
a program, `comparison_page` in a browser.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from math import isclose
from typing import Any

from memo_viz.export import finite_json
from memo_viz.matching import each_once, expression_key, match_groups, payload
from memo_viz.names import ColumnNames, canonical_group, column_names, group_names
from memo_viz.plan_graph import Box, winner_boxes
from memo_viz.text import clean, setting_text, shorten, wrap
from memo_viz.words import event_words
from optimizer.algebra.printing import number
from optimizer.errors import many
from optimizer.trace.replay import Replay
from optimizer.trace.state import BestState, MemoState, MExprState

Events = Sequence[dict[str, Any]]
_Line = str | tuple[str, str]  # one that is cut at its end, or a text that is, and figures after it
_ROUNDING = 1e-9  # relative; costs that differ by less are sums of the same figures in another order
SHOWN = 12  # entries of a list that the text shows
FEW = 4  # groups with other expressions of which the text shows the expressions, too


@dataclass(frozen=True)
class Winner:
    """A goal whose best plan is another one. `a`, `b`: in words, None where there is no plan; `chosen`: part of a chosen plan."""

    group: str
    traits: str
    a: str | None
    b: str | None
    cost_a: float | None
    cost_b: float | None
    chosen: bool


@dataclass(frozen=True)
class GroupChange:
    """What a group that both have gained in `b` and lost."""

    group: str
    gained: list[str]
    lost: list[str]


@dataclass(frozen=True)
class Parting:
    """The first event of each that differs, in words; None: the trace has ended there."""

    event: int
    a: str | None
    b: str | None


@dataclass(frozen=True)
class Comparison:
    """`settings` and `counts`: (in a, in b) by name, counts in sections. `plan`: lines of the plans, "-" only in a, "+" only in
    b, " " in both. `groups`: how many both have. `parting`: None when the searches are the same, event by event."""

    names: tuple[str, str]
    sql: tuple[str, str]
    settings: dict[str, tuple[Any, Any]]
    cost: tuple[float | None, float | None]
    plan: list[tuple[str, str]]
    winners: list[Winner]
    groups: int
    only_a: list[str]
    only_b: list[str]
    expressions: list[GroupChange]
    counts: dict[str, dict[str, tuple[int, int]]]
    parting: Parting | None

    @property
    def same_plan(self) -> bool:
        return all(sign == " " for sign, _ in self.plan)


def compare(a: Events, b: Events, names: tuple[str, str] = ("a", "b")) -> Comparison:
    """Compare two traces."""
    replays = Replay(a), Replay(b)
    left, right = (each_once(replay.final()) for replay in replays)
    pairs = match_groups(left, right)
    called = group_names(left), group_names(right)
    matched = set(pairs.values())
    heads = [events[0] if events and events[0]["kind"] == "header" else {} for events in (a, b)]
    settings = [head.get("settings", {}) for head in heads]
    return Comparison(
        names=names,
        sql=(heads[0].get("sql", ""), heads[1].get("sql", "")),
        settings={
            name: (settings[0].get(name), settings[1].get(name))
            for name in dict.fromkeys((*settings[0], *settings[1]))
            if settings[0].get(name) != settings[1].get(name)
        },
        cost=(_cost(left), _cost(right)),
        plan=_plan_lines(winner_boxes(left), winner_boxes(right)),
        winners=_winners(left, right, pairs, called),
        groups=len(pairs),
        only_a=[called[0][id] for id, g in left.groups.items() if g.merged_into is None and id not in pairs],
        only_b=[called[1][id] for id, g in right.groups.items() if g.merged_into is None and id not in matched],
        expressions=_expressions(left, right, pairs, called),
        counts=_counts((a, b), (left, right)),
        parting=_parting(replays),
    )


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    value = finite_json(asdict(comparison))
    assert isinstance(value, dict)
    return {**value, "same_plan": comparison.same_plan}


def comparison_text(comparison: Comparison, width: int = 100) -> str:
    """A screen or two; a line takes at most `width` characters."""
    texts = _head, _plan_text, _winners_text, _groups_text, _counts_text
    parts: list[Sequence[_Line]] = [text(comparison) for text in texts]
    shown = [
        "\n".join(_fitted(*line, width) if isinstance(line, tuple) else shorten(clean(line), width) for line in part)
        for part in parts
    ]
    return "\n\n".join([*shown, "\n".join("\n  ".join(wrap(clean(part), width - 2, 6)) for part in _parting_text(comparison))])


def _fitted(text: str, figures: str, width: int) -> str:
    """A line that ends in figures, which stay whole."""
    return shorten(clean(text), max(1, width - len(figures))) + figures


def shown_counts(comparison: Comparison) -> tuple[list[tuple[str, str, int, int]], int]:
    """(section, name, in a, in b) of every count that differs, and how many are the same."""
    every = [(section, name, x, y) for section, counts in comparison.counts.items() for name, (x, y) in counts.items()]
    differ = [entry for entry in every if entry[2] != entry[3]]
    return differ, len(every) - len(differ)


def _cost(state: MemoState) -> float | None:
    best = None if state.root is None else state.goals[state.root].best
    return None if best is None else finite_json(best.cost)


def _plan_lines(a: Sequence[Box], b: Sequence[Box]) -> list[tuple[str, str]]:
    before, after = _tree_lines(a), _tree_lines(b)
    lines: list[tuple[str, str]] = []
    for tag, a0, a1, b0, b1 in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [(" ", line) for line in before[a0:a1]]
        else:
            lines += [*(("-", line) for line in before[a0:a1]), *(("+", line) for line in after[b0:b1])]
    return lines


def _tree_lines(boxes: Sequence[Box]) -> list[str]:
    by_id = {box.id: box for box in boxes}
    lines: list[str] = []
    pending = [(boxes[0].id, 0)] if boxes else []
    while pending:
        id, depth = pending.pop()
        box = by_id[id]
        lines.append(f"{'  ' * depth}{box.op}  {box.detail}".rstrip())
        pending += [(child, depth + 1) for child in reversed(box.inputs)]
    return lines


def _winners(a: MemoState, b: MemoState, pairs: Mapping[int, int], called: tuple[dict[int, str], dict[int, str]]) -> list[Winner]:
    """Of goals that both have: same group, same traits. Those of the chosen plans come first."""
    own = {id: id for id in b.groups}
    plain = column_names(a), column_names(b)
    chosen = set(a.winners()), set(b.winners())
    ours, theirs = (
        {  # of goals for the same the one in the plan, else one that has a plan
            (canonical_group(state, g.group), plain[i](g.traits)): g
            for g in sorted(state.goals.values(), key=lambda g: (g.id in chosen[i], g.best is not None))
        }
        for i, state in enumerate((a, b))
    )
    found = []
    for (group, traits), goal in ours.items():
        other = theirs.get((pairs[group], traits)) if group in pairs else None
        if other is None:
            continue
        keys = [_best_key(a, goal.best, pairs), _best_key(b, other.best, own)]
        in_plan = goal.id in chosen[0] or other.id in chosen[1]
        if keys[0] != keys[1] and (in_plan or None not in keys):
            words = _best_text(a, goal.best, called[0]), _best_text(b, other.best, called[1])
            costs = [None if g.best is None else finite_json(g.best.cost) for g in (goal, other)]
            found.append(Winner(called[0][group], traits, *words, costs[0], costs[1], in_plan))
    return sorted(found, key=lambda winner: not winner.chosen)


def _best_key(state: MemoState, best: BestState | None, inputs: Mapping[int, int]) -> Any:
    """The operator and what it is over; its payload counts where it is an expression's, since a split has none."""
    if best is None:
        return None
    below = [canonical_group(state, state.goals[i].group) for i in best.inputs]
    detail = payload(best.detail) if len(below) < 2 else ()
    return best.op, detail, tuple(inputs.get(id, ("unmatched", id)) for id in below)


def _best_text(state: MemoState, best: BestState | None, called: Mapping[int, str]) -> str | None:
    if best is None:
        return None
    over = [called[state.goals[i].group] for i in best.inputs]
    return f"{best.op} {' ⋈ '.join(over) if len(over) > 1 else ''.join(over)}".rstrip()


def _expressions(
    a: MemoState, b: MemoState, pairs: Mapping[int, int], called: tuple[dict[int, str], dict[int, str]]
) -> list[GroupChange]:
    own = {id: id for id in b.groups}
    plain = column_names(a), column_names(b)
    found = []
    for left, right in pairs.items():
        old = {expression_key(a, m, pairs): m for m in _members(a, left)}
        new = {expression_key(b, m, own): m for m in _members(b, right)}
        gained = [_expression_text(m, called[1], plain[1]) for key, m in new.items() if key not in old]
        lost = [_expression_text(m, called[0], plain[0]) for key, m in old.items() if key not in new]
        if gained or lost:
            found.append(GroupChange(called[0][left], gained, lost))
    return found


def _members(state: MemoState, group: int) -> list[MExprState]:
    """The expressions of a group; a split that was chosen for it is none."""
    return [state.mexprs[id] for id in (*state.groups[group].logical, *state.groups[group].physical) if id >= 0]


def _expression_text(mexpr: MExprState, called: Mapping[int, str], plain: ColumnNames) -> str:
    over = " ⋈ ".join(called[id] for id in mexpr.inputs)
    text = "  ".join(filter(None, (f"{mexpr.op} {over}".rstrip(), plain(mexpr.detail))))
    return text + (f"  ({mexpr.rule})" if mexpr.rule else "")


def _counts(traces: tuple[Events, Events], finals: tuple[MemoState, MemoState]) -> dict[str, dict[str, tuple[int, int]]]:
    """Memo sizes, tasks by class, rules by firings, what was pruned by mechanism."""
    found: list[dict[str, Counter[str]]] = []
    for events, state in zip(traces, finals, strict=True):
        tasks = {e["id"]: e["name"] for e in events if e["kind"] == "task_push"}
        memo = Counter({
            "groups": sum(1 for id, g in state.groups.items() if id >= 0 and g.merged_into is None),
            "sets of relations": sum(1 for id in state.groups if id < 0),
            "logical expressions": sum(1 for m in state.mexprs.values() if m.logical),
            "physical expressions": sum(1 for id, m in state.mexprs.items() if id >= 0 and not m.logical),
            "goals": len(state.goals),
            "goals opened": sum(1 for e in events if e["kind"] == "goal_open"),
            "expressions costed": sum(1 for e in events if e["kind"] == "cost"),
            "merges": sum(1 for e in events if e["kind"] == "merge"),
            "events": len(events),
        })  # fmt: skip
        started = Counter(tasks[e["id"]] for e in events if e["kind"] == "task_start")
        rewrites = Counter(f"{e['rule']} ({e['stage']})" for e in events if e["kind"] == "rewrite")
        fired = Counter(e["rule"] for e in events if e["kind"] == "fire")
        pruned = Counter(e["mechanism"] for e in events if e["kind"] == "prune")
        sections = {"memo": memo, "tasks": started, "rewrites before the search": rewrites, "firings": fired}
        found.append({**sections, "pruned by": pruned})
    first, second = found
    return {
        name: {each: (counts[each], second[name][each]) for each in dict.fromkeys((*counts, *second[name]))}
        for name, counts in first.items()
    }


def _parting(replays: tuple[Replay, Replay]) -> Parting | None:
    """Times do not count, nor does the header, which has the settings. Nobody knows what a trace that was cut left out."""
    a, b = (replay.events for replay in replays)
    at = next((i for i in range(1, min(len(a), len(b))) if not _same(a[i], b[i])), min(len(a), len(b)))
    if at >= len(a) and at >= len(b):
        return None
    return Parting(at, *(event_words(replay, at) for replay in replays))


def _same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return a["kind"] != "dropped" and all(a.get(name) == b.get(name) for name in {*a, *b} - {"t"})


def _head(comparison: Comparison) -> list[str]:
    a, b = comparison.names
    lines = [f"a  {a}", f"b  {b}"]
    if comparison.sql[0] != comparison.sql[1]:
        lines.append("the queries differ")
    lines += [f"   {name} = {setting_text(x)} | {setting_text(y)}" for name, (x, y) in comparison.settings.items()]
    x, y = comparison.cost
    change = cost_change(x, y)
    lines.append(f"cost  {_cost_text(x)} | {_cost_text(y)}{change and f'  ({change})'}")
    return lines


def _cost_text(cost: float | None) -> str:
    return "no plan" if cost is None else number(cost)


def cost_change(x: float | None, y: float | None) -> str:
    """How the cost `y` differs from `x`, in percent; nothing where one of them is missing."""
    if x is None or y is None:
        return ""
    if isclose(x, y, rel_tol=_ROUNDING):
        return "the same"
    return f"{100 * (y / x - 1):+.3g} %" if x else "more"


def _plan_text(comparison: Comparison) -> list[str]:
    title = "plan  the same in both" if comparison.same_plan else "plan  - only in a, + only in b"
    return [title, *(f"{sign} {line}" for sign, line in comparison.plan)]


def _winners_text(comparison: Comparison) -> list[_Line]:
    if not comparison.winners:
        return ["winners  goals that both have planned have the same best operators over the same inputs"]
    count = len(comparison.winners)
    lines: list[_Line] = [f"winners  {many(count, 'goal')} with another best plan (★ in a chosen plan)"]
    for winner in comparison.winners[:SHOWN]:
        goal = winner.group + ("" if winner.traits == "any" else f"  {winner.traits}")
        lines.append(f"{'★' if winner.chosen else ' '} {goal}")
        for sign, plan, cost in (("-", winner.a, winner.cost_a), ("+", winner.b, winner.cost_b)):
            lines.append((f"    {sign} {plan or 'no plan'}", "" if cost is None else f"  {number(cost)}"))
    return lines + _more(len(comparison.winners))


def _groups_text(comparison: Comparison) -> list[_Line]:
    only = len(comparison.only_a), len(comparison.only_b)
    changed = comparison.expressions
    lines: list[_Line] = [f"groups  {comparison.groups:,} in both, {only[0]:,} only in a, {only[1]:,} only in b"]
    lines += [f"- {name}" for name in comparison.only_a[:SHOWN]] + _more(only[0])
    lines += [f"+ {name}" for name in comparison.only_b[:SHOWN]] + _more(only[1])
    if changed:
        gained, lost = sum(len(c.gained) for c in changed), sum(len(c.lost) for c in changed)
        lines.append(f"expressions of groups in both: {lost:,} only in a, {gained:,} only in b")
    for change in changed[:SHOWN]:
        both = (("-", change.lost), ("+", change.gained))
        counts = ", ".join(f"{sign}{len(texts)}" for sign, texts in both if texts)
        lines.append((f"  {change.group}", f"  {counts}"))
        if len(changed) <= FEW:
            for sign, texts in both:
                lines += [f"    {sign} {text}" for text in texts[:SHOWN]] + _more(len(texts))
    return lines + _more(len(changed))


def _counts_text(comparison: Comparison) -> list[_Line]:
    differ, same = shown_counts(comparison)
    lines: list[_Line] = [f"counts  {len(differ)} differ, {same} are the same"]
    wide = max((len(name) for _, name, _, _ in differ), default=0)
    section = ""
    for where, name, x, y in differ:
        if where != section:
            lines.append(f"  {where}")
            section = where
        lines.append((f"    {name:<{wide}}", f"  {x:>9,}  {y:>9,}"))
    return lines


def _parting_text(comparison: Comparison) -> list[str]:
    parting = comparison.parting
    if parting is None:
        return ["events  the same, one by one"]
    ended = "the trace has ended"
    return [f"events  the same up to number {parting.event - 1:,}; then", f"- {parting.a or ended}", f"+ {parting.b or ended}"]


def _more(count: int) -> list[str]:
    return [f"    … and {count - SHOWN:,} more"] if count > SHOWN else []
