"""A filter that compares a column of its input with outer values by <, <=, > or >= becomes slices of the sorted input.

The input is asked for in the column's order, once for all runs, and each run finds its range by binary search. All bounds of
the column are used; of several columns each gives an operator of its own.

Guards  the input reads no outer column and is not volatile; a bound compares the column itself with a scalar over outer
        columns alone that is not volatile and cannot raise
NULLs   a NULL on either side of a bound: no row
"""

from collections.abc import Sequence

from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.logical import Filter
from optimizer.algebra.physical import PhysicalOperator, RangeLookup
from optimizer.algebra.physical.apply import RangeBound
from optimizer.algebra.scalars import Call, ColumnRef, Scalar
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node

_RANGES = ("<", "<=", ">", ">=")


class FilterToRangeLookup(ImplementationRule):
    name = "filter_to_range_lookup"
    pattern = node(Filter, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(Filter(predicate), (below,)) if not below.outer and not below.volatile:
                found = [(conjunct, range_bound(conjunct)) for conjunct in predicate]
                columns = dict.fromkeys(each[0] for _, each in found if each is not None)
                return tuple(
                    RangeLookup(
                        column,
                        tuple(each[1] for _, each in found if each is not None and each[0] is column),
                        tuple(conjunct for conjunct, each in found if each is None or each[0] is not column),
                    )
                    for column in columns
                )
        return ()


def range_bound(conjunct: Scalar) -> tuple[ColumnRef, RangeBound] | None:
    """The column that the conjunct bounds by an outer value, and the bound."""
    if not isinstance(conjunct, Call) or conjunct.function not in _RANGES or conjunct.volatile or conjunct.raises:
        return None
    a, b = conjunct.args
    if isinstance(a, ColumnRef) and b.outer and not b.columns:
        return a, RangeBound(conjunct.function, b)
    if isinstance(b, ColumnRef) and a.outer and not a.columns:
        return b, RangeBound(MIRRORED[conjunct.function], a)
    return None
