"""Marks of a mark join: for each outer row TRUE, UNKNOWN or FALSE, as three-valued logic over all inner rows says.

A row is TRUE if its condition is TRUE with some inner row, else UNKNOWN if it is UNKNOWN with some, else FALSE. A condition is
a conjunction: UNKNOWN where no conjunct is FALSE and one is UNKNOWN. An equality key is UNKNOWN exactly where one of its
sides is NULL. So rows are put together by which of their keys are NULL, their null pattern: an outer row of pattern P and
an inner one of pattern Q meet if they agree on the keys outside P ∪ Q, and then the keys say TRUE where P ∪ Q is empty and
UNKNOWN elsewhere. Data have few patterns, and for each P ∪ Q an index on the keys outside it finds all that meet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import column_name
from executor.arrow.context import Context
from executor.arrow.expressions import compile_scalar
from executor.arrow.join_pairs import Candidates, key_candidates, paired, rounds
from executor.arrow.key_index import KeyIndex
from executor.arrow.pipeline import Stage, made_once
from executor.arrow.selection import flags
from optimizer.algebra.columns import ColumnSet, column_ids
from optimizer.algebra.physical import HashJoin, NestedApply, NestedLoopJoin
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.predicates import predicate_columns, predicate_scalar
from optimizer.algebra.scalars import Predicate


class Marks:
    """Marks of a batch of outer rows as they become known."""

    __slots__ = ("_true", "_unknown")

    def __init__(self, rows: int) -> None:
        self._true = np.zeros(rows, np.bool_)
        self._unknown = np.zeros(rows, np.bool_)

    def open(self, rows: np.ndarray, certain: bool) -> np.ndarray:
        """Which of `rows` have a mark that may still rise; to UNKNOWN at most when pairs are not `certain`."""
        return ~self._true[rows] if certain else ~(self._true[rows] | self._unknown[rows])

    def met(self, rows: np.ndarray, certain: bool) -> None:
        """`rows` met an inner row with which their condition is TRUE, or UNKNOWN when not `certain`."""
        (self._true if certain else self._unknown)[rows] = True

    def array(self) -> pa.Array:
        return pa.array(self._true, mask=self._unknown & ~self._true)


class Condition:
    """A predicate tested on pairs of rows, three-valued, so many pairs at a time."""

    def __init__(self, predicate: Predicate, context: Context) -> None:
        self._columns: ColumnSet = predicate_columns(predicate)
        self._evaluate: Callable[[pa.RecordBatch], pa.Array] | None = None
        if predicate:
            self._evaluate = compile_scalar(predicate_scalar(predicate))
        self._once = not any(scalar.volatile for scalar in predicate)
        self._context = context

    def mark(
        self, marks: Marks, outer: pa.RecordBatch, inner: pa.RecordBatch, rows: np.ndarray, candidates: Candidates,
        certain: bool = True,
    ) -> None:  # fmt: skip
        """Raise the marks of `rows` of the outer batch by their candidates (row i of these belongs to `rows[i]`). What has
        been tested before is TRUE, or UNKNOWN when not `certain`."""
        if self._evaluate is None:
            marks.met(rows[candidates.counts > 0], certain)
            return
        counts = candidates.counts
        if self._once and not any(column_name(id) in inner.schema.names for id in column_ids(self._columns)):
            counts = np.minimum(counts, 1)  # all inner rows say the same
        for numbers, nth in rounds(counts, lambda numbers: marks.open(rows[numbers], certain), self._context):
            pairs = rows[numbers]
            value = self._evaluate(paired(self._columns, outer, inner, pairs, candidates.inner_rows(numbers, nth)))
            true = pc.fill_null(value, False).to_numpy(zero_copy_only=False)
            marks.met(pairs[true], certain)
            if value.null_count:
                marks.met(pairs[pc.is_null(value).to_numpy(zero_copy_only=False)], False)


@dataclass(frozen=True, slots=True)
class _Side:
    """The inner rows of one null pattern, and an index of them; `index` None: no key is left, all are candidates."""

    rows: np.ndarray
    index: KeyIndex | None

    def candidates(self, keys: Sequence[pa.Array], outer: np.ndarray) -> Candidates:
        held = self.rows
        if self.index is None:
            return Candidates(np.full(len(outer), len(held), np.int64), lambda rows, nth: held[nth])
        at = pa.array(outer)
        found = key_candidates(self.index, [key.take(at) for key in keys])
        return Candidates(found.counts, lambda rows, nth: held[found.inner_rows(rows, nth)])


class MarkFinder:
    """Marks outer batches by the rows of one inner batch. `keys`: the inner side of the equalities; bit i of `null_safe`: key i
    is never UNKNOWN, NULL equals NULL. `held` is told how many bytes the indexes take. Several threads may ask at a time."""

    def __init__(
        self, inner: pa.RecordBatch, keys: Sequence[pa.Array], null_safe: int, condition: Condition, held: Callable[[int], None]
    ) -> None:
        self._inner, self._null_safe, self._condition = inner, null_safe, condition
        self._rows = rows = self._by_null_pattern(keys, inner.num_rows)
        made: list[KeyIndex] = []

        def side(pattern: int, unknown: int) -> _Side:
            kept = [i for i in range(len(keys)) if not unknown >> i & 1]
            if not kept:
                return _Side(rows[pattern], None)
            before, at = sum(index.nbytes for index in made), pa.array(rows[pattern])
            safe = sum(1 << n for n, i in enumerate(kept) if null_safe >> i & 1)
            made.append(KeyIndex([keys[i].take(at) for i in kept], safe, lambda bytes: held(before + bytes)))
            held(before + made[-1].nbytes)
            return _Side(rows[pattern], made[-1])

        self._side = made_once(side)

    def marks(self, outer: pa.RecordBatch, keys: Sequence[pa.Array]) -> pa.Array:
        """A boolean for each row of `outer`; `keys`: its side of the equalities."""
        marks = Marks(outer.num_rows)
        for pattern, members in self._by_null_pattern(keys, outer.num_rows).items():
            for other in self._rows:  # rows without NULLs first: they alone can say TRUE
                unknown = pattern | other
                rows = members[marks.open(members, not unknown)]
                if len(rows):
                    used = [key for i, key in enumerate(keys) if not unknown >> i & 1]
                    candidates = self._side(other, unknown).candidates(used, rows)
                    self._condition.mark(marks, outer, self._inner, rows, candidates, not unknown)
        return marks.array()

    def _by_null_pattern(self, keys: Sequence[pa.Array], rows: int) -> dict[int, np.ndarray]:
        """The rows by the bitset of the keys that are NULL in them; those without come first."""
        members = {0: np.arange(rows)} if rows else {}
        for i, key in enumerate(keys):
            if key.null_count and not self._null_safe >> i & 1:
                null = flags(pc.is_null(key))
                halves = [(p | with_null << i, own[null[own] == with_null]) for p, own in members.items() for with_null in (0, 1)]
                members = {pattern: own for pattern, own in halves if len(own)}
        return members


def mark_stage(node: PlanNode, context: Context, marks: Callable[[pa.RecordBatch], pa.Array]) -> Stage:
    return Stage(lambda outer: (with_marks(node, context.schema(node), outer, lambda: marks(outer)),))


def with_marks(node: PlanNode, schema: pa.Schema, outer: pa.RecordBatch, marks: Callable[[], pa.Array]) -> pa.RecordBatch:
    """The columns of `schema`, one of which may be the mark; `marks` is asked only then."""
    op = node.op
    assert isinstance(op, HashJoin | NestedLoopJoin | NestedApply) and op.mark is not None
    name = column_name(op.mark)
    return pa.RecordBatch.from_arrays([marks() if f.name == name else outer.column(f.name) for f in schema], schema=schema)
