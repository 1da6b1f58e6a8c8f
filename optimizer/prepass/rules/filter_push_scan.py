"""A filter over a scan becomes the scan's predicate.

    σp(scan(T, q))  ≡  scan(T, q ∧ p)

NULLs   safe: a scan keeps rows for which its predicate is TRUE, as a filter does
Guards  the scan has no limit (a limit below a filter must not see the filter); not when conjuncts of both may raise
"""

from __future__ import annotations

from dataclasses import replace

from optimizer.algebra.logical import Filter, Scan
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RewriteRule, RuleContext, node


class FilterPushScan(RewriteRule):
    name = "filter_push_scan"
    pattern = node(Filter, node(Scan))

    def __init__(self, spares: tuple[RewriteRule, ...] = ()) -> None:
        self.spares = spares

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(Scan() as scan),)) if scan.limit is None:
                if not (any(s.raises for s in predicate) and any(s.raises for s in scan.predicate)):
                    return Tree(replace(scan, predicate=conjunction((*scan.predicate, *predicate))))
        return None
