"""The kinds of events, their fields and their words, as `vocabulary.json` has them.

The file is data, so that other programs, as the page of the stepper, can read it too. docs/traces.md is written from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

VOCABULARY = Path(__file__).with_name("vocabulary.json")
_INTS = "count group mexpr goal event task"
_LISTS = "columns each_traits groups relations mexprs goals plans bounds plan"
_PYTHON: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_INTS.split(), (int,)),
    **dict.fromkeys(_LISTS.split(), (list,)),
    **dict.fromkeys(["text", "choice", "rule", "op", "traits"], (str,)),
    **dict.fromkeys(["number", "limit"], (float, int)),
    "flag": (bool,),
    "tree": (list, str),  # text in traces of older versions
    "data": (object,),
}


class Field(NamedTuple):
    """A field of an event. `optional`: it may be missing, or null."""

    name: str
    type: str
    optional: bool
    meaning: str


class Kind(NamedTuple):
    """A kind of event: its fields without those that every event has, and its words (see `memo_viz/words.py`)."""

    name: str
    meaning: str
    fields: dict[str, Field]
    sentence: str
    parts: dict[str, list[tuple[list[str], str]]]
    values: dict[str, dict[str, str]]


class Vocabulary(NamedTuple):
    """`common`: the fields of every event. `facts`: what follows from an event and the state after it."""

    common: dict[str, Field]
    types: dict[str, str]
    facts: dict[str, Field]
    kinds: dict[str, Kind]


@cache
def vocabulary() -> Vocabulary:
    """What there is to say about events, read once."""
    data = json.loads(VOCABULARY.read_text("utf-8"))
    kinds = {
        name: Kind(
            name, kind["meaning"], _fields(kind["fields"]), kind["sentence"],
            {part: [(names, text) for names, text in cases] for part, cases in kind.get("parts", {}).items()},
            kind.get("values", {}),
        )
        for name, kind in data["kinds"].items()
    }  # fmt: skip
    return Vocabulary(_fields(data["common"]), data["types"], _fields(data["facts"]), kinds)


def _fields(data: Mapping[str, list[str]]) -> dict[str, Field]:
    return {name: Field(name, type.rstrip("?"), type.endswith("?"), meaning) for name, (type, meaning) in data.items()}


def complaint(event: Mapping[str, Any]) -> str | None:
    """What is wrong with an event as read from a file, if anything. Kinds and fields that are not known are left alone."""
    kind = event.get("kind")
    if not isinstance(kind, str):
        return "an event has a kind"
    for name, classes, optional, flag in _checks(kind):
        value = event.get(name)
        if not (optional if value is None else isinstance(value, classes) and (flag or not isinstance(value, bool))):
            return f"the field {name} of {kind} is {_meaning(kind, name)}, not {str(value)[:40]!r}"
    return None


@lru_cache(256)
def _checks(kind: str) -> tuple[tuple[str, tuple[type, ...], bool, bool], ...]:
    """For each field of a kind: its name, the types it may have, whether it may be missing, whether it may be true or false."""
    return tuple((f.name, _PYTHON[f.type], f.optional, f.type in ("flag", "data")) for f in _all_fields(kind))


def _all_fields(kind: str) -> tuple[Field, ...]:
    known = vocabulary()
    return (*known.common.values(), *(known.kinds[kind].fields.values() if kind in known.kinds else ()))


def _meaning(kind: str, name: str) -> str:
    return next(vocabulary().types[field.type] for field in _all_fields(kind) if field.name == name)


def with_numbers(event: dict[str, Any]) -> dict[str, Any]:
    """Turn the texts "inf" and "-inf" in the event's numbers into numbers, in place."""
    for name in _numbers(str(event.get("kind"))):
        if event.get(name) in ("inf", "-inf"):
            event[name] = float(event[name])
    return event


@lru_cache(256)
def _numbers(kind: str) -> tuple[str, ...]:
    return tuple(field.name for field in _all_fields(kind) if field.type in ("number", "limit"))
