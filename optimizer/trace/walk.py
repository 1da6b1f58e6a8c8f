"""Walking through a trace: to the next or the last event of a kind, past a task, out of it, to what a condition says.

A stop says of an event, with the state after it, whether to stop there. Walks go from the position of a replayer to just after
such an event, and so does a search that is running: its replayer has it go on event by event.

Tasks have depths: a task is one deeper than the task that put it on the stack. As the stack is worked off from the top, what runs
between a task and the next one that is not deeper is what the task asked for.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from optimizer.errors import PlanscopeError
from optimizer.trace.conditions import condition
from optimizer.trace.replay import Replay
from optimizer.trace.state import MemoState
from optimizer.trace.vocabulary import vocabulary

Event = dict[str, Any]
Test = Callable[[Event, MemoState], bool]

KINDS = {  # what a walk can be to, by the kind of event
    "task": "task_start", "prune": "prune", "merge": "merge", "limit": "limit", "derive": "derive", "fire": "fire",
    "close": "goal_close", "stage": "stage", "rewrite": "rewrite",
}  # fmt: skip


_FIRST_LOOK = 32  # events


class Stop(NamedTuple):
    """Where to stop: `text` as it was asked for; `by_state`: the test needs the state after the event."""

    text: str
    test: Test
    by_state: bool = False


class Walk:
    """Walks of one replayer."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self._depths: dict[int, int] = {}
        self._starts: list[int] = []  # events at which a task starts
        self._roots: set[int] = set()
        self._noted = 0

    # -- what to stop at ----------------------------------------------------------------------------------------------------

    def stop(self, text: str) -> Stop:
        """A kind (see KINDS, or as events have it), `best` (a cheaper plan of the whole query), `group 5`, `goal 5`,
        `rule join_commute`, or a condition. Raises PlanscopeError."""
        words = text.split()
        if len(words) == 1 and words[0] != "best" and (words[0] in KINDS or words[0] in vocabulary().kinds):
            kind = KINDS.get(words[0], words[0])
            return Stop(text, lambda event, state: event["kind"] == kind)
        if words == ["best"]:
            return Stop(text, lambda event, state: event["kind"] == "best" and event["goal"] in self._roots)
        if len(words) == 2 and words[0] == "rule":
            return Stop(text, lambda event, state: event.get("rule") == words[1])
        if len(words) == 2 and words[0] in ("group", "goal"):
            digits = words[1].removeprefix("G" if words[0] == "group" else "g")
            if not digits.removeprefix("-").isdecimal() or len(digits) > 12:
                raise PlanscopeError(f'"{words[1]:.60}" is not the number of a {words[0]}')
            number = int(digits)
            if words[0] == "goal":
                return Stop(text, lambda event, state: number in _named(event, "goal"))
            return Stop(text, lambda event, state: _home(state, number) in groups_of(event, state), True)
        return Stop(text, *condition(text))

    def over(self) -> Stop:
        """The next task that is no deeper than the one at the position."""
        depth = self._depth()
        return Stop("next", lambda event, state: event["kind"] == "task_start" and self._depths.get(event["id"], 0) <= depth)

    def out(self) -> Stop:
        """The next task that is less deep than the one at the position."""
        depth = self._depth()
        return Stop("out", lambda event, state: event["kind"] == "task_start" and self._depths.get(event["id"], 0) < depth)

    # -- walking ------------------------------------------------------------------------------------------------------------

    def forward(self, *stops: Stop) -> Stop | None:
        """Go to the next event that one of the stops accepts, and say which; to the end and None where there is none. Ctrl-C ends
        it at the event that it has come to."""
        replay, by_state = self.replay, any(stop.by_state for stop in stops)
        at, found = replay.position, None

        def look() -> bool:
            nonlocal at, found
            self._note()
            while at < len(replay.events):
                event = replay.events[at]
                at += 1
                state = replay.seek(at) if by_state else replay.state
                found = next((stop for stop in stops if stop.test(event, state)), None)
                if found is not None:
                    return True
            return False

        try:
            if not look():
                replay.go_on(look)
            return found
        finally:
            replay.seek(at)

    def backward(self, *stops: Stop) -> Stop | None:
        """Go to the last event before that of the position that one of the stops accepts, and say which; to the start and None
        where there is none.

        With a state the trace is read forwards, from further and further back.
        """
        self._note()
        end, width = self.replay.position - 1, _FIRST_LOOK
        while end > 0:
            begin = max(0, end - width)
            found = self._last(stops, begin, end)
            if found is not None:
                self.replay.seek(found[0] + 1)
                return found[1]
            end, width = begin, 4 * width
        self.replay.seek(0)
        return None

    def _last(self, stops: Sequence[Stop], begin: int, end: int) -> tuple[int, Stop] | None:
        events, by_state, last = self.replay.events, any(stop.by_state for stop in stops), None
        for at in range(begin, end) if by_state else range(end - 1, begin - 1, -1):
            state = self.replay.seek(at + 1) if by_state else self.replay.state
            found = next((stop for stop in stops if stop.test(events[at], state)), None)
            if found is not None:
                last = at, found
                if not by_state:
                    break
        return last

    # -- what is known of the events ----------------------------------------------------------------------------------------

    @property
    def depths(self) -> Mapping[int, int]:
        """The depths of all tasks so far."""
        self._note()
        return self._depths

    def _note(self) -> None:
        """Keep depths, starts and roots of the events that are new."""
        events = self.replay.events
        while self._noted < len(events):
            event = events[self._noted]
            if event["kind"] == "task_push":
                self._depths[event["id"]] = self._depths.get(event["parent"], -1) + 1
            elif event["kind"] == "task_start":
                self._starts.append(self._noted)
            elif event["kind"] == "root":
                self._roots.add(event["goal"])
            self._noted += 1

    def _depth(self) -> int:
        """The depth of the task that started last. Before the first task: deeper than any."""
        self._note()
        last = bisect_left(self._starts, self.replay.position) - 1
        return sys.maxsize if last < 0 else self._depths.get(self.replay.events[self._starts[last]]["id"], 0)


def _named(event: Event, type: str) -> list[int]:
    """The groups, goals or multi-expressions that an event names."""
    kind = vocabulary().kinds.get(event["kind"])
    fields = [] if kind is None else [field.name for field in kind.fields.values() if field.type == type]
    return [value for name in fields if isinstance(value := event.get(name), int)]


def groups_of(event: Event, state: MemoState) -> set[int]:
    """The groups that an event is about, also by their expressions and goals; for one that was merged the one it went into."""
    found = _named(event, "group")
    found += [state.goals[id].group for id in _named(event, "goal") if id in state.goals]
    found += [state.mexprs[id].group for id in _named(event, "mexpr") if id in state.mexprs]
    return {_home(state, id) for id in found}


def _home(state: MemoState, id: int) -> int:
    group = state.groups.get(id)
    return id if group is None or group.merged_into is None else group.merged_into
