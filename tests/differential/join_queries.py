"""Random statements over joins of many tables: what join ordering, conflict detection and eager aggregation may get wrong.

FROM clauses are bushy trees of up to six tables and derived tables (aggregates, DISTINCT, LIMIT, unions) with joins of all
kinds; predicates link two or three tables, accept NULLs, or raise. What reads the rows, and how results are checked, is as
in `queries`.
"""

from typing import NamedTuple

from hypothesis import strategies as st

from tests.differential.expressions import BOOL, DATE, DEC, INT, STR, Dice, Expr, Expressions, Source
from tests.differential.queries import Query, QueryMaker, Select, Visible

KINDS = ("JOIN", "LEFT JOIN", "JOIN", "RIGHT JOIN", "LEFT JOIN", "FULL JOIN", "JOIN", "SEMI JOIN", "ANTI JOIN")
MANY = 300  # rows that a FROM clause is expected to have at most: the naive evaluator loops over them in Python
LINKS = (("id", "rid"), ("id", "qid"))  # a key and what refers to it
RAISING = (
    (STR, "CAST({} AS INTEGER) < 5"), (INT, "LN(CAST({} AS DOUBLE)) < 1"), (INT, "CAST({} * 3 AS TINYINT) > 3"),
    (STR, "CAST({} AS DATE) > DATE '2020-01-31'"),
)  # fmt: skip


class Joined(NamedTuple):
    """Part of a FROM clause, the columns it shows, and how many rows it is expected to have."""

    text: str
    columns: list[Visible]
    rows: float
    tables: int = 1


@st.composite
def join_queries(draw: st.DrawFn) -> Query:
    return JoinQueryMaker(Dice(draw)).query()


@st.composite
def raising_join_queries(draw: st.DrawFn) -> Query:
    """With predicates that raise for some values. DuckDB may evaluate them on more rows than the text asks for, so only an
    evaluation of the bound tree as it stands tells whether the statement has rows."""
    return JoinQueryMaker(Dice(draw), raising=True).query()._replace(raising=True)


class JoinQueryMaker(QueryMaker):
    def __init__(self, dice: Dice, raising: bool = False) -> None:
        super().__init__(dice)
        self.raising = raising

    def select(self, depth: int, top: bool = False, types: list[str] | None = None) -> Select:
        """Mostly columns or their aggregates, since an expression keeps most rules from what it reads."""
        if depth < 1 or types is not None or self.dice.chance(15):
            return super().select(depth, top, types)
        source, scope, rows = self.from_clause(depth)
        tail = f" FROM {source}"
        if self.dice.chance(20):
            tail += f" WHERE {self.condition(scope)}"
        columns = [s.value for s in scope if s.value.exact]
        if self.dice.chance(45):
            return self.summary(tail, columns, rows, top)
        shown = [self.named(i, self.dice.pick(columns)) for i in range(self.dice.number(1, 3))]
        text = _select(shown, tail, distinct=self.dice.chance(20))
        return self.limited(Select(text, _outputs(shown), rows), top)

    def summary(self, tail: str, columns: list[Expr], rows: int, top: bool) -> Select:
        """GROUP BY columns, or everything in one group, with one or two aggregates of columns or none."""
        keys = list(dict.fromkeys(self.dice.pick(columns) for _ in range(self.dice.pick((1, 0, 2)))))
        aggregates = [self.plain_aggregate(columns) for _ in range(self.dice.number(0 if keys else 1, 2))]
        shown = [self.named(i, value) for i, value in enumerate((*keys, *aggregates))]
        grouped = f" GROUP BY {', '.join(key.text for key in keys)}" if keys else ""
        return self.limited(Select(_select(shown, tail) + grouped, _outputs(shown), rows if keys else 1), top)

    def plain_aggregate(self, columns: list[Expr]) -> Expr:
        column = self.dice.pick(columns)
        numbers = [c for c in columns if c.type in (INT, DEC)]
        form = self.dice.number(0, 5)
        if form == 5 and numbers:
            value = self.dice.pick(numbers)
            wide = "BIGINT" if value.type == INT else f"DECIMAL(18,{value.scale})"
            return value._replace(text=f"CAST(SUM({value.text}) AS {wide})", bound=1e9, additive=False)
        if form >= 3 and column.type != BOOL:
            return column._replace(text=f"{'MIN' if form == 3 else 'MAX'}({column.text})", additive=False)
        return Expr(("COUNT(*)", f"COUNT({column.text})", f"COUNT(DISTINCT {column.text})")[form % 3], INT, 10000)

    # --- FROM

    def from_clause(self, depth: int) -> tuple[str, list[Source], int]:
        leaves = self.dice.pick((3, 2, 4, 3, 5, 6)) if depth > 1 else self.dice.pick((1, 2, 1, 3))
        tree = self.tree(leaves, depth)
        return tree.text, [Source(v.name, v.value) for v in tree.columns], int(tree.rows) + 1

    def tree(self, leaves: int, depth: int) -> Joined:
        if leaves == 1:
            item = self.item(depth, MANY)
            return Joined(item.text, [Visible(c.name, (item.alias,), c.value) for c in item.columns], min(item.rows, 8))
        below = 1 if not self.dice.chance(35) else self.dice.number(1, leaves - 1)
        if self.dice.chance(25):
            return self.linked(self.tree(below, depth), self.tree(leaves - below, depth))
        return self.linked(self.tree(leaves - below, depth), self.tree(below, depth))

    def linked(self, left: Joined, right: Joined) -> Joined:
        kind = self.dice.pick(KINDS)
        pairs = self.pairs(left, right)
        small = left.rows * right.rows < MANY
        equality = not small or not pairs or not self.dice.chance(25)
        if equality and pairs:
            condition = self.equality(pairs)
            rows = left.rows * max(1.0, right.rows / 4)
        elif small:
            condition, rows = self.loose(left, right, pairs), left.rows * right.rows / 2
        else:
            kind, condition, rows = "SEMI JOIN", self.loose(left, right, pairs), left.rows
        if self.dice.chance(60 if self.raising else 15):
            condition += f" AND {self.condition([Source(v.name, v.value) for v in (*left.columns, *right.columns)])}"
        text = f"({right.text})" if right.tables > 1 else right.text
        columns = left.columns
        if kind in ("SEMI JOIN", "ANTI JOIN"):
            rows = left.rows
        else:
            columns = left.columns + right.columns
        return Joined(f"{left.text} {kind} {text} ON {condition}", columns, rows, left.tables + right.tables)

    def pairs(self, left: Joined, right: Joined) -> list[tuple[Expr, Expr]]:
        """Columns of the two sides that can be compared; declared references first, since those are picked most."""
        found = [
            (a, b)
            for a in left.columns
            for b in right.columns
            if a.value.type == b.value.type != BOOL or {a.value.type, b.value.type} == {INT, DEC}
        ]
        known = [(a, b) for a, b in found if (a.name, b.name) in LINKS or (b.name, a.name) in LINKS]
        same = [(a, b) for a, b in found if a.name == b.name]
        return [(a.value, b.value) for a, b in (*known, *known, *same, *same, *found)]

    def equality(self, pairs: list[tuple[Expr, Expr]]) -> str:
        a, b = pairs[min(self.dice.number(0, len(pairs) - 1), self.dice.number(0, len(pairs) - 1))]
        condition = f"{a.text} = {b.text}"
        if self.dice.chance(15):
            a, b = self.dice.pick(pairs)
            condition += f" AND {b.text} {self.dice.pick(('=', '<', '<>'))} {a.text}"
        return condition

    def loose(self, left: Joined, right: Joined, pairs: list[tuple[Expr, Expr]]) -> str:
        """A link that accepts NULLs, or is no equality, or reads three tables, or a disjunction, or none at all."""
        if not pairs:
            return self.condition([Source(v.name, v.value) for v in (*left.columns, *right.columns)])
        (a, b), (c, d) = self.dice.pick(pairs), self.dice.pick(pairs)
        form = self.dice.number(0, 7)
        if form == 0:
            return f"{a.text} IS NOT DISTINCT FROM {b.text}"
        if form == 1:
            return f"({a.text} = {b.text} OR {self.dice.pick((a, b)).text} IS NULL)"
        if form == 2:
            return f"({a.text} = {b.text} OR {c.text} = {d.text})"
        if form == 3:
            return f"COALESCE({a.text}, {b.text}) = {b.text}"
        if form == 4:
            return f"{a.text} {self.dice.pick(('<', '>=', '<>'))} {b.text}"
        numbers = [[v.value.text for v in side.columns if v.value.type in (INT, DEC)] for side in (left, right)]
        if form >= 6 and all(numbers):
            here, there = numbers
            return f"{self.dice.pick(here)} + {self.dice.pick(there)} = {self.dice.pick(here + there)} + {self.dice.pick(here)}"
        return f"{a.text} = {b.text} AND ({c.text} IS NULL OR {d.text} IS NULL OR {c.text} <= {d.text})"

    def condition(self, scope: list[Source]) -> str:
        """About one or two columns; now and then any predicate, or one that raises."""
        if self.raising and self.dice.chance(60):
            choices = [(s.value, template) for s in scope for type, template in RAISING if s.value.type == type]
            if choices:
                value, template = self.dice.pick(choices)
                return template.format(value.text)
        e = Expressions(self.dice, scope)
        if self.dice.chance(20):
            return e.predicate(2)
        a = self.dice.pick(scope).value
        if self.dice.chance(25) or a.type not in (INT, DEC, STR, DATE):
            return f"{a.text} IS {self.dice.pick(('NOT NULL', 'NULL'))}"
        other = self.dice.pick(e.columns(a.type)) if self.dice.chance(25) else e.constant(a.type)
        return f"{a.text} {self.dice.pick(('<=', '<>', '>', '='))} {other.text}"


def _select(columns: list[Source], tail: str, distinct: bool = False) -> str:
    return f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(f'{c.value.text} AS {c.name}' for c in columns)}{tail}"


def _outputs(columns: list[Source]) -> tuple[Source, ...]:
    return tuple(Source(c.name, c.value._replace(text=c.name)) for c in columns)
