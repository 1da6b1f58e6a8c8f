"""Mistakes in a specification, collected, so that one message names them all before anything is started; and what the keys of its
tables have to be (docs/pipeline.md says what they mean)."""

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple

from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.errors import PlanscopeError, did_you_mean
from optimizer.toml_places import Places

_OWN = frozenset({"results", "report", METADATA_FOLDER})  # what the pipeline writes beside datasets


class SpecError(PlanscopeError):
    """A specification that cannot be carried out: every mistake in it, each with its place."""


class Problems:
    """Mistakes so far, in the order of their lines."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._found: list[tuple[int, str]] = []

    def add(self, text: str, table: str, key: str = "", element: str | None = None, number: int = 0) -> None:
        """Note a mistake in the value of `key` of `table`; further lines of `text` are hints."""
        line = self.places.line(table, key, element, number)
        where = ("" if line is None else f"line {line}: ") + f"[{table}]" + (f" {key}" if key else "")
        entry = f"{where}: " + text.replace("\n", "\n    ")
        if entry not in (known for _, known in self._found):
            self._found.append((line or 0, entry))

    def unknown_keys(self, given: Collection[str], known: Collection[str], table: str) -> None:
        """Note every key of `given` that is not `known`."""
        for key in given:
            if key not in known:
                self.add(f"there is no {key} here; {suggestion(key, known)}", table, key)

    def __len__(self) -> int:
        return len(self._found)

    def check(self) -> None:
        """Raises SpecError when there are any."""
        if not self._found:
            return
        name = self.places.file or "the specification"
        found = [text for _, text in sorted(self._found, key=lambda each: each[0])]
        if len(found) == 1:
            raise SpecError(f"{name}, {found[0]}")
        raise SpecError(f"{name} has {len(found)} mistakes\n" + "\n".join(f"  {text}" for text in found))


def suggestion(word: str, known: Collection[str]) -> str:
    """`did you mean "…"?`, or what there is."""
    return did_you_mean(word, known, "there are " + ", ".join(known))


class Field(NamedTuple):
    """`what` a value has to be, in words, tested by `fits`."""

    what: str
    fits: Callable[[Any], bool]
    required: bool = False


def _is_inside(value: Any) -> bool:
    path = PurePath(value) if isinstance(value, str) else None
    if path is None or not path.parts or path.is_absolute() or ".." in path.parts:
        return False
    return path.parts[0] not in _OWN


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)  # true and false are none


def _are(type: type, value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, type) for each in value)


def _is_data(value: Any) -> bool:
    values = value.values() if isinstance(value, dict) else [value]
    return all(isinstance(each, str) and bool(each) for each in values)


def _is_joint(value: Any) -> bool:
    lists = value.values() if isinstance(value, dict) else [None]
    return all(isinstance(sets, list) and all(columns and _are(str, columns) for columns in sets) for sets in lists)


TEXT = Field("a text", lambda value: isinstance(value, str) and bool(value))
TEXTS = Field("a list of texts", partial(_are, str))
WHOLE = Field("a whole number from 1 up", lambda value: type(value) is int and value > 0)
FLAG = Field("true or false", lambda value: isinstance(value, bool))
TABLE = Field("a table", lambda value: isinstance(value, dict))
FOLDER = Field("a folder within that of the pipeline, such as data, and not results or report", _is_inside)
FIELDS: dict[str, dict[str, Field]] = {
    "generate": {
        "kind": TEXT._replace(required=True),
        "scale": Field("a number above 0", lambda value: _is_number(value) or isinstance(value, str), required=True),
        "parts": WHOLE, "graphs": TEXTS, "into": FOLDER,
    },
    "import": {
        "sources": TEXTS, "format": TEXT, "schema": TEXT, "tables": TEXTS, "options": TABLE,
        "on_reject": Field("one of keep, fail", lambda value: value in ("keep", "fail")),
        "on_dangling": Field("one of keep, reject", lambda value: value in ("keep", "reject")),
        "merge_schema": FLAG, "jars": TEXTS, "into": FOLDER,
    },
    "analyze": {
        "data": TEXT, "tables": TEXTS,
        "sample": Field("a share from 0 to 1", lambda value: _is_number(value) and 0 < value <= 1),
        "joint": Field('lists of columns by table, {orders = [["customer", "day"]]}', _is_joint),
    },
    "sweep": {
        "queries": Field('a list of queries, such as ["chain/4..9"]', lambda value: bool(value) and _are(object, value), True),
        "data": Field("a dataset, or a table of workload = dataset", _is_data),
        "settings": TABLE,
        "variants": Field("a list of tables", partial(_are, dict)),
        "seeds": Field("a list of whole numbers", partial(_are, object)),
        "seed_settings": TEXTS, "execute": FLAG, "analyze": FLAG, "repeats": WHOLE,
        "timeout": Field("a number of seconds from 0 up", lambda value: _is_number(value) and 0 <= value < math.inf),
        "memory": Field("a whole number of MB: 0 for no limit, or from 256 up",
                        lambda value: type(value) is int and (value == 0 or value >= 256)),
        "chunk": WHOLE, "plugins": TEXTS, "same_code": FLAG,
    },
    "report": {"baseline": TEXT},
}  # fmt: skip


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
