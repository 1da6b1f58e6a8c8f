"""Scalars compiled to functions from a record batch to an Arrow array; semantics are those of `algebra.evaluate`.

    evaluate = compile_scalar(scalar)       evaluate(batch) -> array, one value a row, of the scalar's type
    select = compile_predicate(predicate)   select(batch) -> boolean array without NULLs: rows where every conjunct is TRUE

Inside, a value that is the same for all rows stays a `pyarrow.Scalar`. What may raise is evaluated only on the rows that reach
it: branches of CASE and COALESCE, operands of AND and OR behind one that decides, raising conjuncts behind the others. What is
cheap besides is tried on all rows first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow import arithmetic, comparisons, dates, days, spans, strings
from executor.arrow.batches import column_name, single_array
from executor.arrow.casts import cast
from executor.arrow.decimal_trees import compile_tree, is_tree
from executor.arrow.distinct import Value, as_array, by_reference, spread
from executor.arrow.failures import OF_DATA, ScalarError
from executor.arrow.parameters import Parameter
from executor.arrow.selection import filtered, where_true
from optimizer.algebra.columns import DataType
from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.scalars import BOOL, Call, Case, Cast, ColumnRef, InList, Literal, Predicate, Scalar
from optimizer.algebra.types import is_string
from optimizer.errors import ExecutionError

Evaluator = Callable[[pa.RecordBatch], Value]
_CHEAP = ("+", "-", "*", "/", "//", "%", "neg", "abs", "and", "or", "not", "is_null", "is_not_null")
_MANY = 8  # part of the rows of a batch from which on all are tried rather than some evaluated
# with the type: to infer it from a Python value takes 35 µs
_TRUE, _FALSE, _NULL = pa.scalar(True, BOOL), pa.scalar(False, BOOL), pa.scalar(None, BOOL)


def compile_scalar(scalar: Scalar) -> Callable[[pa.RecordBatch], pa.Array]:
    evaluate, raises, type = _compile(scalar), scalar.raises, scalar.type

    def run(batch: pa.RecordBatch) -> pa.Array:
        if raises and not batch.num_rows:  # a part without columns would be computed though no row asks for it
            return pa.array([], type)
        return single_array(as_array(evaluate(batch), batch.num_rows))

    return run


def compile_predicate(predicate: Predicate) -> Callable[[pa.RecordBatch], pa.Array]:
    safe = [_compile(c) for c in predicate if not c.raises]
    raising = [_Raising(_compile(c), BOOL, _is_cheap(c)) for c in predicate if c.raises]

    def select(batch: pa.RecordBatch) -> pa.Array:
        kept: Value = _TRUE
        for conjunct in safe:
            kept = pc.and_(kept, conjunct(batch))
        mask = pc.fill_null(as_array(kept, batch.num_rows), False)
        for part in raising:
            mask = pc.and_(mask, pc.fill_null(_on_rows(part, batch, mask), False))
        return single_array(mask)

    return select


class _Raising(NamedTuple):
    """What may raise on rows that it is not to be evaluated on. `cheap`: it may be tried on them."""

    evaluate: Evaluator
    type: DataType
    cheap: bool


def _is_cheap(scalar: Scalar) -> bool:
    """Whether it does nothing but compute and compare numbers, dates and texts that are there."""
    if isinstance(scalar, Cast):
        return not is_string(scalar.type) and not is_string(scalar.arg.type) and _is_cheap(scalar.arg)
    if isinstance(scalar, Call):
        return (scalar.function in COMPARISONS or scalar.function in _CHEAP) and all(map(_is_cheap, scalar.args))
    return isinstance(scalar, ColumnRef | Literal)


def _on_rows(part: _Raising, batch: pa.RecordBatch, mask: pa.Array) -> pa.Array:
    """The values on the rows where `mask` (without NULLs) is TRUE. The others have any value, and what they raise is not seen."""
    evaluate, chosen = part.evaluate, mask.true_count
    if chosen == 0:
        return pa.nulls(batch.num_rows, part.type)
    if chosen == batch.num_rows:
        return as_array(evaluate(batch), batch.num_rows)
    if part.cheap and _MANY * chosen >= batch.num_rows:  # to pick the rows and put them back costs more
        with suppress(ExecutionError, pa.ArrowException, OverflowError):
            return as_array(evaluate(batch), batch.num_rows)
    return spread(single_array(as_array(evaluate(filtered(batch, mask)), chosen)), mask)


def _compile(scalar: Scalar) -> Evaluator:
    match scalar:
        case ColumnRef():
            name = column_name(scalar.id)
            return lambda batch: batch.column(name)
        case Literal():
            constant = pa.scalar(scalar.value, scalar.type)
            return lambda batch: constant
        case Parameter():
            cell = scalar.cell
            return lambda batch: cell.value
        case Call(function="and" | "or"):
            return _compile_and_or(scalar)
        case Call(function="coalesce"):
            return _compile_coalesce(scalar)
        case Call() if is_tree(scalar):
            return compile_tree(scalar, _compile, lambda: _compile_call(scalar))
        case Call():
            return _compile_call(scalar)
        case Cast():
            return _compile_cast(scalar)
        case Case():
            return _compile_case(scalar)
        case InList():
            return _compile_in_list(scalar)
    raise AssertionError(f"{scalar.__class__.__name__} has no value in a single row")


def _typed(evaluate: Evaluator, type: DataType) -> Evaluator:
    """An untyped NULL takes the type of its surroundings."""

    def run(batch: pa.RecordBatch) -> Value:
        value = evaluate(batch)
        return value if value.type == type else pc.cast(value, type)

    return run


def _compile_and_or(call: Call) -> Evaluator:
    decisive = call.function == "or"
    kernel = pc.or_kleene if decisive else pc.and_kleene
    # those that cannot fail go first; they spare the others rows
    ordered = sorted(call.args, key=lambda arg: arg.raises)
    args = [(_Raising(_compile(arg), BOOL, _is_cheap(arg)), arg.raises) for arg in ordered]

    def run(batch: pa.RecordBatch) -> Value:
        result: Value = _FALSE if decisive else _TRUE
        for i, (arg, raises) in enumerate(args):
            if not raises or i == 0:
                result = kernel(result, arg.evaluate(batch))
                continue
            so_far = as_array(result, batch.num_rows)
            decided = pc.fill_null(so_far if decisive else pc.invert(so_far), False)
            # what a decided row gets cannot change it
            result = kernel(so_far, _on_rows(arg, batch, pc.invert(decided)))
        return result

    return run


def _compile_coalesce(call: Call) -> Evaluator:
    type = call.type
    args = [(_Raising(_typed(_compile(arg), type), type, _is_cheap(arg)), arg.raises) for arg in call.args]

    def run(batch: pa.RecordBatch) -> Value:
        result = as_array(args[0][0].evaluate(batch), batch.num_rows)
        for arg, raises in args[1:]:
            if result.null_count == 0:
                break
            result = pc.coalesce(result, _on_rows(arg, batch, pc.is_null(result)) if raises else arg.evaluate(batch))
        return result

    return run


def _compile_case(case: Case) -> Evaluator:
    type = case.type
    branches = [(_on_open_rows(condition), _on_open_rows(value, type)) for condition, value in case.branches]
    otherwise, none = _on_open_rows(case.otherwise, type), pa.scalar(None, type)

    def run(batch: pa.RecordBatch) -> Value:
        result = otherwise(batch, None)
        for condition, value in reversed(branches):
            holds = pc.fill_null(as_array(condition(batch, None), batch.num_rows), False)
            result = _either(holds, value(batch, None), result)
        return result

    def run_lazily(batch: pa.RecordBatch) -> Value:
        result: Value = none
        open_rows = pa.repeat(_TRUE, batch.num_rows)
        for condition, value in branches:
            holds = pc.and_(open_rows, pc.fill_null(as_array(condition(batch, open_rows), batch.num_rows), False))
            result = _either(holds, value(batch, holds), result)
            open_rows = pc.and_not(open_rows, holds)
        return _either(open_rows, otherwise(batch, open_rows), result)

    return run_lazily if case.raises else run


def _either(holds: pa.Array, value: Value, otherwise: Value) -> Value:
    """`value` where the mask (without NULLs) is TRUE, else `otherwise`."""
    if isinstance(value, pa.Array) and isinstance(otherwise, pa.Scalar) and not otherwise.is_valid:
        return where_true(holds, value)
    if isinstance(otherwise, pa.Array) and isinstance(value, pa.Scalar) and not value.is_valid:
        return where_true(pc.invert(holds), otherwise)
    return pc.if_else(holds, value, otherwise)


def _on_open_rows(scalar: Scalar, type: DataType | None = None) -> Callable[[pa.RecordBatch, pa.Array | None], Value]:
    """Evaluates on all rows what cannot raise, else on those where a mask is TRUE; without a mask, on all."""
    evaluate = _compile(scalar) if type is None else _typed(_compile(scalar), type)
    if not scalar.raises:
        return lambda batch, mask: evaluate(batch)
    part = _Raising(evaluate, type or scalar.type, _is_cheap(scalar))
    return lambda batch, mask: evaluate(batch) if mask is None else _on_rows(part, batch, mask)


def _compile_in_list(scalar: InList) -> Evaluator:
    arg = _compile(scalar.arg)
    if not all(isinstance(item, Literal) for item in scalar.items):
        items = [_typed(_compile(item), scalar.arg.type) for item in scalar.items]

        def run_any(batch: pa.RecordBatch) -> Value:
            value = arg(batch)
            result: Value = _FALSE
            for item in items:
                result = pc.or_kleene(result, comparisons.compare("=", value, item(batch)))
            return pc.if_else(pc.is_valid(value), result, _NULL)

        return run_any
    values = [item.value for item in scalar.items if isinstance(item, Literal)]
    known = comparisons.normalized(pa.array([v for v in values if v is not None], scalar.arg.type))
    has_null = len(known) < len(values)

    def run(batch: pa.RecordBatch) -> Value:
        value = comparisons.normalized(as_array(arg(batch), batch.num_rows))
        found = pc.is_in(value, value_set=known)
        answer = pc.if_else(found, _TRUE, _NULL) if has_null else found
        return pc.if_else(pc.is_valid(value), answer, _NULL) if value.null_count else answer

    return run


def _compile_cast(scalar: Cast) -> Evaluator:
    arg, type, lenient = _compile(scalar.arg), scalar.type, scalar.lenient

    def run(batch: pa.RecordBatch) -> Value:
        value = arg(batch)
        try:
            if isinstance(value, pa.Scalar):
                return cast(pa.repeat(value, 1), type, lenient)[0]
            return cast(value, type, lenient)
        except OF_DATA as error:
            raise ScalarError(error, scalar) from error

    return run


def _compile_call(call: Call) -> Evaluator:
    args = [_compile(arg) for arg in call.args]
    compute = _function(call)

    def run(batch: pa.RecordBatch) -> Value:
        values = [arg(batch) for arg in args]
        try:
            return compute(values, batch.num_rows)
        except OF_DATA as error:
            raise ScalarError(error, call) from error

    return run


def _function(call: Call) -> Callable[[Sequence[Value], int], Value]:
    """What computes `call` from its arguments' values and the number of rows."""
    name, type = call.function, call.type
    if name in COMPARISONS:
        return lambda a, rows: comparisons.compare(name, a[0], a[1])
    if name in ("+", "-", "*"):
        return lambda a, rows: arithmetic.basic(name, a[0], a[1], rows, type)
    if name in dates.PART_NAMES:
        return lambda a, rows: dates.part(name, a[0])
    if name in ("like", "ilike"):
        return lambda a, rows: strings.like(a, rows, ignore_case=name == "ilike")
    if name == "round" and isinstance(call.args[-1], Literal) and call.args[-1].value is not None:
        digits = call.args[-1].value
        return lambda a, rows: arithmetic.round_to(a[0], digits, rows, type)
    if name == "date_trunc":
        assert isinstance(call.args[0], Literal), "date_trunc takes its unit as a literal"
        unit = call.args[0].value
        return lambda a, rows: dates.date_trunc(unit, a[1], rows, type)
    if name in days.OF_DAY:
        return lambda a, rows: days.by_day(name, a[0], rows, type)
    if name in _COUNTS:
        assert isinstance(call.args[0], Literal), f"{name} takes its unit as a literal"
        count, unit = _COUNTS[name], call.args[0].value
        return lambda a, rows: spans.between(count, unit, a[1], a[2], rows)
    if name in ("greatest", "least"):
        return lambda a, rows: _extreme(a, ">" if name == "greatest" else "<", rows)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](type)
    known = SCALAR_FUNCTIONS[name]
    assert known.reference is not None, f"{name} is not executed"
    compute = partial(known.reference, type=type) if known.typed else known.reference
    return lambda a, rows: by_reference(compute, a, rows, type)


def _extreme(args: Sequence[Value], better: str, rows: int) -> pa.Array:
    """The largest or smallest argument that is not NULL."""
    result = as_array(args[0], rows)
    for arg in args[1:]:
        value = as_array(arg, rows)
        replace = pc.or_kleene(comparisons.compare(better, value, result), pc.is_null(result))
        result = pc.if_else(pc.fill_null(replace, False), value, result)
    return result


_COUNTS = {"date_diff": spans.boundaries, "date_sub": spans.whole_units}
_Compute = Callable[[Sequence[Value], int], Value]
_FUNCTIONS: dict[str, Callable[[DataType], _Compute]] = {
    "is_distinct_from": lambda type: lambda a, rows: comparisons.distinct_from(a[0], a[1]),
    "is_not_distinct_from": lambda type: lambda a, rows: pc.invert(comparisons.distinct_from(a[0], a[1])),
    "not": lambda type: lambda a, rows: pc.invert(a[0]),
    "is_null": lambda type: lambda a, rows: pc.is_null(a[0]),
    "is_not_null": lambda type: lambda a, rows: pc.is_valid(a[0]),
    "/": lambda type: lambda a, rows: pc.divide(a[0], a[1]),  # of floats: x / 0 is infinite or NaN
    "//": lambda type: lambda a, rows: arithmetic.integer_divide(a[0], a[1], rows, type),
    "%": lambda type: lambda a, rows: arithmetic.remainder(a[0], a[1], rows, type),
    "neg": lambda type: lambda a, rows: arithmetic.negate(a[0], rows, type),
    "abs": lambda type: lambda a, rows: arithmetic.absolute(a[0], rows, type),
    "floor": lambda type: lambda a, rows: arithmetic.floor_or_ceil(a[0], rows, type, up=False),
    "ceil": lambda type: lambda a, rows: arithmetic.floor_or_ceil(a[0], rows, type, up=True),
    "sqrt": lambda type: lambda a, rows: arithmetic.square_root(a[0]),
    "power": lambda type: lambda a, rows: pc.power(a[0], a[1]),
    "ln": lambda type: lambda a, rows: arithmetic.logarithm(a[0]),
    "exp": lambda type: lambda a, rows: pc.exp(a[0]),
    "concat": lambda type: lambda a, rows: strings.concat(a[0], a[1]),
    "upper": lambda type: lambda a, rows: strings.upper(a[0], rows),
    "lower": lambda type: lambda a, rows: strings.lower(a[0], rows),
    "length": lambda type: lambda a, rows: strings.length(a[0]),
    "substring": lambda type: lambda a, rows: strings.substring(a, rows),
    "trim": lambda type: lambda a, rows: strings.trim(a[0], left=True, right=True),
    "ltrim": lambda type: lambda a, rows: strings.trim(a[0], left=True, right=False),
    "rtrim": lambda type: lambda a, rows: strings.trim(a[0], left=False, right=True),
    "replace": lambda type: lambda a, rows: strings.replace(a, rows),
    "starts_with": lambda type: lambda a, rows: strings.starts_with(a[0], a[1], rows),
    "strpos": lambda type: lambda a, rows: strings.strpos(a[0], a[1], rows),
    "regexp_matches": lambda type: strings.regex_matches,
    "regexp_full_match": lambda type: strings.regex_full_matches,
    "regexp_replace": lambda type: strings.regex_replace,
    "regexp_extract": lambda type: strings.regex_extract,
    "array_slice": lambda type: strings.part,
    "translate": lambda type: strings.translate,
    "left": lambda type: lambda a, rows: strings.left(a[0], a[1], rows),
    "right": lambda type: lambda a, rows: strings.right(a[0], a[1], rows),
    "reverse": lambda type: lambda a, rows: pc.utf8_reverse(a[0]),
    "strlen": lambda type: lambda a, rows: pc.cast(pc.binary_length(a[0]), type),
    "concat_ws": lambda type: lambda a, rows: strings.joined(a),
    "bit_and_of": lambda type: lambda a, rows: pc.bit_wise_and(a[0], a[1]),
    "bit_or_of": lambda type: lambda a, rows: pc.bit_wise_or(a[0], a[1]),
    "xor": lambda type: lambda a, rows: pc.bit_wise_xor(a[0], a[1]),
    "bit_not": lambda type: lambda a, rows: pc.bit_wise_not(a[0]),
    "sign": lambda type: lambda a, rows: arithmetic.sign(a[0], type),
    "isnan": lambda type: lambda a, rows: pc.is_nan(a[0]),
    "isinf": lambda type: lambda a, rows: pc.is_inf(a[0]),
    "isfinite": lambda type: lambda a, rows: pc.is_finite(a[0]),
    "log10": lambda type: lambda a, rows: arithmetic.logarithm(a[0], pc.log10),
    "log2": lambda type: lambda a, rows: arithmetic.logarithm(a[0], pc.log2),
    "atan": lambda type: lambda a, rows: pc.atan(a[0]),
    "atan2": lambda type: lambda a, rows: pc.atan2(a[0], a[1]),
    "date_add": lambda type: lambda a, rows: dates.date_add(a[0], a[1], rows),
    "date_add_days": lambda type: lambda a, rows: dates.date_add_days(a[0], a[1], rows),
    "date_diff_days": lambda type: lambda a, rows: dates.date_diff_days(a[0], a[1]),
    "microseconds_between": lambda type: lambda a, rows: dates.microseconds_between(a[0], a[1]),
    "to_interval": lambda type: lambda a, rows: spans.to_interval(a[0], rows),
    "epoch": lambda type: lambda a, rows: spans.since_1970(lambda n: n / 1e6, a[0], rows, type),
    "microsecond": lambda type: lambda a, rows: spans.since_1970(lambda n: n % 60_000_000, a[0], rows, type),
    "millisecond": lambda type: lambda a, rows: spans.since_1970(lambda n: n % 60_000_000 // 1000, a[0], rows, type),
    "strftime": lambda type: lambda a, rows: days.strftime(a[0], a[1], rows, type),
    "random": lambda type: lambda a, rows: pa.array(np.random.default_rng(random.getrandbits(64)).random(rows)),
}
