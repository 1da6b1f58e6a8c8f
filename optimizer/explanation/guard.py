"""Which guard of a rule refused a binding, and with which values.

A rule is a function that returns nothing where it does not apply. It is called once more under a line tracer, and the last
condition that was tested before it returned is the guard that refused. Where it comes further with a larger `expand_joins`, the
guard is that setting.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any, NamedTuple

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Leaf, Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, TransformationRule

Label = Callable[[ColumnId], str]

MOST_JOINED = 12  # the largest expand_joins that is tried: what rules look at grows with it by powers


class Guard(NamedTuple):
    """`text`: the condition as the rule's source has it, or the setting; `values`: what its names stood for, as texts."""

    text: str
    values: dict[str, str]

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{self.text}, where {where}" if where else self.text


def refusing_guard(rule: TransformationRule | ImplementationRule, bound: Tree, context: RuleContext) -> Guard | None:
    """The guard that refuses a binding; None where the rule does not refuse it, or its source is not at hand."""
    made, lines, values = _applied(rule, bound, context)
    if made:
        return None
    settings, further = context.settings, 0
    for more in range(settings.expand_joins + 1, MOST_JOINED + 1) if isinstance(rule, TransformationRule) else ():
        made, reached, _ = _applied(rule, bound, context._replace(settings=replace(settings, expand_joins=more)))
        if made:
            return Guard(f"the setting expand_joins={settings.expand_joins}; with expand_joins={more} it fires here", {})
        further = further or (more if set(reached) - set(lines) else 0)
    try:
        source, first = inspect.getsourcelines(type(rule).apply.__code__)
    except OSError:
        return None
    condition = _last_condition(textwrap.dedent("".join(source)), [line - first + 1 for line in lines])
    if condition is None:
        return None
    names = {each.id for each in ast.walk(condition[1]) if isinstance(each, ast.Name)}
    shown = {name: text for name in sorted(names) if (text := _show(values.get(name), context.columns.label)) is not None}
    beside = f"; with expand_joins={further} it comes further here" if further else ""
    return Guard(condition[0] + beside, shown)


def _applied(
    rule: TransformationRule | ImplementationRule, bound: Tree, context: RuleContext
) -> tuple[bool, list[int], dict[str, Any]]:
    """Whether a rule fires, the lines of it that were visited, and its variables."""
    lines: list[int] = []
    values: dict[str, Any] = {}
    code: CodeType = type(rule).apply.__code__

    def local(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            lines.append(frame.f_lineno)
        values.update(frame.f_locals)
        return local

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        return local if frame.f_code is code else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        made = list(rule.apply(bound, context))
    finally:
        sys.settrace(before)
    return bool(made), lines, values


def _last_condition(source: str, lines: list[int]) -> tuple[str, ast.AST] | None:
    """The condition, as text and as syntax, that stands on the last line visited that has one; of a loop: that it goes on."""
    conditions: dict[int, tuple[str, ast.AST]] = {}
    for node in ast.walk(ast.parse(source)):
        start, before = getattr(node, "lineno", 0), ""
        if isinstance(node, ast.If | ast.While):
            found: ast.AST = node.test
        elif isinstance(node, ast.match_case):
            found, start = node.guard or node.pattern, node.pattern.lineno
        elif isinstance(node, ast.For):
            found, before = node.iter, f"some {ast.unparse(node.target)} in "
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.IfExp):
            found = node.value.test
        else:
            continue
        for line in range(start, (getattr(found, "end_lineno", None) or start) + 1):
            conditions[line] = before + ast.unparse(found), found
    return next((conditions[line] for line in reversed(lines) if line in conditions), None)


def _show(value: Any, label: Label) -> str | None:
    """A value in words; None where it would say nothing."""
    match value:
        case Scalar():
            return value.show(label)
        case tuple() if all(isinstance(each, Scalar) for each in value):
            return "(" + ", ".join(each.show(label) for each in value) + ")"
        case Tree():
            return f"{value.op.name} {value.op.describe(label)}".rstrip()
        case Leaf():
            return f"group {value.gid}"
        case bool() | str() | float():
            return repr(value)
        case int():
            return str(value)
    return None
