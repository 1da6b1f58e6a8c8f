"""Where in the text an AST node stands, errors that point there, and the guard against parts nobody handles."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlglot.tokens import TokenType

from optimizer.errors import SqlError, Unsupported, in_one_line, nearest
from optimizer.sql.clock import moment
from optimizer.sql.instead import PIVOTS

Span = tuple[int, int]

# argument of an AST node -> what the user wrote and the word to underline
_CLAUSES = {
    "qualify": ("QUALIFY", "QUALIFY"), "windows": ("WINDOW", "WINDOW"), "sample": ("TABLESAMPLE", "TABLESAMPLE"),
    "locks": ("FOR UPDATE", "FOR"), "laterals": ("LATERAL", "LATERAL"), "by_name": ("BY NAME", "BY"),
    "grouping_sets": ("GROUPING SETS", "GROUPING"),
    "limit_options": ("LIMIT WITH TIES", "LIMIT"), "offset": ("WITH ORDINALITY", "ORDINALITY"),
    "recursive": ("a recursive CTE", "RECURSIVE"), "into": ("SELECT INTO", "INTO"), "cross_apply": ("APPLY", "APPLY"),
}  # fmt: skip
_HINTS = {
    "offset": "number the rows: row_number() OVER ()",
    "sample": "write a condition such as random() < 0.1, which keeps a tenth of the rows",
    "cross_apply": "write CROSS JOIN LATERAL (...), or LEFT JOIN LATERAL (...) x ON TRUE for OUTER APPLY",
}

# words that cannot be a name unless quoted: the parser takes a clause cut short for one ("from t group")
_RESERVED_WORDS = (
    "all and as asc between case cross desc distinct else end except false from full group having in inner intersect into is "
    "join left like limit natural not null offset on or order outer qualify right select then true union using when where with"
)
_RESERVED = frozenset(_RESERVED_WORDS.split())
_TYPE_WORDS = (  # what is called so is named behind AS
    "bigint boolean char decimal double float int integer numeric real smallint text time timestamp varchar"
)
_TYPES = frozenset(_TYPE_WORDS.split())


class Source:
    """The text of one query with its tokens. `now`: one time for all of it. `differences`: whether timestamps are
    subtracted in it. `unnests`: whether it may have an unnest, by its words."""

    def __init__(self, sql: str, tokens: list[Any]) -> None:
        self.sql, self._tokens, self.differences = sql, tokens, False
        self._now: datetime | None = None
        lower = sql.lower()
        self.unnests = any(word in lower for word in ("unnest", "explode", "split", "to_array"))
        self._at: dict[int, int] = {}  # token number by where it starts; made for the first message

    @property
    def now(self) -> datetime:
        if self._now is None:
            self._now = moment()
        return self._now

    def words(self) -> frozenset[str] | None:
        """All words that may be names of columns, in lower case; None where a NATURAL join means columns without naming them."""
        words = frozenset([token.text.lower() for token in self._tokens if token.token_type is not TokenType.STRING])
        return None if "natural" in words else words

    def span(self, node: Any) -> Span | None:
        """[start, end) of the text under `node`; of its nearest enclosing node when it holds no word itself."""
        while node is not None:
            starts, ends = [], []
            for part in node.walk():
                meta = part._meta
                if meta and "start" in meta:
                    starts.append(meta["start"])
                    ends.append(self._closing(meta["start"], meta["end"]) + 1)
            if starts:
                return min(starts), max(ends)
            node = node.parent
        return None

    def function_name(self, node: Any) -> str:
        """The name under which the text calls a function: the parser may know it under another."""
        span = self.span(node)
        written = re.match(r'"?(\w+)"?(?=\s*\()', self.sql[span[0] :]) if span is not None else None
        return (written[1] if written else str(node.sql_name()) if hasattr(node, "sql_name") else form_name(node)).lower()

    def _closing(self, start: int, end: int) -> int:
        """The end of a function call that starts at `start`: its closing parenthesis; else `end`."""
        if not self._at:
            self._at = {token.start: i for i, token in enumerate(self._tokens)}
        i = self._at.get(start)
        if i is None or i + 1 >= len(self._tokens) or self._tokens[i + 1].text != "(" or self._tokens[i].text == "(":
            return end
        if not self._tokens[i].text[:1].isalpha():
            return end
        depth = 0
        for token in self._tokens[i + 1 :]:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                return int(token.end)
        return end

    def word(self, word: str, node: Any) -> Span | None:
        """The last `word` that starts not after the text under `node`; the first one after it when there is none."""
        span = self.span(node)
        at = [t for t in self._tokens if t.text.upper().split(" ")[0] == word]  # "ORDER BY" is one token
        before = [t for t in at if span is None or t.start <= span[0]]
        chosen = before[-1] if before else at[0] if at else None
        return (chosen.start, chosen.end + 1) if chosen else span

    def error(self, message: str, node: Any = None, hint: str | None = None, word: str | None = None) -> SqlError:
        start, end = self._where(node, word)
        return SqlError(message, self.sql, start, end, hint)

    def unsupported(self, form: str, node: Any = None, hint: str | None = None, word: str | None = None) -> Unsupported:
        start, end = self._where(node, word)
        return Unsupported(f"{form} is not supported", self.sql, start, end, hint)

    def _where(self, node: Any, word: str | None) -> tuple[int | None, int | None]:
        if node is None:
            return None, None
        first = self._tokens[0]
        return (self.word(word, node) if word else self.span(node)) or (first.start, first.end + 1)

    def name(self, identifier: Any, label: bool = False) -> str:
        """The name an alias gives. Raises SqlError for a keyword without quotes; as a `label`, after AS, any word will do."""
        name = str(identifier.name)
        if label and name.lower() in _TYPES and not identifier.args.get("quoted") and not self._after_as(identifier):
            hint = f"write CAST(... AS {name}), or AS {name} for a column of that name"
            raise self.error(f'syntax error at "{name}"', identifier, hint)
        if not identifier.args.get("quoted") and name.lower() in _RESERVED and not (label and self._after_as(identifier)):
            raise self.error(f'syntax error at "{name}"', identifier, "an alias that is a keyword must be quoted")
        return name

    def _after_as(self, node: Any) -> bool:
        before = [t for t in self._tokens if t.end < node.meta.get("start", 0)]
        return bool(before) and before[-1].text.upper() == "AS"

    def only(self, node: Any, *handled: str, ignored: Iterable[str] = ()) -> None:
        """Raise Unsupported when `node` has an argument that is neither `handled` nor known to mean nothing.

        False is no absent argument: the parser gives GROUP BY DISTINCT as all=False.
        """
        for key, value in node.args.items():
            if value is None or key in handled or key in ignored or value == [] or value == "":
                continue
            hint = _HINTS.get(key)
            form, word = _CLAUSES.get(key, (f"{form_name(node)} with {key.replace('_', ' ').strip().upper()}", None))
            part = value[0] if isinstance(value, list) else value
            if key == "pivots":
                form, hint = PIVOTS[bool(part.args.get("unpivot"))]
                word = form
            raise self.unsupported(form, part if hasattr(part, "walk") else node, hint, word)


def form_name(node: Any) -> str:
    """`SimilarTo` as SIMILAR TO; an unknown function by its own name."""
    if node.key == "anonymous":
        return str(node.this).lower()
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()


def listing(names: Iterable[str], most: int = 3, near: str = "") -> str:
    """`a, b, c and 6 more`; all of them when there are few. `near`: what is none of them; the closest to it is said too."""
    names = list(names)
    meant = f'; did you mean "{close}"?' if near and (close := nearest(near, names)) else ""
    few = len(names) <= most + 1
    shown = ", ".join(map(in_one_line, names if few else names[:most]))
    return f"{shown}{'' if few else f' and {len(names) - most} more'}{meant}"
