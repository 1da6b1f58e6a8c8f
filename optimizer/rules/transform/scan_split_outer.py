"""A scan that filters by outer values, apart from its filter.

    Scan[p ∧ q]  ≡  σ_q(Scan[p])

q takes the conjuncts that read outer columns, p the rest. The scan of p reads no outer column, so an Apply runs it once and
keeps its rows, and the filter above it may become a lookup. The scan with q reads the files again for each binding, but only
the row groups that can hold its rows; which is better is a question of cost.

Rows    same bag; conjuncts of a predicate may be tested in any order, and those that may raise after the others: a raising
        conjunct of p would meet rows that q kept from it, so then it stays above with q
Guards  q is not empty; the scan has no limit, which counts the rows that pass both
Source  textbook: a selection by a conjunction is two selections
"""

from collections.abc import Sequence
from dataclasses import replace

from optimizer.algebra.logical import Filter, LogicalOperator, Scan
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RuleContext, TransformationRule, node


def _reads_outer(op: LogicalOperator) -> bool:
    return isinstance(op, Scan) and op.limit is None and any(conjunct.outer for conjunct in op.predicate)


class ScanSplitOuter(TransformationRule):
    name = "scan_split_outer"
    pattern = node(Scan, where=_reads_outer)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        scan = bound.op
        assert isinstance(scan, Scan)
        above = tuple(c for c in scan.predicate if c.outer or c.raises or c.volatile)
        kept = tuple(c for c in scan.predicate if c not in above)
        return (Tree(Filter(above), (Tree(replace(scan, predicate=kept)),)),)
