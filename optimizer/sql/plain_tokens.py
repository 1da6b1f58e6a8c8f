"""The tokens of a plain text, cut by one regular expression: sqlglot, where it is not compiled, goes from character to character,
which was a third of the time of parsing.

Plain are names, numbers, strings, commas, parentheses and the common operators. Comments, brackets, parameters, 1e5 and
operators side by side are sqlglot's to cut.
"""

import re
from typing import Any

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokens import Token, TokenType

_KEYWORDS, _SIGNS = DuckDB.Tokenizer.KEYWORDS, DuckDB.Tokenizer.SINGLE_TOKENS
_COMMANDS = DuckDB.Tokenizer.COMMANDS  # they may take all that follows for one token
_TOKEN = re.compile(
    r"[ \t\r\n]*(?:([A-Za-z_][A-Za-z_0-9]*(?![^ \t\r\n,.;()=<>!:|+*/%-]))|([,.;()]|[=<>!:|+*/%]+|-(?![->|]))"
    r"|([0-9]+(?:\.[0-9]+)?(?![^ \t\r\n,;()=<>!:|+*/%-]))|'((?:[^'\\]|'')*)'(?!')|\"([^\"\\]+)\"(?!\"))"
)
_NAME, _OPERATOR, _NUMBER, _STRING = 1, 2, 3, 4
_OPERATORS = {sign: (_SIGNS | _KEYWORDS)[sign] for sign in (*",.;()=<>+-*/%", "<=", ">=", "<>", "!=", "||", "::")}
PAIRS = {words: kind for words, kind in _KEYWORDS.items() if " " in words}  # GROUP BY is one token
QUOTED = frozenset({TokenType.STRING, TokenType.IDENTIFIER})
_SECONDS = frozenset(words.split()[1] for words in PAIRS)
_WORDS = {word: None if kind in _COMMANDS else kind for word, kind in _KEYWORDS.items()} | {"USER": None}  # of USER-DEFINED


def plain_tokens(sql: str) -> list[Any] | None:
    """What sqlglot cuts `sql` into, without lines and columns; None for a text that is not plain."""
    tokens: list[Any] = []
    end = 0
    for found in _TOKEN.finditer(sql):
        if found.start() != end:
            return None
        group, end = found.lastindex or 0, found.end()
        text, start = found[group], found.start(group)
        kind: Any
        if group == _NAME:
            word = text.upper()
            kind = _WORDS.get(word, TokenType.VAR)
            if word in _SECONDS and tokens and tokens[-1].token_type not in QUOTED:
                pair = f"{tokens[-1].text.upper()} {word}"
                if pair in PAIRS:
                    kind, text, start = PAIRS[pair], pair, tokens.pop().start
        elif group == _OPERATOR:
            kind = _OPERATORS.get(text)
        elif group == _NUMBER:
            kind = TokenType.NUMBER
        elif group == _STRING:
            kind, text, start = TokenType.STRING, text.replace("''", "'"), start - 1
        else:
            kind, start = TokenType.IDENTIFIER, start - 1
        if kind is None:
            return None
        tokens.append(Token(kind, text, 1, 1, start, end - 1))
    return tokens if not sql[end:].strip(" \t\r\n") else None
