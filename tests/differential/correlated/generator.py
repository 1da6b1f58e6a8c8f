"""Random correlated queries: subqueries of every form in every position, up to three levels, with every operator between.

Every query is deterministic as a bag of rows: each LIMIT follows an ORDER BY of all columns. A few may fail: a scalar subquery
of more than one row. Values and conditions are in scalars.py; this file draws blocks, their FROM and their grouping.
"""

from typing import NamedTuple

from hypothesis import strategies as st

from tests.differential.correlated.scalars import Column, Scalars, Scope
from tests.differential.correlated.tables import INT, SCHEMA, TEXT
from tests.differential.expressions import COMPARISONS, Dice

LEVELS = 3
BLOCKS = 6  # SELECT blocks of one query
MOST_ROWS = 400  # of a block, counted over all rows around it: the naive evaluator runs it for each
TABLE_ROWS = {"r": 7, "q": 7, "t": 6, "k": 5, "e": 1, "n": 3}  # of the larger datasets
Outer = tuple[tuple[Column, ...], ...]


class Query(NamedTuple):
    """`used`: the forms of SQL in it, by name."""

    sql: str
    used: frozenset[str]


class From(NamedTuple):
    text: str
    columns: tuple[Column, ...]
    rows: int


@st.composite
def correlated_queries(draw: st.DrawFn) -> Query:
    maker = QueryMaker(Dice(draw))
    return Query(maker.top(), frozenset(maker.used))


class QueryMaker:
    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.scalars = Scalars(dice, self)
        self.used: set[str] = set()
        self.aliases = self.blocks = 0
        self.lateral = 0  # levels of LATERAL around, where DuckDB knows no outer columns in windows
        self.ctes: list[From] = []

    def room(self, rows: int) -> bool:
        """Whether one more block fits, evaluated for `rows` rows."""
        return self.blocks < BLOCKS and rows <= MOST_ROWS

    def alias(self) -> str:
        self.aliases += 1
        return f"x{self.aliases}"

    def top(self) -> str:
        clause = ""
        if self.dice.chance(10):
            self.used.add("CTE")
            table = self.table(())
            items = ", ".join(f"{c.text} AS v{i}" for i, c in enumerate(table.columns))
            clause = f"WITH w AS (SELECT {items} FROM {table.text}) "
            self.ctes.append(From("w", tuple(Column(f"v{i}", c.type) for i, c in enumerate(table.columns)), table.rows))
        types = (INT, *(INT if self.dice.chance(80) else TEXT for _ in range(self.dice.number(0, 2))))
        die = self.dice.number(0, 9)
        if die < 8:
            return clause + self.sorted_by_subquery(self.block((), types, 1, LEVELS))
        return clause + (self.set_operation((), types, 1, LEVELS) if die == 8 else self.limited((), types, 1, LEVELS, most=4))

    def sorted_by_subquery(self, text: str) -> str:
        """Sometimes an ORDER BY of a subquery over a result column: rows must not change by it."""
        if not self.dice.chance(5):
            return text
        self.used.add("ORDER BY a subquery")
        name = self.alias()
        return f"SELECT * FROM ({text}) {name} ORDER BY (SELECT COUNT(*) FROM t WHERE t.a = {name}.c0), {name}.c0"

    # query expressions

    def relation(self, outer: Outer, types: tuple[str, ...], rows: int, levels: int) -> str:
        die = self.dice.number(0, 19)
        if die < 14 or self.blocks >= BLOCKS - 1:
            return self.block(outer, types, rows, levels)
        return (self.set_operation if die < 17 else self.limited)(outer, types, rows, levels)

    def set_operation(self, outer: Outer, types: tuple[str, ...], rows: int, levels: int) -> str:
        word = self.dice.pick(("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
        self.used.add(word)
        first, second = self.block(outer, types, rows, levels), self.block(outer, types, rows, levels)
        return f"({first}) {word} ({second})"

    def limited(self, outer: Outer, types: tuple[str, ...], rows: int, levels: int, most: int = 2) -> str:
        """With ORDER BY of all columns, a LIMIT of up to `most` rows and perhaps an OFFSET."""
        text = self.block(outer, types, rows, levels)
        keys = ", ".join(
            f"c{i}{self.dice.pick(('', ' DESC'))}{self.dice.pick(('', ' NULLS FIRST', ' NULLS LAST'))}" for i in range(len(types))
        )
        self.used.add("LIMIT")
        limit = most if most == 1 else self.dice.pick((1, 2, 3, 0)[: most + 1])
        text = f"SELECT * FROM ({text}) {self.alias()} ORDER BY {keys}" if self.dice.chance(20) else f"{text} ORDER BY {keys}"
        offset = ""
        if self.dice.chance(25):
            self.used.add("OFFSET")
            offset = f" OFFSET {self.dice.pick((1, 2, 5))}"
        if offset and most > 1 and self.dice.chance(20):
            return f"{text}{offset}"
        return f"{text} LIMIT {limit}{offset}"

    # blocks

    def block(self, outer: Outer, types: tuple[str, ...], rows: int, levels: int) -> str:
        """SELECT ... with columns c0, c1 ... of `types`."""
        self.blocks += 1
        source = self.source(outer, rows, levels)
        scope = Scope(source.columns, outer, rows * source.rows, levels)
        where = self.where(scope)
        die = self.dice.number(0, 19)
        if die < 9:
            return self.plain(source, where, scope, types)
        if die < 11:
            self.used.add("DISTINCT")
            return self.plain(source, where, scope, types, "DISTINCT ")
        if die < 13:
            return self.windowed(source, where, scope, types)
        if die < 15:
            self.used.add("aggregate without GROUP BY")
            return self.aggregated(source, where, scope, types, [])
        return self.grouped(source, where, scope, types)

    def where(self, scope: Scope) -> str:
        """Mostly correlated with the blocks around; at the top mostly with a subquery."""
        conditions = [self.scalars.correlation(scope)] if scope.outer and self.dice.chance(80) else []
        if not scope.outer and self.scalars.may_nest(scope) and self.dice.chance(60):
            conditions.append(self.scalars.subquery_condition(scope))
        while self.dice.chance(20) and len(conditions) < 3:
            conditions.append(self.scalars.condition(scope))
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def plain(self, source: From, where: str, scope: Scope, types: tuple[str, ...], distinct: str = "") -> str:
        items = []
        for i, type in enumerate(types):
            if type == INT and not scope.outer and self.dice.chance(50) and self.scalars.may_nest(scope):
                items.append(f"{self.item_subquery(scope)} AS c{i}")
            else:
                items.append(f"{self.scalars.value(scope, type)} AS c{i}")
        return f"SELECT {distinct}{', '.join(items)} FROM {source.text}{where}"

    def item_subquery(self, scope: Scope) -> str:
        """A subquery in the select list; a truth value is shown as a number, so that every column has a simple type."""
        if self.dice.chance(50):
            self.used.add("truth value in the select list")
            test = self.scalars.subquery_test(scope)
            return f"CASE WHEN {test} THEN 1 WHEN NOT ({test}) THEN 0 END" if self.dice.chance(30) else f"CAST(({test}) AS INT)"
        self.used.add("scalar in the select list")
        return self.scalars.scalar_subquery(scope, INT)

    def windowed(self, source: From, where: str, scope: Scope, types: tuple[str, ...]) -> str:
        """Window functions; ROW_NUMBER sorts by all columns, so that rows it could not tell apart are the same."""
        self.used.add("window")
        local = scope if not self.lateral else scope._replace(outer=())
        items = []
        for i, type in enumerate(types):
            if type != INT or (i and self.dice.chance(40)):
                items.append(f"{self.scalars.value(scope, type)} AS c{i}")
                continue
            partition = ", ".join(c.text for c in self.scalars.any_columns(local, self.dice.number(0, 2)))
            partition = f"PARTITION BY {partition}" if partition else ""
            everything = ", ".join(c.text for c in scope.columns)
            some = ", ".join(c.text + self.dice.pick(("", " DESC")) for c in self.scalars.any_columns(local, 1))
            argument = (
                self.scalars.value(local._replace(levels=min(local.levels, 1)), INT)
                if not self.lateral
                else (self.scalars.column(local, INT))
            )
            call, order = self.dice.pick((
                ("COUNT(*)", ""), (f"SUM({argument})", ""), ("ROW_NUMBER()", everything), ("RANK()", some),
                (f"SUM({argument})", some), (f"MAX({argument})", some), ("DENSE_RANK()", some), (f"COUNT({argument})", ""),
                (f"LAG({self.scalars.column(local, INT)})", everything),
            ))  # fmt: skip
            over = " ".join(filter(None, (partition, f"ORDER BY {order}" if order else "")))
            items.append(f"{call} OVER ({over}) AS c{i}")
        return f"SELECT {', '.join(items)} FROM {source.text}{where}"

    def grouped(self, source: From, where: str, scope: Scope, types: tuple[str, ...]) -> str:
        keys = list(self.scalars.any_columns(scope, self.dice.number(1, 2)))
        if scope.outer and self.dice.chance(10):
            self.used.add("outer column as grouping key")
            keys += [Column(text, INT) for text in [self.scalars.outer_column(scope, INT)] if text]
        if len(keys) > 1 and self.dice.chance(25):
            self.used.add("grouping sets")
            a, b, *more = (k.text for k in keys)
            rest = "".join(f", {k}" for k in more)
            form = self.dice.pick(
                ("GROUPING SETS ((%s), (%s), ())", "ROLLUP (%s, %s)", "CUBE (%s, %s)", "GROUPING SETS ((%s), (%s))")
            )
            form %= (a, b)
            return self.aggregated(source, where, scope, types, keys, f" GROUP BY {form}{rest}")
        self.used.add("GROUP BY")
        return self.aggregated(source, where, scope, types, keys, f" GROUP BY {', '.join(k.text for k in keys)}")

    def aggregated(
        self, source: From, where: str, scope: Scope, types: tuple[str, ...], keys: list[Column], group_by: str = ""
    ) -> str:
        """Select list and HAVING over the keys and a few aggregates; their subqueries see the keys."""
        calls = [Column(self.aggregate(scope, INT), INT) for _ in range(self.dice.number(1, 2))]
        if TEXT in types:
            calls.append(Column(self.aggregate(scope, TEXT), TEXT))
        shown = list(keys)
        if keys and self.dice.chance(10) and scope.of_type(INT):
            self.used.add("aggregate of an outer block")
            shown.append(Column(f"{self.dice.pick(('MAX', 'SUM'))}({self.dice.pick(scope.of_type(INT)).text})", INT))
        after = Scope((*calls, *keys), scope.outer, scope.rows, scope.levels, tuple(shown))
        items = ", ".join(f"{self.scalars.value(after, type)} AS c{i}" for i, type in enumerate(types))
        having = ""
        if self.dice.chance(30):
            self.used.add("HAVING")
            correlated = scope.outer and self.dice.chance(50)
            having = f" HAVING {self.scalars.correlation(after) if correlated else self.scalars.condition(after)}"
        return f"SELECT {items} FROM {source.text}{where}{group_by}{having}"

    def aggregate(self, scope: Scope, type: str) -> str:
        if type == TEXT:
            return f"{self.dice.pick(('MIN', 'MAX'))}({self.local(scope, TEXT)})"
        argument = self.local(scope, INT)
        die = self.dice.number(0, 19)
        if die == 19 and self.scalars.may_nest(scope):
            self.used.add("subquery in an aggregate")
            argument = f"COALESCE({argument}, 0) + {self.scalars.scalar_subquery(scope, INT)}"
        elif die >= 16 and scope.outer and scope.of_type(INT):
            self.used.add("outer column in an aggregate")
            argument = f"{argument} + {self.scalars.outer_column(scope, INT) or '1'}"
        smallest = self.dice.pick(("MAX", "MIN"))
        call = self.dice.pick(("COUNT(*)", "COUNT(%s)", "SUM(%s)", f"{smallest}(%s)", "COUNT(DISTINCT %s)", "SUM(%s)"))
        call = call.replace("%s", argument)
        self.used.add(call.split("(")[0] + ("(DISTINCT" if "DISTINCT" in call[:15] else ""))
        if self.dice.chance(12):
            self.used.add("FILTER")
            call += f" FILTER (WHERE {self.filter_condition(scope)})"
        return f"COALESCE({call}, 0)" if self.dice.chance(12) else call

    def filter_condition(self, scope: Scope) -> str:
        """Of the block's own columns and those around, without subqueries (DuckDB has none in FILTER)."""
        flat = scope._replace(levels=0)
        return self.scalars.correlation(flat) if scope.outer and self.dice.chance(60) else self.scalars.condition(flat, 0)

    def local(self, scope: Scope, type: str) -> str:
        """A column of the block: an aggregate of outer columns alone would belong to the block around."""
        columns = scope.of_type(type)
        if columns:
            return self.dice.pick(columns).text
        return "NULL::VARCHAR" if type == TEXT else "1"

    def scalar_aggregate(self, outer: Outer, type: str, rows: int, levels: int) -> str:
        """One row always."""
        self.blocks += 1
        source = self.source(outer, rows, levels)
        scope = Scope(source.columns, outer, rows * source.rows, levels)
        where = self.where(scope)
        call = self.aggregate(scope, type)
        if type == INT and self.dice.chance(25):
            call = self.dice.pick((f"{call} + 1", f"COALESCE({call}, 7) + 1", f"CASE WHEN {call} > 1 THEN 5 ELSE 6 END"))
        return f"SELECT {call} AS c0 FROM {source.text}{where}"

    def key_lookup(self, outer: Outer, type: str, rows: int) -> str:
        """One row at most: k.id is unique, declared or not."""
        self.blocks += 1
        name = self.alias()
        scope = Scope(_columns_of("k", name), outer, rows, 0)
        key = self.scalars.outer_column(scope, INT) or "2"
        item = self.scalars.column(scope, type)
        more = f" AND {self.scalars.condition(scope, 0)}" if self.dice.chance(30) else ""
        return f"SELECT {item} AS c0 FROM k {name} WHERE {name}.id = {key}{more}"

    # FROM

    def source(self, outer: Outer, rows: int, levels: int) -> From:
        source = self.item(outer, rows, levels)
        while rows * source.rows * 6 <= MOST_ROWS and self.dice.chance(30):
            join = self.lateral_join if self.dice.chance(25) else self.join
            source = join(source, outer, rows, levels)
        return source

    def item(self, outer: Outer, rows: int, levels: int) -> From:
        if self.dice.chance(18) and self.room(rows) and levels > 0:
            return self.derived(outer, rows, levels)
        return self.table(outer)

    def table(self, outer: Outer) -> From:
        if self.ctes and self.dice.chance(50):
            cte, name = self.ctes[0], self.alias()
            return From(f"w {name}", tuple(Column(f"{name}.{c.text}", c.type) for c in cte.columns), cte.rows)
        names = ("q", "t", "r", "k", "n", "e", "q") if outer else ("r", "k", "r", "t", "q", "n", "r")
        name, alias = self.dice.pick(names), self.alias()
        return From(f"{name} {alias}", _columns_of(name, alias), TABLE_ROWS[name])

    def derived(self, outer: Outer, rows: int, levels: int) -> From:
        """A subquery in FROM: it sees the blocks around, not its neighbours."""
        self.used.add("derived table")
        types = (INT, self.dice.pick((INT, TEXT)))
        text = self.relation(outer, types, rows, levels - 1)
        name = self.alias()
        return From(f"({text}) {name}", tuple(Column(f"{name}.c{i}", type) for i, type in enumerate(types)), 7)

    def join(self, left: From, outer: Outer, rows: int, levels: int) -> From:
        kind = self.dice.pick(("JOIN", "LEFT JOIN", "JOIN", "FULL JOIN", "RIGHT JOIN", "LEFT JOIN", ","))
        right = self.item(outer, rows * left.rows, levels)
        both = From("", (*left.columns, *right.columns), max(left.rows, right.rows) * 2)
        if kind == ",":
            return both._replace(text=f"{left.text} CROSS JOIN {right.text}", rows=left.rows * right.rows)
        self.used.add(kind)
        a, b = (Scope(side.columns, (), 1, 0) for side in (left, right))
        condition = f"{self.scalars.column(a, INT)} = {self.scalars.column(b, INT)}"
        scope = Scope(both.columns, outer, rows * left.rows * right.rows, levels)
        if kind == "JOIN":
            if self.dice.chance(15) and self.scalars.may_nest(scope):
                self.used.add("subquery in ON")
                condition += f" AND {self.scalars.subquery_condition(scope)}"
            elif outer and self.dice.chance(20):
                self.used.add("outer column in ON")
                condition += f" AND {self.scalars.correlation(scope)}"
        elif outer and self.dice.chance(6):
            self.used.add("outer column in ON of an outer join")
            condition += f" AND {self.scalars.correlation(scope)}"
        elif self.dice.chance(6) and self.scalars.may_nest(scope):
            self.used.add("subquery in ON of an outer join")
            condition += f" AND {self.scalars.subquery_condition(scope)}"
        return both._replace(text=f"{left.text} {kind} {right.text} ON {condition}")

    def lateral_join(self, left: From, outer: Outer, rows: int, levels: int) -> From:
        """What follows sees the items before it."""
        seen = (*outer, left.columns)
        if levels <= 0 or not self.room(rows * left.rows):
            return self.join(left, outer, rows, levels)
        name = self.alias()
        if self.dice.chance(15):
            self.used.add("LATERAL VALUES")
            scope = Scope((), seen, rows * left.rows, 0)
            values = ", ".join(f"({self.scalars.value(scope, INT, 0)})" for _ in range(self.dice.number(1, 2)))
            return From(
                f"{left.text}, LATERAL (VALUES {values}) {name}(c0)", (*left.columns, Column(f"{name}.c0", INT)), left.rows * 2
            )
        types = (INT, INT) if self.dice.chance(50) else (INT,)
        self.lateral += 1
        text = self.relation(seen, types, rows * left.rows, levels - 1)
        self.lateral -= 1
        columns = (*left.columns, *(Column(f"{name}.c{i}", type) for i, type in enumerate(types)))
        if self.dice.chance(50):
            self.used.add("LATERAL")
            return From(f"{left.text}, LATERAL ({text}) {name}", columns, left.rows * 3)
        self.used.add("LEFT JOIN LATERAL")
        condition = "TRUE"
        if self.dice.chance(40):  # DuckDB knows comparisons of one side with the other
            condition = f"{self.scalars.column(Scope(left.columns, (), 1, 0), INT)} {self.dice.pick(COMPARISONS)} {name}.c0"
        return From(f"{left.text} LEFT JOIN LATERAL ({text}) {name} ON {condition}", columns, left.rows * 3)


def _columns_of(table: str, alias: str) -> tuple[Column, ...]:
    return tuple(Column(f"{alias}.{name}", type) for name, type in SCHEMA[table].items())
