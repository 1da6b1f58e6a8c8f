"""ApplyRules: schedule the rules that may fit a logical multi-expression."""

from optimizer.memo.binding import may_bind
from optimizer.memo.mexpr import LogicalExpr
from optimizer.search.context import SearchContext, Task
from optimizer.search.firing import implement
from optimizer.search.tasks.apply_rule import ApplyRule


class ApplyRules(Task):
    """Schedule each rule that was not yet applied and whose pattern fits: it has the expression's operator at its root, and each
    input that it looks into has a member that it may bind.

        ApplyRules(e) …  →  ApplyRule(first, e) ApplyRule(next, e) …

    Implementation rules look at one operator and schedule nothing, so they are fired at once: an expression is implemented
    as a whole or not at all.
    """

    __slots__ = ("implement", "mexpr")

    def __init__(self, mexpr: LogicalExpr, implement: bool) -> None:
        self.mexpr, self.implement = mexpr, implement

    def perform(self, search: SearchContext) -> None:
        mexpr = self.mexpr
        if mexpr.dropped:
            return
        if self.implement:
            implement(search, mexpr)
            return
        scheduled = []
        for bit, rule in search.rules.of(mexpr.op):
            if not (mexpr.applied | mexpr.barred) & bit and rule.pattern.takes(mexpr.op):
                mexpr.applied |= bit  # before binding: expressions that arrive from now on come as fresh bindings
                if may_bind(search.memo, mexpr, rule.pattern):
                    scheduled.append(rule)
        for rule in reversed(scheduled):
            search.push(ApplyRule(rule, mexpr))

    def describe(self, search: SearchContext) -> str:
        return f"{'implementation' if self.implement else 'transformation'} rules for expression {self.mexpr.id}"
