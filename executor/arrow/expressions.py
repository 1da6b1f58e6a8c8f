"""Scalars compiled to functions from a record batch to an Arrow array; semantics are those of `algebra.evaluate`.

    evaluate = compile_scalar(scalar)       evaluate(batch) -> array, one value a row, of the scalar's type
    select = compile_predicate(predicate)   select(batch) -> boolean array without NULLs: rows where every conjunct is TRUE

Inside, a value that is the same for all rows stays a `pyarrow.Scalar`. What may raise is evaluated only on the rows that reach
it: branches of CASE and COALESCE, operands of AND and OR behind one that decides, raising conjuncts behind the others. What is
cheap besides is tried on all rows first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
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
from executor.arrow.distinct import Value, as_array, by_reference, per_control, spread
from executor.arrow.failures import OF_DATA, ScalarError
from executor.arrow.parameters import Parameter
from executor.arrow.selection import filtered, where_true
from optimizer.algebra.columns import DataType
from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.scalars import BOOL, Call, Case, Cast, ColumnRef, InList, Literal, Once, Predicate, Scalar, Slot
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
        case Call(function="concat"):
            return _compile_call(Call("concat", tuple(_joined_texts(scalar))[::-1], scalar.type))
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
        case Once():
            return _compile_once(scalar)
        case Slot(number=number):
            return lambda batch: batch.column(f"@{number}")
    raise AssertionError(f"{scalar.__class__.__name__} has no value in a single row")


def _joined_texts(scalar: Scalar) -> Iterator[Scalar]:
    """What a chain of || joins. At once: two by two, each text would be written again for all of those behind it."""
    while isinstance(scalar, Call) and scalar.function == "concat":
        scalar, last = scalar.args
        yield last
    yield scalar


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


def _compile_once(scalar: Once) -> Evaluator:
    name, value, body = f"@{scalar.number}", _typed(_compile(scalar.value), scalar.value.type), _compile(scalar.body)

    def run(batch: pa.RecordBatch) -> Value:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns[name] = single_array(as_array(value(batch), batch.num_rows))
        return body(pa.record_batch(columns))

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
    if name == "round" and isinstance(call.args[-1], Literal) and call.args[-1].value is not None:
        digits = call.args[-1].value
        return lambda a, rows: arithmetic.round_to(a[0], digits, rows, type)
    if name in _FUNCTIONS:
        function = _FUNCTIONS[name]
        return lambda a, rows: function(a, rows, type)
    known = SCALAR_FUNCTIONS[name]
    assert known.reference is not None, f"{name} is not executed"
    compute = partial(known.reference, type=type) if known.typed else known.reference
    if name in strings.BY_CONTROLS:
        by_controls = strings.BY_CONTROLS[name]
        return lambda a, rows: per_control(as_array(a[0], rows), a[1:], by_controls, compute, type)
    return lambda a, rows: by_reference(compute, a, rows, type)


def _extreme(better: str, args: Sequence[Value], rows: int, type: DataType) -> pa.Array:
    """The largest or smallest argument that is not NULL."""
    result = as_array(args[0], rows)
    for arg in args[1:]:
        value = as_array(arg, rows)
        replace = pc.or_kleene(comparisons.compare(better, value, result), pc.is_null(result))
        result = pc.if_else(pc.fill_null(replace, False), value, result)
    return result


def _of_values(function: Callable[..., Value], values: Sequence[Value], rows: int, type: DataType) -> Value:
    return function(*values)


_OF_VALUES: dict[str, Callable[..., Value]] = {  # of the arguments alone
    **{name: partial(comparisons.compare, name) for name in COMPARISONS},
    **{name: partial(dates.part, name) for name in dates.PART_NAMES},
    "is_distinct_from": comparisons.distinct_from,
    "is_not_distinct_from": lambda a, b: pc.invert(comparisons.distinct_from(a, b)),
    "not": pc.invert,
    "is_null": pc.is_null,
    "is_not_null": pc.is_valid,
    "/": pc.divide,  # of floats: x / 0 is infinite or NaN
    "sqrt": arithmetic.square_root,
    "power": pc.power,
    "ln": arithmetic.logarithm,
    "log10": partial(arithmetic.logarithm, kernel=pc.log10),
    "log2": partial(arithmetic.logarithm, kernel=pc.log2),
    "exp": pc.exp,
    "atan": pc.atan,
    "atan2": pc.atan2,
    "isnan": pc.is_nan,
    "isinf": pc.is_inf,
    "isfinite": pc.is_finite,
    "bit_and_of": pc.bit_wise_and,
    "bit_or_of": pc.bit_wise_or,
    "xor": pc.bit_wise_xor,
    "bit_not": pc.bit_wise_not,
    "concat": strings.concat,
    "concat_ws": strings.joined,
    "length": strings.length,
    "trim": partial(pc.utf8_trim, characters=strings.SPACES),
    "ltrim": partial(pc.utf8_ltrim, characters=strings.SPACES),
    "rtrim": partial(pc.utf8_rtrim, characters=strings.SPACES),
    "reverse": pc.utf8_reverse,
    "date_diff_days": dates.date_diff_days,
    "microseconds_between": dates.microseconds_between,
}
_FUNCTIONS: dict[str, Callable[[Sequence[Value], int, DataType], Value]] = {  # of their values, the rows, and the result's type
    **{name: partial(_of_values, function) for name, function in _OF_VALUES.items()},
    **{name: partial(arithmetic.basic, name) for name in ("+", "-", "*")},
    **{name: partial(days.by_day, name) for name in days.OF_DAY},
    "greatest": partial(_extreme, ">"),
    "least": partial(_extreme, "<"),
    "//": lambda a, rows, type: arithmetic.integer_divide(a[0], a[1], rows, type),
    "%": lambda a, rows, type: arithmetic.remainder(a[0], a[1], rows, type),
    "neg": lambda a, rows, type: arithmetic.negate(a[0], rows, type),
    "abs": lambda a, rows, type: arithmetic.absolute(a[0], rows, type),
    "floor": lambda a, rows, type: arithmetic.floor_or_ceil(a[0], rows, type, up=False),
    "ceil": lambda a, rows, type: arithmetic.floor_or_ceil(a[0], rows, type, up=True),
    "sign": lambda a, rows, type: arithmetic.sign(a[0], type),
    "upper": lambda a, rows, type: strings.upper(a[0], rows),
    "lower": lambda a, rows, type: strings.lower(a[0], rows),
    "strlen": lambda a, rows, type: pc.cast(pc.binary_length(a[0]), type),
    "like": lambda a, rows, type: strings.like(a, rows, ignore_case=False),
    "ilike": lambda a, rows, type: strings.like(a, rows, ignore_case=True),
    # units are literals
    "date_trunc": lambda a, rows, type: dates.date_trunc(a[0].as_py(), a[1], rows, type),
    "date_diff": lambda a, rows, type: spans.between(spans.boundaries, a[0].as_py(), a[1], a[2], rows),
    "date_sub": lambda a, rows, type: spans.between(spans.whole_units, a[0].as_py(), a[1], a[2], rows),
    "date_add": lambda a, rows, type: dates.date_add(a[0], a[1], rows),
    "date_add_days": lambda a, rows, type: dates.date_add_days(a[0], a[1], rows),
    "to_interval": lambda a, rows, type: spans.to_interval(a[0], rows),
    "epoch": lambda a, rows, type: spans.since_1970(lambda n: n / 1e6, a[0], rows, type),
    "microsecond": lambda a, rows, type: spans.since_1970(lambda n: n % 60_000_000, a[0], rows, type),
    "millisecond": lambda a, rows, type: spans.since_1970(lambda n: n % 60_000_000 // 1000, a[0], rows, type),
    "strftime": lambda a, rows, type: days.strftime(a[0], a[1], rows, type),
    "random": lambda a, rows, type: pa.array(np.random.default_rng(random.getrandbits(64)).random(rows)),
}
