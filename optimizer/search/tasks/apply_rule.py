"""ApplyRule: bind one rule at one multi-expression and insert what it produces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.trees import Tree
from optimizer.memo.binding import bindings
from optimizer.memo.group import LogicalExpr
from optimizer.rules.interface import ImplementationRule, TransformationRule
from optimizer.search.failures import rule_failed
from optimizer.search.tasks.task import Task

if TYPE_CHECKING:
    from optimizer.search.search import Search


class ApplyRule(Task):
    """Fire a transformation rule on every binding (only those with `fresh`, once the others were seen).

    ApplyRule(rule, e) …  →  ExploreMExpr(new) … ApplyRule(deep rule, parent of new, fresh=new) … …
    """

    __slots__ = ("fresh", "mexpr", "rule")

    def __init__(self, rule: TransformationRule, mexpr: LogicalExpr, fresh: LogicalExpr | None = None) -> None:
        self.rule, self.mexpr, self.fresh = rule, mexpr, fresh

    def perform(self, search: Search) -> None:
        rule, mexpr, memo = self.rule, self.mexpr, search.memo
        if mexpr.dropped or (self.fresh is not None and self.fresh.dropped):
            return
        for bound in bindings(memo, mexpr, rule.pattern, self.fresh):
            if not search.may_explore():
                return
            produced = fire(search, rule, mexpr, bound)
            if produced:
                search.schedule_new(insert_results(search, rule, mexpr, produced))
                if mexpr.dropped:
                    return

    def describe(self, search: Search) -> str:
        fresh = f" with new expression {self.fresh.id}" if self.fresh is not None else ""
        return f"{self.rule.name} on expression {self.mexpr.id}{fresh}"


def fire(search: Search, rule: TransformationRule, mexpr: LogicalExpr, bound: Tree) -> list[Tree]:
    """What the rule makes of one binding. Raises InternalError with the rule and the group when the rule fails."""
    trace = search.trace
    if trace is not None:
        trace.emit("bind", rule=rule.name, mexpr=mexpr.id)
    try:
        produced = list(rule.apply(bound, search.context))
    except Exception as error:
        raise rule_failed(rule.name, search.memo.find(mexpr.group), error) from error
    if trace is not None and not produced:
        trace.emit("skip", rule=rule.name, mexpr=mexpr.id, reason="guard")
    return produced


def insert_results(search: Search, rule: TransformationRule, mexpr: LogicalExpr, produced: list[Tree]) -> list[LogicalExpr]:
    """Insert what the rule made of a binding of `mexpr`. Returns the logical expressions that are new, inputs first."""
    memo = search.memo
    search.counters.rules_fired[rule.name] += 1
    news: list[LogicalExpr] = []
    closed = search.closed_rules.get(rule.name, 0)
    hidden = search.hides(mexpr)
    for tree in produced:
        added = memo.insert(tree, mexpr.group, rule.name, mexpr.id, search.seed_once and closed != 0)[1]
        if closed and added and added[-1].group == memo.find(mexpr.group):  # the root comes last, if it is new
            added[-1].closed |= closed
            added[-1].hidden = hidden
        news += added
    if search.trace is not None:
        search.trace.emit("fire", rule=rule.name, mexpr=mexpr.id, produced=len(produced), new=[n.id for n in news])
    return news


def implement(search: Search, rule: ImplementationRule, mexpr: LogicalExpr) -> None:
    """Fire an implementation rule on a logical expression and keep the physical ones it makes."""
    bound = Tree(mexpr.op, tuple(search.memo.binding_leaf(gid) for gid in mexpr.inputs))
    try:
        operators = rule.apply(bound, search.context)
    except Exception as error:
        raise rule_failed(rule.name, mexpr.group, error) from error
    if operators:
        search.counters.rules_fired[rule.name] += 1
    made = [search.memo.add_physical(mexpr, op, rule.name).id for op in operators]
    if search.trace is not None:
        if made:
            search.trace.emit("fire", rule=rule.name, mexpr=mexpr.id, produced=len(made), new=made)
        else:
            search.trace.emit("skip", rule=rule.name, mexpr=mexpr.id, reason="guard")
