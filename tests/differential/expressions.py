"""Random SQL expressions, typed, that never fail and whose value does not depend on who computes it.

Each carries a bound on its magnitude and its decimal scale, so that sums and products stay far from overflow, and
whether it is exact: an average may differ in the last bit between engines, so it may be shown but not compared, grouped
or sorted.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

INT, DEC, DBL, STR, DATE, BOOL = "int", "dec", "dbl", "str", "date", "bool"
TYPES = (INT, DEC, STR, DBL, DATE, BOOL)
NUMBERS = (INT, DEC, DBL)
LARGEST = 1e7  # of any number but a sum
TYPE_OF = {"int": INT, "bigint": INT, "double": DBL, "varchar": STR, "date": DATE, "boolean": BOOL}

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
INTS = (0, 1, 2, 3, -1, 5, 10, 100)
DECIMALS = ("1.5", "0.00", "2.0", "-1.50", "0.125", "10.00")
STRINGS = ("a", "", "b", "ab", "é", "it''s", "B c", "10")
PATTERNS = ("%", "a%", "%b", "_", "%a%", "a_", "", "_%_", "é", "%''%", "A%", "a%b")
DAYS = ("2020-02-29", "2020-01-31", "1999-12-31", "2021-02-28")


class Expr(NamedTuple):
    """SQL text of type `type`; numbers are at most `bound` in size, decimals have at most `scale` places.

    `exact`: every engine gets the same bits. `additive`: sums of it do too, in any order (only doubles may be otherwise).
    """

    text: str
    type: str
    bound: float = 0
    scale: int = 0
    exact: bool = True
    additive: bool = False


class Source(NamedTuple):
    """A column in scope: how to write it, and what it holds."""

    name: str
    value: Expr


class Dice:
    """Random choices that hypothesis can shrink: the first alternative is the simplest."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.number(0, len(choices) - 1)] if len(choices) > 1 else choices[0]

    def chance(self, percent: int) -> bool:
        """FALSE is the simpler outcome."""
        return self.number(0, 99) >= 100 - percent


class Expressions:
    """Expressions over the columns of `scope`."""

    def __init__(self, dice: Dice, scope: Sequence[Source]) -> None:
        self.dice, self.scope = dice, scope

    def columns(self, *types: str) -> list[Expr]:
        return [s.value for s in self.scope if s.value.type in types]

    def any(self, depth: int) -> Expr:
        columns = [s.value for s in self.scope]
        if columns and (depth <= 0 or not self.dice.chance(60)):
            return self.dice.pick(columns)
        return self.of(self.dice.pick(TYPES), depth)

    def of(self, type: str, depth: int) -> Expr:
        """An expression of `type`; deeper ones are made of others of less depth."""
        if depth <= 0 or not self.dice.chance(70):
            return self.leaf(type)
        return self.dice.pick(_MAKERS[type])(self, depth - 1)

    def leaf(self, type: str) -> Expr:
        columns = self.columns(type)
        if columns and not self.dice.chance(25):
            return self.dice.pick(columns)
        return self.constant(type)

    def constant(self, type: str) -> Expr:
        if self.dice.chance(8):
            return self.null(type)
        match type:
            case "int":
                value = self.dice.pick(INTS)
                return Expr(f"({value})" if value < 0 else str(value), INT, 100)
            case "dec":
                text = self.dice.pick(DECIMALS)
                return Expr(f"({text})" if text[0] == "-" else text, DEC, 10, 3)
            case "dbl":
                return Expr(f"CAST({self.dice.pick((0, 1, 2, 3))} AS DOUBLE)", DBL, 3)
            case "str":
                return Expr(f"'{self.dice.pick(STRINGS)}'", STR)
            case "date":
                return Expr(f"DATE '{self.dice.pick(DAYS)}'", DATE)
        return Expr(self.dice.pick(("TRUE", "FALSE")), BOOL)

    def null(self, type: str) -> Expr:
        """Not a constant where it can be helped: DuckDB forgets the type of a decimal or string function over constant NULLs."""
        columns = self.columns(type)
        text = f"NULLIF({columns[0].text}, {columns[0].text})" if columns else f"CAST(NULL AS {_SQL[type]})"
        if not columns and self.scope and type in (DEC, STR):
            text = f"CASE WHEN {self.scope[0].value.text} IS NULL THEN {text} END"
        return Expr(text, type, 0, columns[0].scale if columns else 2)

    def pair(self, depth: int) -> tuple[Expr, Expr]:
        """Two comparable expressions, now and then numbers of different types."""
        type = self.dice.pick((INT, STR, DEC, DATE, DBL, INT, BOOL))
        other = self.dice.pick(NUMBERS) if type in NUMBERS and self.dice.chance(25) else type
        return self.of(type, depth), self.of(other, depth)

    def alike(self, type: str, depth: int) -> tuple[Expr, Expr]:
        """Two of `type`, or an integer beside a decimal; the result of choosing between them is of `type`."""
        a, b = self.of(type, depth), self.of(INT if type == DEC and self.dice.chance(30) else type, depth)
        return (b, a) if self.dice.chance(50) else (a, b)

    def predicate(self, depth: int) -> str:
        return self.of(BOOL, depth).text


_SQL = {INT: "INTEGER", DEC: "DECIMAL(8,2)", DBL: "DOUBLE", STR: "VARCHAR", DATE: "DATE", BOOL: "BOOLEAN"}


def _wider(*parts: Expr) -> tuple[float, int]:
    return max(p.bound for p in parts), max(p.scale for p in parts)


def _arithmetic(e: Expressions, type: str, depth: int) -> Expr:
    """a + b, a - b, a * b of one kind, or a decimal with an integer; a product only where it stays small."""
    a, b = e.alike(type, depth)
    symbol = e.dice.pick(("+", "-", "*"))
    if symbol == "*" and (a.bound * b.bound > LARGEST or a.scale + b.scale > 6):
        symbol = "+"
    bound, scale = (a.bound * b.bound, a.scale + b.scale) if symbol == "*" else (a.bound + b.bound, max(a.scale, b.scale))
    if bound > LARGEST:
        return a if a.type == type else b
    return Expr(f"({a.text} {symbol} {b.text})", type, bound, scale)


def _choice(e: Expressions, type: str, depth: int) -> Expr:
    """CASE, COALESCE, NULLIF, GREATEST, LEAST."""
    a, b = e.alike(type, depth)
    bound, scale = _wider(a, b)
    form = e.dice.number(0, 5)
    if form == 0:
        text = f"COALESCE({a.text}, {b.text})"
    elif form == 1:
        text = f"CASE WHEN {e.predicate(depth)} THEN {a.text} ELSE {b.text} END"
    elif form == 2:
        text = f"NULLIF({a.text}, {b.text})" if a.type == b.type else f"COALESCE({a.text}, {b.text})"
    elif form == 3:
        text = f"CASE WHEN {e.predicate(depth)} THEN {a.text} WHEN {e.predicate(depth - 1)} THEN {b.text} END"
    elif form == 4:
        operand, other = e.leaf(INT), e.constant(INT)
        text = f"CASE {operand.text} WHEN {other.text} THEN {a.text} ELSE {b.text} END"
    elif type == BOOL:
        text = f"COALESCE({a.text}, {b.text})"
    else:
        text = f"{e.dice.pick(('GREATEST', 'LEAST'))}({a.text}, {b.text})"
    return Expr(text, type, bound, scale)


def _chooser(type: str) -> Callable[[Expressions, int], Expr]:
    return lambda e, depth: _choice(e, type, depth)


def _adder(type: str) -> Callable[[Expressions, int], Expr]:
    return lambda e, depth: _arithmetic(e, type, depth)


def _one(
    e: Expressions, template: str, source: str, depth: int, type: str, bound: float | None = None, scale: int | None = None
) -> Expr:
    """A function of one operand; without `bound` or `scale` the operand's."""
    a = e.of(source, depth)
    return Expr(template.format(a.text), type, a.bound if bound is None else bound, a.scale if scale is None else scale)


def _each(source: str, type: str, *templates: str, bound: float | None = None) -> list[Callable[[Expressions, int], Expr]]:
    """Functions of one operand."""
    return [lambda e, depth, template=each: _one(e, template, source, depth, type, bound) for each in templates]


def _divide_integers(e: Expressions, depth: int) -> Expr:
    a, b = e.of(INT, depth), e.of(INT, depth)
    return Expr(f"({a.text} {e.dice.pick(('%', '//'))} {b.text})", INT, a.bound)


def _date_part(e: Expressions, depth: int) -> Expr:
    part = e.dice.pick(("year", "month", "day", "quarter", "week", "dayofweek", "dayofyear"))
    return Expr(f"EXTRACT({part} FROM {e.of(DATE, depth).text})", INT, 3000)


def _round(e: Expressions, depth: int) -> Expr:
    a = e.of(DEC, depth)
    places = e.dice.number(0, 2)
    return Expr(f"ROUND({a.text}, {places})", DEC, a.bound + 1, min(a.scale, places))


def _division(e: Expressions, depth: int) -> Expr:
    """Of integers: the operands are exact doubles and have no negative zero, so the quotient is the same everywhere."""
    a, b = e.of(INT, depth), e.of(INT, depth)
    return Expr(f"({a.text} / {b.text})", DBL, LARGEST)


def _substring(e: Expressions, depth: int) -> Expr:
    text, start = e.of(STR, depth).text, e.dice.pick((1, 2, 3, -1, -2, 0))
    if e.dice.chance(30):
        return Expr(f"SUBSTRING({text}, {start})", STR)
    length = e.dice.number(0, 3)
    form = e.dice.pick(("SUBSTRING({}, {}, {})", "SUBSTRING({} FROM {} FOR {})"))
    return Expr(form.format(text, start, length), STR)


def _move_date(e: Expressions, depth: int) -> Expr:
    day = e.leaf(DATE).text
    form = e.dice.number(0, 3)
    if form == 0:
        return Expr(f"({day} {e.dice.pick('+-')} {e.dice.pick((1, 30, 365))})", DATE)
    if form == 1:
        amount, unit = e.dice.pick((1, 3, 13)), e.dice.pick(("month", "day", "year"))
        return Expr(f"CAST({day} {e.dice.pick('+-')} INTERVAL '{amount}' {unit} AS DATE)", DATE)
    if form == 2:
        return Expr(f"CAST(DATE_TRUNC('{e.dice.pick(('month', 'year', 'week', 'quarter'))}', {day}) AS DATE)", DATE)
    return Expr(f"CAST(CAST({day} AS VARCHAR) AS DATE)", DATE)


def _comparison(e: Expressions, depth: int) -> Expr:
    a, b = e.pair(depth)
    return Expr(f"({a.text} {e.dice.pick(COMPARISONS)} {b.text})", BOOL)


def _connective(e: Expressions, depth: int) -> Expr:
    return Expr(f"({e.predicate(depth)} {e.dice.pick(('AND', 'OR'))} {e.predicate(depth)})", BOOL)


def _distinct_test(e: Expressions, depth: int) -> Expr:
    a, b = e.pair(depth)
    return Expr(f"({a.text} {e.dice.pick(('IS DISTINCT FROM', 'IS NOT DISTINCT FROM'))} {b.text})", BOOL)


def _between(e: Expressions, depth: int) -> Expr:
    type = e.dice.pick((INT, DEC, DATE, STR, DBL))
    a, low, high = e.of(type, depth), e.of(type, depth - 1), e.of(type, depth - 1)
    return Expr(f"({a.text}{e.dice.pick(('', ' NOT'))} BETWEEN {low.text} AND {high.text})", BOOL)


def _in_list(e: Expressions, depth: int) -> Expr:
    type = e.dice.pick((INT, STR, DEC, DATE))
    items = [e.leaf(type).text if e.dice.chance(20) else e.constant(type).text for _ in range(e.dice.number(1, 4))]
    return Expr(f"({e.of(type, depth).text}{e.dice.pick(('', ' NOT'))} IN ({', '.join(items)}))", BOOL)


def _text_comparison(e: Expressions, depth: int) -> Expr:
    """Text that is read as what it is compared with; a timestamp beside a date."""
    symbol = e.dice.pick(COMPARISONS)
    form = e.dice.number(0, 3)
    if form == 0:
        return Expr(f"({e.of(DATE, depth).text} {symbol} '{e.dice.pick(DAYS)}')", BOOL)
    if form == 1:
        return Expr(f"({e.of(INT, depth).text} {symbol} '{e.dice.pick(INTS)}')", BOOL)
    if form == 2:
        columns = e.columns(DEC)
        return Expr(f"({columns[0].text if columns else '1.5'} {symbol} '1.5')", BOOL)
    months = e.dice.pick((1, 12, -1))
    return Expr(f"({e.leaf(DATE).text} + INTERVAL '{months}' MONTH {symbol} {e.of(DATE, depth).text})", BOOL)


def _like(e: Expressions, depth: int) -> Expr:
    word = e.dice.pick(("LIKE", "NOT LIKE", "ILIKE"))
    if e.dice.chance(10):
        return Expr(f"({e.of(STR, depth).text} {word} '%#%%' ESCAPE '#')", BOOL)
    pattern = f"'{e.dice.pick(PATTERNS)}'" if not e.dice.chance(20) else e.leaf(STR).text
    return Expr(f"({e.of(STR, depth).text} {word} {pattern})", BOOL)


_MAKERS: dict[str, tuple[Callable[[Expressions, int], Expr], ...]] = {
    INT: (
        _adder(INT),
        _chooser(INT),
        _divide_integers,
        *_each(INT, INT, "(-{})", "ABS({})"),
        *_each(STR, INT, "LENGTH({})", "STRPOS({}, 'b')", bound=100),
        lambda e, d: _one(e, "SIGN({})", e.dice.pick((INT, DEC)), d, INT, 1),
        lambda e, d: _one(e, "({} & 6)", INT, d, INT, 6),
        lambda e, d: _one(e, "({} >> 1)", INT, d, INT),
        lambda e, d: _one(e, "GCD({}, 12)", INT, d, INT, LARGEST),
        lambda e, d: _one(e, "LEVENSHTEIN({}, 'ab')", STR, d, INT, 100),
        lambda e, d: _one(e, "UNICODE({})", STR, d, INT, 1e6),
        lambda e, d: _one(e, "BIT_LENGTH({})", STR, d, INT, 1000),
        lambda e, d: _one(e, "DATE_DIFF('month', {}, DATE '2020-06-15')", DATE, d, INT, 30000),
        lambda e, d: _one(e, "CAST({} AS BIGINT)", e.dice.pick((DEC, BOOL, INT)), d, INT, LARGEST, 0),
        lambda e, d: Expr(f"({e.of(DATE, d).text} - {e.of(DATE, d).text})", INT, 40000),
        _date_part,
    ),
    DEC: (
        _adder(DEC),
        _chooser(DEC),
        _round,
        *_each(DEC, DEC, "ABS({})", "(-{})", "FLOOR({})"),
        lambda e, d: _one(e, "TRUNC({})", DEC, d, DEC, None, 0),
        lambda e, d: _one(e, "CEIL({})", DEC, d, DEC),
        lambda e, d: _one(e, "CAST({} AS DECIMAL(16,3))", INT, d, DEC, None, 3),
        lambda e, d: _one(e, "CAST({} AS DECIMAL(16,1))", DEC, d, DEC, None, 1),
    ),
    DBL: (
        _adder(DBL),
        _chooser(DBL),
        _division,
        lambda e, d: _one(e, "CAST({} AS DOUBLE)", INT, d, DBL),
        *_each(DBL, DBL, "ABS({})", "FLOOR({})", "TRUNC({})"),
        lambda e, d: _one(e, "SQRT(CAST(ABS({}) AS DOUBLE))", INT, d, DBL),
    ),
    STR: (
        lambda e, d: Expr(f"({e.of(STR, d).text} || {e.of(STR, d).text})", STR),
        _chooser(STR),
        _substring,
        lambda e, d: _one(e, "CAST({} AS VARCHAR)", e.dice.pick((INT, DATE, BOOL, STR)), d, STR, 0, 0),
        *_each(STR, STR, "UPPER({})", "LOWER({})", "TRIM({})", "REPLACE({}, 'a', 'xy')", "REVERSE({})", "LPAD({}, 3, 'é')"),
        *_each(STR, STR, "SPLIT_PART({}, 'b', 1)", "RPAD({}, 2, 'x')"),
        lambda e, d: _one(e, e.dice.pick(("LEFT({}, 1)", "RIGHT({}, 2)", "LEFT({}, -1)")), STR, d, STR),
        lambda e, d: _one(e, e.dice.pick(("LTRIM({})", "RTRIM({}, 'b ')")), STR, d, STR),
        *_each(STR, STR, "REPEAT({}, 2)", "TRANSLATE({}, 'ab', 'x')", "MD5({})", "REGEXP_EXTRACT({}, '[a-c]+')"),
        lambda e, d: _one(e, e.dice.pick(("DAYNAME({})", "MONTHNAME({})")), DATE, d, STR),
        lambda e, d: Expr(f"CONCAT_WS('-', {e.of(STR, d).text}, {e.of(STR, d).text})", STR),
        lambda e, d: _one(e, "REGEXP_REPLACE({}, '[ab]', '<\\0>')", STR, d, STR),
    ),
    DATE: (
        _move_date,
        _chooser(DATE),
        lambda e, d: _one(e, "LAST_DAY({})", DATE, d, DATE),
        lambda e, d: Expr(f"MAKE_DATE(2000 + ABS({e.of(INT, d).text}) % 30, 2, 28)", DATE),
    ),
    BOOL: (
        _comparison,
        _comparison,
        _comparison,
        _connective,
        _connective,
        lambda e, d: Expr(f"(NOT {e.predicate(d)})", BOOL),
        lambda e, d: Expr(f"({e.any(d).text} {e.dice.pick(('IS NULL', 'IS NOT NULL'))})", BOOL),
        _between,
        _in_list,
        _text_comparison,
        _like,
        _distinct_test,
        lambda e, d: Expr(f"({e.predicate(d)} {e.dice.pick(('IS TRUE', 'IS NOT TRUE', 'IS FALSE', 'IS NOT FALSE'))})", BOOL),
        lambda e, d: _one(e, "STARTS_WITH({}, 'a')", STR, d, BOOL),
        lambda e, d: _one(e, e.dice.pick(("ENDS_WITH({}, 'b')", "CONTAINS({}, 'b')")), STR, d, BOOL),
        lambda e, d: _one(e, e.dice.pick(("ISNAN({})", "ISFINITE({})", "ISINF({})")), DBL, d, BOOL),
        *_each(STR, BOOL, "REGEXP_MATCHES({}, '^[ab]|é')", "({} ~ '.*b')"),
        _chooser(BOOL),
    ),
}


FAILING = (
    (STR, "CAST({} AS INTEGER)"), (INT, "CAST({} AS INTEGER) * 1000000000"), (INT, "LN(CAST({} AS DOUBLE))"),
    (INT, "SQRT(CAST({} AS DOUBLE))"), (DEC, "CAST({} AS DECIMAL(3,2))"), (STR, "CAST({} AS DATE)"),
    (STR, "CAST({} AS DECIMAL(4,1))"), (STR, "CAST({} AS BOOLEAN)"), (INT, "CAST({} AS SMALLINT) + CAST(32767 AS SMALLINT)"),
    (INT, "CAST({0} * 3 AS TINYINT) - CAST({0} AS TINYINT)"), (STR, "CASE WHEN LENGTH({0}) < 2 THEN CAST({0} AS INTEGER) END"),
    (STR, "COALESCE(TRY_CAST({0} AS INTEGER), LENGTH({0}), CAST({0} AS INTEGER))"), (STR, "TRY_CAST({} AS INTEGER)"),
    (STR, "TRY_CAST({} AS DECIMAL(2,1))"), (INT, "SUM(CAST({} AS TINYINT))"), (STR, "MAX(CAST({} AS INTEGER))"),
)  # fmt: skip


def failing_expression(e: Expressions) -> str:
    """An expression that fails on some values of a column: overflow, a bad cast, a logarithm. Some look as if, but do not."""
    source, template = e.dice.pick([(type, template) for type, template in FAILING if e.columns(type)])
    return template.format(e.dice.pick(e.columns(source)).text)
