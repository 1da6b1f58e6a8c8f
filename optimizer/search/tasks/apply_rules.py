"""ApplyRules: schedule the rules that may fit a logical multi-expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.memo.binding import matches
from optimizer.memo.group import LogicalExpr
from optimizer.search.tasks.apply_rule import ApplyRule
from optimizer.search.tasks.task import Task

if TYPE_CHECKING:
    from optimizer.search.search import Search


class ApplyRules(Task):
    """Schedule, by promise, each rule that was not yet applied and whose pattern has the expression's operator at its root.

        ApplyRules(e) …  →  ApplyRule(most promising, e) ApplyRule(next, e) …

    Implementation rules look at one operator and schedule nothing, so they are fired at once: an expression is implemented
    as a whole or not at all.
    """

    __slots__ = ("implement", "mexpr")

    def __init__(self, mexpr: LogicalExpr, implement: bool) -> None:
        self.mexpr, self.implement = mexpr, implement

    def perform(self, search: Search) -> None:
        mexpr = self.mexpr
        if mexpr.dropped:
            return
        if self.implement:
            search.implement(mexpr)
            return
        scheduled = []
        for i, transformation in enumerate(search.rules.transformations):
            bit = 1 << i
            if bit == search.partition_bit and search.hides(mexpr):
                continue
            if not (mexpr.applied | mexpr.closed) & bit and matches(mexpr, transformation.pattern):
                mexpr.applied |= bit  # before binding: expressions that arrive from now on come as fresh bindings
                scheduled.append(transformation)
        for transformation in reversed(scheduled):
            search.push(ApplyRule(transformation, mexpr))

    def describe(self, search: Search) -> str:
        return f"{'implementation' if self.implement else 'transformation'} rules for expression {self.mexpr.id}"
