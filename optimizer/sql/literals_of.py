"""The strings of an SQL text, changed in place."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokens import TokenType

from optimizer.sql.parse import tokens_of


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
