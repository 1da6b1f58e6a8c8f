"""What every stage of a pipeline offers to the one that runs it, and what the keys of its table have to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from experiments.pipeline.sweep.problems import Problems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]
ORDER = ("generate", "import", "analyze", "sweep", "report")
DATA = "data"  # the folder of the dataset that a pipeline makes, within its own


@dataclass(frozen=True)
class Context:
    """`out`: the folder of the pipeline, absolute. `spark` starts the session on its first call. `resume`: the command that goes
    on with this pipeline."""

    out: Path
    spark: Callable[[], SparkSession]
    say: Say
    resume: str


@dataclass(frozen=True)
class Outcome:
    """How a stage went. `made`: something was done by this call; otherwise all of it was there. `text`: counts, on one line.
    `folder`: the one that has the stage's manifest, within that of the pipeline."""

    made: bool
    text: str
    folder: str = ""


class Stage(Protocol):
    """One stage of a pipeline, as its table in the specification says."""

    @property
    def name(self) -> str: ...

    def check(self, out: Path) -> None:
        """Raises PlanscopeError for mistakes that can be seen before anything runs."""

    def run(self, context: Context) -> Outcome:
        """Does what is not done. Raises PlanscopeError, and KeyboardInterrupt; then a later call goes on."""


class Field(NamedTuple):
    """`what` a value has to be, in words, tested by `fits`."""

    what: str
    fits: Callable[[Any], bool]
    required: bool = False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_inside(value: Any) -> bool:
    path = PurePath(value) if isinstance(value, str) else None
    return path is not None and bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_joint(value: Any) -> bool:
    lists = value.values() if isinstance(value, dict) else [None]
    return all(isinstance(sets, list) and all(columns and _are_texts(columns) for columns in sets) for sets in lists)


TEXT = Field("a text", lambda value: isinstance(value, str) and bool(value))
TEXTS = Field("a list of texts", _are_texts)
WHOLE = Field("a whole number from 1 up", lambda value: _is_number(value) and isinstance(value, int) and value > 0)
FLAG = Field("true or false", lambda value: isinstance(value, bool))
TABLE = Field("a table", lambda value: isinstance(value, dict))
FOLDER = Field("a folder within that of the pipeline, such as data", _is_inside)
FIELDS: dict[str, dict[str, Field]] = {
    "generate": {
        "kind": TEXT._replace(required=True),
        "scale": Field("a number above 0", lambda value: _is_number(value) or isinstance(value, str), required=True),
        "parts": WHOLE,
        "graphs": TEXTS,
        "into": FOLDER,
    },
    "import": {
        "sources": TEXTS,
        "format": TEXT,
        "schema": TEXT,
        "tables": TEXTS,
        "options": TABLE,
        "on_reject": Field("one of keep, fail", lambda value: value in ("keep", "fail")),
        "on_dangling": Field("one of keep, reject", lambda value: value in ("keep", "reject")),
        "merge_schema": FLAG,
        "jars": TEXTS,
        "into": FOLDER,
    },
    "analyze": {
        "data": TEXT,
        "tables": TEXTS,
        "sample": Field("a share from 0 to 1", lambda value: _is_number(value) and 0 < value <= 1),
        "joint": Field('lists of columns by table, {orders = [["customer", "day"]]}', _is_joint),
    },
    "report": {"baseline": TEXT},
}


def read_words(table: Mapping[str, Any], name: str, problems: Problems) -> dict[str, Any] | None:
    """The values of the table of a stage by key; None when there are mistakes, which go to `problems`."""
    before, fields = len(problems), FIELDS[name]
    problems.unknown_keys(table, list(fields), name)
    for key, field in fields.items():
        if key not in table:
            if field.required:
                problems.add(f"{key} is missing: it is {field.what}", name)
        elif not field.fits(table[key]):
            problems.add(f"{key} is {field.what}, not {table[key]!r}", name, key)
    return dict(table) if len(problems) == before else None
