"""nested_loop_join: for conditions that no key can serve, and cross products. A left row meets every right row but those that
ranges, or one of several equalities, leave out (`narrow_pairs`).

The left input streams and keeps its order; the right one is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from executor.arrow.context import Context
from executor.arrow.join_pairs import Matcher
from executor.arrow.kept_rows import made_of_input
from executor.arrow.marks import Condition, MarkFinder, mark_stage
from executor.arrow.narrow_pairs import NarrowPairs
from executor.arrow.pipeline import Stage
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import HashJoin, NestedLoopJoin
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import ANY


def stage(node: PlanNode, context: Context) -> Stage:
    """Reads the right input; where that is kept for many runs, so is the stage."""
    op = node.op
    assert isinstance(op, NestedLoopJoin)

    def made(inner: pa.RecordBatch, held: Callable[[int], None]) -> Stage:
        if context.filters is not None:
            context.filters.offer_row(node, inner, context)
        return every_pair(node, context, inner, held, True, op.predicate)

    return made_of_input(node, context, 1, ("join", id(node)), made, not op.kind.keeps_right)


def every_pair(
    node: PlanNode,
    context: Context,
    inner: pa.RecordBatch,
    held: Callable[[int], None],
    outer_is_left: bool,
    condition: Predicate,
) -> Stage:
    """Each row of the input that streams meets the rows of `inner`, the other one; `condition` is tested on the pairs. `held` is
    told how many bytes are held besides `inner`."""
    op = node.op
    assert isinstance(op, NestedLoopJoin | HashJoin)
    if op.kind is JoinKind.MARK:
        finder = MarkFinder(inner, (), 0, Condition(condition, context), held)
        return mark_stage(node, context, lambda outer: finder.marks(outer, ()))
    matcher = Matcher(op.kind, outer_is_left, inner, condition, context.schema(node), context)
    left, right = (each.columns for each in node.inputs)
    columns = (left, right) if outer_is_left else (right, left)
    ordered = node.alternative.inputs[1 if outer_is_left else 0] != ANY  # who asked relies on it, or on groups that follow of it
    narrow = NarrowPairs(condition, columns, inner, ordered, context.tuning, held)

    def work(outer: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for part, candidates in narrow(outer):
            yield from matcher.join(part, candidates)

    return Stage(work, matcher.rest if matcher.has_rest else None, dead=matcher.never_matches)
