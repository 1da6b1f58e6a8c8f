"""The memo, the goals and the task stack at one moment, as plain data rebuilt from a trace."""

from __future__ import annotations

from dataclasses import dataclass, field


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


@dataclass(slots=True)
class GoalState:
    """A group with required traits (`traits`, text; "any" asks for nothing).

    `status`: new, open, optimal, below (no plan of cost under `lower`), impossible or abandoned.
    """

    id: int
    group: int
    traits: str
    status: str = "new"
    limit: float = float("inf")
    lower: float = 0.0
    best: BestState | None = None
    opened: int = 0


@dataclass(slots=True)
class TaskState:
    """A task on the stack; `text` is its one-line description."""

    id: int
    name: str
    parent: int | None
    text: str


@dataclass(slots=True)
class MemoState:
    """Everything at one event: tables by id, the stack (last runs next), the root goal once it is known."""

    groups: dict[int, GroupState] = field(default_factory=dict)
    mexprs: dict[int, MExprState] = field(default_factory=dict)
    goals: dict[int, GoalState] = field(default_factory=dict)
    stack: list[TaskState] = field(default_factory=list)
    running: TaskState | None = None
    root: int | None = None

    def winners(self) -> list[int]:
        """Goal ids of the chosen plan, root first; empty while the root has no plan."""
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
