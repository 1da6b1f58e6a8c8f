"""What every scalar means: the reference semantics, on Python values, obviously right rather than fast.

Values are those of `pyarrow.Scalar.as_py`: int, float, `Decimal` with its type's scale, str, bool, `date`, `datetime`,
`pyarrow.MonthDayNano`; None is NULL. Tests use it as the reference; the optimizer folds constants with it. It checks
nothing that binding has checked: operand types are equal where functions want them equal.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.evaluate_casts import cast
from optimizer.algebra.evaluate_order import compare_values
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.scalars import Call, Case, Cast, ColumnRef, InList, Literal, Once, Predicate, Scalar, Slot
from optimizer.errors import ExecutionError

Value = Any
Row = Mapping[ColumnId, Value]


def evaluate(scalar: Scalar, row: Row) -> Value:
    """The value of `scalar` in `row`, which maps the ids of the columns it reads to values.

    Raises ExecutionError where SQL does: overflow, a failing cast, the logarithm of zero. CASE and COALESCE evaluate
    their branches only as far as needed; AND and OR stop at the operand that decides.
    """
    match scalar:
        case ColumnRef():
            return row[scalar.id]
        case Literal():
            return scalar.value
        case Call():
            return _call(scalar, row)
        case Cast():
            return _cast(scalar, row)
        case Case():
            for condition, value in scalar.branches:
                if evaluate(condition, row) is True:
                    return evaluate(value, row)
            return evaluate(scalar.otherwise, row)
        case InList():
            return _in_list(evaluate(scalar.arg, row), scalar.items, row)
        case Once(number=number, value=value):
            return evaluate(scalar.body, {**row, ~number: evaluate(value, row)})
        case Slot():
            return row[~scalar.number]
    raise AssertionError(f"{scalar.__class__.__name__} has no value in a single row")


def holds(predicate: Predicate, row: Row) -> bool:
    """Whether every conjunct is TRUE in `row`; UNKNOWN is not."""
    return all(evaluate(conjunct, row) is True for conjunct in predicate)


def _call(call: Call, row: Row) -> Value:
    name = call.function
    if name in ("and", "or"):
        return _and_or(name == "or", (evaluate(arg, row) for arg in call.args))
    if name == "coalesce":
        return next((v for v in (evaluate(arg, row) for arg in call.args) if v is not None), None)
    return called(name, [evaluate(arg, row) for arg in call.args], call.type)


def called(function: str, args: Sequence[Value], type: DataType) -> Value:
    """The value of a function, other than AND, OR and COALESCE, of these values."""
    known = SCALAR_FUNCTIONS[function]
    if known.strict and None in args:
        return None
    if known.reference is not None:
        return known.reference(*args, type=type) if known.typed else known.reference(*args)
    raise AssertionError(f"{function} has no reference semantics")


def _and_or(decisive: bool, values: Iterable[Value]) -> Value:
    """AND (decisive FALSE) or OR (decisive TRUE): the decisive value if any operand has it, else NULL if any is NULL."""
    unknown = False
    for value in values:
        if value is decisive:
            return decisive
        unknown = unknown or value is None
    return None if unknown else not decisive


def _in_list(value: Value, items: Sequence[Scalar], row: Row) -> Value:
    if value is None:
        return None
    if isinstance(value, str) and all(isinstance(item, Literal) for item in items):  # texts that are equal are the same
        texts = [item.value for item in items if isinstance(item, Literal)]
        return value in texts or (None if None in texts else False)
    each = (evaluate(item, row) for item in items)
    return _and_or(True, (None if i is None else compare_values(value, i) == 0 for i in each))


def _cast(scalar: Cast, row: Row) -> Value:
    value = evaluate(scalar.arg, row)
    if value is None:
        return None
    try:
        return cast(value, scalar.arg.type, scalar.type)
    except ExecutionError:
        if scalar.lenient:
            return None
        raise
