"""Turning failures of extensions and dead ends of the search into errors that say where to look."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from optimizer.errors import InternalError, PlanscopeError
from optimizer.memo.goal import Goal

if TYPE_CHECKING:
    from optimizer.memo.memo import Memo


def rule_failed(name: str, gid: int, error: Exception) -> PlanscopeError:
    """A rule that raises stops the search: skipping it would turn a wrong plan into a log line."""
    if isinstance(error, PlanscopeError):
        return error
    return InternalError(f"rule {name} failed on group {gid}: {type(error).__name__}: {error}")


def why_no_plan(memo: Memo, goal: Goal, label: Callable[[int], str]) -> str:
    """Follow a goal without a plan down to the groups that close it."""
    lines = [f"no physical plan for group {goal.group} with traits {goal.required.show(label)}"]
    seen: set[int] = set()
    pending = [goal]
    while pending and len(lines) < 12:
        here = pending.pop()
        if here.id in seen:
            continue
        seen.add(here.id)
        group = memo.groups[here.group]
        if not here.candidates:
            ops = sorted({mexpr.op.name for mexpr in group.logical})
            lines.append(f"group {here.group} ({', '.join(ops)}) has no implementation: is its rule disabled?")
        pending += [i for c in here.candidates for i in c.inputs if i.best is None]
    return "\n".join(lines)
