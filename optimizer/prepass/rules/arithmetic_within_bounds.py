"""Arithmetic that cannot overflow, by the bounds of its columns, is known not to raise.

    x + 1 = y        with x in [1, 20000], by the statistics of the table: it does not overflow, so it may be tested below a join,
                     on rows that the query as written would not have asked

What may raise is tested on no row that the query would not have tested it on, which keeps a filter above joins and makes joins
wait for each other: `a.day + 1 = b.day AND b.day + 1 = c.day` would begin with a product of two of the tables.

NULLs   exact: the operation is the same, and NULL where it was
Bounds  of stored columns the least and greatest value that footers and analyses tell, which no value is outside of; of computed
        ones what follows from those (value_ranges.py); of columns that an Apply's right input reads of its left one, theirs
Guards  arithmetic of exact numbers, dates and timestamps, casts between exact numbers. Where files are changed behind the
        statistics the worst is an error
"""

from functools import partial

from optimizer.algebra.flags import APPLY
from optimizer.algebra.logical import LogicalOperator, Scan
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.rebuild import map_tree
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.value_ranges import Ranges
from optimizer.prepass.column_ranges import ColumnRanges
from optimizer.prepass.openings import OVERFLOW, openings
from optimizer.prepass.scalar_rewrite import changed
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(LogicalOperator), openings=OVERFLOW | APPLY)
def arithmetic_within_bounds(bound: Tree, context: RuleContext) -> Tree | None:
    after = _within(context, (), bound)
    match bound:
        case Tree(Apply(), (left, Tree() as right)) if right.outer & left.columns:
            after = after.with_inputs((left, map_tree(right, partial(_within, context, (left,)))))
    return None if after is bound else after


def _within(context: RuleContext, outer: tuple[Node, ...], tree: Tree) -> Tree:
    """The tree with the scalars of its operator over the bounds of its inputs and of `outer`."""
    if not any(openings(scalar) & OVERFLOW for scalar in tree.op.scalars()):
        return tree
    below = (tree,) if isinstance(tree.op, Scan) else tree.inputs
    ranges = Ranges(ColumnRanges((*below, *outer), context))
    return changed(tree, lambda scalar: ranges.safe(scalar) if openings(scalar) & OVERFLOW else scalar) or tree
