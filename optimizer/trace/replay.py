"""Rebuilds the memo, the goals and the stack at any event of a trace, forwards and backwards.

Snapshots are kept every few thousand events while going forward, so a step back costs no more than that many events.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from optimizer.errors import CatalogError
from optimizer.trace.recorder import FORMAT, VERSION
from optimizer.trace.state import BestState, GoalState, GroupState, MemoState, MExprState, TaskState, set_id

SNAPSHOT_EVERY = 4000
_CLOSED = {"win": "optimal", "bounded": "bounded", "fail": "below", "impossible": "impossible", "abandoned": "abandoned"}


class Replay:
    """A trace and a position in it. `events` as recorded; position n means that the first n events have happened."""

    def __init__(self, events: Sequence[dict[str, Any]]) -> None:
        self.events = events
        self.position = 0
        self._state = MemoState()
        self._snapshots: dict[int, MemoState] = {0: MemoState()}

    @classmethod
    def load(cls, path: Path) -> Replay:
        """Read a JSON-lines trace. Raises CatalogError that names the file and line when it is not one."""
        path = Path(path)
        events: list[dict[str, Any]] = []
        try:
            with path.open(encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    try:
                        event = json.loads(line)
                    except json.JSONDecodeError as error:
                        raise CatalogError(f"{path}, line {number}: not a trace event ({error.msg})") from None
                    if not isinstance(event, dict) or "kind" not in event:
                        raise CatalogError(f"{path}, line {number}: not a trace event (an object with a kind)")
                    events.append({key: _number(value) for key, value in event.items()})
        except (OSError, UnicodeDecodeError) as error:
            raise CatalogError(f"cannot read trace {path}: {getattr(error, 'strerror', None) or error}") from None
        head = events[0] if events else {}
        if head.get("format") != FORMAT:
            raise CatalogError(f"{path} is not a planscope trace: its first line has no header")
        if head.get("version") != VERSION:
            raise CatalogError(f"{path} has trace version {head.get('version')}; this planscope reads version {VERSION}")
        return cls(events)

    def __len__(self) -> int:
        return len(self.events)

    def seek(self, position: int) -> MemoState:
        """The state after the first `position` events (clipped to the trace). The result is only valid until the next call."""
        position = max(0, min(position, len(self.events)))
        if position < self.position:
            nearest = max(at for at in self._snapshots if at <= position)
            self._state, self.position = deepcopy(self._snapshots[nearest]), nearest
        while self.position < position:
            apply(self._state, self.events[self.position])
            self.position += 1
            if self.position % SNAPSHOT_EVERY == 0 and self.position not in self._snapshots:
                self._snapshots[self.position] = deepcopy(self._state)
        return self._state

    def final(self) -> MemoState:
        return self.seek(len(self.events))


def _number(value: Any) -> Any:
    if value == "inf":
        return float("inf")
    return float("-inf") if value == "-inf" else value


def apply(state: MemoState, event: dict[str, Any]) -> None:
    """Change `state` by one event. Events that change nothing (bind, skip, prune ...) pass."""
    change = _CHANGES.get(event["kind"])
    if change is not None:
        change(state, event)


def _task_push(state: MemoState, event: dict[str, Any]) -> None:
    state.stack.append(TaskState(event["id"], event["name"], event["parent"], event["text"]))


def _task_start(state: MemoState, event: dict[str, Any]) -> None:
    state.running = state.stack.pop()


def _task_end(state: MemoState, event: dict[str, Any]) -> None:
    state.running = None


def _group(state: MemoState, event: dict[str, Any]) -> None:
    state.groups[event["id"]] = GroupState(event["id"], list(event["columns"]), event["rows"], event["lower"])


def _mexpr(state: MemoState, event: dict[str, Any]) -> None:
    if event.get("dropped"):
        group = state.groups[event["group"]]
        group.logical.remove(event["id"])
        del state.mexprs[event["id"]]
        for id in [id for id in group.physical if state.mexprs[id].source == event["id"]]:
            group.physical.remove(id)
            del state.mexprs[id]
        return
    if event["duplicate"]:
        return
    mexpr = MExprState(
        event["id"], event["group"], event["op"], event["detail"], list(event["inputs"]), event["logical"], event["rule"],
        event["source"],
    )  # fmt: skip
    state.mexprs[mexpr.id] = mexpr
    group = state.groups[mexpr.group]
    (group.logical if mexpr.logical else group.physical).append(mexpr.id)


def _merge(state: MemoState, event: dict[str, Any]) -> None:
    keep, gone = state.groups[event["into"]], state.groups[event["gone"]]
    for mexpr in state.mexprs.values():  # costs that depend on the figures of either group are out of date
        if mexpr.group == gone.id or gone.id in mexpr.inputs:
            mexpr.local_cost = None
    for id in gone.logical + gone.physical:
        state.mexprs[id].group = keep.id
    keep.logical += gone.logical
    keep.physical = sorted(keep.physical + gone.physical)
    gone.logical, gone.physical, gone.goals = [], [], []
    for group in state.groups.values():
        if group is gone or group.merged_into == gone.id:
            group.merged_into = keep.id
    keep.lower = min(keep.lower, gone.lower)
    for mexpr in state.mexprs.values():
        mexpr.inputs = [keep.id if gid == gone.id else gid for gid in mexpr.inputs]


def _explored(state: MemoState, event: dict[str, Any]) -> None:
    state.groups[event["group"]].explored = True


def _lower(state: MemoState, event: dict[str, Any]) -> None:
    if "goal" in event:
        state.goals[event["goal"]].lower = event["lower"]
    else:
        state.groups[event["group"]].lower = event["lower"]


def _budget(state: MemoState, event: dict[str, Any]) -> None:
    if "tasks" in event:  # the search was cut: what was on the stack is dropped
        state.stack.clear()


def _root(state: MemoState, event: dict[str, Any]) -> None:
    state.root = event["goal"]


def _goal(state: MemoState, event: dict[str, Any]) -> None:
    goal, group = event["goal"], event["group"]
    if group < 0:
        group = set_id(goal)
        state.groups[group] = GroupState(group, [], event["rows"], event["lower"], relations=list(event["relations"]))
    state.goals[goal] = GoalState(goal, group, event["traits"], lower=event["lower"])
    state.groups[group].goals.append(goal)


def _place(state: MemoState, event: dict[str, Any]) -> None:
    """A set of relations became a group."""
    goal, group = state.goals[event["goal"]], state.groups[event["group"]]
    set_group = state.groups.pop(goal.group)
    group.goals = sorted([*group.goals, goal.id])
    group.physical = sorted(group.physical + set_group.physical)
    for mexpr in state.mexprs.values():
        if mexpr.id < 0:
            mexpr.group = group.id if mexpr.group == set_group.id else mexpr.group
            mexpr.inputs = [group.id if gid == set_group.id else gid for gid in mexpr.inputs]
    goal.group = group.id


def _goal_open(state: MemoState, event: dict[str, Any]) -> None:
    goal = state.goals[event["goal"]]
    goal.status, goal.limit, goal.opened = "open", event["limit"], event["attempt"]


def _goal_close(state: MemoState, event: dict[str, Any]) -> None:
    goal = state.goals[event["goal"]]
    goal.status, goal.lower = _CLOSED[event["result"]], event["lower"]


def _restart(state: MemoState, event: dict[str, Any]) -> None:
    for id, goal in state.goals.items():
        state.goals[id] = GoalState(id, goal.group, goal.traits)
    for group in state.groups.values():
        group.goals = []


def _cost(state: MemoState, event: dict[str, Any]) -> None:
    mexpr = state.mexprs[event["mexpr"]]
    local = event["local"]
    mexpr.local_cost = local if mexpr.local_cost is None else min(local, mexpr.local_cost)


def _best(state: MemoState, event: dict[str, Any]) -> None:
    goal, mexpr = state.goals[event["goal"]], event["mexpr"]
    if event["split"]:  # a join that is no expression of the memo
        mexpr = set_id(goal.id)
        inputs = [state.goals[below].group for below in event["inputs"]]
        state.mexprs[mexpr] = MExprState(mexpr, goal.group, event["op"], "", inputs, False, None, None, event["local"])
        group = state.groups[goal.group]
        if mexpr not in group.physical:
            group.physical = sorted([*group.physical, mexpr])
    goal.best = BestState(
        mexpr, event["op"], event["detail"], list(event["inputs"]), event["delivered"], event["local"], event["cost"]
    )


_CHANGES = {
    "task_push": _task_push,
    "task_start": _task_start,
    "task_end": _task_end,
    "group": _group,
    "mexpr": _mexpr,
    "merge": _merge,
    "explored": _explored,
    "budget": _budget,
    "lower": _lower,
    "root": _root,
    "goal": _goal,
    "place": _place,
    "goal_open": _goal_open,
    "goal_close": _goal_close,
    "restart": _restart,
    "cost": _cost,
    "best": _best,
}
