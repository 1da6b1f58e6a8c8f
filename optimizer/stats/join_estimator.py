"""Estimates of joins, the same for every order of them.

An inner-join region is estimated as a whole from its leaves and its conjuncts, each conjunct counted once: an equality
class that reaches k relations contributes k - 1 factors (the distinct counts without the smallest), so the join order
cannot matter. Semi, anti, left, mark and single joins change the rows and columns of a leaf on their left, one after another in
an order of their own (`join_changes`), so their place in the tree does not matter either. Full joins come before left joins.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import AnyJoin, Apply, IndependentJoin, Join
from optimizer.algebra.predicates import equated, predicate_columns
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate
from optimizer.stats.join_changes import changes_of, in_order, later_changes, links_one
from optimizer.stats.matches import LEAST_SHARE, bounded, mark_figures, per_row_figures, semi_share, some_row_share
from optimizer.stats.region import RegionRows
from optimizer.stats.region_parts import RegionParts, by_lowest_column, inner_parts, region_stats
from optimizer.stats.relation import Change, RelationStats, columns_of
from optimizer.stats.selectivity import back_off, conjunction_selectivity


class JoinEstimator(ABC):
    """Rows and column figures of joins.

    `in_regions`: semi, anti, left, mark and single joins are estimated as parts of the inner joins around them; False for an
    estimator that says something of them as relations.
    """

    in_regions = True

    combine = staticmethod(back_off)  # one selectivity of those of several predicates on one relation

    def __init__(self) -> None:
        self._regions: dict[tuple[tuple[RelationStats, ...], Predicate], RegionRows] = {}
        self._around: dict[RelationStats, RegionParts] = {}  # the last region that was new with a leaf in it
        self._full: dict[RelationStats, tuple[tuple[RelationStats, ...], tuple[IndependentJoin, ...]]] = {}  # full joins' parts
        self._same: dict[tuple[tuple[RelationStats, ...], Predicate, ColumnSet], RelationStats] = {}  # one for all who join it
        self._changed: dict[tuple[IndependentJoin, tuple[RelationStats, ...], Predicate, RelationStats], RelationStats] = {}

    @abstractmethod
    def distinct_values(self, below: RelationStats, keys: tuple[ColumnId, ...]) -> RelationStats:
        """The distinct values of columns: one result for all who ask, so that it is one relation of a region."""

    def _join(self, op: IndependentJoin, props: LogicalProps, left: RelationStats, right: RelationStats) -> RelationStats:
        """A join that adds to its left rows, or leaves some out, is a part of the inner join on its left, where there is one:
        joins above see the equalities below, and those that change places with it have the same rows."""
        if op.kind is JoinKind.INNER:
            leaves, predicate = inner_parts((left, right), op.predicate)
            return self.inner_region(leaves, predicate, props)
        if isinstance(op, Join) and op.kind is JoinKind.RIGHT:
            op, left, right = Join(JoinKind.LEFT, op.predicate), right, left
        if self.in_regions:
            if op.kind is JoinKind.SEMI and (found := self._semi_region(op.predicate, props, left, right)) is not None:
                return found
            ours = all(stats.props is not None for stats in (left, right, *left.leaves, *right.leaves))
            if ours and op.kind is JoinKind.FULL:
                return self._full_join(op, left, right)
            if ours and (leaves := self._changed_leaves(op, left, right)):
                return leaves[0] if left.joined is None else self.inner_region(*inner_parts(leaves, left.predicate), props)
        return self._alone(op, props, left, right)

    def _changed_leaves(self, op: IndependentJoin, left: RelationStats, right: RelationStats) -> tuple[RelationStats, ...]:
        """The relations of an inner join, or the only one, as `op` and what was joined to them before leave them, in whatever
        order; none where a column would be there twice."""
        twice = union(column_set(leaf.columns) for leaf in left.leaves) & column_set(right.columns)
        if left.hides and not op.kind.left_only and twice:
            return ()
        later = later_changes(op, right)
        changes = [*changes_of(left.leaves), Change(op, self._without(right, later)), *later]
        return self._after(left.leaves, left.predicate, in_order(changes))

    def _full_join(self, op: IndependentJoin, left: RelationStats, right: RelationStats) -> RelationStats:
        """Left joins come after it where they may, and full joins one after another that may change places."""
        later = [later_changes(op, side) for side in (left, right)]
        sides = [self._without(side, changes) for side, changes in zip((left, right), later, strict=True)]
        below = [self._full.get(side, ((side,), ())) for side in sides]
        joined = None
        if all(links_one(op.predicate, parts) for parts, _ in below):
            parts, ops = by_lowest_column([*below[0][0], *below[1][0]]), (*below[0][1], *below[1][1], op)
            joined = self._full_joins(parts, list(ops))
            if joined is not None:
                self._full[joined] = parts, ops
        if joined is None:
            joined = self._one_full_join(op, *by_lowest_column(sides))
        return self._after((joined,), (), in_order([*later[0], *later[1]]))[0]

    def _full_joins(self, parts: tuple[RelationStats, ...], ops: list[IndependentJoin]) -> RelationStats | None:
        """The joins of all parts, lowest first, of which each links two; None where one reads more than is known of them."""
        joined, *to_come = parts
        while to_come:
            own = column_set(joined.columns)
            pairs = ((part, op, predicate_columns(op.predicate) & ~own) for part in to_come for op in ops)
            found = next(((part, op) for part, op, read in pairs if not read & ~column_set(part.columns)), None)
            if found is None:
                return None
            to_come.remove(found[0])
            ops.remove(found[1])
            joined = self._one_full_join(found[1], joined, found[0])
        return joined

    def _one_full_join(self, op: IndependentJoin, left: RelationStats, right: RelationStats) -> RelationStats:
        known = self._changed.get((op, (left,), (), right))
        if known is None:
            assert left.props is not None and right.props is not None
            props = op.derive_props((left.props, right.props))
            known = self._changed[op, (left,), (), right] = self._alone(op, props, left, right)
            known.props = props
        return known

    def _without(self, side: RelationStats, later: list[Change]) -> RelationStats:
        """A relation, or an inner join of several, before some of the left joins in it."""
        if not later:
            return self._same.setdefault((side.leaves, side.predicate, column_set(side.columns)), side)
        stay = in_order([change for change in changes_of(side.leaves) if change not in later])
        leaves, predicate = inner_parts(self._after(side.leaves, side.predicate, stay), side.predicate)
        if len(leaves) == 1:
            return leaves[0]
        place = leaves, predicate, union(column_set(leaf.columns) for leaf in leaves)
        known = self._same.get(place)
        if known is None:
            props = JoinGraph(predicate).derive_props([leaf.props for leaf in leaves if leaf.props is not None])
            known = self._same[place] = self.inner_region(leaves, predicate, props)
            known.props = props
        return known

    def _after(self, leaves: tuple[RelationStats, ...], predicate: Predicate, changes: list[Change]) -> tuple[RelationStats, ...]:
        """Relations after these joins, one after the other; each changes the first relation that it reads, which gets the columns
        and the share of rows that it gives to all that it reads."""
        leaves = by_lowest_column([leaf.before for leaf in leaves])
        for op, right in changes:
            read = predicate_columns(op.predicate)
            touched = [i for i, leaf in enumerate(leaves) if column_set(leaf.columns) & read] or [0]
            touched.sort(key=lambda i: (leaves[i].base_rows, leaves[i].rows, len(leaves[i].columns)))  # not as FROM has them
            changed = self._changed_leaf(op, tuple([leaves[i] for i in touched]), predicate, right)
            leaves = (*leaves[: touched[0]], changed, *leaves[touched[0] + 1 :])
        return leaves

    def _changed_leaf(
        self, op: IndependentJoin, read: tuple[RelationStats, ...], predicate: Predicate, right: RelationStats
    ) -> RelationStats:
        """The first of the relations that `op` reads, as `op` leaves it; `predicate` is that of the inner join they are in. Kept,
        so that it is one relation for all who ask."""
        first = part = read[0]
        if len(read) > 1:
            columns = columns_of(read)
            beyond = ~column_set(columns)
            within = tuple([s for s in predicate if s.columns and not s.columns & beyond])
            part = RelationStats(self.region(read, within).rows((1 << len(read)) - 1), columns, joined=read, predicate=within)
        known = self._changed.get((op, read, part.predicate, right))
        if known is None:
            assert first.props is not None and right.props is not None
            props = op.derive_props((first.props, right.props))
            alone = self._alone(op, props, part, right)
            times = alone.rows / part.rows if part.rows else 1.0
            added = {c: f for c, f in alone.columns.items() if c not in part.columns}
            stored = first.base_rows * alone.base_rows / part.base_rows if part.base_rows else first.base_rows
            known = RelationStats(first.rows * times, {**first.columns, **added}, stored, props.keys)
            known.distinct, known.props = first.distinct, props
            known.unchanged, known.changes = first.before, (*first.changes, Change(op, right))
            self._changed[op, read, part.predicate, right] = known
        return known

    def _alone(self, op: IndependentJoin, props: LogicalProps, left: RelationStats, right: RelationStats) -> RelationStats:
        """A join that is no inner one, as a relation."""
        kind = op.kind
        if kind.left_only or op.mark is not None or kind is JoinKind.SINGLE:
            share = semi_share(op.predicate, left, right, self.combine)
            if kind is not JoinKind.SINGLE:
                return _looked_up(op, props, left, right, share)
            figures = {**left.columns, **{c: f.with_nulls(1.0 - bounded(share)) for c, f in right.columns.items()}}
            return RelationStats(left.rows, figures, left.base_rows, props.keys)
        inner = self.inner_region(*inner_parts((left, right), op.predicate), props)
        matched = left.rows if inner.rows > left.rows and _one_match(op.predicate, left, right) else inner.rows
        left_unmatched = max(0.0, left.rows - min(left.rows, matched)) if kind.keeps_left else 0.0
        right_unmatched = max(0.0, right.rows - min(right.rows, matched)) if kind.keeps_right else 0.0
        rows = matched + left_unmatched + right_unmatched
        figures = dict(left.columns)
        if right_unmatched:
            figures = {c: f.with_nulls(right_unmatched / rows) for c, f in figures.items()}
        for column, f in right.columns.items():
            figures[column] = f.with_nulls(left_unmatched / rows) if left_unmatched else f
        base = rows * (left.base_rows / left.rows) if left.rows and not kind.keeps_right else None
        return RelationStats(rows, figures, base, props.keys)

    def _semi_region(
        self, predicate: Predicate, props: LogicalProps, left: RelationStats, right: RelationStats
    ) -> RelationStats | None:
        """A semi-join as the inner join that it is, where it is one (`semi_join_to_inner_on_key`, `..._on_distinct`): both, and
        either with more joined to it, have one estimate."""
        if left.props is None or right.props is None or any(s.volatile for s in predicate):
            return None
        keys = equated(predicate, left.props.columns, right.props.columns)
        if not keys:
            return None
        if not right.props.unique_on(keys):
            if predicate_columns(predicate) & right.props.columns != keys:
                return None
            right = self.distinct_values(right, tuple(column_ids(keys)))
        found = self.inner_region(*inner_parts((left, right), predicate), props)
        if found.rows <= left.rows * (1 + 1e-9):  # the same rows, multiplied in another order
            return found
        rows, joined = left.rows, left.joined
        return RelationStats(rows, left.columns, left.base_rows, props.keys, joined, left.predicate, left.hides)

    def _apply(self, op: Apply, props: LogicalProps, left: RelationStats, right: RelationStats) -> RelationStats:
        """The right input's figures are those of one run, in which an outer value is a constant that is not known yet."""
        kind = op.kind
        each = right.rows * conjunction_selectivity(op.predicate, {**left.columns, **right.columns}, self.combine)
        share = some_row_share(each, right.base_rows)
        if kind.left_only or op.mark is not None:
            return _looked_up(op, props, left, right, share)
        rows = left.rows if kind is JoinKind.SINGLE else left.rows * each
        inner = per_row_figures(right.columns, left.rows, rows)
        if kind is JoinKind.INNER:
            return RelationStats(rows, {**left.columns, **inner}, keys=props.keys)
        unmatched = left.rows * (1.0 - share)
        if kind is JoinKind.LEFT:
            rows += unmatched
        nulls = min(1.0, unmatched / rows) if rows else 0.0
        base = rows * (left.base_rows / left.rows) if left.rows else None
        return RelationStats(rows, {**left.columns, **{c: f.with_nulls(nulls) for c, f in inner.items()}}, base, props.keys)

    def inner_region(self, leaves: tuple[RelationStats, ...], predicate: Predicate, props: LogicalProps) -> RelationStats:
        """The join of `leaves` under all conjuncts of `predicate`: a function of the two sets alone."""
        around = self._around.get(leaves[0])
        part = None if around is None else around.part(leaves, predicate)
        if around is None or part is None:
            around, part = RegionParts(leaves, predicate, self.region(leaves, predicate)), (1 << len(leaves)) - 1
            self._around.update(dict.fromkeys(leaves, around))
        return region_stats(around.rows.rows(part), leaves, predicate, props)

    def region(self, leaves: Sequence[RelationStats], predicate: Predicate) -> RegionRows:
        """Rows of every subset of an inner-join region; `leaves[i]` is relation i. Kept: a group is estimated by the
        region by which its joins are ordered."""
        known = self._regions.get((tuple(leaves), predicate))
        if known is None:
            known = self._regions[tuple(leaves), predicate] = RegionRows(leaves, predicate, self.combine)
        return known


def _looked_up(op: AnyJoin, props: LogicalProps, left: RelationStats, right: RelationStats, share: float) -> RelationStats:
    """A semi, anti or mark join in which a `share` of the left rows has a match."""
    if op.mark is not None:
        figures = {**left.columns, op.mark: mark_figures(bounded(share), op.predicate, left, right)}
        return RelationStats(left.rows, figures, left.base_rows, props.keys)
    rows = left.rows * (share if op.kind is JoinKind.SEMI else 1.0 - share)
    return RelationStats(max(rows, LEAST_SHARE * left.rows), left.columns, left.base_rows, props.keys)


def _one_match(predicate: Predicate, left: RelationStats, right: RelationStats) -> bool:
    """Whether a left row has one match at most: the predicate equates a key of the right input."""
    keys = equated(predicate, column_set(left.columns), column_set(right.columns))
    return right.props is not None and right.props.unique_on(keys)
