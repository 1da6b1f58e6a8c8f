"""Aggregate functions over groups, in two steps: partial states of each batch, then merged states.

    raw rows --partial--> one row of states a group --merge--> … --finish--> results

An aggregate has states that merge by themselves: a mean is a sum and a count. Sums of integers and decimals are exact
(decimal states, wide enough for 10^10 rows of the argument's type). DISTINCT arguments are kept as sets of (keys, value)
beside the states; at the end their rows are put under the states' rows, with NULL where the other has no column, and
grouped once more. What other aggregates keep of rows (`kept_aggregates`) stands beside the states, until all groups are known.

Grouping itself (`grouping`) is on one thread, so that neither the order of groups nor a sum of floats depends on timing; the
parallelism is between batches.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import decimals
from executor.arrow.batches import Batches, column_name, plain_texts, single_array, table_batches
from executor.arrow.comparisons import normalized
from executor.arrow.context import Tuning
from executor.arrow.expressions import compile_scalar
from executor.arrow.grouping import grouped, named, unique_rows
from executor.arrow.kept_aggregates import Kept, is_kept, where_chosen
from executor.arrow.key_parts import by_key_parts
from executor.arrow.segments import grouped_rows, side_by_side
from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.logical import AggregateItem
from optimizer.algebra.scalars import BOOL, TRUE, AggregateCall, Scalar

_NARROW_DIGITS = 28  # a sum of 10^10 values of so many digits has no more than 38
_MERGE = {"count": "sum", "count_all": "sum", "sum": "sum", "min": "min", "max": "max"}


class _State(NamedTuple):
    """A column of partial results. `function` is Arrow's; `argument` a raw column, "" for count_all; `type` the merged type."""

    function: str
    argument: str
    type: DataType


class _Rows(NamedTuple):
    """What is kept of rows for some aggregates: the raw columns of arguments and order, and of the filter where it is needed."""

    kept: Kept
    columns: tuple[str, ...]
    filter: str | None


class Partial(NamedTuple):
    """`states`: key columns and state columns, one row a group. `sets`: for each DISTINCT argument, keys and value. `kept`: for
    each of `_Rows`, keys and columns."""

    states: pa.Table
    sets: tuple[pa.Table, ...]
    kept: tuple[pa.Table, ...]

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        return self.states, *self.sets, *self.kept

    @property
    def rows(self) -> int:
        return self.states.num_rows + sum(t.num_rows for t in (*self.sets, *self.kept))

    @property
    def nbytes(self) -> int:
        return self.states.nbytes + sum(t.nbytes for t in (*self.sets, *self.kept))


class Aggregation:
    """How to compute `items` by `keys`. Without keys there is one group, even over no rows.

    Groups come out in some order. `coarser`: the states will be merged by fewer keys, or none.
    """

    def __init__(
        self, keys: Sequence[ColumnId], items: Iterable[AggregateItem], output: pa.Schema, coarser: bool = False
    ) -> None:
        self._keys = [column_name(key) for key in keys]
        self._output, self._coarser = output, coarser
        self._arguments: dict[Scalar, str] = {}
        self._compiled: dict[str, Callable[[pa.RecordBatch], pa.Array]] = {}
        self._types: dict[str, DataType] = {}
        self._states: dict[_State, str] = {}
        self._sets: dict[str, str] = {}  # raw column -> column of the distinct values
        self._set_states: dict[_State, str] = {}
        self._results: dict[str, Callable[[pa.Table], pa.Array]] = {}
        self._rows: dict[tuple[object, ...], _Rows] = {}
        self._kept_results: dict[str, tuple[int, Kept]] = {}
        for item in items:
            name = column_name(item.id)
            if output.get_field_index(name) < 0:
                continue
            if is_kept(item.call.function):
                self._kept_results[name] = self._keep(item.call)
            else:
                self._results[name] = self._add(item.call)
        if not self._states and (coarser or not self._keys):  # Arrow cannot make one group of nothing
            self._state("count_all", "", pa.int64(), False)

    @property
    def keyed(self) -> bool:
        return bool(self._keys)

    def of_tables(self, tables: Sequence[pa.Table]) -> Partial:
        """The states that had these `tables`."""
        sets = 1 + len(self._sets)
        return Partial(tables[0], tuple(tables[1:sets]), tuple(tables[sets:]))

    def _add(self, call: AggregateCall) -> Callable[[pa.Table], pa.Array]:
        """Registers what `call` needs; how its result is read from the merged states."""
        assert len(call.args) <= 1, f"{call} has more than one argument"
        if not call.args and call.filter is None:
            rows = self._state("count_all", "", pa.int64(), False)
            return lambda table: _count(table[rows])
        argument = self._argument(call.args[0] if call.args else TRUE, call.filter)
        type = self._types[argument]
        distinct = call.distinct and call.function in ("count", "sum", "avg")
        if distinct:
            self._sets.setdefault(argument, f"d{len(self._sets)}")
        if call.function == "count":
            counted = self._state("count", argument, pa.int64(), distinct)
            return lambda table: _count(table[counted])
        if call.function in ("sum", "avg"):
            total = self._state("sum", argument, _sum_type(type), distinct)
            if call.function == "sum":
                return lambda table: _sum(table[total], call.type)
            number = self._state("count", argument, pa.int64(), distinct)
            return lambda table: decimals.mean(single_array(table[total]), single_array(table[number]))
        extreme = self._state(call.function, argument, type, False)
        if call.function == "max" and pa.types.is_floating(type):
            # Arrow's maximum passes over NaN, SQL's is NaN
            is_nan = f"{argument}n"
            self._compiled[is_nan] = _is_nan(self._compiled[argument])
            self._types[is_nan] = BOOL
            any_nan = self._state("max", is_nan, BOOL, False)
            return lambda table: _maximum(table[extreme], table[any_nan])
        return lambda table: single_array(table[extreme])

    def _keep(self, call: AggregateCall) -> tuple[int, Kept]:
        """Registers what is kept for `call`: its number, and how the result is made of it."""
        kept = Kept(call)
        if kept.sharing not in self._rows:
            columns = tuple(self._argument(scalar, call.filter) for scalar in kept.scalars)
            filter = self._argument(call.filter, None) if kept.needs_filter and call.filter is not None else None
            self._rows[kept.sharing] = _Rows(kept, columns, filter)
        return list(self._rows).index(kept.sharing), kept

    def _argument(self, value: Scalar, condition: Scalar | None) -> str:
        """The raw column of an argument."""
        value = where_chosen(value, condition)
        name = self._arguments.get(value)
        if name is None:
            name = self._arguments[value] = f"a{len(self._arguments)}"
            self._compiled[name] = compile_scalar(value)
            self._types[name] = value.type
        return name

    def _state(self, function: str, argument: str, type: DataType, distinct: bool) -> str:
        states, prefix = (self._set_states, "t") if distinct else (self._states, "s")
        state = _State(function, argument, type)
        return states.setdefault(state, f"{prefix}{len(states)}")

    def partial(self, batch: pa.RecordBatch, group: bool = True) -> Partial:
        """The states of the batch's rows. Without `group` every row is a group of its own, to be merged later: for keys that
        hardly repeat within a batch."""
        raw = {key: normalized(batch.column(key)) for key in self._keys}
        if self._rows or not group:
            raw = {key: plain_texts(array) for key, array in raw.items()}
        for name, evaluate in self._compiled.items():
            raw[name] = evaluate(batch)
        sets = []
        for argument in self._sets:
            values = pa.table({**{key: raw[key] for key in self._keys}, "value": normalized(raw[argument])})
            values = values.filter(pc.is_valid(values["value"]))
            sets.append(unique_rows(values) if group else values)
        kept = tuple(self._kept_rows(rows, raw, group) for rows in self._rows.values())
        columns = {key: raw[key] for key in self._keys}
        for state, name in self._states.items():
            if state.function == "sum":
                columns[name] = _summable(raw[state.argument], state.type)
            elif state.function != "count_all":
                columns[name] = raw[state.argument]
        if not group:
            single = {key: raw[key] for key in self._keys}
            for state, name in self._states.items():
                column = _single_row_states(state, columns.get(name), batch.num_rows)
                single[name] = column if column.type == state.type else column.cast(state.type)
            return Partial(pa.table(single), tuple(sets), kept)
        table = pa.table(columns) if columns else pa.table({"row": pa.nulls(batch.num_rows)})
        steps = [(state.function, name) for state, name in self._states.items()]
        types = {name: state.type for state, name in self._states.items()}
        return Partial(grouped(table, self._keys, steps, types), tuple(sets), kept)

    def _kept_rows(self, rows: _Rows, raw: dict[str, pa.Array], group: bool) -> pa.Table:
        chosen = raw[rows.filter] if rows.filter is not None else None
        columns = [raw[name] for name in rows.columns]
        place = pa.array(np.arange(len(columns[0])))
        (*columns, place), _ = rows.kept.usable([*columns, place], chosen, np.array([0, len(place)]))
        keys = {key: raw[key].take(place) for key in self._keys}
        table = pa.table({**keys, **{f"k{i}": column for i, column in enumerate(columns)}})
        return self._fewer(rows.kept, table) if group else table

    def _fewer(self, kept: Kept, table: pa.Table) -> pa.Table:
        if not kept.merges or not table.num_rows or (self._coarser and kept.goes_by_order):  # rows of several groups are merged
            return table
        order, offsets = grouped_rows(table, self._keys)
        sorted = table.take(pa.array(order))
        columns, after = kept.fewer([single_array(c) for c in sorted.columns[len(self._keys) :]], offsets)
        first = np.repeat(offsets[:-1], np.diff(after))
        keys = {key: sorted[key].take(pa.array(first)) for key in self._keys}
        return pa.table({**keys, **{f"k{i}": column for i, column in enumerate(columns)}})

    def merge(self, partials: list[Partial], tuning: Tuning, made: Callable[[int], None] | None = None) -> Partial:
        """One state a group. Empties `partials`, of which there is at least one; `made` as `by_key_parts` has it."""
        states = [partial.states for partial in partials]
        sets = [list(tables) for tables in zip(*(partial.sets for partial in partials), strict=True)]
        kept = [list(tables) for tables in zip(*(partial.kept for partial in partials), strict=True)]
        partials.clear()
        steps = [(_MERGE[state.function], name) for state, name in self._states.items()]
        types = {name: state.type for state, name in self._states.items()}
        return Partial(
            by_key_parts(states, self._keys, lambda part: grouped(part, self._keys, steps, types), tuning, made),
            tuple(by_key_parts(each, each[0].column_names, unique_rows, tuning, made) for each in sets),
            tuple(self._fewer(rows.kept, pa.concat_tables(each)) for rows, each in zip(self._rows.values(), kept, strict=True)),
        )

    def results(self, merged: Partial, tuning: Tuning) -> Batches:
        """The output rows of fully merged states, which go as they are read where each row stands for itself."""
        if self._sets or merged.kept:
            yield from table_batches(self.finish(merged), tuning.batch)
            return
        pieces = merged.states.to_batches(max_chunksize=tuning.batch)[::-1]
        del merged
        while pieces:
            piece = Partial(pa.Table.from_batches([pieces.pop()]), (), ())
            yield from table_batches(self.finish(piece), tuning.batch)

    def finish(self, partial: Partial) -> pa.Table:
        """The output rows of fully merged states."""
        table = self._with_sets(partial) if self._sets else partial.states
        segments = [self._by_group(table, each) for each in partial.kept]
        arrays = []
        for field in self._output:
            if field.name in self._kept_results:
                number, kept = self._kept_results[field.name]
                array = kept.results(*segments[number])
            else:
                result = self._results.get(field.name)
                array = single_array(table[field.name]) if result is None else result(table)
            arrays.append(array if array.type == field.type else array.cast(field.type))
        return pa.Table.from_arrays(arrays, schema=self._output)

    def _by_group(self, groups: pa.Table, kept: pa.Table) -> tuple[list[pa.Array], np.ndarray]:
        """The kept columns as segments, one for each row of `groups` in its order."""
        columns = [single_array(c) for c in kept.columns[len(self._keys) :]]
        count = groups.num_rows
        if not self._keys:
            return columns, np.array([0, kept.num_rows])
        both = pa.concat_tables([groups.select(self._keys), kept.select(self._keys)])
        rows, offsets = grouped_rows(both, self._keys)  # each group begins with its row of `groups`
        place = np.argsort(rows[offsets[:-1]])
        at, ends = side_by_side(offsets[:-1][place] + 1, offsets[1:][place])
        order = pa.array(rows[at] - count)
        return [column.take(order) for column in columns], ends

    def _with_sets(self, partial: Partial) -> pa.Table:
        """The states, and aggregates over the distinct values, one row a group."""
        tables = [partial.states]
        for (argument, column), values in zip(self._sets.items(), partial.sets, strict=True):
            renamed = values.rename_columns([*self._keys, column])
            for i, state in enumerate(self._set_states):
                if state.argument == argument and state.function == "sum":
                    summable = _summable(single_array(values["value"]), state.type)
                    renamed = renamed.append_column(f"v{i}", summable)
            tables.append(renamed)
        # columns missing from a part are NULL in it, and every aggregate passes over NULL
        rows = pa.concat_tables(tables, promote_options="default")
        steps, types = [], {}
        for state, name in self._states.items():
            steps.append((_MERGE[state.function], name, name))
            types[name] = state.type
        for i, (state, name) in enumerate(self._set_states.items()):
            steps.append((state.function, f"v{i}" if state.function == "sum" else self._sets[state.argument], name))
            types[name] = state.type
        found = rows.group_by(self._keys, use_threads=False).aggregate([(column, function) for function, column, _ in steps])
        return named(found, self._keys, [(f"{column}_{function}", name) for function, column, name in steps], types)


def _single_row_states(state: _State, argument: pa.Array | None, rows: int) -> pa.Array:
    if argument is None:
        return pa.array(np.ones(rows, np.int64))
    return pc.is_valid(argument).cast(pa.int8()) if state.function == "count" else argument


def _sum_type(argument: DataType) -> DataType:
    """The type of a sum's state."""
    if pa.types.is_decimal(argument):
        wide = argument.precision > _NARROW_DIGITS
        return pa.decimal256(76, argument.scale) if wide else pa.decimal128(38, argument.scale)
    return pa.decimal128(38, 0) if pa.types.is_integer(argument) else pa.float64()


def _summable(array: pa.Array, state: DataType) -> pa.Array:
    """The argument in a form whose sum over these rows cannot overflow, and can be cast to the state's type."""
    if pa.types.is_integer(array.type):
        wide = array.cast(pa.int64())
        size = decimals.largest(wide.drop_null().to_numpy())
        if size * max(len(wide), 1) < 1 << 63:
            return wide
        return wide.cast(pa.decimal128(19, 0))
    if pa.types.is_decimal256(state) and decimals.unscaled(array) is None:
        return array.cast(state)
    return array if pa.types.is_decimal(array.type) else array.cast(pa.float64())


def _count(column: pa.ChunkedArray) -> pa.Array:
    return single_array(column).fill_null(0)


def _sum(column: pa.ChunkedArray, type: DataType) -> pa.Array:
    total = single_array(column)
    return decimals.rescaled(total, type) if pa.types.is_decimal(total.type) else total


def _is_nan(evaluate: Callable[[pa.RecordBatch], pa.Array]) -> Callable[[pa.RecordBatch], pa.Array]:
    return lambda batch: pc.is_nan(evaluate(batch))


def _maximum(largest: pa.ChunkedArray, any_nan: pa.ChunkedArray) -> pa.Array:
    values = single_array(largest)
    return pc.if_else(single_array(any_nan).fill_null(False), pa.scalar(np.nan, values.type), values)
