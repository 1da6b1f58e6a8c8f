"""window_rows: partitions come together and in order; each row goes out with the values of its window calls.

Streams: whole partitions are worked on as soon as a window of rows is there, many at a time, each call for all their rows at
once. Memory: a window, or one partition's rows where those are more, and per call some numbers for each of these rows. Without
PARTITION BY that is the whole input.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from executor.arrow import decimals, window_aggregates, window_values
from executor.arrow.batches import Batches, column_name, table_batches
from executor.arrow.context import Context
from executor.arrow.expressions import compile_scalar
from executor.arrow.kept_aggregates import Kept, is_kept, where_chosen
from executor.arrow.pipeline import ordered_map
from executor.arrow.whole_groups import whole_groups
from executor.arrow.window_frames import Piece, frame_pieces
from executor.arrow.window_layout import Layout
from executor.arrow.window_ranges import RangeKey
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.columns import DataType
from optimizer.algebra.physical import WindowRows
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.scalars import TRUE, Frame, WindowCall
from optimizer.algebra.traits import Collation

_PLACES, _SUMS = 40, 150  # bytes a row: what a call makes, numbers of rows mostly; sums are wider

Computed = Callable[[pa.RecordBatch, Layout, "Frames"], pa.Array]


def produce(node: PlanNode, context: Context) -> Batches:
    op = node.op
    assert isinstance(op, WindowRows)
    result = context.schema(node)
    items = {column_name(item.id): _computed(item.call) for item in op.items if node.columns >> item.id & 1}
    order = [key.column for key in op.order]

    def computed(whole: pa.RecordBatch) -> Batches:
        layout = Layout(whole, op.partition, order)
        frames = Frames(whole, layout, op.order, context.go_on)
        added = {name: compute(whole, layout, frames) for name, compute in items.items()}
        arrays = [added[field.name] if field.name in added else whole.column(field.name) for field in result]
        yield from table_batches(pa.Table.from_arrays(arrays, schema=result), context.tuning.batch)

    made = sum(_SUMS if item.call.function in AGGREGATE_FUNCTIONS else _PLACES for item in op.items)
    yield from ordered_map(whole_groups(node, context, op.partition, made), computed, context.tuning)


class Frames:
    """The frames of some rows, each made once for all calls that have it. `go_on`: for what goes through frames one by one."""

    def __init__(self, batch: pa.RecordBatch, layout: Layout, order: Collation, go_on: Callable[[], None]) -> None:
        self._batch, self._layout, self._order, self.go_on = batch, layout, order, go_on
        self._key: RangeKey | None = None
        self._pieces: dict[Frame | None, list[Piece]] = {}

    def pieces(self, frame: Frame | None) -> list[Piece]:
        found = self._pieces.get(frame)
        if found is None:
            found = self._pieces[frame] = frame_pieces(frame, self._layout, self._range_key(frame))
        return found

    def _range_key(self, frame: Frame | None) -> RangeKey | None:
        by_value = frame is not None and frame.unit == "range" and (frame.start.offset or frame.end.offset) is not None
        if by_value and self._key is None:
            key = self._order[0]
            self._key = RangeKey(self._batch.column(column_name(key.column)), key, self._layout)
        return self._key


def _computed(call: WindowCall) -> Computed:
    """What computes `call` for all rows of some whole partitions."""
    if call.function in AGGREGATE_FUNCTIONS:
        return _aggregate(call)
    if call.function in window_values.NUMBERS:
        number = window_values.NUMBERS[call.function]
        return lambda batch, layout, frames: number(layout)
    args, nulls, frame = [compile_scalar(arg) for arg in call.args], call.ignore_nulls, call.frame
    match call.function:
        case "ntile":
            return lambda batch, layout, frames: window_values.ntile(layout, args[0](batch))
        case "lag" | "lead":
            back = call.function == "lag"

            def shift(batch: pa.RecordBatch, layout: Layout, frames: Frames) -> pa.Array:
                steps = args[1](batch)
                default = args[2](batch) if len(args) > 2 else None
                return window_values.shifted(layout, args[0](batch), steps, default, nulls, back)

            return shift
        case "first_value":
            return lambda batch, layout, frames: window_values.first_value(frames.pieces(frame), args[0](batch), nulls)
        case "last_value":
            return lambda batch, layout, frames: window_values.last_value(frames.pieces(frame), args[0](batch), nulls)
    assert call.function == "nth_value", f"{call.function} is not executed"

    def nth(batch: pa.RecordBatch, layout: Layout, frames: Frames) -> pa.Array:
        numbers = args[1](batch).fill_null(0).to_numpy()
        return window_values.nth_value(frames.pieces(frame), args[0](batch), numbers, nulls)

    return nth


def _kept(call: WindowCall) -> Computed:
    """An aggregate that looks at rows side by side: each frame is a segment."""
    kept = Kept(call)
    condition = call.filter if kept.needs_filter else None
    arguments = [compile_scalar(where_chosen(scalar, call.filter)) for scalar in kept.scalars]
    filter, frame = None if condition is None else compile_scalar(condition), call.frame

    def run(batch: pa.RecordBatch, layout: Layout, frames: Frames) -> pa.Array:
        columns = [argument(batch) for argument in arguments]
        chosen = None if filter is None else filter(batch)
        return window_aggregates.kept(kept, columns, chosen, frames.pieces(frame), frames.go_on)

    return run


def _aggregate(call: WindowCall) -> Computed:
    if is_kept(call.function):
        return _kept(call)
    value = where_chosen(call.args[0] if call.args else TRUE, call.filter)
    argument, frame, type = compile_scalar(value), call.frame, call.type
    counts_rows = not call.args and call.filter is None

    def run(batch: pa.RecordBatch, layout: Layout, frames: Frames) -> pa.Array:
        pieces = frames.pieces(frame)
        if counts_rows:
            return pa.array(np.add.reduce([high - low for low, high in pieces]))
        values = argument(batch)
        match call.function:
            case "count":
                counts = window_aggregates.distinct(pieces, values, layout, None, frames.go_on)[0] if call.distinct else None
                return pa.array(window_aggregates.count(pieces, values) if counts is None else counts)
            case "sum" | "avg":
                wide = type if call.function == "sum" else _sum_type(values.type)
                if call.distinct:
                    counts, sums = window_aggregates.distinct(pieces, values, layout, wide, frames.go_on)
                    assert sums is not None, "a type was given"
                else:
                    counts, sums = window_aggregates.count(pieces, values), window_aggregates.total(pieces, values, layout, wide)
                return sums if call.function == "sum" else decimals.mean(sums, pa.array(counts))
        return window_aggregates.extreme(pieces, values, layout, largest=call.function == "max")

    return run


def _sum_type(type: DataType) -> DataType:
    """In what values of `type` are added up for their mean."""
    if pa.types.is_floating(type):
        return pa.float64()
    return pa.decimal128(38, type.scale if pa.types.is_decimal(type) else 0)
