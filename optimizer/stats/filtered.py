"""What is left of a column's values where a predicate on the column holds.

A filter on a column leaves fewer distinct values, closer bounds, and other shares of the common values. Joins ask for these:
where both sides of an equality are filtered by the same range (`join_infer_filter`), the range counts once, not twice, since
fewer distinct values are left on either side. A predicate over several columns changes nothing here.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.nulls import null_rejected
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import Call, ColumnRef, InList, Literal, Predicate, Scalar
from optimizer.errors import PlanscopeError
from optimizer.stats.relation import NONE_KNOWN, ColumnFigures, as_number
from optimizer.stats.selectivity import Combine, conjunction_selectivity, frequency


def filtered_figures(
    predicate: Predicate, columns: dict[ColumnId, ColumnFigures], combine: Combine | None = None
) -> dict[ColumnId, ColumnFigures]:
    """The figures of rows for which every conjunct is TRUE; the same dict where none says anything of a single column. `combine`:
    as in `selectivity`."""
    by_column: dict[ColumnId, list[Scalar]] = {}
    for conjunct in predicate:
        read = conjunct.columns
        if read and not read & read - 1 and not conjunct.volatile and read.bit_length() - 1 in columns:
            by_column.setdefault(read.bit_length() - 1, []).append(conjunct)
    changed = {id: _filtered(id, conjuncts, columns, combine) for id, conjuncts in by_column.items()}
    for id in column_ids(null_rejected(predicate)):
        before = changed.get(id) or columns.get(id)
        if before is not None and before.null_fraction:
            changed[id] = ColumnFigures(before.ndv, 0.0, before.low, before.high, before.width, before.frequent, before.spread)
    return {**columns, **changed} if changed else columns


def filtered_combinations(
    counted: Mapping[ColumnSet, float], before: Mapping[ColumnId, ColumnFigures], after: Mapping[ColumnId, ColumnFigures]
) -> Mapping[ColumnSet, float]:
    """How many of the combinations of columns that were counted are left: as large a part as of each column's values, but no
    fewer than of any column."""
    if before is after:
        return counted
    return {
        columns: max(*(after[c].ndv for c in ids), ndv * prod(after[c].ndv / before[c].ndv for c in ids))
        for columns, ndv in counted.items()
        if (ids := list(column_ids(columns)))
    }


def _filtered(
    id: ColumnId, conjuncts: list[Scalar], columns: Mapping[ColumnId, ColumnFigures], combine: Combine | None
) -> ColumnFigures:
    before = columns[id]
    present = 1.0 - before.null_fraction
    share = min(1.0, conjunction_selectivity(conjuncts, columns, combine) / present) if present > 0.0 else 0.0
    low, high, ndv = before.low, before.high, max(1.0, before.ndv * share)
    spread = before.spread
    values = next((listed for conjunct in conjuncts if (listed := listed_values(conjunct)) is not None), None)
    if values is not None:
        ndv = max(1.0, min(before.ndv, float(len(values))))
        numbers = [n for n in map(as_number, values) if n is not None]
        if low is not None and numbers:
            low, high = min(numbers), max(numbers)
        if share > 0.0 and (before.frequent or spread is not None):
            return ColumnFigures(ndv, before.null_fraction, low, high, before.width, _shares(before, values))
    elif low is not None and high is not None:
        for conjunct in conjuncts:
            match conjunct:
                case Call(function="<" | "<=" | ">" | ">=" as function, args=(ColumnRef(), Literal(value=value))):
                    bound = as_number(value)
                    if bound is not None and low <= bound <= high:
                        low, high = (low, bound) if function[0] == "<" else (bound, high)
    frequent = _frequent(id, conjuncts, before, share)
    if spread is not None:
        left = max(0.0, 1.0 - sum(frequent.values()))
        spread = spread.between(low, high, left) if spread.numeric and left > 0.0 else None
    return ColumnFigures(ndv, before.null_fraction, low, high, before.width, frequent, spread)


def _shares(figures: ColumnFigures, values: list[object]) -> Mapping[object, float]:
    """The shares of the only values there are."""
    shares = {value: frequency(figures, value) for value in values}
    total = sum(shares.values())
    return {value: share / total for value, share in shares.items()} if total > 0.0 else NONE_KNOWN


def listed_values(conjunct: Scalar) -> list[object] | None:
    """The values that a column can have where the conjunct is TRUE, if it lists them."""
    match conjunct:
        case Call(function="=", args=(ColumnRef(), Literal(value=value)) | (Literal(value=value), ColumnRef())):
            return [value]
        case InList(arg=ColumnRef(), items=items) if all(isinstance(item, Literal) for item in items):
            return [item.value for item in items if isinstance(item, Literal) and item.value is not None]
    return None


def _frequent(id: ColumnId, conjuncts: list[Scalar], before: ColumnFigures, share: float) -> Mapping[object, float]:
    """The common values that are left, with their shares of what is left."""
    if not before.frequent or share <= 0.0:
        return NONE_KNOWN
    if any(s.raises or s.outer for c in conjuncts for s in walk(c)):
        return NONE_KNOWN
    left = before.frequent
    try:
        for conjunct in conjuncts:
            holds = _test(id, conjunct)
            left = {value: part for value, part in left.items() if holds(value)}
    except PlanscopeError:
        return NONE_KNOWN
    return {value: min(1.0, part / share) for value, part in left.items()}


def _test(id: ColumnId, conjunct: Scalar) -> Callable[[Any], Any]:
    """Whether a predicate is TRUE of a value of a column, which is not NULL; quick where it is a comparison."""
    match conjunct:
        case Call(function="=" | "<" | "<=" | ">" | ">=" as function, args=(ColumnRef(), Literal(value=bound))) if (
            bound is not None
        ):
            compared = SCALAR_FUNCTIONS[function].reference
            assert compared is not None
            return lambda value: compared(value, bound)
    return lambda value: evaluate(conjunct, {id: value}) is True
