"""How an operator fails: every error that leaves it is an `ExecutionError` that begins with the operator's name. If it was an
expression that could not be computed, it is named too."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.scalars import Cast, Scalar
from optimizer.errors import ExecutionError

OF_DATA = (ExecutionError, MemoryError, OverflowError, UnicodeDecodeError, pa.ArrowException, OSError)


class OperatorError(ExecutionError):
    """An ExecutionError whose message already names its operator."""


class ScalarError(ExecutionError):
    """No value of `scalar` for some row, while its arguments have theirs."""

    def __init__(self, error: Exception, scalar: Scalar) -> None:
        super().__init__(_reason(error))
        self.scalar = scalar


@contextmanager
def operator_errors(operator: str, label: Callable[[ColumnId], str]) -> Iterator[None]:
    """Inside, errors of data (not of our code) become `operator: reason`; what an input raised passes unchanged. `label` names
    columns."""
    try:
        yield
    except OperatorError:
        raise
    except ScalarError as error:
        first, *rest = str(error).split("\n", 1)
        hint = ["TRY_CAST gives NULL for such a value"] if isinstance(error.scalar, Cast) else []
        raise OperatorError("\n".join([f"{operator}: {first}, in {error.scalar.show(label)}", *rest, *hint])) from error.__cause__
    except OF_DATA as error:
        raise OperatorError(f"{operator}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    match error:
        case ExecutionError():
            return str(error)
        case MemoryError():
            return f"out of memory ({str(error) or 'no figure given'})"
        case OverflowError():  # a date beyond the years that Python has
            return "a date is out of range (years 1 to 9999)"
        case UnicodeDecodeError():
            return f"a text is not UTF-8 ({error.reason})"
    return first_line(error)


def first_line(error: Exception) -> str:
    """What a library's error says, without the call chain some of them append."""
    return (str(error).splitlines() or [error.__class__.__name__])[0]
