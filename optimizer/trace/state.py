"""The memo, the goals and the task stack at one moment, as plain data rebuilt from a trace.

Fields that end in `event` are the numbers of the events that the figure beside them came from. A search that is looked at itself
has none, so they do not count when two states are compared.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import asdict, dataclass, field
from typing import Any

from optimizer.errors import many
from optimizer.trace.tree import FlatTree


def set_id(goal: int) -> int:
    """The id that a set of relations has here, as a group, and the join chosen for it, as an expression."""
    return -2 - goal


@dataclass(slots=True)
class GroupState:
    """A class of equivalent expressions. `rows`: estimated rows; `lower`: no plan of the group costs less.

    A set of relations that is a goal without a group of the memo stands here too: `relations` are the groups it joins, and its
    id is `set_id` of its goal, below zero.
    """

    id: int
    columns: list[str]
    rows: float
    lower: float
    logical: list[int] = field(default_factory=list)
    physical: list[int] = field(default_factory=list)
    goals: list[int] = field(default_factory=list)
    explored: bool = False
    merged_into: int | None = None
    relations: list[int] | None = None
    event: int | None = field(default=None, compare=False)
    lower_event: int | None = field(default=None, compare=False)

    def copy(self) -> GroupState:
        return GroupState(
            self.id, self.columns, self.rows, self.lower, self.logical.copy(), self.physical.copy(), self.goals.copy(),
            self.explored, self.merged_into, self.relations, self.event, self.lower_event,
        )  # fmt: skip


@dataclass(slots=True)
class MExprState:
    """A multi-expression: operator `op` with payload text `detail` over the groups `inputs`.

    `rule` and `source`: which rule made it from which multi-expression (None: it was in the query as given).
    `local_cost`: its own cost without inputs, once it was costed (physical ones only).
    """

    id: int
    group: int
    op: str
    detail: str
    inputs: list[int]
    logical: bool
    rule: str | None = None
    source: int | None = None
    local_cost: float | None = None
    event: int | None = field(default=None, compare=False)

    def copy(self) -> MExprState:
        return MExprState(
            self.id, self.group, self.op, self.detail, self.inputs, self.logical, self.rule, self.source, self.local_cost,
            self.event,
        )  # fmt: skip


@dataclass(slots=True)
class BestState:
    """The cheapest plan found so far for a goal: a multi-expression, or an enforcer (`mexpr` None, e.g. op "sort"),
    over the winners of the goals `inputs`."""

    mexpr: int | None
    op: str
    detail: str
    inputs: list[int]
    delivered: str
    local_cost: float
    cost: float
    event: int | None = field(default=None, compare=False)


@dataclass(slots=True)
class GoalState:
    """A group with required traits (`traits`, text; "any" asks for nothing).

    `status`: new, open, optimal, bounded (another plan may cost less, but not less than `lower`), below (no plan of cost under
    `lower`), impossible or abandoned. `limit_goal`: the goal that passed the limit down last.
    """

    id: int
    group: int
    traits: str
    status: str = "new"
    limit: float = float("inf")
    lower: float = 0.0
    best: BestState | None = None
    opened: int = 0
    event: int | None = field(default=None, compare=False)
    lower_event: int | None = field(default=None, compare=False)
    limit_event: int | None = field(default=None, compare=False)
    limit_goal: int | None = field(default=None, compare=False)

    def copy(self) -> GoalState:
        return GoalState(
            self.id, self.group, self.traits, self.status, self.limit, self.lower, self.best, self.opened, self.event,
            self.lower_event, self.limit_event, self.limit_goal,
        )  # fmt: skip


@dataclass(slots=True)
class TaskState:
    """A task on the stack; `text` is its one-line description."""

    id: int
    name: str
    parent: int | None
    text: str


@dataclass(slots=True)
class MemoState:
    """Everything at one event: tables by id, the stack (last runs next), the root goal once it is known.

    `tree`: the logical tree as the stages before the search have rewritten it so far. `plan`: the plan chosen, at the end.
    """

    groups: dict[int, GroupState] = field(default_factory=dict)
    mexprs: dict[int, MExprState] = field(default_factory=dict)
    goals: dict[int, GoalState] = field(default_factory=dict)
    stack: list[TaskState] = field(default_factory=list)
    running: TaskState | None = None
    root: int | None = None
    tree: FlatTree | None = field(default=None, compare=False)
    plan: list[dict[str, Any]] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        tables: dict[str, Sized] = {"group": self.groups, "multi-expression": self.mexprs, "goal": self.goals, "task": self.stack}
        return f"MemoState({', '.join(many(len(table), noun) for noun, table in tables.items())})"

    def copy(self) -> MemoState:
        """The same, with tables of its own; the records in them are shared."""
        return MemoState(
            self.groups.copy(), self.mexprs.copy(), self.goals.copy(), self.stack.copy(), self.running, self.root, self.tree,
            self.plan,
        )  # fmt: skip

    def winners(self) -> list[int]:
        """Goal ids of the best plan of the root, it first; empty while the root has no plan."""
        result: list[int] = []
        pending = [] if self.root is None else [self.root]
        while pending:
            goal = pending.pop()
            best = self.goals[goal].best
            if best is None:
                return []
            result.append(goal)
            pending.extend(reversed(best.inputs))
        return result

    def as_json(self) -> dict[str, Any]:
        """The state as JSON values: tables are lists in the order of ids, an infinite number is the text "inf"."""
        tables: dict[str, dict[int, Any]] = {"groups": self.groups, "mexprs": self.mexprs, "goals": self.goals}
        return {
            **{name: [finite(asdict(table[id])) for id in sorted(table)] for name, table in tables.items()},
            "stack": [asdict(task) for task in self.stack],
            "running": None if self.running is None else asdict(self.running),
            "root": self.root,
            "tree": self.tree,
            "plan": self.plan,
        }


def finite(value: Any) -> Any:
    """JSON values, in which an infinite number is the text "inf" or "-inf"."""
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value
