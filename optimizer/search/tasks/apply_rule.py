"""ApplyRule: bind one transformation rule at one multi-expression and insert what it produces."""

from optimizer.memo.binding import bindings
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import TransformationRule
from optimizer.search.context import SearchContext, Task
from optimizer.search.firing import fire, insert_results


class ApplyRule(Task):
    """Fire a transformation rule on every binding (only those with `fresh`, once the others were seen).

    ApplyRule(rule, e) …  →  ExploreMExpr(new) … ApplyRule(deep rule, parent of new, fresh=new) … …
    """

    __slots__ = ("fresh", "mexpr", "rule")

    def __init__(self, rule: TransformationRule, mexpr: LogicalExpr, fresh: LogicalExpr | None = None) -> None:
        self.rule, self.mexpr, self.fresh = rule, mexpr, fresh

    def perform(self, search: SearchContext) -> None:
        rule, mexpr, memo = self.rule, self.mexpr, search.memo
        if mexpr.dropped or (self.fresh is not None and self.fresh.dropped):
            return
        for bound in bindings(memo, mexpr, rule.pattern, self.fresh):
            if not search.may_explore():
                return
            produced = fire(search, rule, mexpr, bound)
            if produced:
                search.arrived(insert_results(search, rule, mexpr, produced))
                if mexpr.dropped:
                    return

    def describe(self, search: SearchContext) -> str:
        fresh = f" with new expression {self.fresh.id}" if self.fresh is not None else ""
        return f"{self.rule.name} on expression {self.mexpr.id}{fresh}"
