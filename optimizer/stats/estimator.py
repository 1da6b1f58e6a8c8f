"""The default estimator: System R's formulas on the statistics at hand, consistent for every expression of a group.

An inner-join region is estimated as a whole from its leaves and its conjuncts, each conjunct counted once: an equality
class that reaches k relations contributes k - 1 factors (the distinct counts without the smallest), so the join order
cannot matter. Semi, anti, left, mark and single joins change the rows and columns of a leaf on their left, so their place in the
order does not matter either. Distinct counts that are not stored are guessed from keys, foreign keys, value bounds and types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import pyarrow as pa

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.columns import ColumnId, Columns, column_ids, column_set, union
from optimizer.algebra.join_graph import JoinGraph
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
from optimizer.algebra.logical_joins import Apply, IndependentJoin, Join
from optimizer.algebra.predicates import equated, predicate_columns
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Call, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.algebra.types import type_width
from optimizer.catalog.table import Catalog, Table
from optimizer.errors import SettingsError
from optimizer.stats.distinct import distinct_counts, distinct_rows
from optimizer.stats.filtered import filtered_figures
from optimizer.stats.matches import LEAST_SHARE, bounded, mark_figures, per_row_figures, semi_share, some_row_share
from optimizer.stats.region import RegionRows
from optimizer.stats.region_parts import RegionParts, inner_parts, region_stats
from optimizer.stats.relation import ColumnFigures, RelationStats, as_number, as_place, frequent_values
from optimizer.stats.selectivity import back_off, conjunction_selectivity
from optimizer.stats.spread import spread_of

STEPS = 10.0  # rounds that a recursion is thought to take


class Estimator:
    """Rows and column figures of an operator's output from those of its inputs. Subclass and override `estimate`.

    `in_regions`: semi, anti, left, mark and single joins are estimated as parts of the inner joins around them; False for an
    estimator that says something of them as relations.
    """

    in_regions = True

    @staticmethod
    def combine(fractions: Iterable[float]) -> float:
        """One selectivity of those of several predicates on one relation."""
        return back_off(fractions)

    def __init__(self, catalog: Catalog, columns: Columns) -> None:
        self.catalog, self.columns = catalog, columns
        self._spools: dict[int, RelationStats] = {}  # by number, as they were estimated
        self._regions: dict[tuple[tuple[RelationStats, ...], Predicate], RegionRows] = {}
        self._around: dict[RelationStats, RegionParts] = {}  # the last region that was new with a leaf in it
        self._distinct: dict[tuple[RelationStats, tuple[ColumnId, ...]], RelationStats] = {}
        self._changed: dict[tuple[IndependentJoin, tuple[RelationStats, ...], Predicate, RelationStats], RelationStats] = {}

    def estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        """The same result, bit by bit, for every expression of a group."""
        stats = self._estimate(op, props, inputs)
        stats.props = props
        return stats

    def _estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        match op:
            case Scan():
                return self._scan(op, props)
            case Values():
                figures = {c: ColumnFigures(max(1.0, float(len({r[i] for r in op.rows})))) for i, c in enumerate(op.columns)}
                return RelationStats(float(len(op.rows)), figures, keys=props.keys)
            case Filter():
                below = inputs[0]
                share = conjunction_selectivity(op.predicate, below.columns, self.combine)
                figures = filtered_figures(op.predicate, below.columns)
                result = RelationStats(below.rows * share, figures, below.base_rows, keys=props.keys)
                result.distinct = below.distinct
                return result
            case Project():
                return self._project(op, props, inputs[0])
            case JoinGraph():
                leaves, predicate = inner_parts(inputs, op.predicate)
                return self.inner_region(leaves, predicate, props)
            case IndependentJoin():
                return self._join(op, props, inputs[0], inputs[1])
            case Apply():
                return self._apply(op, props, inputs[0], inputs[1])
            case Aggregate(keys, ()):
                return self.distinct_values(inputs[0], keys, props)
            case Aggregate():
                return self._aggregate(op, props, inputs[0])
            case GroupingSets():
                return self._grouping_sets(op, props, inputs[0])
            case Limit():
                below = inputs[0]
                rows = max(0.0, below.rows - op.offset)
                return RelationStats(rows if op.count is None else min(rows, float(op.count)), below.columns, keys=props.keys)
            case SetOp():
                return self._setop(op, props, inputs)
            case Window():
                return self._window(op, props, inputs[0])
            case Recursion():
                return self._recursion(op, props, inputs)
            case With():
                return RelationStats(inputs[-1].rows, inputs[-1].columns, keys=props.keys)
            case Spool(id):
                self._spools[id] = inputs[0]
                return RelationStats(inputs[0].rows, inputs[0].columns, keys=props.keys)
            case CteReference(id, _, columns):
                held = self._spools[id]
                return RelationStats(held.rows, {c.id: held.columns[c.source] for c in columns}, keys=props.keys)
        if not hasattr(op, "estimate"):
            raise SettingsError(
                f"no estimate for {op.name}: give it a method estimate(self, props, inputs) that returns RelationStats"
            )
        own: RelationStats = op.estimate(props, inputs)
        return own

    # -- leaves ---------------------------------------------------------------------------------------------------------

    def _scan(self, op: Scan, props: LogicalProps) -> RelationStats:
        table = self.catalog.table(op.table)
        assert table is not None, f"scan of unknown table {op.table}"
        base = float(table.stats.rows)
        figures = {c.id: self._stored(table, c.source, c.id) for c in op.columns}
        rows = base * conjunction_selectivity(op.predicate, figures, self.combine)
        rows = max(0.0, rows - op.offset)
        if op.limit is not None:
            rows = min(rows, float(op.limit))
        result = RelationStats(rows, filtered_figures(op.predicate, figures), base, props.keys)
        if table.stats.distinct:
            ids = {c.source: c.id for c in op.columns}
            counted = {names: ndv for names, ndv in table.stats.distinct.items() if all(name in ids for name in names)}
            result.distinct = {column_set(ids[name] for name in names): ndv for names, ndv in counted.items()}
        return result

    def _stored(self, table: Table, name: str, id: ColumnId) -> ColumnFigures:
        """Figures of a stored column, the same object each time."""
        known: ColumnFigures | None = self.catalog.figures.get((table.name, name))
        if known is None:
            known = self.catalog.figures[table.name, name] = self._read(table, name, id)
        return known

    def _read(self, table: Table, name: str, id: ColumnId) -> ColumnFigures:
        """A distinct count that is not known is guessed."""
        rows = float(table.stats.rows)
        stats = table.stats.columns.get(name)
        column = table.column(name)
        type = column.type if column is not None else self.columns[id].type
        nulls = (stats.nulls or 0) / rows if stats is not None and rows else 0.0
        low = as_number(stats.min) if stats is not None else None
        high = as_number(stats.max) if stats is not None else None
        width = stats.avg_width if stats is not None and stats.avg_width is not None else type_width(type)
        ndv = stats.ndv if stats is not None else None
        if ndv is None:
            ndv = self._guess_distinct(table, name, type, rows * (1.0 - nulls), low, high)
        for foreign in table.foreign_keys:  # a sketch may count more values than there are to refer to
            if foreign.columns == (name,) and (other := self.catalog.table(foreign.table)) is not None:
                ndv = min(ndv, max(1.0, float(other.stats.rows)))
        spread = spread_of(stats.histogram, rows * (1.0 - nulls), as_place) if stats is not None else None
        return ColumnFigures(max(1.0, ndv), nulls, low, high, width, frequent_values(stats, nulls), spread)

    def _guess_distinct(
        self, table: Table, name: str, type: pa.DataType, present: float, low: float | None, high: float | None
    ) -> float:
        if (name,) in table.keys:
            return present
        for foreign in table.foreign_keys:
            other = self.catalog.table(foreign.table)
            if name in foreign.columns and other is not None:
                position = foreign.columns.index(name)
                if len(foreign.columns) == 1:
                    return min(present, float(other.stats.rows))
                return min(present, self._stored(other, foreign.referenced[position], 0).ndv)
        if pa.types.is_boolean(type):
            return min(present, 2.0)
        if present < 100:
            return present
        if low is not None and high is not None and not pa.types.is_floating(type):
            step = 10.0**-type.scale if pa.types.is_decimal(type) else 1.0
            return min(present, (high - low) / step + 1.0)
        return float(present**0.5) if pa.types.is_string(type) else present

    # -- operators ------------------------------------------------------------------------------------------------------

    def _project(self, op: Project, props: LogicalProps, below: RelationStats) -> RelationStats:
        figures = {}
        for item in op.items:
            if isinstance(item.value, ColumnRef):
                figures[item.id] = below.columns[item.value.id]
            else:
                figures[item.id] = ColumnFigures(self._scalar_distinct(item.value, below), width=type_width(item.value.type))
        if not op.narrows:
            return RelationStats(below.rows, figures, below.base_rows, props.keys)
        return RelationStats(below.rows, figures, below.base_rows, props.keys, below.leaves, below.predicate, True)

    def _scalar_distinct(self, scalar: Scalar, below: RelationStats) -> float:
        """Distinct values of a computed column: no more than combinations of its arguments, nor than rows."""
        if isinstance(scalar, Call) and scalar.function in _FEW_VALUES:
            return _FEW_VALUES[scalar.function]
        ndv = prod(below.columns[column].ndv for column in column_ids(scalar.columns))
        return max(1.0, min(ndv, max(below.rows, 1.0)))

    def _aggregate(self, op: Aggregate, props: LogicalProps, below: RelationStats) -> RelationStats:
        ndvs = distinct_counts(below, op.keys)
        rows = 1.0 if not op.keys else distinct_rows(ndvs, below.rows)
        figures = {k: below.columns[k].each_once(rows if len(op.keys) == 1 else None) for k in op.keys}
        for item in op.aggregates:
            figures[item.id] = ColumnFigures(max(1.0, rows), width=type_width(item.call.type))
        stored = max(leaf.base_rows for leaf in below.leaves)  # the keys keep their domains, so base rows are those of all of it
        base = max(rows, distinct_rows(below.ndvs(op.keys), stored)) if op.keys else None
        return RelationStats(rows, figures, base, props.keys)

    def distinct_values(
        self, below: RelationStats, keys: tuple[ColumnId, ...], props: LogicalProps | None = None
    ) -> RelationStats:
        """The distinct values of columns: one result for all who ask, so that it is one relation of a region."""
        known = self._distinct.get((below, keys))
        if known is None:
            op = Aggregate(keys, ())
            if props is None:
                assert below.props is not None
                props = op.derive_props((below.props,))
            known = self._distinct[below, keys] = self._aggregate(op, props, below)
            known.props = props
        return known

    def _grouping_sets(self, op: GroupingSets, props: LogicalProps, below: RelationStats) -> RelationStats:
        """The rows of an Aggregate for each set; a key is NULL in the rows of the sets without it."""
        rows = 0.0
        with_key = dict.fromkeys((key.id for key in op.keys), 0.0)
        for each in op.sets:
            held = [key for key in op.keys if each >> key.id & 1]
            groups = distinct_rows(distinct_counts(below, (key.source for key in held)), below.rows) if held else 1.0
            rows += groups
            for key in held:
                with_key[key.id] += groups
        figures = {}
        for key in op.keys:
            figures[key.id] = below.columns[key.source].with_nulls(1.0 - with_key[key.id] / rows if rows else 0.0)
        for item in op.aggregates:
            figures[item.id] = ColumnFigures(max(1.0, rows), width=type_width(item.call.type))
        sets = float(len(op.sets))
        figures[op.number] = ColumnFigures(sets, low=0.0, high=sets - 1.0)
        return RelationStats(rows, figures, keys=props.keys)

    def _window(self, op: Window, props: LogicalProps, below: RelationStats) -> RelationStats:
        """The input's rows. Within a partition there are as many places as a partition of mean size has rows."""
        partitions = distinct_rows(distinct_counts(below, op.partition), below.rows) if op.partition else 1.0
        mean = max(1.0, below.rows / max(1.0, partitions))
        figures = dict(below.columns)
        for item in op.items:
            call, ndv, low, high = item.call, max(1.0, below.rows), None, None
            if call.function in ("row_number", "rank", "dense_rank", "ntile"):
                ndv, low, high = mean, 1.0, mean
                if call.function == "ntile" and isinstance(call.args[0], Literal) and call.args[0].value is not None:
                    ndv = high = min(mean, float(call.args[0].value))
            elif call.function in AGGREGATE_FUNCTIONS and call.frame is None:
                ndv = max(1.0, min(partitions, below.rows))
            elif call.function not in AGGREGATE_FUNCTIONS and call.args:
                picked = call.args[0]
                ndv = min(ndv, below.columns[picked.id].ndv) if isinstance(picked, ColumnRef) else ndv
            figures[item.id] = ColumnFigures(ndv, low=low, high=high, width=type_width(call.type))
        return RelationStats(below.rows, figures, below.base_rows, props.keys)

    def _setop(self, op: SetOp, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        figures = {}
        for position, column in enumerate(op.columns):
            each = [stats.columns[source[position]] for stats, source in zip(inputs, op.sources, strict=True)]
            lows = [f.low for f in each if f.low is not None]
            highs = [f.high for f in each if f.high is not None]
            bounded = len(lows) == len(highs) == len(each)
            figures[column] = ColumnFigures(
                sum(f.ndv for f in each) if op.kind is SetOpKind.UNION else each[0].ndv,
                max(f.null_fraction for f in each),
                min(lows) if bounded else None,
                max(highs) if bounded else None,
                max(f.width for f in each),
            )
        if op.kind is SetOpKind.UNION:
            rows = sum(stats.rows for stats in inputs)
        elif op.kind is SetOpKind.INTERSECT:
            rows = min(stats.rows for stats in inputs) / 2
        else:
            rows = inputs[0].rows / 2
        if not op.all:
            rows = distinct_rows([figures[c].ndv for c in op.columns], rows)
        return RelationStats(rows, figures, keys=props.keys)

    def _recursion(self, op: Recursion, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        """A guess: as many rounds as STEPS, each with the rows of the first one."""
        once = SetOp(SetOpKind.UNION, True, op.columns, op.sources)
        union = self._setop(once, props, inputs)
        return RelationStats(inputs[0].rows + STEPS * inputs[1].rows, union.columns, keys=props.keys)

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
            if left.joined is not None and op.kind is not JoinKind.FULL and (leaves := self._changed_leaves(op, left, right)):
                return self.inner_region(*inner_parts(leaves, left.predicate), props)
        return self._alone(op, props, left, right)

    def _changed_leaves(self, op: IndependentJoin, left: RelationStats, right: RelationStats) -> tuple[RelationStats, ...]:
        """The relations of an inner join, of which the first one that `op` reads has the columns and the share of rows that `op`
        gives to all that it reads; none where a column would be there twice, or somebody else made the figures."""
        leaves = left.leaves
        if right.props is None or any(leaf.props is None for leaf in leaves):
            return ()
        own = [column_set(leaf.columns) for leaf in leaves]
        if left.hides and not op.kind.left_only and union(own) & column_set(right.columns):
            return ()
        read = predicate_columns(op.predicate)
        touched = [i for i, columns in enumerate(own) if columns & read] or [0]
        changed = self._changed_leaf(op, tuple([leaves[i] for i in touched]), left.predicate, right)
        return (*leaves[: touched[0]], changed, *leaves[touched[0] + 1 :])

    def _changed_leaf(
        self, op: IndependentJoin, read: tuple[RelationStats, ...], predicate: Predicate, right: RelationStats
    ) -> RelationStats:
        """The first of the relations that `op` reads, as `op` leaves it; `predicate` is that of the inner join they are in. Kept,
        so that it is one relation for all who ask."""
        first = part = read[0]
        if len(read) > 1:
            columns = {c: f for leaf in read for c, f in leaf.columns.items()}
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
            known = RelationStats(first.rows * times, {**first.columns, **added}, first.base_rows, props.keys)
            known.distinct, known.props = first.distinct, props
            self._changed[op, read, part.predicate, right] = known
        return known

    def _alone(self, op: IndependentJoin, props: LogicalProps, left: RelationStats, right: RelationStats) -> RelationStats:
        """A join that is no inner one, as a relation."""
        kind = op.kind
        if kind.left_only or op.mark is not None or kind is JoinKind.SINGLE:
            share = semi_share(op.predicate, left, right)
            if kind.left_only:
                rows = left.rows * (share if kind is JoinKind.SEMI else 1.0 - share)
                return RelationStats(max(rows, LEAST_SHARE * left.rows), left.columns, left.base_rows, props.keys)
            share = bounded(share)
            if op.mark is not None:
                figures = {**left.columns, op.mark: mark_figures(share, op.predicate, left, right)}
                return RelationStats(left.rows, figures, left.base_rows, props.keys)
            figures = {**left.columns, **{c: f.with_nulls(1.0 - share) for c, f in right.columns.items()}}
            return RelationStats(left.rows, figures, keys=props.keys)
        inner = self.inner_region(*inner_parts((left, right), op.predicate), props)
        left_unmatched = max(0.0, left.rows - min(left.rows, inner.rows)) if kind.keeps_left else 0.0
        right_unmatched = max(0.0, right.rows - min(right.rows, inner.rows)) if kind.keeps_right else 0.0
        rows = inner.rows + left_unmatched + right_unmatched
        figures = dict(left.columns)
        if right_unmatched:
            figures = {c: f.with_nulls(right_unmatched / rows) for c, f in figures.items()}
        for column, f in right.columns.items():
            figures[column] = f.with_nulls(left_unmatched / rows) if left_unmatched else f
        return RelationStats(rows, figures, keys=props.keys)

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
        if found.rows <= left.rows:
            return found
        rows, joined = left.rows, left.joined
        return RelationStats(rows, left.columns, left.base_rows, props.keys, joined, left.predicate, left.hides)

    def _apply(self, op: Apply, props: LogicalProps, left: RelationStats, right: RelationStats) -> RelationStats:
        """The right input's figures are those of one run, in which an outer value is a constant that is not known yet."""
        kind = op.kind
        each = right.rows * conjunction_selectivity(op.predicate, {**left.columns, **right.columns}, self.combine)
        share = some_row_share(each, right.base_rows)
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            rows = left.rows * (share if kind is JoinKind.SEMI else 1.0 - share)
            return RelationStats(max(rows, LEAST_SHARE * left.rows), left.columns, left.base_rows, props.keys)
        if op.mark is not None:
            figures = {**left.columns, op.mark: mark_figures(share, op.predicate, left, right)}
            return RelationStats(left.rows, figures, left.base_rows, props.keys)
        rows = left.rows if kind is JoinKind.SINGLE else left.rows * each
        inner = per_row_figures(right.columns, left.rows, rows)
        if kind is JoinKind.INNER:
            return RelationStats(rows, {**left.columns, **inner}, keys=props.keys)
        unmatched = left.rows * (1.0 - share)
        if kind is JoinKind.LEFT:
            rows += unmatched
        nulls = min(1.0, unmatched / rows) if rows else 0.0
        return RelationStats(rows, {**left.columns, **{c: f.with_nulls(nulls) for c, f in inner.items()}}, keys=props.keys)

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


_FEW_VALUES = {
    "year": 10.0, "quarter": 4.0, "month": 12.0, "day": 31.0, "hour": 24.0, "minute": 60.0, "second": 60.0,
    "dayofweek": 7.0, "dayofyear": 366.0, "week": 53.0,
}  # fmt: skip
