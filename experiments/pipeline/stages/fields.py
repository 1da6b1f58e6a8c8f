"""The keys of a stage's table: which there are, of what type, and whether they must be given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from experiments.pipeline.sweep.problems import Problems

TEXT, TEXTS, WHOLE, FLAG, TABLE = "a text", "a list of texts", "a whole number from 1 up", "true or false", "a table"
FOLDER = "a folder within that of the pipeline, such as data"


def _is_inside(value: Any) -> bool:
    return (
        isinstance(value, str)
        and value not in ("", ".")
        and not PurePath(value).is_absolute()
        and ".." not in PurePath(value).parts
    )


_TESTS: dict[str, Callable[[Any], bool]] = {
    TEXT: lambda value: isinstance(value, str) and bool(value),
    TEXTS: lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    WHOLE: lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    FLAG: lambda value: isinstance(value, bool),
    TABLE: lambda value: isinstance(value, dict),
    FOLDER: _is_inside,
}


class Field(NamedTuple):
    """`what` it has to be, in words, tested by `fits` (words above have their own test)."""

    what: str
    fits: Callable[[Any], bool] | None = None
    required: bool = False


def one_of(*choices: str) -> Field:
    return Field(f"one of {', '.join(choices)}", lambda value: value in choices)


def read_fields(table: Mapping[str, Any], name: str, fields: Mapping[str, Field], problems: Problems) -> dict[str, Any] | None:
    """The values by key; None when there are mistakes, which go to `problems` (`name` is the table's)."""
    before = len(problems)
    problems.unknown_keys(table, list(fields), name)
    for key, field in fields.items():
        if key not in table:
            if field.required:
                problems.add(f"{key} is missing: it is {field.what}", name)
        elif not (field.fits or _TESTS[field.what])(table[key]):
            problems.add(f"{key} is {field.what}, not {table[key]!r}", name, key)
    return dict(table) if len(problems) == before else None
