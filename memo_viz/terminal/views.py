"""What the stepper shows, as lines of text: the event, the stack, groups, goals, plans, trees."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from textwrap import wrap
from typing import Any

from memo_viz.names import canonical_group
from memo_viz.text import shorten
from memo_viz.words import Event, Names, by, figure, sentence
from optimizer.errors import many
from optimizer.trace.state import GoalState, MemoState, set_id
from optimizer.trace.tree import FlatTree

LONG = 40  # lines of one list that are shown
_CONTEXT = 2  # lines shown around a change
_OPERATORS = 1000  # of a plan that are looked at
_NARROW, _WIDE = 12, 24  # characters that a column of texts keeps, and that all but the first have before the first is cut


class Views:
    """Views of one state in lines of at most `width` characters. `names`: what things are called."""

    def __init__(self, state: MemoState, names: Names, width: int) -> None:
        self.state, self.names, self.width = state, names, width

    # -- events -------------------------------------------------------------------------------------------------------------

    def event(self, event: Event) -> list[str]:
        """The event in words; for a rewrite the tree before and after, for a stage its tree, for the plan the plan."""
        lines = self.wrapped(sentence(event, self.names, self.state))
        match event["kind"]:
            case "rewrite":
                lines += ["", *self.change(event["before"], event["after"])]
            case "stage" if isinstance(event["tree"], list):
                lines += ["", *self.tree(event["tree"])]
            case "plan":
                lines += ["", *self.nodes(event["nodes"])]
        return lines

    def wrapped(self, text: str, indent: str = "  ") -> list[str]:
        """Text in lines, broken at blanks."""
        return [indent + line for line in wrap(text, max(20, self.width - len(indent)), break_on_hyphens=False) or [""]]

    def change(self, before: FlatTree, after: FlatTree) -> list[str]:
        """Two trees: the lines of the first that are gone (-), those that are new (+), and a few of the others."""
        old, new = self._operators(before), self._operators(after)
        lines: list[str] = []
        for tag, a0, a1, b0, b1 in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
            if tag == "equal":
                lines += _few(["  " + line for line in old[a0:a1]], 2 * _CONTEXT + 1)
            else:
                lines += [*("- " + line for line in old[a0:a1]), *("+ " + line for line in new[b0:b1])]
        if old == new and before != after:
            lines.append("  the same operators; only which columns they read has changed")
        return self.cut(_few(lines, LONG))

    def tree(self, tree: FlatTree) -> list[str]:
        return self.cut(_few(["  " + line for line in self._operators(tree)], LONG))

    def _operators(self, tree: FlatTree) -> list[str]:
        return ["  " * int(depth) + f"{op}  {self.names.text(str(detail))}".rstrip() for depth, op, detail in tree]

    def nodes(self, nodes: Sequence[Mapping[str, Any]]) -> list[str]:
        """The plan of the event `plan`."""
        return self._table(
            ("", "rows", "own", "cost", "rule"),
            [
                (
                    "  " * node["depth"] + f"{node['op']}  {self.names.text(node['detail'])}".rstrip(),
                    figure(node["rows"]), figure(node["local"]), figure(node["cost"]), node["rule"] or "",
                )
                for node in nodes
            ],
        )  # fmt: skip

    # -- the search ---------------------------------------------------------------------------------------------------------

    def stack(self, depths: Mapping[int, int]) -> list[str]:
        """The task that runs, and those that wait, the next one first; what a task asked for stands indented below it."""
        state = self.state
        lines = [] if state.running is None else [f"  runs   {self.names.task(state.running.id)}"]
        waiting = state.stack[: -LONG - 1 : -1]
        least = min((depths.get(task.id, 0) for task in waiting), default=0)
        lines += [f"  waits  {' ' * (depths.get(task.id, 0) - least)}{self.names.task(task.id)}" for task in waiting]
        if len(state.stack) > len(waiting):
            lines.append(f"  … and {len(state.stack) - len(waiting):,} more that wait")
        return self.cut(lines or ["  no task runs, and none waits"])

    def memo(self, word: str) -> list[str]:
        """A line for each group and each set of relations; `word`: of those whose name or operators have it in them, or that have
        the expression or goal of that name."""
        rows = []
        for group in sorted(self.state.groups.values(), key=lambda g: g.event or 0):
            mexprs = [self.state.mexprs[id] for id in group.logical + group.physical]
            name = self.names.group(group.id)
            number = f"G{group.id}" if group.id >= 0 else f"g{set_id(group.id)}"
            called = {number, *(f"m{mexpr.id}" for mexpr in mexprs), *(f"g{goal}" for goal in group.goals)}
            if group.merged_into is None and (word in called or word in name or any(word in mexpr.op for mexpr in mexprs)):
                goals = [self.state.goals[id] for id in group.goals]
                best = min((goal.best.cost for goal in goals if goal.best is not None), default=None)
                known = f"{len(group.logical)}+{len(group.physical)}"
                rows.append((name, number, figure(group.rows), known, "" if best is None else figure(best), _statuses(goals)))
        head = ("", "", "rows", "expressions", "best", "goals")
        return self._table(head, rows) if rows else [f'  nothing in the memo is called "{word}"' if word else "  it is empty"]

    def group(self, id: int) -> list[str]:
        """A group, its goals and its members."""
        id = canonical_group(self.state, id)
        group = self.state.groups[id]
        lower = f"no plan costs less than {figure(group.lower)}{by(group.lower_event)}"
        explored = ", explored" if group.explored else ""
        lines = self.wrapped(
            f"{_called(self.names.group(id), f'G{id}')}: about {many(figure(group.rows), 'row')}, {lower}{explored}"
        )
        for goal in group.goals:
            lines += self.wrapped(self._goal(self.state.goals[goal]), "    ")
        best_of: dict[int, list[int]] = {}
        enforced = list[tuple[str, str, str, str]]()  # enforcers are no members of a group
        for goal in group.goals:
            chosen = self.state.goals[goal].best
            if chosen is not None and chosen.mexpr is not None:
                best_of.setdefault(chosen.mexpr, []).append(goal)
            elif chosen is not None:
                what = f"{chosen.op} of {' and '.join(map(self.names.goal, chosen.inputs))}"
                enforced.append((what, figure(chosen.local_cost), f"g{goal}", "enforcer"))
        rows = []
        for number in (*group.logical, *group.physical):
            mexpr = self.state.mexprs[number]
            over = " and ".join(map(self.names.group, mexpr.inputs))
            made = "as given" if mexpr.rule is None else f"{mexpr.rule}({'' if mexpr.source is None else f'm{mexpr.source}'})"
            own = "" if mexpr.logical else "not costed" if mexpr.local_cost is None else figure(mexpr.local_cost)
            best = ", ".join(f"g{goal}" for goal in best_of.get(number, ()))
            name = "split" if number < 0 else f"m{number}"
            what = f"{mexpr.op}{' of ' if over else '  '}{over or self.names.text(mexpr.detail)}"
            rows.append((f"{name}  {what}", own, best, made if number >= 0 else ""))
        return [*lines, "", *self._table(("", "own cost", "best of", "made by"), rows + enforced)]

    def goal(self, id: int) -> list[str]:
        """A goal: its bounds with where they came from, and its best plan."""
        goal = self.state.goals[id]
        relations = self.state.groups[goal.group].relations
        lines = self.wrapped(self._goal(goal))
        if relations is not None:
            lines += self.wrapped(f"a set of relations that is no group: {' and '.join(map(self.names.group, relations))}")
        return [*lines, *(["", *self.plan(id)] if goal.best is not None else [])]

    def _goal(self, goal: GoalState) -> str:
        text = f"{_called(self.names.goal(goal.id), f'g{goal.id}')}: {goal.status}"
        text += f", no plan costs less than {figure(goal.lower)}{by(goal.lower_event)}"
        if goal.limit < float("inf"):
            whose = "" if goal.limit_goal is None else f" for {self.names.goal(goal.limit_goal)}"
            text += f", limit {figure(goal.limit)}{whose}{by(goal.limit_event)}"
        return text + (f", best plan {figure(goal.best.cost)}{by(goal.best.event)}" if goal.best is not None else "")

    def plan(self, goal: int) -> list[str]:
        """The best plan of a goal as it stands."""
        rows: list[tuple[str, ...]] = []
        pending = [(0, goal)]
        while pending and len(rows) <= _OPERATORS:
            depth, id = pending.pop()
            known = self.state.goals[id]
            if known.best is None:
                return [f"  {self.names.goal(goal)} has no plan yet"]
            best, group = known.best, self.state.groups[canonical_group(self.state, known.group)]
            what = "  " * depth + best.op + ("" if best.mexpr is None or best.mexpr < 0 else f" m{best.mexpr}")
            rows.append((what, self.names.goal(id), figure(group.rows), figure(best.local_cost), figure(best.cost)))
            pending += [(depth + 1, below) for below in reversed(best.inputs)]
        return self._table(("", "gives", "rows", "own", "cost"), rows)

    # -- lines --------------------------------------------------------------------------------------------------------------

    def cut(self, lines: Iterable[str]) -> list[str]:
        return [shorten(line, self.width) for line in lines]

    def _table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        """Columns, figures flush right. Where there is no room, the widest texts are cut, the first column last."""
        shown = _few(list(rows), LONG, ("…",) + ("",) * (len(head) - 1))
        widths = [max(len(row[i]) for row in [head, *shown]) for i in range(len(head))]
        texts = [i for i in range(len(head)) if i == 0 or any(row[i] and row[i][0] not in "0123456789∞n" for row in shown)]
        while sum(widths) + 2 * len(widths) > self.width and max(widths[i] for i in texts) > _NARROW:
            others = [i for i in texts[1:] if widths[i] > _WIDE]
            widest = max(others or texts, key=widths.__getitem__)
            widths[widest] -= 1
        lines = []
        for row in [head, *shown]:
            cells = [
                f"{shorten(cell, w):<{w}}" if i in texts else f"{cell:>{w}}"
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        if len(rows) > len(shown):
            lines.append(f"  {len(rows):,} in all")
        return self.cut(lines)


def _few(lines: list[Any], most: int, instead: Any = None, middle: bool = True) -> list[Any]:
    """At most so many lines: of more the middle, or else the end, is left out, and `instead` (how many there were) put there."""
    if len(lines) <= most:
        return lines
    kept = most - 1
    head = kept - kept // 2 if middle else kept
    note = instead if instead is not None else f"  … {len(lines) - kept:,} more"
    return [*lines[:head], note, *lines[len(lines) - (kept - head) :]]


def _statuses(goals: Iterable[GoalState]) -> str:
    return ", ".join(f"g{goal.id} {goal.status}" for goal in goals)


def _called(name: str, number: str) -> str:
    return name if number in name else f"{name} ({number})"
