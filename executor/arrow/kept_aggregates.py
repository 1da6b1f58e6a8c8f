"""Aggregates that look at the rows of a group side by side: statistics, quantiles, texts joined together, first and last values.

    rows of a batch --reduced--> rows that matter --merged--> … --results--> one value a segment

Each aggregate has a `Kernel`; without one its reference computes it, group by group. What is kept of a group are the arguments of
its rows, or less where the kernel says how rows become fewer. Constants at the end of the arguments are no columns.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import moments, picked
from executor.arrow.quantiles import CONTINUOUS, DISCRETE, EXACT, Quantile
from executor.arrow.segments import Direction, all_valid, distinct_within, sorted_within, without
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.columns import DataType
from optimizer.algebra.scalars import AggregateCall, Case, Literal, Ordered, Scalar, WindowCall
from optimizer.algebra.types import is_float, is_numeric

Columns = list[pa.Array]


class Kernel(NamedTuple):
    """`finish(columns, offsets, constants, type)`: a value for each segment, which may be empty.

    `start` makes of the arguments the columns that are kept; `merge(columns, offsets)` makes one row of each segment, none being
    empty. Kernels with the same two share what is kept.
    """

    finish: Callable[[Columns, np.ndarray, Sequence[Any], DataType], pa.Array]
    start: Callable[[Columns], Columns] | None = None
    merge: Callable[[Columns, np.ndarray], Columns] | None = None
    quantile: Quantile | None = None


KERNELS: dict[str, Kernel] = {
    **{name: Kernel(finish, moments.start, moments.merge) for name, finish in moments.FINISH.items()},
    **{name: Kernel(finish, moments.start_pairs, moments.merge_pairs) for name, finish in moments.FINISH_PAIRS.items()},
    "first": Kernel(picked.one_value, None, picked.first_rows),
    "last": Kernel(picked.one_value, None, picked.last_rows),
    "any_value": Kernel(picked.one_value, None, picked.first_rows),
    "arg_min": Kernel(picked.one_value, None, picked.smallest),
    "arg_max": Kernel(picked.one_value, None, picked.largest),
    "bit_and": Kernel(picked.one_value, None, picked.folded(np.bitwise_and)),
    "bit_or": Kernel(picked.one_value, None, picked.folded(np.bitwise_or)),
    "bit_xor": Kernel(picked.one_value, None, picked.folded(np.bitwise_xor)),
    "product": Kernel(picked.one_value, None, picked.folded(np.multiply)),
    "mode": Kernel(picked.mode),
    "quantile_disc": Kernel(DISCRETE.finish, quantile=DISCRETE),
    "quantile_cont": Kernel(CONTINUOUS.finish, quantile=CONTINUOUS),
    "string_agg": Kernel(picked.string_agg),
    "regr_count": Kernel(moments.counts, moments.start_pairs, moments.merge_pairs),
}


class Parts(NamedTuple):
    """The arguments of a call: columns, what they are sorted by, and constants."""

    values: tuple[Scalar, ...]
    order: tuple[Ordered, ...]
    constants: tuple[Any, ...]

    @property
    def how(self) -> list[Direction]:
        return [Direction(term.descending, term.nulls_first) for term in self.order]


def parts_of(call: AggregateCall | WindowCall) -> Parts:
    order = tuple(arg for arg in call.args if isinstance(arg, Ordered))
    plain = call.args[: len(call.args) - len(order)]
    constants = AGGREGATE_FUNCTIONS[call.function].constants
    values = plain[: len(plain) - constants]
    return Parts(values, order, tuple(c.value for c in plain[len(values) :] if isinstance(c, Literal)))


def is_kept(function: str) -> bool:
    """Whether it is computed here; otherwise it has states that Arrow's own aggregates make."""
    return AGGREGATE_FUNCTIONS[function].reference is not None


def where_chosen(value: Scalar, condition: Scalar | None) -> Scalar:
    """NULL, and not evaluated, where an aggregate's filter is not TRUE."""
    return value if condition is None else Case(((condition, value),), Literal(None, value.type), value.type)


def keeps_rows(call: AggregateCall | WindowCall) -> bool:
    """Whether what is kept of a group may grow with its rows."""
    kernel = KERNELS.get(call.function)
    return call.distinct or (is_kept(call.function) and (kernel is None or kernel.merge is None))


class Kept:
    """How the rows of a call's groups are kept: `columns` of its arguments, then those of its order."""

    def __init__(self, call: AggregateCall | WindowCall) -> None:
        self.call, self.parts = call, parts_of(call)
        self._kernel = KERNELS.get(call.function)
        if call.function == "quantile_cont" and not (is_float(call.type) and is_numeric(call.args[0].type)):
            self._kernel = Kernel(EXACT.finish, quantile=EXACT)
        self._reference = AGGREGATE_FUNCTIONS[call.function].reference
        self._keeps_nulls = AGGREGATE_FUNCTIONS[call.function].keeps_nulls

    @property
    def needs_filter(self) -> bool:
        return self._keeps_nulls and self.call.filter is not None

    @property
    def merges(self) -> bool:
        """Whether `fewer` ever does anything."""
        return self.call.distinct or (self._kernel is not None and self._kernel.merge is not None)

    @property
    def goes_by_order(self) -> bool:
        """Whether the order of the rows may decide."""
        return AGGREGATE_FUNCTIONS[self.call.function].ordered

    @property
    def quantile(self) -> Quantile | None:
        """What it is of any ranges of the kept rows, if it is a quantile."""
        return None if self.call.distinct or self._kernel is None else self._kernel.quantile

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """What the kept columns are computed from."""
        return (*self.parts.values, *(term.key for term in self.parts.order))

    @property
    def sharing(self) -> tuple[Any, ...]:
        """Equal for calls that can share what is kept."""
        kernel = self._kernel
        if self.call.distinct or kernel is None or kernel.merge is None:
            return (self.scalars, self.call.filter, self._keeps_nulls, self.call.distinct)
        return (self.scalars, self.call.filter, self._keeps_nulls, kernel.start, kernel.merge, tuple(self.parts.how))

    def usable(self, columns: Columns, chosen: pa.Array | None, offsets: np.ndarray) -> tuple[Columns, np.ndarray]:
        """The rows that the aggregate takes, in the form in which they are kept. `chosen`: where its filter is TRUE; other rows
        have NULL for arguments, so only a function that keeps NULLs needs it. Columns after those of `scalars` are passed on."""
        values = len(self.parts.values)
        if not self._keeps_nulls:
            columns, offsets = without(columns, all_valid(columns[:values]), offsets)
        elif chosen is not None:
            columns, offsets = without(columns, pc.fill_null(chosen, False), offsets)
        if not self.call.distinct and self._kernel is not None and self._kernel.start is not None:
            columns = [*self._kernel.start(columns[:values]), *columns[values:]]
        return columns, offsets

    def fewer(self, columns: Columns, offsets: np.ndarray) -> tuple[Columns, np.ndarray]:
        """The same with fewer rows, where that is possible; no segment is empty."""
        if self.call.distinct:
            return distinct_within(columns, offsets)
        if self._kernel is None or self._kernel.merge is None:
            return columns, offsets
        return self._kernel.merge(self._sorted(columns, offsets), offsets), np.arange(len(offsets))

    def results(self, columns: Columns, offsets: np.ndarray) -> pa.Array:
        """A value for each segment."""
        known = AGGREGATE_FUNCTIONS[self.call.function]
        if self.call.distinct:
            columns, offsets = distinct_within(columns, offsets)
        columns = self._sorted(columns, offsets)
        values = columns[: len(columns) - len(self.parts.order)]
        type, constants = self.call.type, self.parts.constants
        if self._kernel is not None:
            if self.call.distinct and self._kernel.start is not None:
                values = self._kernel.start(values)
            if self._kernel.merge is not None and (np.diff(offsets) > 1).any():
                values, offsets = _one_row_each(self._kernel.merge, columns if self.parts.order else values, offsets)
            return self._kernel.finish(values, offsets, constants, type)
        assert self._reference is not None
        lists = [column.to_pylist() for column in values]
        found = [
            self._reference(*(each[low:high] for each in lists), *constants) if high > low else known.empty_value
            for low, high in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]
        return pa.array(found, type)

    def _sorted(self, columns: Columns, offsets: np.ndarray) -> Columns:
        order = self.parts.order
        if not order:
            return columns
        first = len(columns) - len(order)
        return sorted_within(columns, range(first, len(columns)), self.parts.how, offsets)


def _one_row_each(
    merge: Callable[[Columns, np.ndarray], Columns], columns: Columns, offsets: np.ndarray
) -> tuple[Columns, np.ndarray]:
    """Each segment as one row, or none where it is empty."""
    full = offsets[1:] > offsets[:-1]
    merged = merge(columns, np.append(offsets[:-1][full], offsets[-1]))
    return merged, np.concatenate([[0], np.cumsum(full)])
