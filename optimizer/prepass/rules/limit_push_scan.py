"""A limit without an order stops the scan below it.

    λi,n(scan(T))  ≡  λi,n(scan(T, i + n rows))        λn(scan(T))  ≡  scan(T, n rows)

Rows    any n rows will do, so those that are read first
Guards  no order; there is a count; the scan has no limit that is as small
"""

from __future__ import annotations

from dataclasses import replace

from optimizer.algebra.logical import Limit, Scan
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RewriteRule, RuleContext, node


class LimitPushScan(RewriteRule):
    name = "limit_push_scan"
    pattern = node(Limit, node(Scan))

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Limit((), offset, int() as count), (Tree(Scan() as scan),)):
                rows = offset + count if scan.limit is None else min(scan.limit, offset + count)
                if offset and rows == scan.limit:
                    return None
                limited = Tree(replace(scan, limit=rows))
                return Tree(bound.op, (limited,)) if offset else limited
        return None
