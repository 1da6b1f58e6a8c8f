"""A scan becomes a table scan: reads the needed columns in stored order, filters, stops at a pushed limit."""

from collections.abc import Sequence

from optimizer.algebra.logical import Scan
from optimizer.algebra.physical import PhysicalOperator, TableScan
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ImplementationRule, RuleContext, node


class ScanToTableScan(ImplementationRule):
    name = "scan_to_table_scan"
    pattern = node(Scan)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound.op:
            case Scan() as scan:
                return (TableScan(scan),)
        return ()
