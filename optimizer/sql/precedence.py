"""Operators that DuckDB reads before IN, BETWEEN, LIKE, IS and comparisons, together with ||, & and |, from left to right: `==`,
`~`, `~~`, `~~*`, `~~~`, `^@` and what negates them. sqlglot takes `==` for `=`, and the others for LIKE.

Alone between AND, OR and parentheses they mean the same; beside one of those, parentheses have to say what is meant.
"""

import re
from typing import Any

from sqlglot.tokens import TokenType

from optimizer.errors import SqlError
from optimizer.sql.source import Source
from optimizer.sql.tokens import NOTHING_YET, types

_SPELLINGS = frozenset({"==", "~", "~~", "~~*", "~~~", "^@"})
_SPELLED = re.compile(r"==|~|\^@")
_OTHERS = types("EQ NEQ LT LTE GT GTE IN BETWEEN LIKE ILIKE GLOB SIMILAR_TO IS DPIPE AMP PIPE TILDE CARET_AT")
_BEFORE_OPERAND = NOTHING_YET | _OTHERS | types("STAR CARET DSTAR")
_IS, _CALLED = types("IS NOT"), types("LEFT RIGHT")
_FRAMES = ("ROWS", "RANGE", "GROUPS")
_ENDS = types(
    "COMMA AND OR SELECT DISTINCT FROM WHERE HAVING GROUP_BY ORDER_BY LIMIT QUALIFY ON ALIAS WHEN THEN ELSE ASC DESC "
    "SEMICOLON UNION INTERSECT EXCEPT JOIN INNER CROSS LEFT RIGHT FULL USING OFFSET WINDOW"
)


def check_precedence(source: Source, tokens: list[Any]) -> None:
    """Raise SqlError at the first of these operators that has another operator beside it without parentheses."""
    if _SPELLED.search(source.sql) is None:
        return
    opened: list[list[Any]] = [[]]  # the operators of each expression that has begun, by parentheses and CASE
    for before, token, after in zip([None, *tokens], [*tokens, None], [*tokens[1:], None, None], strict=True):
        kind = token.token_type if token is not None else TokenType.SEMICOLON
        here = opened[-1]
        if kind is TokenType.L_PAREN or kind is TokenType.CASE:
            opened.append([])
        elif kind is TokenType.R_PAREN or kind is TokenType.END:
            _check(source, here)
            if len(opened) > 1:
                opened.pop()
        elif kind is TokenType.AND and any(each.token_type is TokenType.BETWEEN for each in here):
            here[:] = [each for each in here if each.token_type is not TokenType.BETWEEN] + [token]
        elif kind in _CALLED and after is not None and after.token_type is TokenType.L_PAREN:
            pass  # left(...) is an operand
        elif (kind in _ENDS and not _of_is(before, kind)) or (kind is TokenType.BETWEEN and before.text.upper() in _FRAMES):
            _check(source, here)
            here.clear()
        elif kind in _OTHERS and not (kind is TokenType.TILDE and _nothing_before(before)):
            here.append(token)


def _check(source: Source, operators: list[Any]) -> None:
    odd = next((token for token in operators if token.text in _SPELLINGS), None)
    if odd is not None and len(operators) > 1:
        hint = f"DuckDB reads {odd.text} before IN, BETWEEN, LIKE, IS and comparisons: write parentheses around what it compares"
        raise SqlError(f'"{odd.text}" beside another operator', source.sql, odd.start, odd.end + 1, hint)


def _of_is(before: Any, kind: Any) -> bool:
    """Whether a token belongs to IS [NOT] DISTINCT FROM."""
    last = before.token_type if before is not None else None
    return last is TokenType.DISTINCT if kind is TokenType.FROM else kind is TokenType.DISTINCT and last in _IS


def _nothing_before(token: Any) -> bool:
    """Whether a ~ behind this token has one operand."""
    return token is None or (token.token_type in _BEFORE_OPERAND and token.text != "!")
