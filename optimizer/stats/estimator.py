"""The default estimator: System R's formulas on the statistics at hand, consistent for every expression of a group.

Joins are in `join_estimator`. Distinct counts that are not stored are guessed from keys, foreign keys, value bounds and types.
"""

from collections.abc import Sequence

import pyarrow as pa

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.columns import ColumnId, Columns, column_set
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import SetOpKind
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
from optimizer.algebra.logical_joins import Apply, IndependentJoin
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import AggregateCall, ColumnRef, Literal
from optimizer.algebra.series import Series
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.algebra.types import type_width
from optimizer.catalog.table import Catalog, Table
from optimizer.errors import SettingsError
from optimizer.plugin_code import written_in
from optimizer.stats.computed import Computed
from optimizer.stats.distinct import distinct_of, distinct_rows
from optimizer.stats.filtered import filtered_combinations, filtered_figures
from optimizer.stats.join_estimator import JoinEstimator
from optimizer.stats.region_parts import inner_parts
from optimizer.stats.relation import ColumnFigures, RelationStats, as_number, as_place, frequent_values, limited
from optimizer.stats.selectivity import conjunction_selectivity
from optimizer.stats.spread import FAR, spread_of

STEPS = 10.0  # rounds that a recursion is thought to take


class Estimator(JoinEstimator):
    """Rows and column figures of an operator's output from those of its inputs. Subclass and override `estimate`."""

    def __init__(self, catalog: Catalog, columns: Columns) -> None:
        super().__init__()
        self.catalog, self.columns = catalog, columns
        self._spools: dict[int, RelationStats] = {}  # by number, as they were estimated
        self._distinct: dict[tuple[RelationStats, tuple[ColumnId, ...]], RelationStats] = {}

    def estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        """The same result, bit by bit, for every expression of a group."""
        stats = self._estimate(op, props, inputs)
        if not isinstance(stats, RelationStats):
            by = written_in(getattr(op, "estimate", type(self)))
            raise SettingsError(f"{by}the estimate of {op.name} is {stats!r:.60}, which is no RelationStats")
        stats.props = props
        return stats

    def _estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        match op:
            case Scan():
                return self._scan(op, props)
            case Values():
                rows = float(len(op.rows))
                of_series = rows if isinstance(op.rows, Series) else None
                distinct = [of_series or float(len({row[i] for row in op.rows})) for i in range(len(op.columns))]
                figures = {c: ColumnFigures(max(1.0, ndv)) for c, ndv in zip(op.columns, distinct, strict=True)}
                return RelationStats(rows, figures, keys=props.keys)
            case Filter():
                below = inputs[0]
                share = conjunction_selectivity(op.predicate, below.columns, self.combine)
                figures = filtered_figures(op.predicate, below.columns, self.combine)
                result = RelationStats(below.rows * share, figures, below.base_rows, keys=props.keys)
                result.distinct = filtered_combinations(below.distinct, below.columns, figures)
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
                return RelationStats(limited(below.rows, op.offset, op.count), below.columns, keys=props.keys)
            case SetOp():
                return self._setop(op, props, inputs)
            case Window():
                return self._window(op, props, inputs[0])
            case Recursion():
                return self._recursion(op, props, inputs)
            case With() | Spool():
                if isinstance(op, Spool):
                    self._spools[op.spool] = inputs[0]
                return RelationStats(inputs[-1].rows, inputs[-1].columns, keys=props.keys)
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

    def table(self, op: Scan) -> Table:
        """The table that is read."""
        table = self.catalog.table(op.table)
        assert table is not None, f"scan of unknown table {op.table}"
        return table

    def _scan(self, op: Scan, props: LogicalProps) -> RelationStats:
        table = self.table(op)
        base = float(table.stats.rows)
        figures = {c.id: self._stored(table, c.source, c.id) for c in op.columns}
        rows = limited(base * conjunction_selectivity(op.predicate, figures, self.combine), op.offset, op.limit)
        left = filtered_figures(op.predicate, figures, self.combine)
        result = RelationStats(rows, left, base, props.keys)
        if table.stats.distinct:
            ids = {c.source: c.id for c in op.columns}
            known = {names: ndv for names, ndv in table.stats.distinct.items() if all(name in ids for name in names)}
            counted = {column_set(ids[name] for name in names): ndv for names, ndv in known.items()}
            result.distinct = filtered_combinations(counted, figures, left)
        return result

    def _stored(self, table: Table, name: str, id: ColumnId) -> ColumnFigures:
        """Figures of a stored column, the same object each time."""
        known: ColumnFigures | None = self.catalog.figures.get((table.name, name))
        if known is None:
            known = self.catalog.figures[table.name, name] = self._read(table, name, id)
        return known

    def _read(self, table: Table, name: str, id: ColumnId, asked: tuple[tuple[str, str], ...] = ()) -> ColumnFigures:
        """A distinct count that is not known is guessed; that of a key is known, so that no join with it makes more rows.
        `asked`: columns whose guesses wait for this one."""
        rows = float(table.stats.rows)
        stats = table.stats.columns.get(name)
        column = table.column(name)
        type = column.type if column is not None else self.columns[id].type
        nulls = (stats.nulls or 0) / rows if stats is not None and rows else 0.0
        low, high = (_bound(stats.min), _bound(stats.max)) if stats is not None else (None, None)
        width = stats.avg_width if stats is not None and stats.avg_width is not None else type_width(type)
        ndv = stats.ndv if stats is not None else None
        if ndv is None or (name,) in table.keys:
            ndv = self._guess_distinct(table, name, type, rows * (1.0 - nulls), low, high, (*asked, (table.name, name)))
        for foreign in table.foreign_keys:  # a sketch may count more values than there are to refer to
            if foreign.columns == (name,) and (other := self.catalog.table(foreign.table)) is not None:
                ndv = min(ndv, max(1.0, float(other.stats.rows)))
        spread = spread_of(stats.histogram, rows * (1.0 - nulls), as_place) if stats is not None else None
        return ColumnFigures(max(1.0, ndv), nulls, low, high, width, frequent_values(stats, nulls), spread)

    def _guess_distinct(
        self, table: Table, name: str, type: pa.DataType, present: float, low: float | None, high: float | None,
        asked: tuple[tuple[str, str], ...],
    ) -> float:  # fmt: skip
        if (name,) in table.keys:
            return present
        for foreign in table.foreign_keys:
            other = self.catalog.table(foreign.table)
            if name in foreign.columns and other is not None:
                position = foreign.columns.index(name)
                if len(foreign.columns) == 1:
                    return min(present, float(other.stats.rows))
                referenced = foreign.referenced[position]
                if (other.name, referenced) not in asked:  # else keys refer to one another
                    return min(present, self._read(other, referenced, 0, asked).ndv)
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
        figures, computed = {}, Computed(below.columns, below.rows)
        for item in op.items:
            if isinstance(item.value, ColumnRef):
                figures[item.id] = below.figures(item.value.id)
            else:
                figures[item.id] = computed.figures(item.value)
        if not op.narrows:
            return RelationStats(below.rows, figures, below.base_rows, props.keys)
        return RelationStats(below.rows, figures, below.base_rows, props.keys, below.leaves, below.predicate, True)

    def _aggregate(self, op: Aggregate, props: LogicalProps, below: RelationStats) -> RelationStats:
        rows = distinct_of(below, op.keys) if op.keys else 1.0
        figures = {k: below.figures(k).each_once(rows if len(op.keys) == 1 else None) for k in op.keys}
        for item in op.aggregates:
            figures[item.id] = self._aggregated(item.call, rows, below)
        stored = max(leaf.base_rows for leaf in below.leaves)  # the keys keep their domains, so base rows are those of all of it
        base = max(rows, distinct_rows(below.ndvs(op.keys), stored)) if op.keys else None
        return RelationStats(rows, figures, base, props.keys)

    def _aggregated(self, call: AggregateCall, rows: float, below: RelationStats) -> ColumnFigures:
        """An aggregate of so many groups. One that picks a value of its argument has no other values."""
        if call.function not in _PICKS:
            return ColumnFigures(max(1.0, rows), width=type_width(call.type))
        picked = call.args[0]
        own = below.columns[picked.id] if isinstance(picked, ColumnRef) else Computed(below.columns, below.rows).figures(picked)
        return ColumnFigures(max(1.0, min(rows, own.ndv)), low=own.low, high=own.high, width=type_width(call.type))

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
            groups = distinct_of(below, (key.source for key in held)) if held else 1.0
            rows += groups
            for key in held:
                with_key[key.id] += groups
        figures = {}
        for key in op.keys:
            figures[key.id] = below.figures(key.source).with_nulls(1.0 - with_key[key.id] / rows if rows else 0.0)
        for item in op.aggregates:
            figures[item.id] = self._aggregated(item.call, rows, below)
        sets = float(len(op.sets))
        figures[op.number] = ColumnFigures(sets, low=0.0, high=sets - 1.0)
        return RelationStats(rows, figures, keys=props.keys)

    def _window(self, op: Window, props: LogicalProps, below: RelationStats) -> RelationStats:
        """The input's rows. Within a partition there are as many places as a partition of mean size has rows."""
        partitions = distinct_of(below, op.partition) if op.partition else 1.0
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


def _bound(value: object) -> float | None:
    """The least or largest value as a place; None where infinity would say nothing of the others."""
    place = as_number(value)
    return None if place is None or abs(place) >= FAR else place


_PICKS = ("min", "max", "mode", "quantile_disc", "first", "last", "any_value", "arg_min", "arg_max")
