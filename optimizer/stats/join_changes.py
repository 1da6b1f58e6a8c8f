"""Joins that are no inner ones as changes of the relations on their left. Whatever order a tree has them in, they are estimated
in the same one, so that all trees have one estimate.

A left join's right input may be a left join itself: A ⟕ (B ⟕ C) is (A ⟕ B) ⟕ C where the second condition is never TRUE when
all of B is NULL, and is estimated so.

Source: Galindo-Legaria and Rosenthal, "Outerjoin simplification and reordering for query optimization", TODS 22(1), 1997 (its
associativity of left joins).
"""

from collections.abc import Iterable, Sequence

from optimizer.algebra.columns import ColumnSet, column_set, union
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.nulls import rejects_nulls
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.scalars import Predicate
from optimizer.stats.relation import Change, RelationStats


def changes_of(leaves: Iterable[RelationStats]) -> list[Change]:
    return [change for leaf in leaves for change in leaf.changes]


def in_order(changes: Sequence[Change]) -> list[Change]:
    """Each after those that add a column which it reads; of several that may come next the one with the lowest column."""
    waiting = sorted(changes, key=_place)
    missing = union(map(_added, waiting))
    done = []
    while waiting:
        at = next((i for i, each in enumerate(waiting) if not _read(each) & missing), 0)
        done.append(change := waiting.pop(at))
        missing &= ~_added(change)
    return done


def later_changes(op: IndependentJoin, side: RelationStats) -> list[Change]:
    """Left joins in the right input of a left join, or in one of a full join, that may as well follow it."""
    if op.kind not in (JoinKind.LEFT, JoinKind.FULL) or side.hides:
        return []
    changes, own = changes_of(side.leaves), union(column_set(leaf.columns) for leaf in side.leaves)
    needed = predicate_columns((*op.predicate, *side.predicate))
    later: list[Change] = []
    for change in reversed(in_order(changes)):  # one stays that another one needs which stays
        added = _added(change)
        if change.op.kind is JoinKind.LEFT and not added & needed and rejects_nulls(change.op.predicate, own & ~added):
            later.append(change)
        else:
            needed |= _read(change)
    return later


def links_one(predicate: Predicate, parts: Sequence[RelationStats]) -> bool:
    """Whether a full join's predicate reads one of the relations and is never TRUE when all of that is NULL."""
    columns = [column_set(part.columns) for part in parts]
    read = [own for own in columns if own & predicate_columns(predicate)]
    return len(read) == 1 and rejects_nulls(predicate, read[0])


def _place(change: Change) -> tuple[float, ...]:
    return min(change.right.columns, default=-1), -1 if change.op.mark is None else change.op.mark, change.right.rows


def _added(change: Change) -> ColumnSet:
    added = 0 if change.op.kind.left_only or change.op.mark is not None else column_set(change.right.columns)
    return added if change.op.mark is None else 1 << change.op.mark


def _read(change: Change) -> ColumnSet:
    return predicate_columns(change.op.predicate) & ~column_set(change.right.columns)
