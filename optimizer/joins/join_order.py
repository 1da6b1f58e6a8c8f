"""Join orders as text: `((c o) l)` joins c and o first, and their result with l.

A name is an alias of the query, or a table that has none; quoted where it is no plain word. Case does not matter. In
parentheses stand two parts or more; more than two are joined one after the other, so `(a b c)` is `((a b) c)`. The outermost
parentheses may be left out. Which of two parts is the left one says nothing.
"""

from __future__ import annotations

import re

from optimizer.errors import SettingsError
from optimizer.joins.graph import folded, parts_of

JoinOrder = str | tuple["JoinOrder", "JoinOrder"]

_TOKEN = re.compile(r'\s*(?:,\s*)?(?:([()])|"((?:[^"]|"")+)"|([^\s(),"]+))')


def read_join_order(text: str) -> JoinOrder:
    """The order, of two relations or more. Raises SettingsError that says where the text is wrong."""
    if not isinstance(text, str):
        raise SettingsError(f"a join order is a text, ((c o) l) for example, not {text!r:.60}")
    levels: list[list[JoinOrder]] = [[]]
    opened: list[int] = []
    seen: set[str] = set()
    at, end = 0, len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None:
            raise _wrong(text, f"character {at + 1} begins no name and is no parenthesis")
        at = token.end()
        parenthesis, quoted, plain = token.groups()
        if parenthesis == "(":
            opened.append(at)
            levels.append([])
        elif parenthesis == ")":
            if not opened:
                raise _wrong(text, f"the parenthesis at character {at} closes none")
            here = opened.pop()
            levels[-2].append(_joined(levels.pop(), text, here))
        else:
            name = (plain or quoted.replace('""', '"')).lower()
            if name in seen:
                raise _wrong(text, f'it names "{name}" twice')
            seen.add(name)
            levels[-1].append(name)
    if opened:
        raise _wrong(text, f"the parenthesis at character {opened[-1]} is never closed")
    order = _joined(levels[0], text, 0)
    if isinstance(order, str):
        raise _wrong(text, "an order joins two relations or more")
    return order


def subtrees(order: JoinOrder) -> list[tuple[frozenset[str], frozenset[str]]]:
    """The names in the two parts of each join of an order, lower joins first."""
    found: list[tuple[frozenset[str], frozenset[str]]] = []

    def join(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
        found.append((left, right))
        return left | right

    folded(order, parts_of, lambda name: frozenset((name,)), join)
    return found


def show_join_order(order: JoinOrder) -> str:
    """The order as text that reads back."""

    def shown(name: str) -> str:
        return name if re.fullmatch(r"[^\s(),\"]+", name) else '"' + name.replace('"', '""') + '"'

    return folded(order, parts_of, shown, lambda left, right: f"({left} {right})")


def _joined(parts: list[JoinOrder], text: str, at: int) -> JoinOrder:
    if not parts:
        raise _wrong(text, f"the parentheses at character {at} are empty" if at else "it is empty")
    order = parts[0]
    for part in parts[1:]:
        order = (order, part)
    return order


def _wrong(text: str, why: str) -> SettingsError:
    return SettingsError(f'"{text.strip()}" is not a join order: {why}\nwrite it like ((c o) l): c and o first, then l')
