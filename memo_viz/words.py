"""Events in words: one sentence for each, from the templates of `optimizer/trace/vocabulary.json`.

The template language is small, so that the page of the stepper can fill the same templates:

- `{name}` is a field of the event, a fact or a part;
- a field is shown as its type says: a goal by its name, a cost as a figure, a choice by what `values` say of the word;
  `{name:type}` shows it as one of another type;
- a part is a list of (names, template): the first counts all of whose names are there and not null, false, infinite or an empty
  list;
- a fact follows from the event and the state after it (`facts`).

Parts and values are templates themselves.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from memo_viz.names import column_names, group_names
from memo_viz.text import clean
from optimizer.trace.replay import Replay
from optimizer.trace.state import GoalState, MemoState, set_id
from optimizer.trace.vocabulary import Kind, vocabulary

_HOLE = re.compile(r"\{(\w+)(?::(\w+))?\}")
_NUMBERED = re.compile(r"\b(group|goal|expression) (\d+)")
_TASK = re.compile(  # in traits stand names of a user's; nothing behind them has a bracket that closes
    r"(.*?)(?: for (?:any|((?:order|group)\(.*\))))?(?:, limit (\d+(?:\.\d+)?(?:e[+-]\d+)?))?((?:, no limit)?(?: \[\w+\])?)",
    re.DOTALL,
)
_TRAITS = re.compile(r"(order|group)\((.*)\)", re.DOTALL)

Event = Mapping[str, Any]


class Names:
    """What the numbers in events stand for. `final`: the state at the end, so that a thing has one name throughout; a running
    search gives the state so far. `tasks`: what the tasks do."""

    def __init__(self, final: MemoState, tasks: Mapping[int, str]) -> None:
        self.groups = group_names(final)
        self.plain = column_names(final)
        self.mexprs = final.mexprs
        self._goals, self._tasks = final.goals, tasks

    def group(self, id: int) -> str:
        """A set of relations that became a group is called as that."""
        goal = self._goals.get(set_id(id)) if id < 0 and id not in self.groups else None
        return self.groups.get(id if goal is None else goal.group, f"G{id}")

    def goal(self, id: int) -> str:
        goal = self._goals.get(id)
        if goal is None:
            return f"goal {id}"
        wanted = "" if goal.traits == "any" else f" {self.traits(goal.traits)}"
        return f"{self.group(goal.group)}{wanted}"

    def mexpr(self, id: int) -> str:
        known = self.mexprs.get(id)
        return f"m{id}" if known is None else f"{clean(known.op)} m{id}"

    def task(self, id: int) -> str:
        """What a task does, with names for the numbers in it."""
        found = _TASK.fullmatch(self._tasks.get(id, f"task {id}"))
        assert found is not None, "any text fits"
        what = _NUMBERED.sub(lambda found: self._numbered(found[1], int(found[2])), found[1])
        traits = f" {self.traits(found[2])}" if found[2] else ""
        return clean(what + traits + (f", limit {figure(float(found[3]))}" if found[3] else "") + found[4])

    def _numbered(self, what: str, id: int) -> str:
        return self.mexpr(id) if what == "expression" else self.goal(id) if what == "goal" else self.group(id)

    def traits(self, text: str) -> str:
        found = _TRAITS.fullmatch(text)
        if found is None:
            return "in any order" if text == "any" else self.text(text)
        return f"{'ordered' if found[1] == 'order' else 'grouped'} by {self.text(found[2])}"

    def text(self, text: str) -> str:
        """Text of a user's, safe to show, with columns as short as they may be."""
        return clean(self.plain(text))


def sentence(event: Event, names: Names, state: MemoState | None = None) -> str:
    """One sentence on an event; with the state after it also where bounds and limits came from."""
    kind = vocabulary().kinds.get(event["kind"])
    return f"An event of the kind {clean(str(event['kind']))}." if kind is None else _Filler(event, kind, names, state).sentence()


def event_words(replay: Replay, at: int) -> str | None:
    """The sentence on event `at` of a trace that was written; None where there is none."""
    if at >= len(replay.events):
        return None
    tasks = {e["id"]: e["text"] for e in replay.events if e["kind"] == "task_push"}
    names = Names(replay.final(), tasks)
    return sentence(replay.events[at], names, replay.seek(at + 1))


def figure(value: float | str) -> str:
    """A cost or a number of rows with as many digits as it takes to tell bounds apart."""
    if value in (float("inf"), "inf", float("-inf"), "-inf"):
        return "∞"
    assert not isinstance(value, str), f"{value!r} is not a number"
    if abs(value) >= 1e9 or 0 < abs(value) < 0.01:
        return f"{value:.4g}"
    text = f"{value:,.2f}"
    return text.rstrip("0").rstrip(".")


def facts(event: Event, state: MemoState) -> dict[str, float]:
    """Where the numbers of an event came from: see `facts` in the vocabulary."""
    match event["kind"]:
        case "best":
            return _difference(event["old"], event["cost"])
        case "limit":
            return _difference(event["old"], event["new"])
        case "prune" if (goal := state.goals.get(event["goal"])) is not None:
            return {**_sum(event, state), **_enough(event), **_limit_source(event["limit"], goal)}
    return {}


def _difference(old: float, new: float) -> dict[str, float]:
    """By how much a figure rises, or falls where that cannot be seen."""
    return {"more": new - old} if new > old else {"less": old - new} if new < old and figure(new) == figure(old) else {}


def _sum(event: Event, state: MemoState) -> dict[str, float]:
    """What a way that is cut costs itself, and with its inputs."""
    cited = [_cited(event, "bounds", id, state) for id in event["sources"]]
    inputs = sum(by.value for by in cited if by is not None)
    own = max(event["local"], event["lower"] - inputs) if inputs < event["lower"] else event["local"]
    return {"own": own, "now": own + inputs} if own + inputs > event["lower"] * (1 + 1e-9) else {"own": own}


def _enough(event: Event) -> dict[str, float]:
    """Why a way is cut whose bound lies below what a plan may cost."""
    lower, limit = event["lower"], event["limit"]
    if not lower < limit * (1 - 1e-9) < float("inf") or event["mechanism"] == "limit":
        return {}
    return {"total": event["spent"]} if event["spent"] >= limit else {"near": limit - lower}


def _limit_source(limit: float, goal: GoalState) -> dict[str, float]:
    """What set the most that a plan for a goal may cost: its best plan, or the limit passed down, whichever has that figure."""
    if goal.best is not None and goal.best.event is not None and goal.best.cost == limit:
        return {"plan_event": goal.best.event}
    if goal.limit_event is None or goal.limit_goal is None or goal.limit != limit:
        return {}
    return {"limit_event": goal.limit_event, "limit_goal": goal.limit_goal}


def references(event: Event, state: MemoState) -> list[int]:
    """The events that the sentence on an event names, in their order: where its bounds, plans and limits came from."""
    kind = vocabulary().kinds.get(event["kind"])
    found = {int(value) for name, value in facts(event, state).items() if vocabulary().facts[name].type == "event"}
    for field in kind.fields.values() if kind is not None else ():
        if field.type in ("plans", "bounds"):
            cited = (_cited(event, field.type, id, state) for id in event.get(field.name) or ())
            found |= {by.event for by in cited if by is not None and by.event is not None}
    return sorted(found)


class _Cited(NamedTuple):
    """A figure, and the event that it came from."""

    value: float
    event: int | None


def _cited(event: Event, type: str, id: int, state: MemoState) -> _Cited | None:
    """What a sentence says of an input of an event: the cost of its best plan (`plans`), or its bound (`bounds`)."""
    goal, mexpr = state.goals.get(id), state.mexprs.get(event.get("mexpr", -1))
    if type == "plans":
        return None if goal is None or goal.best is None else _Cited(goal.best.cost, goal.best.event)
    of = state.groups.get(id) if mexpr is not None and mexpr.logical else goal
    return None if of is None else _Cited(of.lower, of.lower_event)


class _Filler:
    """Fills the templates of one event."""

    def __init__(self, event: Event, kind: Kind, names: Names, state: MemoState | None) -> None:
        self._kind, self._names, self._state = kind, names, state
        self._types = {field.name: field.type for field in (*kind.fields.values(), *vocabulary().facts.values())}
        self._values = {**event, **facts(event, state or MemoState())}
        self._show: dict[str, Callable[[Any], str]] = {
            "count": lambda value: f"{value:,}", "number": figure, "event": lambda value: f"{value:,}", "limit": _limit,
            "group": names.group, "goal": names.goal, "mexpr": names.mexpr, "task": names.task, "traits": names.traits,
            "groups": _each(names.group), "relations": self._set, "goals": _each(names.goal),
            "mexprs": _each(names.mexpr), "each_traits": _each(names.traits), "columns": _each(names.text),
            "plans": _each(self._plan), "bounds": _each(self._bound),
        }  # fmt: skip

    def sentence(self) -> str:
        return self._fill(self._kind.sentence)

    def _fill(self, template: str) -> str:
        return _HOLE.sub(lambda hole: self._hole(hole[1], hole[2]), template)

    def _hole(self, name: str, type: str | None) -> str:
        if name in self._kind.parts:
            return self._fill(next(text for names, text in self._kind.parts[name] if all(map(self._there, names))))
        value = self._values.get(name)
        said = self._kind.values.get(name, {}).get(str(value))
        if said is not None:
            return self._fill(said)
        return self._show.get(type or self._types[name], self._text)(value)

    def _there(self, name: str) -> bool:
        value = self._values.get(name)
        return value is not None and value is not False and value not in ([], float("inf"), "inf")

    def _text(self, value: Any) -> str:
        return self._names.text(" ".join(str(value).split()))

    def _set(self, groups: list[int]) -> str:
        named = ", ".join(map(self._names.group, groups))
        return named if len(groups) == 1 else f"{{{named}}}"

    def _plan(self, goal: int) -> str:
        cited = None if self._state is None else _cited(self._values, "plans", goal, self._state)
        return self._names.goal(goal) + ("" if cited is None else f" for {figure(cited.value)}{by(cited.event)}")

    def _bound(self, id: int) -> str:
        """A goal, or a group where the way that was cut is a logical expression, and what it costs at least."""
        cited = None if self._state is None else _cited(self._values, "bounds", id, self._state)
        mexpr = self._names.mexprs.get(self._values.get("mexpr", -1))
        name = self._names.group(id) if mexpr is not None and mexpr.logical else self._names.goal(id)
        return name + ("" if cited is None else f" at least {figure(cited.value)}{by(cited.event)}")


def _limit(value: float | str) -> str:
    return "at any cost" if value in (float("inf"), "inf") else f"for {figure(value)} or less"


def by(event: int | None) -> str:
    """Where a figure came from, to be put behind it."""
    return "" if event is None else f" (event {event:,})"


def _each(show: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda values: " and ".join(map(show, values)) or "nothing"
