"""Firing rules on expressions: what a rule makes of a binding, checked, counted and told."""

from collections.abc import Iterator, Sequence

from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import ImplementationRule, TransformationRule
from optimizer.search.context import SearchContext
from optimizer.search.failures import rule_failed


def implement(search: SearchContext, mexpr: LogicalExpr) -> None:
    """Fire the implementation rules on an expression: it is implemented as a whole or not at all."""
    mexpr.implemented = True
    for rule, operators in implementations(search, mexpr):
        if operators:
            search.counters.rules_fired[rule.name] += 1
        made = [search.memo.add_physical(mexpr, op, rule.name).id for op in operators]
        if search.trace is not None:
            if made:
                search.trace.emit("fire", rule=rule.name, mexpr=mexpr.id, produced=len(made), new=made)
            else:
                search.trace.emit("skip", rule=rule.name, mexpr=mexpr.id, reason="guard")


def implementations(search: SearchContext, mexpr: LogicalExpr) -> Iterator[tuple[ImplementationRule, Sequence[PhysicalOperator]]]:
    """What each implementation rule that fits makes of an expression."""
    bound = search.memo.bound(mexpr)
    for rule in search.rules.implementing(mexpr.op):
        if rule.pattern.takes(mexpr.op):
            try:
                operators = rule.apply(bound, search.context)
            except Exception as error:
                raise rule_failed(rule, mexpr.group, error) from error
            yield rule, operators


def fire(search: SearchContext, rule: TransformationRule, mexpr: LogicalExpr, bound: Tree) -> list[Tree]:
    """What the rule makes of one binding. Raises InternalError with the rule and the group when the rule fails."""
    trace = search.trace
    if trace is not None:
        trace.emit("bind", rule=rule.name, mexpr=mexpr.id)
    try:
        produced = list(rule.apply(bound, search.context))
    except Exception as error:
        raise rule_failed(rule, search.memo.find(mexpr.group), error) from error
    if trace is not None and not produced:
        trace.emit("skip", rule=rule.name, mexpr=mexpr.id, reason="guard")
    return produced


def insert_results(
    search: SearchContext, rule: TransformationRule, mexpr: LogicalExpr, produced: list[Tree], unseen: bool = False
) -> list[LogicalExpr]:
    """Insert what the rule made of a binding of `mexpr`; `unseen`: for no rule to see. Returns the logical expressions that are
    new, inputs first."""
    memo = search.memo
    search.counters.rules_fired[rule.name] += 1
    barred = search.barred(rule.name)
    news: list[LogicalExpr] = []
    for tree in produced:
        added = memo.insert(tree, mexpr.group, rule.name, mexpr.id, search.known_regions and barred != 0, unseen)[1]
        if barred and added and (closed := rule.closed(tree, mexpr.rule, search.context)) is not None:
            for each in added:
                if each.op is closed.op and memo.group(each.group).props.columns == closed.columns:
                    each.barred |= barred
        news += added
    search.sources.stay(news)
    if search.trace is not None:
        search.trace.emit("fire", rule=rule.name, mexpr=mexpr.id, produced=len(produced), new=[n.id for n in news])
    return news
