"""What sqlglot passes over in silence, found in the tokens: a word or a comma beside which something is missing; and
where it cuts a text into tokens otherwise than DuckDB.

`count(a,)`, `a,, b`, `ORDER BY a,`, `AS 7`, `OVER -1`, `ON )`, `FROM .t`, `a > > b`, `ASC DESC`, WHEN without THEN, CAST
without its closing parenthesis, a table's name in USING, ORDER BY before WHERE. As DuckDB has it, a comma may end the lists of
SELECT, FROM, GROUP BY, VALUES, IN, USING and EXCLUDE.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokens import Token, TokenType

from optimizer.errors import SqlError
from optimizer.sql.derivable import is_compiled
from optimizer.sql.plain_tokens import PAIRS, QUOTED, plain_tokens
from optimizer.sql.source import Source


def types(names: str) -> frozenset[Any]:
    return frozenset(TokenType[name] for name in names.split())


_LISTS = types("SELECT FROM GROUP_BY VALUES ORDER_BY PARTITION_BY WITH WINDOW")
_COMMA_LISTS = types("SELECT FROM GROUP_BY VALUES")
_COMMA_LISTS_IN_PARENTHESES = ("IN", "USING", "EXCLUDE", "VALUES")
_LIST_ENDS = types("R_PAREN SEMICOLON FROM WHERE GROUP_BY HAVING ORDER_BY PARTITION_BY LIMIT QUALIFY UNION INTERSECT")
_JOIN_WORDS = types("JOIN INNER CROSS NATURAL")
_OPERATORS = types("PLUS DASH SLASH DIV MOD DPIPE EQ NEQ LT LTE GT GTE")
_NO_NAMES = _OPERATORS | types("STAR NUMBER COMMA DOT R_PAREN SEMICOLON")
NOTHING_YET = _OPERATORS | types(
    "L_PAREN COMMA SELECT DISTINCT FROM WHERE HAVING GROUP_BY ORDER_BY PARTITION_BY ON AND OR NOT WHEN THEN ELSE"
)
_FROM, _CLOSED = TokenType.FROM, TokenType.R_PAREN
_NOT_NEGATED = types("IS ISNULL NOTNULL GLOB RLIKE")  # by a NOT before them
_CHECKED = types("COMMA ALIAS OVER PARTITION_BY ON DOT USING WHEN THEN LT GT DESC NOT RLIKE NULLSAFE_EQ")
_OTHERS = types("NOT RLIKE NULLSAFE_EQ")
_FOREIGN = {"!": "NOT", "<=>": "IS NOT DISTINCT FROM", "RLIKE": "~", "REGEXP": "~"}  # and what DuckDB has instead
_CLAUSES = {kind: i for i, kinds in enumerate((
    "SELECT FROM UNION INTERSECT EXCEPT", "WHERE", "GROUP_BY", "HAVING", "QUALIFY", "ORDER_BY", "LIMIT",
)) for kind in types(kinds)}  # fmt: skip

_COMPILED = is_compiled()
_NUMBER = re.compile(r"[^+-]*[eE]\d+(?=[+-])")  # of 1e5-1, which is one token
# a text without it is cut alike; every branch begins with one character, so that few places are looked at
_OTHERWISE = re.compile(
    r"d[iI][vV]\b|D[iI][vV]\b|\$|e'(?<![a-zA-Z_]..)|E'(?<![a-zA-Z_]..)|n'(?<![a-zA-Z_]..)|N'(?<![a-zA-Z_]..)|e\d+[+-]|E\d+[+-]|'(?:\s|--.*\n)+'|/\*|--"
)
_APART = (",", "(", ")")
_LINE_END = re.compile(r"(?s:(?=.*\n))(\s|--.*\n)*")
_ESCAPE = re.compile(r"''|(?s:\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.)))")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "u": "\0", "U": "\0"}


def tokenize(sql: str) -> list[Any]:
    """As DuckDB has it: $$a$$, n'a' and e'a' are strings, as are 'a' and 'b' with a line end between them; 1e5-1 is a
    difference, DIV a name, and ORDER BY one token whatever comment is in it."""
    result: list[Any] = []
    tokens = (None if _COMPILED else plain_tokens(sql)) or list(DuckDB().tokenize(sql))
    if _OTHERWISE.search(sql) is None:
        return tokens
    while len(result) < len(tokens):
        token = tokens[len(result)]
        kind, start, end, before = token.token_type, token.start, token.end, result[-1] if result else token
        if kind in (TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING):
            token = _part(token, TokenType.STRING, token.text, start, end)
        elif kind is TokenType.DIV and token.text != "//":
            token = _part(token, TokenType.VAR, token.text, start, end)
        elif kind is TokenType.BYTE_STRING and sql[start] in "eE":
            text = _unescaped(sql[start + 2 : end])
            token = token if "\0" in text else _part(token, TokenType.STRING, text, start, end)
        elif kind is TokenType.STRING is before.token_type and _LINE_END.fullmatch(sql[before.end + 1 : start]):
            del tokens[len(result)]
            token = _part(token, kind, result.pop().text + token.text, before.start, end)
        elif (words := f"{before.text} {token.text}".upper()) in PAIRS and not {kind, before.token_type} & QUOTED:
            del tokens[len(result)]
            token = _part(result.pop(), PAIRS[words], words, before.start, end)
        elif kind is TokenType.NUMBER and (number := _NUMBER.match(token.text)):
            end = start + number.end()
            token = _part(token, kind, number[0], start, end - 1)
            after = len(result) + 1
            last = after  # what is behind a blank, a comma or a parenthesis is cut alike
            while last < len(tokens) and tokens[last].start == tokens[last - 1].end + 1 and tokens[last].text not in _APART:
                last += 1
            until = tokens[last - 1].end + 1
            again = DuckDB().tokenize(sql[end:until])
            tokens[after:last] = [_part(t, t.token_type, t.text, t.start + end, t.end + end) for t in again]
        result.append(token)
    return result


def _unescaped(text: str) -> str:
    """What stands in e'...'; with a zero for what DuckDB refuses: codes of what is not ASCII."""

    def meant(found: re.Match[str]) -> str:
        if found[1] or found[2]:
            code = int(found[1], 16) if found[1] else int(found[2], 8)
            return chr(code if code < 128 else 0)
        return _ESCAPES.get(found[3], found[3] or "'")

    return _ESCAPE.sub(meant, text)


def _part(token: Any, kind: Any, text: str, start: int, end: int) -> Any:
    return Token(kind, text, token.line, token.col, start, end, token.comments)


def check_neighbours(source: Source, tokens: list[Any]) -> None:
    """Raise SqlError at the first token beside which something is missing."""
    whens = []
    for i, token in enumerate(tokens):
        if token.token_type not in _CHECKED:
            continue
        before, after = tokens[i - 1] if i else None, tokens[i + 1] if i + 1 < len(tokens) else None
        nothing_before = before is None or before.token_type in NOTHING_YET
        follows = after.token_type if after is not None else TokenType.SEMICOLON
        if (
            token.token_type in _OTHERS and token.text.upper() in _FOREIGN and not (after and after.text.startswith("~"))
        ):  # !~ is one operator
            if token.token_type is TokenType.RLIKE and follows is not TokenType.STRING:
                continue  # a name
            hint = f"write {_FOREIGN[token.text.upper()]}"
            raise SqlError(f'syntax error at "{token.text}"', source.sql, token.start, token.end + 1, hint)
        match token.token_type:
            case TokenType.COMMA:
                if nothing_before:
                    raise _missing(source, token, "an expression")
                if follows in _JOIN_WORDS or (follows in _LIST_ENDS and not _may_end_with_comma(tokens[:i])):
                    raise _missing(source, after or token, "an expression")
            case TokenType.DOT:
                if nothing_before and follows is TokenType.NUMBER:
                    continue  # .5
                if before is None or nothing_before or before.token_type in _JOIN_WORDS:
                    raise _missing(source, token, "a name")
            case TokenType.ALIAS | TokenType.OVER if nothing_before:
                raise _missing(source, token, "an expression")
            case TokenType.ALIAS | TokenType.OVER if follows in _NO_NAMES:
                raise _missing(source, after or token, "a name")
            case (TokenType.OVER | TokenType.PARTITION_BY) as kind if follows is (_FROM if kind is TokenType.OVER else _CLOSED):
                raise _missing(source, after or token, "a window" if kind is TokenType.OVER else "an expression")
            case TokenType.OVER if before and before.text.upper() == "NULLS":
                hint = "IGNORE NULLS stands inside the parentheses: lag(x IGNORE NULLS)"
                raise SqlError(f'syntax error at "{before.text}"', source.sql, before.start, before.end + 1, hint)
            case TokenType.ON if follows in _LIST_ENDS:
                raise _missing(source, after or token, "a condition")
            case TokenType.USING if follows is TokenType.L_PAREN:
                names = takewhile(lambda t: t.token_type is not TokenType.R_PAREN, tokens[i:])
                for dot in (t for t in names if t.token_type is TokenType.DOT):
                    raise SqlError(
                        'syntax error at "."', source.sql, dot.start, dot.end + 1, "USING takes names of columns alone"
                    )
            case TokenType.LT | TokenType.GT if before and before.token_type is token.token_type and before.end + 1 < token.start:
                raise _missing(source, token, "an expression")  # << and >> are two tokens
            case TokenType.DESC if before and before.token_type is TokenType.ASC:
                raise SqlError('syntax error at "desc"', source.sql, token.start, token.end + 1, "write ASC or DESC")
            case TokenType.NOT if after and follows in _NOT_NEGATED:
                hint = "write IS NOT, or NOT before the whole condition"
                raise SqlError(f'syntax error at "{after.text}"', source.sql, after.start, after.end + 1, hint)
            case TokenType.WHEN:
                whens.append(token)
            case TokenType.THEN if whens:
                whens.pop()
    if whens:
        raise _missing(source, whens[-1], "its THEN")


def check_closed(source: Source, tokens: list[Any]) -> None:
    """Raise SqlError at a parenthesis that is never closed, and at a clause that stands behind a later one."""
    opened = []
    clauses = [tokens[0]]  # the last of each query that has begun
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            opened.append(token)
            clauses.append(token)
        elif token.token_type is TokenType.R_PAREN:
            if opened:
                opened.pop()
                clauses.pop()
        elif (place := _CLAUSES.get(token.token_type)) is not None:
            if 0 < place < _CLAUSES.get(clauses[-1].token_type, 0):
                hint = f"{token.text.upper()} stands before {clauses[-1].text.upper()}"
                raise SqlError(f'syntax error at "{token.text}"', source.sql, token.start, token.end + 1, hint)
            clauses[-1] = token
    if opened:
        raise _missing(source, opened[-1], "its closing parenthesis")


def _missing(source: Source, token: Any, what: str) -> SqlError:
    hint = f"{what} is missing{'' if what.startswith('its') else ' here'}"
    return SqlError(f'syntax error at "{token.text}"', source.sql, token.start, token.end + 1, hint)


def _may_end_with_comma(tokens: list[Any]) -> bool:
    """Whether the list that ends with these tokens is one behind which DuckDB allows a comma."""
    depth = 0
    for token, before in zip(reversed(tokens), [*reversed(tokens[:-1]), None], strict=True):
        depth += (token.token_type is TokenType.R_PAREN) - (token.token_type is TokenType.L_PAREN)
        if depth < 0:
            return before is not None and before.text.upper() in _COMMA_LISTS_IN_PARENTHESES
        if depth == 0 and token.token_type in _LISTS:
            return token.token_type in _COMMA_LISTS
    return False
