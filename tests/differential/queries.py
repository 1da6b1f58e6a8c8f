"""Random SELECT statements over the tables of `datasets`, and what is known of the order of their results.

Every statement is deterministic as a bag: a LIMIT inside the statement follows an ORDER BY on all columns. At the top a
LIMIT may leave a choice; then the statement without it comes along, to check that the result is part of it.
"""

from typing import NamedTuple

from hypothesis import strategies as st

from tests.differential.datasets import SCHEMA
from tests.differential.expressions import (
    BOOL,
    DATE,
    DBL,
    DEC,
    INT,
    STR,
    TYPE_OF,
    TYPES,
    Dice,
    Expr,
    Expressions,
    Source,
    failing_expression,
)
from tests.reference.compare import OrderKey

KINDS = ("JOIN", "LEFT JOIN", "INNER JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT OUTER JOIN", "FULL OUTER JOIN")
MOST_ROWS = 1500  # of a FROM clause: the naive evaluator loops over them in Python


class Query(NamedTuple):
    """`unlimited`: the statement without its outermost LIMIT. `order`: the result columns that must be sorted, leading first.

    `total`: rows that are equal in `order` are equal altogether, so that the result is one list and no other.
    `raising`: a predicate of it may raise, and on which rows it is evaluated is the engine's affair.
    """

    sql: str
    unlimited: str
    order: tuple[OrderKey, ...] = ()
    total: bool = False
    limit: int | None = None
    offset: int = 0
    raising: bool = False


class Item(NamedTuple):
    """One entry of a FROM clause under an alias, with at most `rows` rows."""

    text: str
    alias: str
    columns: tuple[Source, ...]
    rows: int


class Visible(NamedTuple):
    """A column of a join: `qualifiers` are the aliases it can be read by; several after USING, which merges columns."""

    name: str
    qualifiers: tuple[str, ...]
    value: Expr


class Select(NamedTuple):
    """A query expression with its output columns; `columns` is None for `SELECT *`, whose order is the engines' affair.

    `hidden_order`: something it can be sorted by that it does not show. `cut`: it ends in ORDER BY and LIMIT.
    """

    text: str
    columns: tuple[Source, ...] | None
    rows: int
    hidden_order: str = ""
    cut: bool = False


@st.composite
def queries(draw: st.DrawFn) -> Query:
    return QueryMaker(Dice(draw)).query()


@st.composite
def failing_queries(draw: st.DrawFn) -> Query:
    """One expression that fails on some values, computed for every row of one table."""
    maker = QueryMaker(Dice(draw))
    item = maker.table()
    sql = f"SELECT {failing_expression(Expressions(maker.dice, _scope(_seen(item))))} FROM {item.text}"
    return Query(sql, sql)


class QueryMaker:
    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.aliases = 0
        self.ctes: list[Item] = []

    def query(self) -> Query:
        clauses = []
        for i in range(self.dice.pick((0, 0, 0, 1, 2))):
            name = f"w{i}"
            select = self.expression(1)
            assert select.columns is not None
            clauses.append(f"{name} AS ({select.text})")
            self.ctes.append(Item(name, name, select.columns, select.rows))
        select = self.expression(2, top=True)
        prefix = f"WITH {', '.join(clauses)} " if clauses else ""
        return self.finished(prefix + select.text, select)

    def finished(self, text: str, select: Select) -> Query:
        """With ORDER BY and LIMIT at the top."""
        order: list[OrderKey] = []
        total = False
        terms: list[str] = []
        if select.columns is not None and self.dice.chance(60):
            usable = [i for i, c in enumerate(select.columns) if c.value.exact]
            total = len(usable) == len(select.columns) and self.dice.chance(60)
            picked = self.shuffled(usable)
            for i in picked if total else picked[: self.dice.number(0, 2)]:
                key, words = self.sort_order(i)
                order.append(key)
                terms.append((str(i + 1) if self.dice.chance(50) else select.columns[i].name) + words)
        if select.hidden_order and not total and self.dice.chance(30):
            terms.append(select.hidden_order)
        unlimited = text + (f" ORDER BY {', '.join(terms)}" if terms else "")
        if select.columns is None or not self.dice.chance(35):
            return Query(unlimited, unlimited, tuple(order), total)
        limit, offset = self.dice.pick((3, 1, 0, 2, 7)), self.dice.pick((0, 0, 1, 4))
        sql = f"{unlimited} LIMIT {limit}" + (f" OFFSET {offset}" if offset else "")
        return Query(sql, unlimited, tuple(order), total, limit, offset)

    def sort_order(self, index: int) -> tuple[OrderKey, str]:
        descending = self.dice.chance(40)
        nulls = self.dice.pick(("", " NULLS LAST", " NULLS FIRST"))
        words = (" DESC" if descending else self.dice.pick(("", " ASC"))) + nulls
        return OrderKey(index, descending, nulls == " NULLS FIRST"), words

    def shuffled(self, values: list[int]) -> list[int]:
        rest, result = list(values), []
        while rest:
            result.append(rest.pop(self.dice.number(0, len(rest) - 1)))
        return result

    # --- query expressions

    def expression(self, depth: int, top: bool = False) -> Select:
        """A SELECT, or a set operation of two or three; inside another statement exact columns only."""
        if not self.dice.chance(20):
            return self.select(depth, top)
        types = [self.dice.pick(TYPES) for _ in range(self.dice.number(1, 3))]
        parts = [self.select(depth - 1, types=types) for _ in range(self.dice.pick((2, 2, 3)))]
        text, columns, rows = parts[0].text, parts[0].columns, parts[0].rows
        assert columns is not None
        bare = not any(part.cut for part in parts) and self.dice.chance(50)  # without parentheses INTERSECT goes first
        for part in parts[1:]:
            assert part.columns is not None
            word = self.dice.pick(("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
            text = f"{text} {word} {part.text}" if bare else f"({text}) {word} ({part.text})"
            columns = tuple(Source(a.name, _either(a.value, b.value)) for a, b in zip(columns, part.columns, strict=True))
            rows += part.rows
        return Select(text, columns, rows)

    def select(self, depth: int, top: bool = False, types: list[str] | None = None) -> Select:
        source, scope, rows = self.from_clause(depth)
        where = f" WHERE {Expressions(self.dice, scope).predicate(3)}" if self.dice.chance(50) else ""
        tail = f" FROM {source}{where}"
        if self.dice.chance(35):
            return self.grouped(tail, scope, rows, top, types)
        if top and types is None and self.dice.chance(12):
            aliases = sorted({q for s in scope for q in s.value.text.split(".")[:-1]})
            star = f"{self.dice.pick(aliases)}.*" if aliases and self.dice.chance(40) else "*"
            return Select(f"SELECT {star}{tail}", None, rows)
        e = Expressions(self.dice, scope)
        wanted = types if types is not None else [None] * self.dice.number(1, 4)
        columns = [self.named(i, self.output(e, type)) for i, type in enumerate(wanted)]
        if not top and self.dice.chance(8):
            keys = ", ".join(str(i + 1) for i in range(len(columns)))
            first = ", ".join(str(i + 1) for i in range(self.dice.number(1, len(columns))))
            text = f"SELECT DISTINCT ON ({first}) {_items(columns)}{tail} ORDER BY {keys}"
            return Select(text, _outputs(columns), rows, cut=True)
        distinct = self.dice.chance(15)
        text = f"SELECT {'DISTINCT ' if distinct else ''}{_items(columns)}{tail}"
        hidden = e.any(1).text if top and types is None and not distinct else ""
        if hidden and not any(s.value.text in hidden for s in scope):
            hidden = ""  # a constant in ORDER BY may mean a column number
        return self.limited(Select(text, _outputs(columns), rows, hidden), top)

    def output(self, e: Expressions, type: str | None) -> Expr:
        if type is None:
            return e.any(3)
        # now and then an integer where the other side of the set operation may have a decimal
        return e.of(INT if type == DEC and self.dice.chance(20) else type, 2)

    def named(self, index: int, value: Expr) -> Source:
        """Names say the type, so that equal names in two derived tables can be joined."""
        return Source(f"o{value.type}{index}", value)

    def limited(self, select: Select, top: bool) -> Select:
        """Inside a statement: now and then sorted by all its columns and cut."""
        if top or select.columns is None or not self.dice.chance(12):
            return select
        terms = [str(i + 1) + self.sort_order(i)[1] for i in range(len(select.columns))]
        count = self.dice.number(0, 4)
        return select._replace(
            text=f"{select.text} ORDER BY {', '.join(terms)} LIMIT {count}", rows=min(select.rows, count), cut=True
        )

    def grouped(self, tail: str, scope: list[Source], rows: int, top: bool, types: list[str] | None) -> Select:
        e = Expressions(self.dice, scope)
        keys: list[Expr] = []
        for _ in range(self.dice.pick((1, 1, 2, 0, 3))):
            key = e.any(1)
            if any(s.value.text in key.text for s in scope) and key.text not in [k.text for k in keys]:
                keys.append(key._replace(additive=False))
        aggregates = [self.aggregate(e) for _ in range(self.dice.number(0 if keys else 1, 3))]
        known = [*keys, *map(_ordinary, aggregates)]  # what may be computed from
        after = Expressions(self.dice, [Source(f"g{i}", v) for i, v in enumerate(known) if v.exact])
        if types is not None:
            values = [self.matching(after, type) for type in types]
        else:
            shown = keys if not self.dice.chance(20) else keys[:1]
            values = [*shown, *(aggregates if top else (a for a in known[len(keys) :] if a.exact))]
            if (after.scope and self.dice.chance(30)) or not values:
                values.append(after.any(2) if after.scope else Expr("COUNT(*)", INT, 1000))
        columns = [self.named(i, value) for i, value in enumerate(values)]
        text = f"SELECT {_items(columns)}{tail}"
        if keys:
            text += f" GROUP BY {', '.join(self.group_term(k, columns) for k in keys)}"
        if after.scope and self.dice.chance(25):
            text += f" HAVING {after.predicate(2)}"
        return self.limited(Select(text, _outputs(columns), rows if keys else 1), top)

    def matching(self, after: Expressions, type: str) -> Expr:
        same = after.columns(type)
        return self.dice.pick(same) if same else after.constant(type)

    def group_term(self, key: Expr, columns: list[Source]) -> str:
        """The key itself, or where it is an output, its number."""
        places = [i for i, c in enumerate(columns) if c.value.text == key.text]
        return str(places[0] + 1) if places and self.dice.chance(20) else key.text

    def aggregate(self, e: Expressions) -> Expr:
        condition = f" FILTER (WHERE {e.predicate(2)})" if self.dice.chance(20) else ""
        form = self.dice.number(0, 9)
        if form == 0:
            return Expr(f"COUNT(*){condition}", INT, 10000)
        if form > 5:
            return self.other_aggregate(e, form, condition)
        type = self.dice.pick((INT, DEC, INT, STR, DBL, *TYPES)) if form in (1, 2, 3) else self.dice.pick((INT, DEC, DBL))
        value = self.summand(e, type) if form > 3 else e.of(type, 2)
        distinct = "DISTINCT " if self.dice.chance(25) else ""
        argument = f"({distinct}{value.text}){condition}"
        if form == 1:
            return Expr(f"COUNT{argument}", INT, 10000)
        if form in (2, 3):
            # whether booleans have a smallest one is for others to say
            if value.type == BOOL:
                return Expr(f"COUNT{argument}", INT, 10000)
            return Expr(f"{'MIN' if form == 2 else 'MAX'}{argument}", value.type, value.bound, value.scale)
        if form == 4:
            return Expr(f"SUM{argument}", value.type, max(1e9, value.bound * MOST_ROWS), value.scale)
        return Expr(f"AVG{argument}", DBL, value.bound, exact=False)

    def other_aggregate(self, e: Expressions, form: int, condition: str) -> Expr:
        """One whose value is the same bits everywhere, and does not depend on the order of rows."""
        if self.dice.chance(40):
            columns = e.columns(INT)
            return (
                self.statistic(columns, condition) if columns and self.dice.chance(50) else self.ordered_aggregate(e, condition)
            )
        if form == 6:
            value = e.of(INT, 2).text
            return Expr(f"{self.dice.pick(('BIT_XOR', 'BIT_AND', 'BIT_OR'))}(CAST({value} AS BIGINT)){condition}", INT, 1e9)
        if form == 7:
            text = e.of(STR, 2).text
            return Expr(f"STRING_AGG(DISTINCT {text}, ',' ORDER BY {text}){condition}", STR)
        if form == 8:
            value = e.of(self.dice.pick((INT, STR, DATE)), 2)
            distinct = self.dice.pick(("", "DISTINCT "))
            return Expr(
                f"QUANTILE_DISC({distinct}{value.text}, {self.dice.pick((0.5, 0.9, 0))}){condition}", value.type, value.bound
            )
        name = self.dice.pick(("BOOL_AND", "BOOL_OR"))
        return Expr(f"{name}({e.predicate(2)}){condition}", BOOL)

    def ordered_aggregate(self, e: Expressions, condition: str) -> Expr:
        """Rows that are equal in the order have the same value."""
        value, key = e.of(self.dice.pick((INT, STR, DATE, DEC)), 1), e.of(self.dice.pick((INT, STR, DATE)), 1)
        name, way = self.dice.pick(("FIRST", "LAST", "ANY_VALUE")), self.dice.pick(("", " DESC", " NULLS FIRST"))
        terms = ", ".join(f"{each}{way}" for each in (key.text, value.text))
        return value._replace(text=f"{name}({value.text} ORDER BY {terms}){condition}", additive=False)

    def statistic(self, columns: list[Expr], condition: str) -> Expr:
        x, y = self.dice.pick(columns).text, self.dice.pick(columns).text
        name = self.dice.pick(
            ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP", "MEDIAN", "COVAR_POP", "COVAR_SAMP", "REGR_SXY")
        )
        both = name.startswith(("COVAR", "REGR"))
        return Expr(f"{name}({x}{f', {y}' if both else ''}){condition}", DBL, 1e7, exact=False)

    def summand(self, e: Expressions, type: str) -> Expr:
        """A number whose sum is exact in any order."""
        if type != DBL:
            return e.of(type, 2)
        columns = [c for c in e.columns(DBL) if c.additive]
        return self.dice.pick(columns) if columns else e.of(INT, 1)

    # --- FROM

    def from_clause(self, depth: int) -> tuple[str, list[Source], int]:
        """The text, the columns in scope, and the most rows it can have. Commas bind less than JOIN."""
        chains: list[list[Visible]] = []
        texts: list[str] = []
        rows = 1
        while True:
            text, seen, rows = self.chain(depth, rows)
            texts.append(text)
            chains.append(seen)
            if rows > MOST_ROWS // 8 or len(chains) == 2 or not self.dice.chance(15):
                break
        return ", ".join(texts), _scope([column for seen in chains for column in seen]), rows

    def chain(self, depth: int, rows: int) -> tuple[str, list[Visible], int]:
        item = self.item(depth, MOST_ROWS // rows)
        text, seen, rows = item.text, _seen(item), rows * max(1, item.rows)
        for _ in range(self.dice.pick((0, 1, 0, 1, 2))):
            if rows > MOST_ROWS // 8:
                break
            if self.dice.chance(6) and rows < MOST_ROWS // 64:
                other, right, most = self.chain(depth, rows * 8)
                tables = {alias for column in right for alias in column.qualifiers}  # in parentheses there has to be a join
                other, most = f"({other})" if len(tables) > 1 else other, most // (rows * 8)
            else:
                item = self.item(depth, MOST_ROWS // rows)
                other, right, most = item.text, _seen(item), item.rows
            text, seen = self.joined(text, seen, other, right)
            rows = (rows + 1) * (most + 1)
        return text, seen, rows

    def joined(self, text: str, left: list[Visible], other: str, right: list[Visible]) -> tuple[str, list[Visible]]:
        """`text`, whose columns are `left`, joined with `other`, whose columns are `right`."""
        kind = self.dice.pick(KINDS)
        common = [c.name for c in left if any(v.name == c.name for v in right)]
        unique = [n for n in common if sum(v.name == n for v in left) == 1 and sum(v.name == n for v in right) == 1]
        form = self.dice.number(0, 9)
        if form == 9 and common and common == unique:
            return f"{text} NATURAL {kind} {other}", _merged(left, right, common)
        if form >= 7 and unique:
            names = unique[: self.dice.number(1, 2)]
            return f"{text} {kind} {other} USING ({', '.join(names)})", _merged(left, right, names)
        if form == 6:
            return f"{text} CROSS JOIN {other}", left + right
        return f"{text} {kind} {other} ON {self.join_condition(left, right)}", left + right

    def join_condition(self, left: list[Visible], right: list[Visible]) -> str:
        """Mostly an equality of the two sides, with or without more; now and then anything."""
        both = Expressions(self.dice, _scope(left + right))
        pairs = [
            (a.text, b.text)
            for a in (_reference(v, left + right) for v in left)
            for b in (_reference(v, left + right) for v in right)
            if a.type == b.type or {a.type, b.type} <= {INT, DEC}
        ]
        if not pairs or self.dice.chance(15):
            return both.predicate(2)
        a, b = self.dice.pick(pairs)
        symbol = self.dice.pick(("<", ">=", "IS NOT DISTINCT FROM", "<>")) if self.dice.chance(15) else "="
        condition = f"{a} {symbol} {b}"
        if self.dice.chance(20):
            a, b = self.dice.pick(pairs)
            condition += f" AND {b} = {a}"
        if self.dice.chance(25):
            condition += f" AND {both.predicate(2)}"
        return condition

    def item(self, depth: int, most_rows: int) -> Item:
        form = self.dice.number(0, 9)
        if form >= 8 and depth > (0 if form == 9 else 1):
            derived = self.derived(depth - 1)
            if derived.rows <= most_rows:
                return derived
        if form == 7:
            return self.values()
        if form >= 5 and self.ctes:
            cte = self.dice.pick(self.ctes)
            if cte.rows <= most_rows:
                alias = self.alias()
                return Item(f"{cte.text} AS {alias}", alias, _plain(cte.columns, alias), cte.rows)
        return self.table()

    def alias(self) -> str:
        self.aliases += 1
        return f"a{self.aliases}"

    def table(self) -> Item:
        name = self.dice.pick(tuple(SCHEMA))
        alias = self.alias()
        columns = []
        for spec in SCHEMA[name]:
            kind = TYPE_OF.get(spec.type, DEC)
            scale = int(spec.type.rstrip(")").split(",")[1]) if kind == DEC else 0
            columns.append(Source(spec.name, Expr(f"{alias}.{spec.name}", kind, 1000, scale, additive=True)))
        return Item(f"{name}{self.dice.pick((' AS ', ' '))}{alias}", alias, tuple(columns), 8)

    def derived(self, depth: int) -> Item:
        select, alias = self.expression(depth), self.alias()
        assert select.columns is not None
        if self.dice.chance(25):
            renamed = tuple(Source(f"p{c.value.type}{i}", c.value) for i, c in enumerate(select.columns))
            names = ", ".join(c.name for c in renamed)
            return Item(f"({select.text}) AS {alias}({names})", alias, _plain(renamed, alias), select.rows)
        return Item(f"({select.text}) AS {alias}", alias, _plain(select.columns, alias), select.rows)

    def values(self) -> Item:
        alias = self.alias()
        constants = Expressions(self.dice, ())
        types = [self.dice.pick((INT, STR, DEC, *TYPES)) for _ in range(self.dice.number(1, 2))]
        count = self.dice.number(1, 3)
        rows = [f"({', '.join(constants.constant(t).text for t in types)})" for _ in range(count)]
        columns = tuple(Source(f"o{t}{i}", Expr("", t, 100, 3 if t == DEC else 0)) for i, t in enumerate(types))
        names = ", ".join(c.name for c in columns)
        return Item(f"(VALUES {', '.join(rows)}) AS {alias}({names})", alias, _plain(columns, alias), count)


def _ordinary(value: Expr) -> Expr:
    """A sum has the widest type there is. It is made an ordinary one before anything is computed from it: types that meet
    the widest one lose digits after the point in DuckDB, which is not what these tests are about."""
    if value.text.startswith("SUM") and value.type in (INT, DEC):
        return value._replace(text=f"CAST({value.text} AS {'BIGINT' if value.type == INT else f'DECIMAL(18,{value.scale})'})")
    return value


def _either(a: Expr, b: Expr) -> Expr:
    """What is known of a column that has values of both."""
    type = a.type if a.type == b.type else DEC  # an integer beside a decimal
    return a._replace(type=type, bound=max(a.bound, b.bound), scale=max(a.scale, b.scale), additive=a.additive and b.additive)


def _plain(columns: tuple[Source, ...], alias: str) -> tuple[Source, ...]:
    return tuple(Source(c.name, c.value._replace(text=f"{alias}.{c.name}", additive=False)) for c in columns)


def _outputs(columns: list[Source]) -> tuple[Source, ...]:
    return tuple(Source(c.name, c.value._replace(text=c.name)) for c in columns)


def _items(columns: list[Source]) -> str:
    return ", ".join(f"{c.value.text} AS {c.name}" for c in columns)


def _seen(item: Item) -> list[Visible]:
    return [Visible(c.name, (item.alias,), c.value) for c in item.columns]


def _merged(left: list[Visible], right: list[Visible], names: list[str]) -> list[Visible]:
    """After USING: the common columns are one, called by name alone; the two it was made of stay readable by alias."""
    result = []
    for column in left:
        other = next((c for c in right if c.name == column.name), None)
        if column.name in names and other is not None:
            value = _either(column.value, other.value)
            result.append(Visible(column.name, (*column.qualifiers, *other.qualifiers), value))
        else:
            result.append(column)
    return result + [c for c in right if c.name not in names]


def _unique(name: str, among: list[Visible]) -> bool:
    """Whether the name alone is enough. Names of computed columns are used again as output names, and whether
    `GROUP BY oint0` means the one or the other is not what these tests are about."""
    return not name.startswith("o") and sum(v.name == name for v in among) == 1


def _reference(column: Visible, among: list[Visible]) -> Expr:
    """How to write the column: a merged one by its name where that is unique, else by an alias."""
    unique = _unique(column.name, among)
    if len(column.qualifiers) == 1:
        return column.value
    return column.value._replace(text=column.name if unique else f"{column.qualifiers[0]}.{column.name}")


def _scope(columns: list[Visible]) -> list[Source]:
    """Every column once, and a merged one also by its first alias; unqualified now and then where the name is unique."""
    result = []
    for i, column in enumerate(columns):
        value = _reference(column, columns)
        if len(column.qualifiers) == 1 and i % 3 == 2 and _unique(column.name, columns):
            value = value._replace(text=column.name)
        result.append(Source(column.name, value))
        if len(column.qualifiers) > 1:
            result.append(Source(column.name, value._replace(text=f"{column.qualifiers[-1]}.{column.name}")))
    return result
