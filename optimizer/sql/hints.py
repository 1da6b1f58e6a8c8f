"""Hints in comments of the SQL text, as pg_hint_plan has them: `/*+ Leading(((c o) l)) */`.

`Leading` says in which order relations are joined (`joins.join_order`). Any other hint is answered by a warning.
"""

import re
from typing import NamedTuple

from optimizer.sql.parse import tokens_of

_WORD = re.compile(r"[^\W\d]\w*")


class Hints(NamedTuple):
    """`join_order`: text of the first Leading, empty where there is none. `warnings`: a sentence on each hint not heeded."""

    join_order: str
    warnings: tuple[str, ...]


def read_hints(sql: str) -> Hints:
    """The hints of a query, which stand in comments `/*+ … */` and `--+ …`. Raises SqlError for an unterminated text."""
    if "/*+" not in sql and "--+" not in sql:
        return Hints("", ())
    orders: list[str] = []
    warnings: list[str] = []
    for token in tokens_of(sql):
        for comment in token.comments:
            if comment.startswith("+"):
                _read(comment[1:], orders, warnings)
    if len(orders) > 1:
        warnings.append("of several Leading hints only the first is heeded")
    return Hints(orders[0] if orders else "", tuple(warnings))


def _read(text: str, orders: list[str], warnings: list[str]) -> None:
    at = 0
    while word := _WORD.search(text, at):
        at = opened = word.end()
        while text[opened : opened + 1].isspace():
            opened += 1
        inside = ""
        if text[opened : opened + 1] == "(":
            at = _closed(text, opened)
            inside = text[opened + 1 : at - 1]
        if word[0].lower() != "leading":
            warnings.append(f"the hint {word[0]} is not known and not heeded; Leading((a b) c) is the one that is")
        elif not inside.strip():
            warnings.append("the hint Leading names no relations: write Leading((a b) c)")
        else:
            orders.append(inside.strip())


def _closed(text: str, opened: int) -> int:
    """The position after the parenthesis that closes the one at `opened`; after the text, if none does."""
    depth = 0
    for at in range(opened, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return at + 1
    return len(text) + 1
