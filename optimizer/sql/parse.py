"""Text to AST: one SELECT statement in DuckDB's dialect, and its tokens for carets.

sqlglot accepts more than SQL does; what it lets pass but DuckDB refuses (`a,, b`, `AS 7`, `t JOIN u` without a condition) is
refused by `tokens` or marked for the binder.
"""

import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType

from optimizer.algebra.aggregate_functions import AGGREGATE_NAMES, WINDOW_FUNCTIONS
from optimizer.algebra.evaluate_dates import PARTS
from optimizer.algebra.scalar_functions import SCALAR_NAMES
from optimizer.errors import SqlError, Unsupported, did_you_mean, nearest
from optimizer.sql.derivable import parser_class
from optimizer.sql.instead import A_VALUE, PIVOTS
from optimizer.sql.literals import INTERVAL_UNITS
from optimizer.sql.precedence import check_precedence
from optimizer.sql.source import Source
from optimizer.sql.tokens import check_closed, check_neighbours, tokenize, types

_QUERY_STARTS = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "("})
_STATEMENT_WORDS = (
    "ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT COMMENT COMMIT COPY CREATE DEALLOCATE DELETE DESCRIBE DETACH DROP EXECUTE "
    "EXPLAIN EXPORT GRANT IMPORT INSERT INSTALL LOAD MERGE PIVOT PRAGMA PREPARE RESET REVOKE ROLLBACK SET SHOW SUMMARIZE "
    "TRUNCATE UNPIVOT UPDATE USE VACUUM"
)
_STATEMENTS = frozenset(_STATEMENT_WORDS.split())
_POSITIONED = frozenset((exp.Null, exp.Boolean, exp.Var, exp.Placeholder, exp.Parameter, exp.CurrentDate, exp.CurrentTimestamp))
COMMA_JOIN = "comma_join"
LISTED = "listed"
DIALECT = DuckDB()
DIALECT.INDEX_OFFSET = 0  # places in [] stay as they are written
_QUANTIFIERS = {TokenType.ALL: exp.All, TokenType.SOME: exp.Any}
_NO_QUANTIFIER_AFTER = frozenset({TokenType.DOT, TokenType.LIKE, TokenType.ILIKE})
_NAMES = types("VAR IDENTIFIER")
_OPERANDS = _NAMES | types("NUMBER STRING")
_ENDS_EXPRESSION = types("COMMA R_PAREN ALIAS FROM WHERE GROUP_BY ORDER_BY ASC DESC THEN ELSE END WHEN")
_OPERATORS = types("DPIPE AMP PIPE PLUS DASH STAR SLASH DIV MOD CARET DSTAR")
_UNITS = frozenset({*(f"{unit}{end}".upper() for unit in INTERVAL_UNITS for end in ("", "s")), "CENTURIES", "MILLENNIA"})
_ENDS_OPERAND = _ENDS_EXPRESSION | types("EQ NEQ LTE GTE AND OR")

_CLAUSES_FOLLOW = types("VAR IDENTIFIER R_PAREN STAR NUMBER STRING END NULL TRUE FALSE")
_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "UNION", "JOIN", "USING")

_AFTER_VALUES = types("UNION EXCEPT INTERSECT ORDER_BY LIMIT OFFSET")

Plus = exp.Prior  # the sign in `+a`, which sqlglot drops: it takes numbers only. No text in DuckDB's dialect gives this node

# REGEXP_LIKE is a search elsewhere; sqlglot takes it for the operator ~, which asks for the whole text
_NAMED = (
    "date_trunc datetrunc log now today range generate_series epoch_ms epoch_us epoch_ns fmod fdiv mod regexp_like "
    "regexp_i_like dayofmonth weekofyear"
)
_TO_UNITS = (f"to_{unit}s" for unit in INTERVAL_UNITS)
_OF_OTHERS = (  # DuckDB has none of these names
    "charindex convert day_of_month day_of_week day_of_year iif like locate nvl rand safe_cast startswith str_position "
    "week_of_year"
)
_BY_NAME = (*AGGREGATE_NAMES, *WINDOW_FUNCTIONS, *SCALAR_NAMES, *PARTS, *_NAMED.split(), *_TO_UNITS, *_OF_OTHERS.split())
_NO_NODES = frozenset(map(str.upper, _BY_NAME))
_BASE = parser_class()
_CALLED_BARE = frozenset(_BASE.NO_PAREN_FUNCTION_PARSERS)
_BEFORE_COLON = frozenset(_BASE.ALIAS_TOKENS) - {TokenType.CASE}


class _Parser(_BASE):  # type: ignore[misc, valid-type]
    """DuckDB's parser that also says where an error is, and remembers which joins were commas. Functions that we look up in a
    table by name stay calls by name: sqlglot has node types for some, and moves their arguments."""

    FUNCTIONS: ClassVar = {name: make for name, make in _BASE.FUNCTIONS.items() if name not in _NO_NODES}
    FUNCTION_PARSERS: ClassVar = {name: parse for name, parse in _BASE.FUNCTION_PARSERS.items() if name not in _NO_NODES}

    UNARY_PARSERS: ClassVar = {
        **_BASE.UNARY_PARSERS,
        TokenType.PLUS: lambda self: self._parse_plus(),
        TokenType.NOT: lambda self: self._parse_not(),
        TokenType.TILDE: lambda self: self.expression(exp.BitwiseNot(this=self._parse_term())),  # ~a + 1 is ~(a + 1)
    }

    OPTIONAL_ALIAS_TOKEN_CTE: ClassVar = False  # WITH x (SELECT ...) is refused

    failed_at: Any = None
    failed_previous: Any = None

    def raise_error(self, message: str, token: Any = None) -> None:
        behind = token is None or token is self._prev  # what is missing
        self.failed_at, self.failed_previous = self._curr if behind else token, self._prev
        raise ParseError(message)

    def expression(self, instance: Any, token: Any = None, comments: Any = None) -> Any:
        if token is None and type(instance) in _POSITIONED and self._prev:
            token = self._prev
        return super().expression(instance, token, comments)

    def _parse_disjunction(self) -> Any:
        return self._operand_before(_ENDS_EXPRESSION) or super()._parse_disjunction()

    def _parse_range(self, this: Any = None, parse_is: bool = False) -> Any:
        return (None if this else self._operand_before(_ENDS_OPERAND)) or super()._parse_range(this, parse_is)

    def _operand_before(self, ends: frozenset[Any]) -> Any:
        """A name or a constant, if one of `ends` follows: then no operator is to be looked for at any of a dozen levels."""
        first, tokens = self._curr, self._tokens
        if first.token_type in _OPERANDS:
            dotted = self._next.token_type is TokenType.DOT
            after = self._index + (3 if dotted else 1)
            if after < self._tokens_size and tokens[after].token_type in ends:
                last = tokens[after - 1]
                if first.token_type in _NAMES and last.token_type in _NAMES and first.text.upper() not in _CALLED_BARE:
                    self._advance(after - self._index)
                    return exp.Column(this=_name(last), table=_name(first)) if dotted else exp.Column(this=_name(last))
                return self._parse_atom()
        return None

    def _parse_expression(self) -> Any:
        """SELECT (:a): sqlglot takes what stands before a colon for an alias, whatever it is."""
        alias = self._curr.token_type in _BEFORE_COLON or self._next.token_type is not TokenType.COLON
        return super()._parse_expression() if alias else super(_BASE, self)._parse_expression()

    def _parse_primary(self) -> Any:
        """.5 has one digit; sqlglot makes 0.5 of it."""
        pointed = self._curr.token_type is TokenType.DOT
        node = super()._parse_primary()
        if pointed and isinstance(node, exp.Literal):
            node.set("this", node.this.removeprefix("0"))
        return node

    def _parse_projections(self) -> Any:
        """SELECT DISTINCT ON (a), b is refused."""
        if self._match(TokenType.COMMA, advance=False):
            self.raise_error("Expecting an expression")
        return super()._parse_projections()

    def _warn_unsupported(self) -> None:
        """Of a second statement, which is told."""

    def _parse_as_command(self, start: Any) -> Any:
        """A statement in a WITH: of one that it does not read, sqlglot warns, and keeps the text."""
        self.raise_error("Expecting a query", start)

    def _parse_types(self, *args: Any, **kwargs: Any) -> Any:
        first = self._curr
        node = super()._parse_types(*args, **kwargs)
        if isinstance(node, exp.DataType) and first and "start" not in node.meta:
            node.meta.update(start=first.start, end=self._prev.end)
        return node

    def _parse_type(self, *args: Any, **kwargs: Any) -> Any:
        """In DATE '...'::TEXT the date is cast to a text; sqlglot has the text cast, and made a date then."""
        first = self._curr
        node = super()._parse_type(*args, **kwargs)
        casts = node.this if isinstance(node, exp.Cast) else None
        if not isinstance(casts, exp.Cast) or node.to.meta.get("start") != first.start:
            return node
        lowest = casts
        while isinstance(lowest.this, exp.Cast):
            lowest = lowest.this
        node.set("this", lowest.this)
        lowest.set("this", node)
        return casts

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> Any:
        first = self._curr
        node = self._parse_quantified() or super()._parse_function_call(*args, **kwargs)
        if isinstance(node, exp.Expr) and first and "start" not in node.meta:
            node.meta.update(start=first.start, end=first.end)
        return node

    def _parse_interval_span(self, this: Any, *args: Any, **kwargs: Any) -> Any:
        """The text of an INTERVAL stays whole: sqlglot takes the first number and unit out of it, and passes over the rest. What
        is no unit behind it is an alias: sqlglot takes h and "month" for units."""
        ahead = self._curr
        unit = ahead and ahead.token_type is not TokenType.IDENTIFIER and ahead.text.upper() in _UNITS
        node = super()._parse_interval_span(this, *args, **kwargs) if unit else None
        if node is None or (this.is_string and node.this is not this):
            node = self.expression(exp.Interval(this=this))
        node.meta["after"] = self._index
        return node

    def _parse_interval(self, *args: Any, **kwargs: Any) -> Any:
        """INTERVAL '1 day' + 3 is a sum like others: sqlglot takes a string or a number behind an interval for one more."""
        node = super()._parse_interval(*args, **kwargs)
        if isinstance(node, exp.Add):
            node = node.this
            self._retreat(node.meta["after"])
        return node

    def _parse_in(self, *args: Any, **kwargs: Any) -> Any:
        """x IN [1, 2] asks for what a list holds; sqlglot takes it for x IN (1, 2), which says of NULLs otherwise."""
        listed = bool(self._curr) and self._curr.token_type is TokenType.L_BRACKET
        node = super()._parse_in(*args, **kwargs)
        if listed:
            node.meta[LISTED] = True
        return node

    def _parse_between(self, this: Any) -> Any:
        """sqlglot goes on where the AND is missing."""
        symmetric = self._match_text_seq("SYMMETRIC") or None
        if not symmetric:
            self._match_text_seq("ASYMMETRIC")  # what it is anyway
        low = self._parse_bitwise()
        if not self._match(TokenType.AND):
            self.raise_error("Expecting AND")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise(), symmetric=symmetric))

    def _parse_id_var(self, any_token: bool = True, tokens: Any = None) -> Any:
        """OVER (GROUPS ...) begins with a frame, not with the name of another window."""
        word = self._curr.text.upper() if self._curr and self._curr.token_type is not TokenType.IDENTIFIER else ""
        framed = tokens is self.WINDOW_ALIAS_TOKENS and word == "GROUPS"
        return None if framed else super()._parse_id_var(any_token, tokens)

    def _parse_window_spec(self) -> Any:
        """Of the two ends of a frame, BETWEEN and AND stand together, or neither; sqlglot asks for none."""
        first, between = self._prev.token_type is not TokenType.AND, self._prev.token_type is TokenType.BETWEEN
        spec = super()._parse_window_spec()
        both = bool(self._curr) and self._curr.token_type is TokenType.AND
        if first and between != both:
            self.raise_error(f"Expecting {'AND and the other end' if between else 'BETWEEN before the first end'} of the frame")
        return spec

    def _parse_position(self, haystack_first: bool = False) -> Any:
        """POSITION('a', s) is refused."""
        part = self._parse_bitwise()
        if not self._match(TokenType.IN):
            self.raise_error("Expecting IN: strpos(s, 'a') takes a comma")
        return self.expression(exp.StrPosition(this=self._parse_bitwise(), substr=part))

    def _parse_extract(self) -> Any:
        """EXTRACT(day, d) is refused."""
        part = self._parse_function() or self._parse_var_or_string(upper=True)
        if not self._match(TokenType.FROM):
            self.raise_error("Expecting FROM: date_part('day', d) takes a comma")
        return self.expression(exp.Extract(this=part, expression=self._parse_bitwise()))

    def _parse_quantified(self) -> Any:
        """ALL (...) and SOME (...) read as ANY (...) is: sqlglot takes ALL ((SELECT ...) UNION ...) for a call of a function."""
        quantifier = _QUANTIFIERS.get(self._curr.token_type) if self._curr else None
        opened = bool(self._next) and self._next.token_type is TokenType.L_PAREN
        if quantifier is None or not opened or (self._prev and self._prev.token_type in _NO_QUANTIFIER_AFTER):
            return None
        self._advance()
        return self.expression(quantifier(this=self._parse_paren()))

    def _parse_not(self) -> Any:
        """NOT a IS NULL || b: sqlglot goes on behind the IS as if the NOT ended there."""
        negated = self.expression(exp.Not(this=self._parse_equality()))
        if self._curr and self._curr.token_type in _OPERATORS:
            self.raise_error("Expecting parentheses around what NOT negates")
        return negated

    def _parse_plus(self) -> Any:
        operand = self._parse_unary()
        if operand is None:
            self.raise_error("", self._prev)
        return self.expression(Plus(this=operand))

    def _parse_from(self, joins: bool = False, *args: Any, **kwargs: Any) -> Any:
        """In FROM (VALUES ...) v, t SELECT ... sqlglot stops behind the VALUES."""
        node = super()._parse_from(joins, *args, **kwargs)
        if joins and node is not None and isinstance(node.this, exp.Values):
            node.this.set("joins", list(self._parse_joins()) or None)
        return node

    def _parse_derived_table_values(self, *args: Any, **kwargs: Any) -> Any:
        """(VALUES ... UNION ...), ORDER BY and LIMIT likewise, is read as other queries in parentheses are; sqlglot expects the
        parenthesis behind the last row."""
        return None if self._goes_on_after_values() else super()._parse_derived_table_values(*args, **kwargs)

    def _goes_on_after_values(self) -> bool:
        depth = 0
        for place in (
            range(self._index, self._tokens_size) if self._match_pair(TokenType.L_PAREN, TokenType.VALUES, False) else ()
        ):
            kind = self._tokens[place].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if depth == 0 or (depth == 1 and kind in _AFTER_VALUES):
                return depth == 1
        return False

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> Any:
        """Of conditions too, as in ROLLUP (a > 1), which sqlglot does not take."""
        kind = exp.Cube if self._match(TokenType.CUBE) else exp.Rollup if self._match(TokenType.ROLLUP) else None
        if kind is None:
            return None
        return self.expression(kind(expressions=[] if with_prefix else self._parse_wrapped_csv(self._parse_disjunction)))

    def _parse_grouping_set(self) -> Any:
        return self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()

    def _parse_cte(self) -> Any:
        cte = super()._parse_cte()
        if cte is None:
            self.raise_error("Expecting AS between the name and its query")
        return cte

    def _parse_table_alias(self, *args: Any, **kwargs: Any) -> Any:
        """VALUES (1) (2) has lost a comma: sqlglot takes the second row for names of columns."""
        first = self._curr
        alias = super()._parse_table_alias(*args, **kwargs)
        if alias is not None and not alias.this:
            self.raise_error("Expecting a comma or a name before the parenthesis", first)
        return alias

    def _parse_using_identifiers(self) -> Any:
        """USING a is refused."""
        if not self._match(TokenType.L_PAREN, advance=False):
            self.raise_error("Expecting parentheses around the names of columns")
        return super()._parse_using_identifiers()

    def _parse_limit_options(self) -> Any:
        """LIMIT 4, 2 is MySQL's."""
        if self._match(TokenType.COMMA, advance=False):
            self.raise_error("Expecting OFFSET before the number of rows to skip")
        return super()._parse_limit_options()

    def _parse_join(self, *args: Any, **kwargs: Any) -> Any:
        comma = bool(self._curr) and self._curr.token_type is TokenType.COMMA
        join = super()._parse_join(*args, **kwargs)
        if join is not None and comma:
            join.meta[COMMA_JOIN] = True
        return join


def _name(token: Any) -> Any:
    return exp.Identifier(this=token.text, quoted=token.token_type is TokenType.IDENTIFIER).update_positions(token)


def parse(sql: str) -> tuple[Any, Source]:
    """The AST of the one query in `sql` and the source for messages about it.

    Raises SqlError for a syntax error, Unsupported for a statement that is not a query, RecursionError for text nested
    too deeply for the present stack.
    """
    tokens = tokens_of(sql)
    if not tokens:
        raise SqlError("the query is empty", sql, 0, 1, 'write a SELECT, for example "select count(*) from lineitem"')
    source = Source(sql, tokens)
    _check_statement(source, tokens)
    check_neighbours(source, tokens)
    check_precedence(source, tokens)
    parser = _Parser(dialect=DIALECT)
    try:
        parsed = parser.parse(tokens, sql)
    except ParseError as error:
        raise _syntax_error(sql, parser, str(error)) from None
    except (ValueError, TypeError, AttributeError, LookupError) as error:  # sqlglot trips over some malformed texts
        parser.failed_at, parser.failed_previous = parser._curr, parser._prev
        raise _syntax_error(sql, parser, "") from error
    check_closed(source, tokens)
    trees = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]  # a comment after the last ;
    if len(trees) != 1:
        second = next((t for t in tokens if t.token_type is TokenType.SEMICOLON), tokens[-1])
        raise SqlError("more than one statement", sql, second.start, second.end + 1, "give one query at a time")
    if not isinstance(trees[0], exp.Query | exp.Values):
        form = trees[0].key.upper()
        start = next((t for t in tokens if t.text.upper() == form), tokens[0])
        raise Unsupported(f"{form} is not supported", sql, start.start, start.end + 1, "planscope plans queries: SELECT ...")
    if isinstance(trees[0], exp.Values) and (alias := trees[0].args.get("alias")) is not None:
        raise source.error(f'syntax error at "{alias.name}"', alias, "write FROM (VALUES ...) v to give them a name")
    return trees[0], source


def without_parents(tree: Any) -> None:
    """Take the ways up from an AST that has served: then it is freed when it is dropped, not when cycles are looked for."""
    stack = [tree]
    while stack:
        node = stack.pop()
        node.parent = None
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                stack.append(value)
            elif type(value) is list:
                stack += [each for each in value if isinstance(each, exp.Expr)]


def tokens_of(sql: str) -> list[Any]:
    """The tokens of a text, each with the comments beside it. Raises SqlError for a string or comment that never ends, and for
    half a character."""
    if not isinstance(sql, str):
        raise SqlError(f"SQL is a text, not {type(sql).__name__}")
    if (half := re.search("[\ud800-\udfff]", sql)) is not None:
        raise SqlError(f"{half[0]!r} is half of a character (a surrogate), not text", sql, *half.span(), hint="take it out")
    if sql.startswith("\ufeff"):  # a byte order mark
        sql = " " + sql[1:]
    try:
        return tokenize(sql)
    except TokenError as error:
        inner = error.__cause__ or error.__context__  # a compiled sqlglot gives no cause
        match = re.search(r"Missing (\S+) from (\d+):(\d+)", str(inner))
        if match is None:
            start, end = sql.rfind("/*"), len(sql.rstrip())
            what, place = ("string", (end - 1, end)) if start < 0 else ("comment", (start, start + 2))
            raise SqlError(f"unterminated {what}", sql, *place) from None
        closing, line, column = match[1], int(match[2]), int(match[3])
        what = {"'": "string", '"': "quoted name"}.get(closing, "string")
        start = sum(len(text) + 1 for text in sql.split("\n")[: line - 1]) + column
        start = max(0, sql.rfind(closing, 0, start + len(closing)))
        raise SqlError(f"unterminated {what}: the closing {closing} is missing", sql, start, start + len(closing)) from None


def _check_statement(source: Source, tokens: list[Any]) -> None:
    """The first word decides whether this is a query; sqlglot would log a warning about some other statements."""
    first = tokens[0]
    word = first.text.upper()
    if first.token_type is not TokenType.L_PAREN and word not in _QUERY_STARTS:
        where = (source.sql, first.start, first.end + 1)
        if word in _STATEMENTS:
            hint = dict(PIVOTS.values()).get(word, "planscope plans queries: SELECT ...")
            raise Unsupported(f"{word} is not supported", *where, hint)
        known = sorted(word.lower() for word in _QUERY_STARTS)
        hint = did_you_mean(word, known, "a query starts with SELECT, WITH, VALUES or FROM")
        raise SqlError(f'syntax error at "{first.text}"', *where, hint)


def _syntax_error(sql: str, parser: _Parser, message: str) -> SqlError:
    token, previous = parser.failed_at, parser.failed_previous
    expected = re.match(r"Expect(?:ing|ed) (\S.{0,40}?)(?: but got .*)?$", message)
    hint = f"expected {expected[1]}" if expected and "<" not in expected[1] else None
    if token and token.token_type is TokenType.QDCOLON:  # ?::type
        return Unsupported("a parameter is not supported", sql, token.start, token.start + 1, A_VALUE)
    if token and not hint:
        at = parser._tokens.index(token)
        opened, called = (parser._tokens[i] if i >= 0 else token for i in (at - 1, at - 2))
        if message.startswith("Required keyword") and (opened.text, token.text) == ("(", ")"):
            return SqlError(f"{called.text} takes arguments", sql, called.start, token.end + 1)
        for word, before in ((opened, called), (token, opened)):
            follows = word.token_type is TokenType.VAR and before.token_type in _CLAUSES_FOLLOW  # else it is some name
            if follows and (clause := nearest(word.text, _CLAUSES)):
                return SqlError(f'syntax error at "{word.text}"', sql, word.start, word.end + 1, f'did you mean "{clause}"?')
    if token:
        return SqlError(f'syntax error at "{token.text}"', sql, token.start, token.end + 1, hint)
    end = previous.end + 1 if previous else len(sql.rstrip())
    return SqlError("syntax error at the end of the query", sql, end, end + 1, hint)
