"""Errors that the code of a plug-in is to blame for, told with its file and line."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import getsourcelines, unwrap
from typing import Any

from optimizer.errors import PlanscopeError


def number_from(source: str, value: object, finite: bool = False, by: object = None) -> float:
    """What an estimator or a cost model gives, perhaps a number of NumPy's, as a float. Raises PlanscopeError where it is no
    number from 0 up, or infinite where it must be `finite`; `source` begins the message, after where `by` is written."""
    try:
        found = float("nan") if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = float("nan")
    if not found >= 0.0 or (finite and found == float("inf")):
        wrong = "not finite" if found == float("inf") else "no number from 0 up"
        raise PlanscopeError(f"{written_in(by)}{source} {value!r:.60}, which is {wrong}")
    return found


plugin_files: dict[str, str] = {}
"""Path of each plug-in that was run -> as it was named."""


def written_in(thing: Any) -> str:
    """`plug-in mine.py, line 7: ` for a function or a class of a plug-in, `""` for others; begins a message about it."""
    for each in thing.__mro__ if isinstance(thing, type) else (thing,):
        try:
            code = getattr(unwrap(each), "__code__", None)
            file = code.co_filename if code is not None else sys.modules[each.__module__].__file__
            if file in plugin_files:
                line = code.co_firstlineno if code is not None else getsourcelines(each)[1]
                return f"plug-in {plugin_files[file]}, line {line}: "
        except (AttributeError, KeyError, OSError, TypeError):  # not told where
            continue
    return ""


def plugin_line(error: BaseException) -> str | None:
    """`mine.py, line 7`, where the code of a plug-in raised an error or what caused it; None where none did."""
    cause: BaseException | None = error
    while cause is not None:
        for frame in reversed(traceback.extract_tb(cause.__traceback__)):
            if frame.filename in plugin_files:
                return f"{plugin_files[frame.filename]}, line {frame.lineno}"
        cause = cause.__cause__
    return None


def failed(error: BaseException, doing: str = "", kind: type[PlanscopeError] = PlanscopeError) -> PlanscopeError | None:
    """The error to be raised for one that the code of a plug-in raised, with its line; None for any other."""
    if isinstance(error, PlanscopeError) or (where := plugin_line(error)) is None:
        return None
    return kind(f"plug-in {where}: {doing}{type(error).__name__}: {error}".removesuffix(": "))


@contextmanager
def plugins_named(kind: type[PlanscopeError] = PlanscopeError) -> Iterator[None]:
    """What the code of a plug-in raises meanwhile is an error of a `kind` that says where."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if (told := failed(error, kind=kind)) is None:
            raise
        raise told from error
