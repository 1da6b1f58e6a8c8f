"""hash_join: an index on one input's keys, probed with the other input's, batch by batch.

The probe side streams and keeps its order; the build side is held. Every kind but mark and single joins works with the build
on either side. Keys are computed for every row. Where that raises, another conjunct may keep the row from every pair, or there
is no row to meet; so the rows of that batch meet all others, and the whole condition decides, as in a nested-loop join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from executor.arrow.context import Context
from executor.arrow.encoded_texts import with_dictionaries
from executor.arrow.expressions import compile_scalar
from executor.arrow.join_pairs import Matcher, all_candidates, key_candidates
from executor.arrow.kept_rows import made_of_input
from executor.arrow.key_index import KeyIndex
from executor.arrow.marks import Condition, MarkFinder, mark_stage
from executor.arrow.nested_loop_join import every_pair
from executor.arrow.parameters import reads_parameters
from executor.arrow.pipeline import Stage, begun
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import HashJoin
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.predicates import compare
from optimizer.algebra.scalars import Predicate, Scalar
from optimizer.errors import ExecutionError


def stage(node: PlanNode, context: Context) -> Stage:
    """Reads the build side; where that is kept for many runs, so is what was built of it."""
    op = node.op
    assert isinstance(op, HashJoin)
    build = 0 if op.build_left else 1
    whole = op.kind.keeps_left if op.build_left else op.kind.keeps_right  # build rows are marked as they are met
    keeps = not (whole or (op.build_left and op.kind.left_only) or any(reads_parameters(pair[build]) for pair in op.keys))
    if context.filters is not None:
        context.filters.read_ahead(node, context)
    return made_of_input(node, context, build, ("join", id(node)), partial(_stage, node, context), keeps)


def _stage(node: PlanNode, context: Context, inner: pa.RecordBatch, held: Callable[[int], None]) -> Stage:
    op = node.op
    assert isinstance(op, HashJoin)
    build, probe = (0, 1) if op.build_left else (1, 0)
    inner = with_dictionaries(inner, context.schema(node))
    condition = _condition(op)
    build_keys = _keys([pair[build] for pair in op.keys], True)(inner)  # there may be no row to meet
    probe_keys = _keys([pair[probe] for pair in op.keys], len(condition) > 1 or not inner.num_rows)
    if build_keys is None:
        return every_pair(node, context, inner, held, not op.build_left, condition)
    if op.kind is JoinKind.MARK:
        finder = MarkFinder(inner, build_keys, op.null_safe, Condition(op.residual, context), held)
        without_keys = MarkFinder(inner, (), 0, Condition(condition, context), held)

        def marks(outer: pa.RecordBatch) -> pa.Array:
            keys = probe_keys(outer)
            return without_keys.marks(outer, ()) if keys is None else finder.marks(outer, keys)

        return mark_stage(node, context, marks)
    index = begun(lambda: _index(build_keys, op.null_safe, held), inner.num_rows, context.tuning)
    matcher = Matcher(op.kind, not op.build_left, inner, op.residual, context.schema(node), context)
    if context.filters is not None and not matcher.never_matches:
        context.filters.offer(node, build_keys, context)

    def work(outer: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        keys = probe_keys(outer)
        if keys is None:
            return matcher.testing(condition).join(outer, all_candidates(outer, inner))
        return matcher.join(outer, key_candidates(index(), keys))

    return Stage(work, matcher.rest if matcher.has_rest else None, dead=matcher.never_matches)


def _index(keys: Sequence[pa.Array], null_safe: int, held: Callable[[int], None]) -> KeyIndex:
    index = KeyIndex(keys, null_safe, held)
    held(index.nbytes)
    return index


def _keys(scalars: Sequence[Scalar], sheltered: bool) -> Callable[[pa.RecordBatch], list[pa.Array] | None]:
    """Computes the keys of a batch; None where that raises for a row, if it may be `sheltered` from being asked for its key."""
    keys = [compile_scalar(scalar) for scalar in scalars]

    def of(batch: pa.RecordBatch) -> list[pa.Array] | None:
        try:
            return [key(batch) for key in keys]
        except ExecutionError:
            if not sheltered:
                raise
            return None

    return of


def _condition(op: HashJoin) -> Predicate:
    """What a pair of rows has to pass: the keys and the residual."""
    null_safe = ("is_not_distinct_from" if op.null_safe >> i & 1 else "=" for i in range(len(op.keys)))
    return (*(compare(function, *pair) for function, pair in zip(null_safe, op.keys, strict=True)), *op.residual)
