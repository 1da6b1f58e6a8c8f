"""Arithmetic that cannot overflow, by the bounds of its columns, is known not to raise.

    x + 1 = y        with x in [1, 20000], by the statistics of the table: it does not overflow, so it may be tested below a join,
                     on rows that the query as written would not have asked

What may raise is tested on no row that the query would not have tested it on, which keeps a filter above joins and makes joins
wait for each other: `a.day + 1 = b.day AND b.day + 1 = c.day` would begin with a product of two of the tables.

NULLs   exact: the operation is the same, and NULL where it was
Bounds  of stored columns the least and greatest value that footers and analyses tell, which no value is outside of; of computed
        ones what follows from those (value_ranges.py)
Guards  arithmetic of exact numbers, dates and timestamps, casts between exact numbers. Where files are changed behind the
        statistics the worst is an error
"""

from __future__ import annotations

from optimizer.algebra.logical import LogicalOperator, Scan
from optimizer.algebra.scalar_trees import rewrite
from optimizer.algebra.scalars import Call, Cast, SafeCall, SafeCast, Scalar
from optimizer.algebra.trees import Tree
from optimizer.algebra.value_ranges import Ranges
from optimizer.prepass.column_ranges import ColumnRanges
from optimizer.prepass.openings import OVERFLOW, OVERFLOWING, openings
from optimizer.prepass.scalar_rewrite import changed
from optimizer.rules.interface import RewriteRule, RuleContext, node


class ArithmeticWithinBounds(RewriteRule):
    name = "arithmetic_within_bounds"
    pattern = node(LogicalOperator)
    openings = OVERFLOW

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        if not any(openings(scalar) & OVERFLOW for scalar in bound.op.scalars()):
            return None
        ranges = Ranges(ColumnRanges((bound,) if isinstance(bound.op, Scan) else bound.inputs, context))
        return changed(bound, lambda scalar: within(scalar, ranges) if openings(scalar) & OVERFLOW else scalar)


def within(scalar: Scalar, ranges: Ranges) -> Scalar:
    """The scalar with the operations that are safe known to be so."""

    def safe(part: Scalar) -> Scalar | None:
        match part:
            case SafeCall() | SafeCast() | Cast(lenient=True):
                return None
            case Call(function=function, args=args) if part.raises and function in OVERFLOWING and ranges.of(part) is not None:
                return SafeCall(function, args, part.type)
            case Cast(arg=arg) if part.raises and ranges.of(part) is not None:
                return SafeCast(arg, part.type, False)
        return None

    return rewrite(scalar, safe)
