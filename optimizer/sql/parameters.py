"""Parameters: `?` by position, `$name` and `$1` by name, each given a value of Python's before the text is bound.

A value is written into the text as a literal with its type, wherever the parameter stands; so a query is planned for its values,
and what is said of an error shows the text with them. Quoted texts and comments are left alone; `replace_strings` changes those.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral
from typing import Any

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from optimizer.errors import SqlError
from optimizer.sql.parse import tokens_of

_NAMED = re.compile(r"(?<![\w$])\$(?=\w)(?!\w*\$)")  # the $ of $name, where sqlglot takes $a,$b for the start of a text in $a,$
_LIKES = frozenset({TokenType.LIKE, TokenType.ILIKE, TokenType.SIMILAR_TO})
_OPERAND = frozenset({TokenType.STRING, TokenType.VAR, TokenType.DOT, TokenType.DPIPE, TokenType.L_PAREN, TokenType.R_PAREN})
_NAME = "\0"  # stands for it: the first character of a word


def with_values(sql: str, values: Sequence[Any] | Mapping[str, Any]) -> str:
    """`sql` with each parameter's value in its place. A sequence is for `?`, or for $1, $2 …; a mapping for names.

    Raises SqlError for a parameter without a value, a value without a parameter, `?` beside `$`, and a value of another kind than
    None, bool, int, float, Decimal, str, date and datetime.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Set):  # a set is in no order
        raise SqlError(f"the values of parameters are a sequence or a mapping, not {values!r:.60}", hint="for one value: [value]")
    pairs = values.items() if isinstance(values, Mapping) else enumerate(values, 1)
    named = {str(name): value for name, value in pairs}
    parts, place = [], 0
    used: set[str] = set()
    signs: set[str] = set()
    for start, end, name in _parameters(sql):
        signs.add("$" if name else "?")
        name = name or str(len(used) + 1)
        if len(signs) == 2:
            raise SqlError("a query has parameters of one kind: ? by position, or $name", hint="write $1, $2, … for all")
        if name not in named:
            raise SqlError(f'there is no value for the parameter "{name}"', hint=f"values were given for: {_listed(named)}")
        used.add(name)
        parts += [sql[place:start], literal(named[name], name)]
        place = end
    left = [name for name in named if name not in used]
    if left:
        hint = f"it has: {_listed(used)}" if used else "write ? by position, or $name, where the value is to stand"
        raise SqlError(f'the query has no parameter "{left[0]}", for which there is a value', hint=hint)
    return "".join([*parts, sql[place:]])


def _parameters(sql: str) -> list[tuple[int, int, str]]:
    """Where each parameter begins and ends in the text, and its name, empty for `?`."""
    try:
        tokens = DuckDB().tokenize(_NAMED.sub(_NAME, sql))
    except TokenError:
        return []  # the parser says what is wrong with it
    found = []
    for token in tokens:
        if token.token_type is TokenType.PLACEHOLDER:
            found.append((token.start, token.end + 1, ""))
        elif token.token_type is TokenType.QDCOLON:  # ?::type
            found.append((token.start, token.start + 1, ""))
        elif token.token_type is TokenType.VAR and token.text.startswith(_NAME):
            found.append((token.start, token.end + 1, token.text[1:]))
    return found


def literal(value: Any, name: str = "") -> str:
    """SQL for a value, with its type."""
    value = _as_python(value)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Integral):  # NumPy's too
        bits = max(int(value), ~int(value)).bit_length()
        type = "INTEGER" if bits < 32 else "BIGINT" if bits < 64 else "DECIMAL(38, 0)"
        wide = abs(int(value)) >= 10**38  # which is told, or a DOUBLE
        return f"({int(value)})" if wide else f"(CAST({int(value)} AS {type}))"  # alone it would be a position in ORDER BY
    if isinstance(value, float):
        return f"CAST('{float(value)!r}' AS DOUBLE)"
    if isinstance(value, Decimal) and value.is_finite():
        digits, exponent = value.as_tuple()[1:]
        assert isinstance(exponent, int)
        scale = max(0, -exponent)
        return f"CAST('{value:f}' AS DECIMAL({max(len(digits) + max(0, exponent), scale, 1)}, {scale}))"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime) and getattr(value, "nanosecond", 0) != 0:  # pandas'
        raise _too_fine(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return f"CAST('{value.isoformat(sep=' ')}' AS TIMESTAMP)"
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"CAST('{value.isoformat()}' AS DATE)"
    of = f' of the parameter "{name}"' if name else ""
    raise SqlError(
        f"the value{of} cannot be written in SQL: {value!r:.60}",
        hint="values are None, bool, int, float, Decimal, str, date and datetime without a time zone",
    )


def _as_python(value: Any) -> Any:
    """A value of NumPy's or pandas' as Python's; None for their NULLs, NA and NaT."""
    if type(value).__name__ == "NAType" or (isinstance(value, datetime) and value != value):
        return None
    if type(value).__module__ != "numpy" or value.shape:
        return value
    if value.dtype.kind != "M":
        return value.item()
    moment = value.astype("datetime64[us]")
    if moment != value and moment == moment:
        raise _too_fine(value)
    return value.item() if value.dtype == "datetime64[D]" else moment.item()


def _too_fine(moment: Any) -> SqlError:
    return SqlError(f"a TIMESTAMP has microseconds, not the nanoseconds of {moment}", hint="round it first")


def _listed(names: Any) -> str:
    return ", ".join(map(str, sorted(names))) or "nothing"


def replace_strings(sql: str, change: Callable[[str], str]) -> str:
    """The text with `change` of each string in its place, on one line and without comments, but for hints (`/*+ … */`). Raises
    SqlError for a string or comment that never ends."""
    parts: list[str] = []
    for token in tokens_of(sql):
        text = sql[token.start : token.end + 1]
        if token.token_type is TokenType.STRING:
            quoted = change(token.text).replace("'", "''")
            text = f"'{quoted}'"
        parts.append(text)
        parts += [f"/*{comment}*/" for comment in token.comments if comment.startswith("+") and "*/" not in comment]
    return " ".join(parts)


def like_patterns(sql: str) -> set[str]:
    """The strings that LIKE, ILIKE and SIMILAR TO compare with, also in parentheses and with || between them. Raises as
    `replace_strings` does."""
    found, after = set(), False
    for token in tokens_of(sql):
        if token.token_type is TokenType.STRING and after:
            found.add(token.text)
        after = token.token_type in _LIKES or (after and token.token_type in _OPERAND)
    return found
