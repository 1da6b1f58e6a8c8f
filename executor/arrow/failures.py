"""How an operator fails: every error that leaves it is an `ExecutionError` that begins with the operator's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from optimizer.errors import ExecutionError


class OperatorError(ExecutionError):
    """An ExecutionError whose message already names its operator."""


@contextmanager
def operator_errors(operator: str) -> Iterator[None]:
    """Inside, errors of data (not of our code) become `operator: reason`; what an input raised passes unchanged."""
    try:
        yield
    except OperatorError:
        raise
    except ExecutionError as error:
        raise OperatorError(f"{operator}: {error}") from error
    except MemoryError as error:
        raise OperatorError(f"{operator}: out of memory ({str(error) or 'no figure given'})") from error
    except OverflowError as error:  # a date beyond the years that Python has
        raise OperatorError(f"{operator}: a date is out of range (years 1 to 9999)") from error
    except UnicodeDecodeError as error:
        raise OperatorError(f"{operator}: a text is not UTF-8 ({error.reason})") from error
    except (pa.ArrowException, OSError) as error:
        raise OperatorError(f"{operator}: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """What a library's error says, without the call chain some of them append."""
    return (str(error).splitlines() or [error.__class__.__name__])[0]
