"""What each kind of event changes in a state. Kinds without a method change nothing: they tell why the others happened.

Records are shared between the states that a replayer keeps, so none is changed as it lies in the tables: `Draft` hands out a
copy the first time that a record is written to, and remembers it.
"""

from typing import Any, Generic, Protocol, TypeVar

from optimizer.trace.state import BestState, GoalState, GroupState, MemoState, MExprState, TaskState, set_id
from optimizer.trace.tree import replaced

_CLOSED = {"win": "optimal", "bounded": "bounded", "fail": "below", "impossible": "impossible", "abandoned": "abandoned"}

Event = dict[str, Any]


class Record(Protocol):
    def copy(self) -> Any: ...


R = TypeVar("R", bound=Record)


class Table(Generic[R]):
    """One table of the state, and what was written since the draft began. `written`: the new record of an id, None for one that
    is gone."""

    def __init__(self, records: dict[int, R]) -> None:
        self.records = records
        self.written: dict[int, R | None] = {}

    def edit(self, id: int) -> R:
        """The record of an id, to be written to."""
        known = self.written.get(id)
        if known is None:
            known = self.records[id] = self.written[id] = self.records[id].copy()
        return known

    def add(self, id: int, record: R) -> None:
        self.records[id] = self.written[id] = record

    def remove(self, id: int) -> R:
        self.written[id] = None
        return self.records.pop(id)


class Draft:
    """A state that events are applied to: method `on_KIND` is the change. `low`: how short the stack has been since it began."""

    def __init__(self, state: MemoState) -> None:
        self.state = state
        self.groups, self.mexprs, self.goals = Table(state.groups), Table(state.mexprs), Table(state.goals)
        self.low = len(state.stack)

    def apply(self, event: Event) -> None:
        """Change the state by one event. Raises KeyError, IndexError, TypeError or ValueError where the event cannot follow."""
        change = _CHANGES.get(event["kind"])
        if change is not None:
            change(self, event)

    def on_task_push(self, event: Event) -> None:
        self.state.stack.append(TaskState(event["id"], event["name"], event["parent"], event["text"]))

    def on_task_start(self, event: Event) -> None:
        stack = self.state.stack
        self.state.running = stack.pop()
        if self.state.running.id != event["id"]:
            raise ValueError("another task is on top of the stack")
        if len(stack) < self.low:
            self.low = len(stack)

    def on_task_end(self, event: Event) -> None:
        self.state.running = None

    def on_budget(self, event: Event) -> None:
        if "tasks" in event:  # the search was cut: what was on the stack is dropped
            self.state.stack.clear()
            self.low = 0

    def on_rewrite(self, event: Event) -> None:
        tree = self.state.tree
        if tree is not None and event["at"] is not None:
            self.state.tree = replaced(tree, event["at"], event["before"], event["after"])

    def on_stage(self, event: Event) -> None:
        self.state.tree = event["tree"]

    def on_plan(self, event: Event) -> None:
        self.state.plan = event["nodes"]

    def on_group(self, event: Event) -> None:
        id, seq = event["id"], event["seq"]
        new = GroupState(id, list(event["columns"]), event["rows"], event["lower"], event=seq, lower_event=seq)
        self.groups.add(id, new)

    def on_mexpr(self, event: Event) -> None:
        if event.get("dropped"):
            group = self.groups.edit(event["group"])
            group.logical.remove(event["id"])
            self.mexprs.remove(event["id"])
            for id in [id for id in group.physical if self.state.mexprs[id].source == event["id"]]:
                group.physical.remove(id)
                self.mexprs.remove(id)
            return
        if event["duplicate"]:
            return
        if None in (event["op"], event["detail"], event["inputs"]):
            raise ValueError("a new expression has an operator, a detail and inputs")
        mexpr = MExprState(
            event["id"], event["group"], event["op"], event["detail"], self._known(event["inputs"]), event["logical"],
            event["rule"], event["source"], event=event["seq"],
        )  # fmt: skip
        self.mexprs.add(mexpr.id, mexpr)
        group = self.groups.edit(mexpr.group)
        (group.logical if mexpr.logical else group.physical).append(mexpr.id)

    def on_merge(self, event: Event) -> None:
        keep, gone = self.groups.edit(event["into"]), self.groups.edit(event["gone"])
        if keep is gone or keep.merged_into is not None or gone.merged_into is not None:
            raise ValueError("one of the groups went into another one before")
        for mexpr in self._renamed(gone.id, keep.id):
            mexpr.local_cost = None  # depends on the figures of either group, which are out of date
        for id in gone.goals:
            self._anew(id)
        keep.logical += gone.logical
        keep.physical = sorted(keep.physical + gone.physical)
        gone.logical, gone.physical, gone.goals = [], [], []
        for id, group in list(self.state.groups.items()):
            if group is gone or group.merged_into == gone.id:
                self.groups.edit(id).merged_into = keep.id
        if gone.lower < keep.lower:
            keep.lower, keep.lower_event = gone.lower, event["seq"]

    def _renamed(self, gone: int, into: int) -> list[MExprState]:
        """The expressions of a group, or over it, that is called otherwise from now on."""
        touched = [id for id, mexpr in self.state.mexprs.items() if mexpr.group == gone or gone in mexpr.inputs]
        found = [self.mexprs.edit(id) for id in touched]
        for mexpr in found:
            mexpr.group = into if mexpr.group == gone else mexpr.group
            mexpr.inputs = [into if gid == gone else gid for gid in mexpr.inputs]
        return found

    def on_explored(self, event: Event) -> None:
        self.groups.edit(event["group"]).explored = True

    def on_lower(self, event: Event) -> None:
        of = self.goals.edit(event["goal"]) if "goal" in event else self.groups.edit(event["group"])
        of.lower, of.lower_event = event["lower"], event["seq"]

    def on_root(self, event: Event) -> None:
        self.state.root = self.state.goals[event["goal"]].id

    def on_goal(self, event: Event) -> None:
        goal, group, seq = event["goal"], event["group"], event["seq"]
        if group < 0:
            group = set_id(goal)
            if event["rows"] is None:
                raise ValueError("a set of relations has rows")
            relations = self._known(event["relations"])
            new = GroupState(group, [], event["rows"], event["lower"], relations=relations, event=seq, lower_event=seq)
            self.groups.add(group, new)
        self.goals.add(goal, GoalState(goal, group, event["traits"], lower=event["lower"], event=seq, lower_event=seq))
        self.groups.edit(group).goals.append(goal)

    def _known(self, groups: list[int]) -> list[int]:
        """Raises KeyError for a group that there is not."""
        return [self.state.groups[id].id for id in groups]

    def on_place(self, event: Event) -> None:
        """A set of relations became a group."""
        goal, group = self.goals.edit(event["goal"]), self.groups.edit(event["group"])
        gone = self.groups.remove(goal.group)
        group.goals = sorted([*group.goals, goal.id])
        group.physical = sorted(group.physical + gone.physical)
        self._renamed(gone.id, group.id)
        goal.group = group.id

    def on_limit(self, event: Event) -> None:
        if event["source"] != event["goal"]:
            goal = self.goals.edit(event["goal"])
            goal.limit, goal.limit_event, goal.limit_goal = event["new"], event["seq"], event["source"]

    def on_goal_open(self, event: Event) -> None:
        goal = self.goals.edit(event["goal"])
        if goal.limit != event["limit"]:  # not the one that was passed down last
            goal.limit_event = goal.limit_goal = None
        goal.status, goal.limit, goal.opened = "open", event["limit"], event["attempt"]

    def on_goal_close(self, event: Event) -> None:
        goal = self.goals.edit(event["goal"])
        goal.status = _CLOSED[event["result"]]
        if event["lower"] != goal.lower:
            goal.lower, goal.lower_event = event["lower"], event["seq"]

    def on_restart(self, event: Event) -> None:
        for id in list(self.state.goals):
            self._anew(id)
        for id in self.state.groups:
            group = self.groups.edit(id)
            group.goals, group.physical = [], [each for each in group.physical if each >= 0]
        for id in [id for id in self.state.mexprs if id < 0]:  # splits that were the best ways of goals
            self.mexprs.remove(id)

    def _anew(self, id: int) -> None:
        goal = self.state.goals[id]
        self.goals.add(id, GoalState(id, goal.group, goal.traits, event=goal.event))

    def on_recost(self, event: Event) -> None:
        for id in event["goals"]:
            self.goals.edit(id).best = None

    def on_cost(self, event: Event) -> None:
        mexpr = self.mexprs.edit(event["mexpr"])
        local = event["local"]
        mexpr.local_cost = local if mexpr.local_cost is None else min(local, mexpr.local_cost)

    def on_best(self, event: Event) -> None:
        goal, mexpr = self.goals.edit(event["goal"]), event["mexpr"]
        if _reaches(self.state, event["inputs"], goal.id):
            raise ValueError("a plan that reads itself")
        if mexpr is None and len(event["inputs"]) != (2 if event["split"] else 1):
            raise ValueError("an enforcer has one input, a split has two")
        if event["split"]:  # a join that is no expression of the memo
            mexpr = set_id(goal.id)
            inputs = [self.state.goals[below].group for below in event["inputs"]]
            self.mexprs.add(
                mexpr,
                MExprState(mexpr, goal.group, event["op"], "", inputs, False, None, None, event["local"], event=event["seq"]),
            )
            group = self.groups.edit(goal.group)
            if mexpr not in group.physical:
                group.physical = sorted([*group.physical, mexpr])
        goal.best = BestState(
            mexpr, event["op"], event["detail"], list(event["inputs"]), event["delivered"], event["local"], event["cost"],
            event=event["seq"],
        )  # fmt: skip


def _reaches(state: MemoState, inputs: list[int], goal: int) -> bool:
    """Whether the best plan of one of the inputs has a goal in it."""
    pending, seen = list(inputs), set(inputs)
    while pending:
        best = state.goals[pending.pop()].best
        new = [] if best is None else [below for below in best.inputs if below not in seen]
        pending += new
        seen.update(new)
    return goal in seen


_CHANGES = {name.removeprefix("on_"): method for name, method in vars(Draft).items() if name.startswith("on_")}
