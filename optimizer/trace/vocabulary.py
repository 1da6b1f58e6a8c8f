"""The kinds of events, their fields and their words, as `vocabulary.json` has them.

The file is data, so that other programs, as the page of the stepper, can read it too. docs/traces.md is written from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

VOCABULARY = Path(__file__).with_name("vocabulary.json")
_LARGEST = 2**63


def _whole(value: Any) -> bool:
    return type(value) is int and -_LARGEST < value < _LARGEST


def _number(value: Any) -> bool:
    return type(value) is float or _whole(value)


def _text(value: Any) -> bool:
    return type(value) is str


def _each(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: type(value) is list and all(map(fits, value))


def _tree(value: Any) -> bool:
    """Flat, parents first: no operator is more than one deeper than the one before it."""
    rows = type(value) is list and all(
        type(o) is list and len(o) == 3 and _whole(o[0]) and _text(o[1]) and _text(o[2]) for o in value
    )
    return rows and _nested([o[0] for o in value])


def _plan(value: Any) -> bool:
    def fits(node: Any) -> bool:
        numbers, texts = ("depth", "rows", "local", "cost"), ("op", "detail", "delivered")
        known = type(node) is dict and all(_number(node.get(n)) for n in numbers) and all(_text(node.get(t)) for t in texts)
        return known and (node.get("rule") is None or _text(node["rule"]))

    return type(value) is list and all(map(fits, value)) and _nested([node["depth"] for node in value])


def _nested(depths: list[int]) -> bool:
    return all(0 < depth <= before + 1 for before, depth in pairwise(depths)) and depths[:1] == [0]


_FITS: dict[str, Callable[[Any], bool]] = {
    "count": lambda value: _whole(value) and value >= 0,
    **dict.fromkeys(["group", "mexpr", "goal", "event", "task"], _whole),
    **dict.fromkeys(["number", "limit"], _number),
    **dict.fromkeys(["text", "choice", "rule", "op", "traits"], _text),
    **dict.fromkeys(["groups", "relations", "mexprs", "goals", "plans", "bounds"], _each(_whole)),
    **dict.fromkeys(["columns", "each_traits"], _each(_text)),
    "flag": lambda value: type(value) is bool,
    "tree": _tree,
    "plan": _plan,
    "values": lambda value: type(value) is dict,
    "data": lambda value: True,
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
    for name, fits, optional in _checks(kind):
        value = event.get(name)
        if not (optional if value is None else fits(value)):
            meaning = next(vocabulary().types[field.type] for field in _all_fields(kind) if field.name == name)
            return f"the field {name} of {kind} is {meaning}, not {str(value)[:40]!r}"
    return None


@lru_cache(256)
def _checks(kind: str) -> tuple[tuple[str, Callable[[Any], bool], bool], ...]:
    """For each field of a kind: its name, whether a value fits it, whether it may be missing."""
    return tuple((field.name, _FITS[field.type], field.optional) for field in _all_fields(kind))


def _all_fields(kind: str) -> tuple[Field, ...]:
    known = vocabulary()
    return (*known.common.values(), *(known.kinds[kind].fields.values() if kind in known.kinds else ()))


def with_numbers(event: dict[str, Any]) -> dict[str, Any]:
    """Turn the texts "inf" and "-inf" in the event's numbers into numbers, in place."""
    for name in _numbers(str(event.get("kind"))):
        if event.get(name) in ("inf", "-inf"):
            event[name] = float(event[name])
    return event


@lru_cache(256)
def _numbers(kind: str) -> tuple[str, ...]:
    return tuple(field.name for field in _all_fields(kind) if field.type in ("number", "limit"))
