"""An estimator that is never too low: every row count is an upper bound of the true one.

Bounds follow from row counts, keys, NULL counts, least and greatest values, and degree sequences (`bounds`, `bounded_filter`,
`bounded_joins`); what is unknown is taken at its worst. They hold as long as the statistics describe the rows. Figures of columns
that cost models ask for (widths, distinct counts) are estimated as usual, from the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor

from optimizer.algebra.columns import ColumnId, column_ids, column_set
from optimizer.algebra.join_graph import is_inner_join
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    Scan,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import Apply, Join, MarkJoin, SingleJoin
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import ColumnRef, Predicate, Scalar
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.errors import SettingsError
from optimizer.stats.bounded_filter import StoredColumn, filtered, stored_column
from optimizer.stats.bounded_joins import InnerJoin
from optimizer.stats.bounds import BoundedStats, Bounds, ColumnBounds, bounds_of
from optimizer.stats.degrees import Steps, added, scaled, together
from optimizer.stats.estimator import Estimator
from optimizer.stats.region_parts import inner_parts, region_stats
from optimizer.stats.relation import RelationStats, limited

Describe = Callable[[ColumnId], ColumnBounds | None]  # what is known of a column, None for nothing
SLACK = 1e-9  # sums of many roundings stay below this share
MOST_ROWS = 1e18  # of what may not end
WHOLE = 2.0**53  # below, every whole number is a float


class UpperBound(Estimator):
    """At least as many rows as there are, of every expression. A join that is no inner one has a bound of its own."""

    in_regions = False

    def estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        if is_inner_join(op):
            leaves, predicate = inner_parts(inputs, op.predicate)
            return self.inner_region(leaves, predicate, props)
        bounds = self._bounds(op, props, [bounds_of(stats) for stats in inputs], inputs)
        bounds.rows = whole(min(bounds.rows, 1.0) if props.at_most_one_row else bounds.rows)
        return BoundedStats(super().estimate(op, props, inputs), bounds)

    def inner_region(self, leaves: tuple[RelationStats, ...], predicate: Predicate, props: LogicalProps) -> RelationStats:
        join, left_out = _inner_join([bounds_of(leaf) for leaf in leaves], predicate)
        bounds = Bounds(0.0 if left_out else whole(join.rows()), props, _joined(join))
        return BoundedStats(region_stats(bounds.rows, leaves, predicate, props), bounds)

    def _bounds(
        self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[Bounds], stats: Sequence[RelationStats]
    ) -> Bounds:
        match op:
            case Scan():
                return self._stored_rows(op, props)
            case Values():
                return Bounds(float(len(op.rows)), props, _nothing)
            case Filter():
                left = filtered(inputs[0], op.predicate, props, {})
                return Bounds(left.rows, props, _same(left))
            case Project():
                sources = {item.id: item.value.id for item in op.items if isinstance(item.value, ColumnRef)}
                return Bounds(inputs[0].rows, props, _renamed(inputs[0], sources))
            case Join():
                return _outer_or_semi(op.kind, props, stats[0], stats[1], op.predicate)
            case MarkJoin() | SingleJoin():
                return Bounds(inputs[0].rows, props, _same(inputs[0]))
            case Apply():
                return _apply(op, props, inputs[0], inputs[1])
            case Aggregate():
                rows = inputs[0].combinations(column_set(op.keys)) if op.keys else 1.0
                return Bounds(rows, props, _same(inputs[0]))
            case GroupingSets():
                source = {key.id: key.source for key in op.keys}
                each = (column_set(source[id] for id in column_ids(keys)) for keys in op.sets)
                return Bounds(sum(inputs[0].combinations(keys) if keys else 1.0 for keys in each), props, _nothing)
            case Limit():
                return Bounds(limited(inputs[0].rows, op.offset, op.count), props, _same(inputs[0]))
            case SetOp():
                return _setop(op, props, inputs)
            case Window() | Spool() | With():
                return Bounds(inputs[-1].rows, props, _same(inputs[-1]))
            case Recursion():
                return Bounds(MOST_ROWS, props, _nothing)
            case CteReference(id, _, columns):
                held = bounds_of(self._spools[id])
                return Bounds(held.rows, props, _renamed(held, dict(columns)))
        raise SettingsError(f"estimator=upper_bound has no bound for {op.name}: choose another estimator")

    def _stored_rows(self, op: Scan, props: LogicalProps) -> Bounds:
        table = self.table(op)
        rows = float(table.stats.rows)
        stored: dict[ColumnId, StoredColumn] = {}
        columns: dict[ColumnId, ColumnBounds] = {}
        for column in op.columns:
            figures, described = table.stats.columns.get(column.source), table.column(column.source)
            if figures is not None and described is not None:
                stored[column.id], columns[column.id] = stored_column(described.type, figures, rows)
        base = Bounds(rows, replace(op, predicate=(), limit=None).derive_props(()), columns.get)
        left = filtered(base, op.predicate, props, stored)
        return Bounds(limited(left.rows, 0, op.limit), props, _same(left))


def whole(rows: float) -> float:
    """The greatest whole number that a bound allows, roundings aside."""
    rows += rows * SLACK
    return float(floor(rows + SLACK)) if rows < WHOLE else rows


# -- joins ----------------------------------------------------------------------------------------------------------------------


def _inner_join(leaves: Sequence[Bounds], predicate: Predicate) -> tuple[InnerJoin, bool]:
    """The join of leaves that have applied the conjuncts on them alone; and whether a conjunct lets nothing through."""
    applied = []
    for leaf in leaves:
        own = tuple(s for s in predicate if s.columns and not s.columns & ~leaf.props.columns)
        applied.append(filtered(leaf, own, leaf.props, {}) if own else leaf)
    constant = conjunction(s for s in predicate if not s.columns)
    nowhere = bool(constant) and bool(applied) and filtered(applied[0], constant, applied[0].props, {}).rows <= 0
    return InnerJoin(applied, predicate), nowhere


def _region(stats: RelationStats, *more: Scalar) -> tuple[InnerJoin, bool]:
    """The leaves of an inner join, or a relation as the only leaf."""
    return _inner_join([bounds_of(leaf) for leaf in stats.leaves], conjunction((*stats.predicate, *more)))


def _outer_or_semi(
    kind: JoinKind, props: LogicalProps, left: RelationStats, right: RelationStats, predicate: Predicate
) -> Bounds:
    """Semi and anti joins have no more rows than the left input. In outer joins a kept row appears once, or as often as it has
    matches."""
    here, there = bounds_of(left), bounds_of(right)
    both = conjunction((*left.predicate, *right.predicate, *predicate))
    join, nothing = _inner_join([bounds_of(leaf) for leaf in (*left.leaves, *right.leaves)], both)
    inner = 0.0 if nothing else join.rows()
    if kind is JoinKind.ANTI:
        return Bounds(here.rows, props, _same(here))
    if kind is JoinKind.SEMI:
        return Bounds(min(here.rows, inner, _semi_rows(here, there, predicate)), props, _same(here))
    per_left = min(there.rows, _region(right, *predicate)[0].matches(here.props.columns))
    per_right = min(here.rows, _region(left, *predicate)[0].matches(there.props.columns))
    matched = min(inner, here.rows * per_left, there.rows * per_right)
    rows = matched
    if kind.keeps_left:
        rows = min(matched + here.rows, here.rows * max(1.0, per_left))
    if kind.keeps_right:
        alone = min(matched + there.rows, there.rows * max(1.0, per_right))
        rows = alone if not kind.keeps_left else min(rows + there.rows, alone + here.rows)
    on_left = _repeated(here, max(1.0, per_left), there.rows if kind.keeps_right else 0.0)
    on_right = _repeated(there, max(1.0, per_right), here.rows if kind.keeps_left else 0.0)
    return Bounds(rows, props, lambda id: on_left(id) or on_right(id))


def _semi_rows(left: Bounds, right: Bounds, predicate: Predicate) -> float:
    """Left rows whose value of a column is one of the right's: at most those of as many values as the right has."""
    found = left.rows
    for columns, nulls_match in InnerJoin([left, right], predicate).classes:
        for a in column_ids(columns & left.props.columns):
            for b in column_ids(columns & right.props.columns):
                values = right.column(b).values + (1.0 if nulls_match else 0.0)
                found = min(found, together(left.degrees(a, nulls_match), float(floor(values + SLACK))))
    return found


def _apply(op: Apply, props: LogicalProps, left: Bounds, right: Bounds) -> Bounds:
    """The right input's bounds are those of one run."""
    if op.kind not in (JoinKind.INNER, JoinKind.LEFT):
        return Bounds(left.rows, props, _same(left))
    per_row = min(right.rows, _inner_join([right], op.predicate)[0].matches(left.props.columns))
    if op.kind is JoinKind.LEFT:
        per_row = max(1.0, per_row)
    return Bounds(left.rows * per_row, props, _repeated(left, per_row, 0.0))


def _setop(op: SetOp, props: LogicalProps, inputs: Sequence[Bounds]) -> Bounds:
    if op.kind is SetOpKind.UNION:
        rows = sum(each.rows for each in inputs)
        bounds = Bounds(rows, props, _united(op, inputs))
    else:
        rows = min(each.rows for each in inputs) if op.kind is SetOpKind.INTERSECT else inputs[0].rows
        sources = dict(zip(op.columns, op.sources[0], strict=True))
        bounds = Bounds(rows, props, _renamed(inputs[0], sources))
    if not op.all:
        bounds.rows = bounds.combinations(column_set(op.columns))
    return bounds


# -- what is known of the columns -----------------------------------------------------------------------------------------------


def _nothing(id: ColumnId) -> ColumnBounds | None:
    return None


def _same(below: Bounds) -> Describe:
    """Columns of a relation, of some of whose rows a result consists; others are new."""
    return lambda id: below.column(id) if below.props.columns >> id & 1 else None


def _renamed(below: Bounds, sources: dict[ColumnId, ColumnId]) -> Describe:
    return lambda id: below.column(sources[id]) if id in sources else None


def _repeated(below: Bounds, times: float, nulls: float) -> Describe:
    """Columns of a relation each of whose rows appears so many times at most, and as many rows with NULLs."""

    def describe(id: ColumnId) -> ColumnBounds | None:
        if not below.props.columns >> id & 1:
            return None
        degrees, own, values = below.column(id)
        return ColumnBounds(scaled(degrees, times), own * times + nulls, values)

    return describe


def _joined(join: InnerJoin) -> Describe:
    """Columns of an inner join: a row of a leaf appears as often as the others match it."""

    def describe(id: ColumnId) -> ColumnBounds | None:
        for number, leaf in enumerate(join.leaves):
            if leaf.props.columns >> id & 1:
                return _repeated(leaf, join.per_row(number), 0.0)(id)
        return None

    return describe


def _united(op: SetOp, inputs: Sequence[Bounds]) -> Describe:
    def describe(id: ColumnId) -> ColumnBounds | None:
        if id not in op.columns:
            return None
        position = op.columns.index(id)
        each = [below.column(source[position]) for below, source in zip(inputs, op.sources, strict=True)]
        degrees: Steps = ()
        for column in each:
            degrees = added(degrees, column.degrees)
        return ColumnBounds(degrees, sum(c.nulls for c in each), sum(c.values for c in each))

    return describe
