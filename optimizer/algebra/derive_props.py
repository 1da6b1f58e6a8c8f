"""Logical properties of filtered and of joined rows."""

from __future__ import annotations

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.nulls import null_rejected
from optimizer.algebra.props import LogicalProps, merge_equivalences, minimal_keys
from optimizer.algebra.scalars import Call, ColumnRef, Predicate


def filtered_props(below: LogicalProps, predicate: Predicate) -> LogicalProps:
    """Properties of the rows of `below` that satisfy `predicate`."""
    if not predicate:
        return below
    constants, classes = below.constants, list(below.equivalences)
    for conjunct in predicate:
        if isinstance(conjunct, Call) and conjunct.function in ("=", "is_not_distinct_from"):
            a, b = conjunct.args
            if isinstance(a, ColumnRef) and isinstance(b, ColumnRef):
                classes.append(a.columns | b.columns)
            elif isinstance(a, ColumnRef) and not b.columns and not b.volatile:
                constants |= a.columns
            elif isinstance(b, ColumnRef) and not a.columns and not a.volatile:
                constants |= b.columns
    equivalences = merge_equivalences(classes)
    for members in equivalences:
        if members & constants:
            constants |= members
    not_null = below.not_null | null_rejected(predicate) & below.columns
    return LogicalProps(below.columns, not_null, below.keys, constants & below.columns, equivalences)


def join_props(kind: JoinKind, predicate: Predicate, left: LogicalProps, right: LogicalProps) -> LogicalProps:
    """Properties of a join's output. An outer join keeps equivalences and constants only of the side it preserves,
    and of the other side those equivalences that hold within it (both columns turn NULL together)."""
    if kind is JoinKind.ANTI:
        return left
    if kind is JoinKind.SEMI:
        kept = filtered_props(left, tuple(c for c in predicate if not c.columns & ~left.columns))
        extra = null_rejected(predicate) & left.columns
        return LogicalProps(left.columns, kept.not_null | extra, left.keys, kept.constants, kept.equivalences)
    columns = left.columns | right.columns
    both = LogicalProps(
        columns,
        left.not_null | right.not_null,
        (),
        left.constants | right.constants,
        merge_equivalences([*left.equivalences, *right.equivalences]),
    )
    joined = filtered_props(both, predicate)
    keys: list[ColumnSet] = []
    if right_at_most_one_match(kind, joined, left, right):
        keys += left.keys
    if right_at_most_one_match(kind, joined, right, left):
        keys += right.keys
    keys += [a | b for a in left.keys for b in right.keys]
    if kind is JoinKind.INNER:
        return LogicalProps(columns, joined.not_null, minimal_keys(keys), joined.constants, joined.equivalences)
    not_null = (0 if kind.keeps_right else left.not_null) | (0 if kind.keeps_left else right.not_null)
    constants = (0 if kind.keeps_right else left.constants) | (0 if kind.keeps_left else right.constants)
    if kind is JoinKind.FULL:
        # unmatched rows of the two sides must not look alike: one key must be able to tell itself from all NULL
        keys = [a | b for a in left.keys for b in right.keys if a & left.not_null or b & right.not_null]
    elif kind is JoinKind.LEFT:
        keys = [k for k in keys if k & left.columns or left.at_most_one_row]
    else:
        keys = [k for k in keys if k & right.columns or right.at_most_one_row]
    return LogicalProps(columns, not_null, minimal_keys(keys), constants, both.equivalences)


def right_at_most_one_match(kind: JoinKind, joined: LogicalProps, left: LogicalProps, right: LogicalProps) -> bool:
    """Whether each row of `left` appears at most once: the predicate binds a key of `right` to columns of `left`."""
    if kind is not JoinKind.INNER and kind is not JoinKind.LEFT and kind is not JoinKind.RIGHT:
        return False
    within = LogicalProps(joined.columns, 0, (), joined.constants, joined.equivalences)
    determined = within.closure(left.columns)
    return any(not key & ~determined for key in right.keys)
