"""Random values and conditions over the columns of a block and of the blocks around it, with subqueries of every form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tests.differential.correlated.tables import INT, TEXT
from tests.differential.expressions import COMPARISONS, Dice

if TYPE_CHECKING:
    from tests.differential.correlated.generator import QueryMaker

CONSTANTS = {INT: ("1", "2", "0", "3"), TEXT: ("'x'", "'y'", "''")}


class Column(NamedTuple):
    """Something of type `type` that can be written in a block; a grouping key or an aggregate is one too."""

    text: str
    type: str


class Scope(NamedTuple):
    """What can be read at one place: the columns of the block, and those of the blocks around it, the nearest last.

    `shown`: what subqueries at this place see of the block, where that is not all of `columns`. `rows`: how often the place
    is evaluated at most, over all rows of the blocks around. `levels`: how many levels of subqueries may follow.
    """

    columns: tuple[Column, ...]
    outer: tuple[tuple[Column, ...], ...]
    rows: int
    levels: int
    shown: tuple[Column, ...] | None = None

    @property
    def seen_inside(self) -> tuple[tuple[Column, ...], ...]:
        return (*self.outer, self.columns if self.shown is None else self.shown)

    def of_type(self, type: str) -> list[Column]:
        return [c for c in self.columns if c.type == type]


class Scalars:
    """Draws values and conditions; what was drawn is noted in `used`, for the counts of what a test covers."""

    def __init__(self, dice: Dice, maker: QueryMaker) -> None:
        self.dice, self.maker = dice, maker

    def note(self, form: str) -> None:
        self.maker.used.add(form)

    def outer_column(self, scope: Scope, type: str) -> str | None:
        """A column of a block around; mostly of the nearest one."""
        levels = [[c for c in columns if c.type == type] for columns in scope.outer]
        able = [n for n, columns in enumerate(levels) if columns]
        if not able:
            return None
        level = able[-1] if not self.dice.chance(30) else self.dice.pick(able[::-1])
        self.note("outer column")
        if level < len(levels) - 1:
            self.note("level skipped")
        return self.dice.pick(levels[level]).text

    def column(self, scope: Scope, type: str) -> str:
        """A column of the block; one from around or a constant when it has none of the type."""
        columns = scope.of_type(type)
        if columns:
            return self.dice.pick(columns).text
        return self.outer_column(scope, type) or self.dice.pick(CONSTANTS[type])

    def value(self, scope: Scope, type: str, depth: int = 1) -> str:
        die = self.dice.number(0, 19)
        if die < 9 or depth <= 0:
            return self.column(scope, type)
        if die < 11:
            return self.dice.pick(CONSTANTS[type])
        if die < 14:
            return self.outer_column(scope, type) or self.column(scope, type)
        if die < 16 and type == INT:
            return f"{self.value(scope, INT, 0)} {self.dice.pick('+-')} {self.value(scope, INT, 0)}"
        if die < 17:
            return f"COALESCE({self.column(scope, type)}, {self.value(scope, type, depth - 1)})"
        if die < 18:
            self.note("CASE")
            condition = self.condition(scope, depth - 1)
            return f"CASE WHEN {condition} THEN {self.column(scope, type)} ELSE {self.value(scope, type, depth - 1)} END"
        return self.scalar_subquery(scope, type) if self.may_nest(scope) else self.column(scope, type)

    def may_nest(self, scope: Scope) -> bool:
        return scope.levels > 0 and self.maker.room(scope.rows)

    def scalar_subquery(self, scope: Scope, type: str) -> str:
        """Of one row by its form, except now and then."""
        outer, rows, levels = scope.seen_inside, scope.rows, scope.levels - 1
        die = self.dice.number(0, 19)
        if die < 10:
            self.note("scalar aggregate")
            return f"({self.maker.scalar_aggregate(outer, type, rows, levels)})"
        if die < 14:
            self.note("scalar key lookup")
            return f"({self.maker.key_lookup(outer, type, rows)})"
        if die < 18:
            self.note("scalar LIMIT 1")
            return f"({self.maker.limited(outer, (type,), rows, levels, most=1)})"
        self.note("scalar of any number of rows")
        return f"({self.maker.block(outer, (type,), rows, levels)})"

    def comparison(self, type: str, left: str, right: str) -> str:
        die = self.dice.number(0, 19)
        if die < 10:
            return f"{left} = {right}"
        if die < 17 or type == TEXT:
            return f"{left} {self.dice.pick(COMPARISONS)} {right}"
        self.note("IS NOT DISTINCT FROM")
        return f"{left} IS {self.dice.pick(('NOT ', ''))}DISTINCT FROM {right}"

    def correlation(self, scope: Scope) -> str:
        """A comparison of something of the block with something from around."""
        type = INT if self.dice.chance(85) or not scope.of_type(TEXT) else TEXT
        outer = self.outer_column(scope, type)
        if outer is None:
            return self.condition(scope, 0)
        column = self.column(scope, type)
        if type == INT and self.dice.chance(15):
            self.note("correlated expression")
            return self.comparison(type, f"{column} + {self.value(scope, INT, 0)}", f"{outer} + 1")
        return self.comparison(type, column, outer)

    def condition(self, scope: Scope, depth: int = 1) -> str:
        die = self.dice.number(0, 19)
        if depth > 0 and die >= 8 and self.may_nest(scope):
            return self.subquery_condition(scope)
        if depth > 0 and die >= 6:
            a, b = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            word = self.dice.pick(("AND", "OR", "OR NOT"))
            return f"({a} {word} {b})" if word != "OR NOT" else f"({a} OR NOT ({b}))"
        if die >= 17 and scope.outer:
            return self.correlation(scope)
        if die == 0:
            return f"{self.column(scope, INT)} IS {self.dice.pick(('', 'NOT '))}NULL"
        type = TEXT if self.dice.chance(12) else INT
        left, right = self.column(scope, type), self.value(scope, type, 0)
        return self.comparison(type, left, right if right != left else self.dice.pick(CONSTANTS[type]))

    def subquery_condition(self, scope: Scope) -> str:
        """A condition with a subquery, alone or where it needs three values."""
        text = self.subquery_test(scope)
        die = self.dice.number(0, 19)
        if die < 11:
            return text
        if die < 13:
            self.note("under NOT")
            return f"NOT ({text})"
        if die < 16:
            self.note("under OR")
            return f"({text} OR {self.condition(scope, 0)})"
        if die < 17:
            self.note("IS NULL of a subquery")
            return f"({text}) IS {self.dice.pick(('NULL', 'NOT NULL', 'NOT TRUE'))}"
        if die < 18 and self.may_nest(scope):
            self.note("two under OR")
            return f"({text} OR {self.subquery_test(scope)})"
        return f"({text} AND {self.condition(scope, 0)})"

    def subquery_test(self, scope: Scope) -> str:
        outer, rows, levels = scope.seen_inside, scope.rows, scope.levels - 1
        type = TEXT if self.dice.chance(10) and scope.of_type(TEXT) else INT
        die = self.dice.number(0, 24)
        if die < 4:
            self.note("EXISTS")
            return f"EXISTS ({self.maker.relation(outer, (INT,), rows, levels)})"
        if die < 7:
            self.note("NOT EXISTS")
            return f"NOT EXISTS ({self.maker.relation(outer, (INT,), rows, levels)})"
        if die < 10:
            self.note("IN")
            return f"{self.value(scope, type, 0)} IN ({self.maker.relation(outer, (type,), rows, levels)})"
        if die < 14:
            self.note("NOT IN")
            return f"{self.value(scope, type, 0)} NOT IN ({self.maker.relation(outer, (type,), rows, levels)})"
        if die < 20:
            op, word = self.dice.pick(COMPARISONS), self.dice.pick(("ANY", "ALL"))
            self.note(f"{op} {word}")
            return f"{self.value(scope, type, 0)} {op} {word} ({self.maker.relation(outer, (type,), rows, levels)})"
        if die == 20 and self.dice.chance(50):
            self.note("row IN")
            row = f"({self.column(scope, INT)}, {self.value(scope, INT, 0)})"
            word = self.dice.pick(("IN", "NOT IN"))
            return f"{row} {word} ({self.maker.relation(outer, (INT, INT), rows, levels)})"
        return self.comparison(type, self.column(scope, type), self.scalar_subquery(scope, type))

    def any_columns(self, scope: Scope, count: int) -> Sequence[Column]:
        """Up to `count` different columns of the block."""
        rest, picked = list(scope.columns), []
        while rest and len(picked) < count:
            picked.append(rest.pop(self.dice.number(0, len(rest) - 1)))
        return picked
