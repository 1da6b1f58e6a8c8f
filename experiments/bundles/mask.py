"""Texts of a bundle made up: equal ones stay equal, in the same order, so that estimates have what they had.

Masked are the strings of the query and the texts in statistics (bounds, common values, histograms). What is left: names, and of
the query numbers, dates and words that the language gives a meaning, also where statistics have them.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from experiments.bundles.bundle import Bundle
from optimizer.sql.parameters import like_patterns, replace_strings

_PLAIN = re.compile(r"[\s\d:.,+\-/TZ]*|\s*[+-]?\d+\s*[a-z]+\s*", re.IGNORECASE)  # a number, a date, a time, 3 months
_WORDS = frozenset(
    word + end
    for word in (
        "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond", "dow", "doy",
        "decade", "century", "epoch", "isodow", "isoyear", "true", "false",
    )
    for end in ("", "s")
)  # fmt: skip


def masked(bundle: Bundle) -> Bundle:
    """The bundle with made-up texts, and comments of the query left out; it is to be planned anew."""
    texts: set[str] = set()
    kept: set[str] = set()

    def note(text: str, known: set[str] = texts) -> str:
        known.add(text)
        return text

    replace_strings(bundle.sql, lambda text: note(text, kept if _kept(text) else texts))
    _in_statistics(bundle.catalog, note)
    patterns = {text for text in texts & like_patterns(bundle.sql) if "%" in text or "_" in text}
    names = _names(texts - patterns - kept, kept)

    def mask(text: str) -> str:
        if text in patterns:  # what it matches depends on its characters: their number and the wildcards stay
            return re.sub(r"[^%_]", "x", text)
        return names.get(text, text)

    sql = replace_strings(bundle.sql, mask)
    return replace(bundle, sql=sql, catalog=_in_statistics(bundle.catalog, mask), plan=None, trace=None, error=None)


def _kept(text: str) -> bool:
    return bool(_PLAIN.fullmatch(text)) or text.strip().lower() in _WORDS


def _names(texts: set[str], kept: set[str]) -> dict[str, str]:
    """A name for each text, so that all are in the order in which they were, also with those that are kept."""
    names, width, ends = {}, len(str(len(texts))), sorted(kept)
    for number, text in enumerate(sorted(texts)):
        at = bisect(ends, text)
        low, high = ends[at - 1] if at else "", ends[at] if at < len(ends) else None
        starts = ("s", f"{low}s", f"{low}!s", f"{low}\1s")  # nothing that is kept has a \1
        start = next(each for each in starts if low < each and (high is None or f"{each}~" < high))
        names[text] = f"{start}{number:0{width}}"
    return names


def _in_statistics(catalog: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """The catalog with the texts of its text columns changed."""
    tables = []
    for table in catalog["tables"]:
        types = {name: type for name, type, _ in table["columns"]}
        statistics = {}
        for name, each in table["statistics"].items():
            if types[name] == "binary":
                each = {**each, "min": None, "max": None, "mcv": [], "histogram": None}
            statistics[name] = _figures(each, change) if types[name] == "string" else each
        tables.append({**table, "statistics": statistics})
    return {**catalog, "tables": tables}


def _figures(figures: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    ends = {name: None if figures[name] is None else change(figures[name]) for name in ("min", "max")}
    mcv = [[change(value), share] for value, share in figures["mcv"]]
    histogram = figures["histogram"]
    if histogram is not None:
        histogram = [[change(bound) for bound in histogram[0]], *histogram[1:]]
    return {**figures, **ends, "mcv": mcv, "histogram": histogram}
