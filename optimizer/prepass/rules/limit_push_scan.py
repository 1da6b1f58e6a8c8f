"""A limit without an order stops the scan below it.

    λi,n(scan(T))  ≡  scan(T, n rows after i)        λi,n(scan(T, m rows after j))  ≡  scan(T, min(n, m - i) rows after i + j)

Rows    any n rows will do, so those that are read first after the first i
Guards  no order; there is a count
"""

from dataclasses import replace

from optimizer.algebra.logical import Limit, Scan
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(Limit, node(Scan)))
def limit_push_scan(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Limit((), offset, int() as count), (Tree(Scan() as scan),)):
            rows = count if scan.limit is None else min(count, max(0, scan.limit - offset))
            return Tree(replace(scan, limit=rows, offset=scan.offset + offset))
    return None
