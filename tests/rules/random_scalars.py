"""Random scalars over a few columns of every type, and rows for them, with NULLs and the values on which laws break.

Scalars are built as the binder builds them: operands of one type, comparisons in canonical order. Many repeat the same few terms,
so that there is something to put together. Some raise on some rows, some are volatile in name only: there is no `random` among
them, as its value could not be compared.
"""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from math import inf, nan
from random import Random
from typing import Any

import pyarrow as pa

from optimizer.algebra.columns import Columns, DataType
from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.predicates import compare
from optimizer.algebra.scalars import BOOL, Call, Case, Cast, ColumnRef, InList, Literal, Scalar
from optimizer.algebra.types import DATE, DOUBLE, INT32, INT64, STRING, TIMESTAMP, arithmetic_type

TINY, FLOAT, DEC = pa.int8(), pa.float32(), pa.decimal128(5, 2)
WIDE = pa.decimal128(12, 3)
DAY = date(2020, 2, 29)

VALUES: dict[DataType, tuple[Any, ...]] = {
    BOOL: (True, False),
    TINY: (0, 1, 2, 3, -1, 127, -128),
    INT32: (0, 1, 2, 3, 4, 5, -1, 2**31 - 1, -(2**31)),
    INT64: (0, 1, 2, 3, -1, 2**53 + 1, 2**63 - 1, -(2**63)),
    DEC: tuple(map(Decimal, ("0.00", "1.00", "1.50", "2.00", "-1.25", "999.99", "-999.99"))),
    WIDE: tuple(map(Decimal, ("0.000", "1.000", "1.500", "1.505", "-1.250", "1000.000"))),
    FLOAT: (0.0, -0.0, 1.0, 1.5, nan, inf, -inf),
    DOUBLE: (0.0, -0.0, 1.0, 2.5, -1.0, nan, inf, -inf, 1e308),
    STRING: ("", "a", "ab", "abc", "a%", "b_", "B", "%", "_"),
    DATE: (DAY, date(2020, 1, 1), date(2019, 12, 31), date(1970, 1, 1), date(2021, 7, 15)),
    TIMESTAMP: (datetime(2020, 2, 29), datetime(2020, 2, 29, 12, 30), datetime(2019, 12, 31, 23, 59, 59, 999999)),
}
PATTERNS = ("%", "a%", "%%", "a", "", "_", "a_%", "%b%", "ab%%", "a!%", "a!%%", "!", "!_b", "a%!%")
NUMBERS = (TINY, INT32, INT64, DEC, WIDE, DOUBLE)
CASTS = {
    TINY: (INT32, INT64, DEC, WIDE, DOUBLE, FLOAT, STRING), INT32: (INT64, TINY, WIDE, DOUBLE, STRING),
    INT64: (DOUBLE, INT32, WIDE, STRING), DEC: (WIDE, INT32, DOUBLE, STRING), WIDE: (DEC, INT64, DOUBLE, STRING),
    FLOAT: (DOUBLE, STRING), DOUBLE: (INT32, STRING), DATE: (TIMESTAMP, STRING), TIMESTAMP: (DATE, STRING), BOOL: (INT32, STRING),
    STRING: (INT32, DATE),
}  # fmt: skip


class RandomScalars:
    """Scalars over columns of all types; of those two and more a type that is compared often."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.columns = Columns()
        types = [t for t in VALUES for _ in range(2)]
        self.refs = [ColumnRef(self.columns.new(f"c{i}", t, True).id, t) for i, t in enumerate(types)]

    def row(self, not_null: int = 0) -> dict[int, Any]:
        """Values for all columns; those of `not_null` are not NULL."""
        return {
            ref.id: None if not not_null >> ref.id & 1 and self.random.random() < 0.25 else self.random.choice(VALUES[ref.type])
            for ref in self.refs
        }

    def column(self, type: DataType) -> ColumnRef:
        return self.random.choice([ref for ref in self.refs if ref.type == type])

    def literal(self, type: DataType, nulls: float = 0.06) -> Literal:
        return Literal(None if self.random.random() < nulls else self.random.choice(VALUES[type]), type)

    def of(self, type: DataType, depth: int) -> Scalar:
        random = self.random
        if depth <= 0 or random.random() < 0.2:
            return self.column(type) if random.random() < 0.75 else self.literal(type)
        if type == BOOL:
            return self.condition(depth - 1)
        form = random.randrange(8)
        if form == 0:
            return Case(self._branches(type, depth - 1), self.of(type, depth - 2), type)
        if form == 1:
            return Call("coalesce", tuple(self.of(type, depth - 2) for _ in range(random.choice((2, 2, 3)))), type)
        if form == 2:
            return Call(random.choice(("greatest", "least")), (self.of(type, depth - 2), self.of(type, depth - 2)), type)
        if form <= 4:
            sources = [source for source, targets in CASTS.items() if type in targets] + [type]
            return Cast(self.of(random.choice(sources), depth - 1), type, random.random() < 0.1)
        return self._operation(type, depth - 1)

    def _branches(self, type: DataType, depth: int) -> tuple[tuple[Scalar, Scalar], ...]:
        results: list[Scalar] = [self.literal(type), self.column(type), self.of(type, depth - 1)]
        conditions = [self.condition(depth - 1) for _ in range(2)]
        return tuple(
            (self.random.choice([*conditions, self.literal(BOOL)]), self.random.choice(results))
            for _ in range(self.random.choice((1, 1, 2, 3)))
        )

    def _operation(self, type: DataType, depth: int) -> Scalar:
        random = self.random
        if type in NUMBERS:
            form = random.randrange(10)
            if form < 5:
                a, b = self.of(type, depth - 1), self.of(type, depth - 1)
                if random.random() < 0.5:
                    b = Literal(type_value(type, random.choice((0, 1, -1, 2))), type)
                if random.random() < 0.2:
                    a, b = b, a
                function = random.choice("+-*")
                result = arithmetic_type(function, type, type)
                return Call(function, (a, b), result) if result == type else Cast(Call(function, (a, b), result), type, False)
            if form < 7:
                return Call(random.choice(("neg", "abs")), (self.of(type, depth - 1),), type)
            if type == DOUBLE:
                return Call(random.choice(("/", "//", "+")), (self.of(type, depth - 1), self.literal(type)), type)
            if type not in (DEC, WIDE):
                divisor = Literal(random.choice((None, 0, 1, 2, 3)), type)  # none by which the least integer overflows
                return Call(random.choice(("//", "%")), (self.of(type, depth - 1), divisor), type)
        if type == INT64 and random.random() < 0.7:
            part = random.choice(("year", "month", "quarter"))
            return Call(part, (self.column(random.choice((DATE, TIMESTAMP))),), INT64)
        if type == STRING:
            if random.random() < 0.6:
                return Call("concat", (self.of(STRING, depth - 1), self.of(STRING, depth - 2)), STRING)
            return Call(random.choice(("upper", "lower", "trim")), (self.of(STRING, depth - 1),), STRING)
        if type == DATE:
            return Call("date_add_days", (self.of(DATE, depth - 1), Literal(random.choice((0, 1, -30)), INT32)), DATE)
        return self.of(type, 0)

    def condition(self, depth: int) -> Scalar:
        random = self.random
        if depth <= 0 and random.random() < 0.3:
            return self.of(BOOL, 0)
        form = random.randrange(14)
        if form < 4:
            return self._comparison(depth)
        if form == 13:
            return self._of_column()
        if form < 7:
            args = tuple(self.condition(depth - 1) for _ in range(random.choice((2, 2, 3))))
            if random.random() < 0.3:
                args = (*args, random.choice(args))
            return Call(random.choice(("and", "or")), args, BOOL)
        if form == 7:
            return Call("not", (self.condition(depth - 1),), BOOL)
        if form == 8:
            return self._range(depth)
        if form == 9:
            return Call(random.choice(("is_null", "is_not_null")), (self.of(random.choice(tuple(VALUES)), depth - 1),), BOOL)
        if form == 10:
            args = (self.column(STRING), Literal(random.choice(PATTERNS), STRING))
            if random.random() < 0.3:
                return Call("like", (*args, Literal("!", STRING)), BOOL)
            return Call(random.choice(("like", "ilike", "starts_with")), args, BOOL)
        if form == 11:
            return Case(self._branches(BOOL, depth), self.of(BOOL, 0), BOOL)
        return Call("coalesce", (self.condition(depth - 1), self.literal(BOOL)), BOOL)

    def _comparison(self, depth: int) -> Scalar:
        random = self.random
        type = random.choice(tuple(VALUES))
        a = self.of(type, random.choice((0, 0, depth)))
        b = random.choice((self.literal(type), self.column(type), self.of(type, depth - 1), a))
        function = random.choice((*COMPARISONS, *COMPARISONS, "is_distinct_from", "is_not_distinct_from"))
        return compare(function, a, b) if random.random() < 0.8 else Call(function, (a, b), BOOL)

    def _of_column(self) -> Scalar:
        """A comparison, or IN list, of an expression that mostly rises or falls with a column."""
        random = self.random
        type = random.choice((TINY, INT32, INT64, DEC, WIDE, DATE, TIMESTAMP, BOOL))
        term: Scalar = self.column(type)
        if type in (DATE, TIMESTAMP):
            unit = Literal(random.choice(("month", "year", "week")), STRING)
            term = random.choice((Call("year", (term,), INT64), Call("date_trunc", (unit, term), type), term))
        for _ in range(random.choice((1, 1, 2))):
            targets = [t for t in CASTS.get(term.type, ()) if t not in (STRING, FLOAT)]
            if targets and random.random() < 0.7:
                term = Cast(term, random.choice(targets), False)
            elif term.type in NUMBERS or pa.types.is_decimal(term.type):
                number = Literal(type_value(term.type, random.choice((1, 2, -1, -3, 10))), term.type)
                function = random.choice("+-*")
                result = arithmetic_type(function, term.type, term.type)
                form = random.randrange(6)
                if form == 0:
                    term = Call("neg", (term,), term.type)
                elif form == 1 and pa.types.is_decimal(term.type):
                    term = Call(random.choice(("floor", "ceil")), (term,), pa.decimal128(term.type.precision, 0))
                else:
                    term = Call(function, (number, term) if form == 2 else (term, number), result)
        if term.type not in VALUES:
            literals = [Literal(type_value(term.type, random.choice((-3, 0, 1, 2, 5))), term.type) for _ in range(3)]
        else:
            literals = [self.literal(term.type, 0) for _ in range(3)]
        if term.type == INT64 and random.random() < 0.5:
            literals = [Literal(random.choice((2019, 2020, 2021)), INT64) for _ in range(3)]
        if random.random() < 0.2:
            return InList(term, tuple(literals))
        return Call(random.choice(COMPARISONS), (term, literals[0]), BOOL)

    def _range(self, depth: int) -> Scalar:
        """Comparisons of one term, or of two, under AND or OR."""
        random = self.random
        type = random.choice((INT32, INT32, DOUBLE, STRING, DEC, DATE, BOOL, TINY))
        term: Scalar = self.column(type) if random.random() < 0.7 else self.of(type, depth)
        other = self.column(type)
        tests: list[Scalar] = []
        for _ in range(random.choice((2, 3, 4))):
            form = random.randrange(6)
            if form == 0:
                tests.append(self._in_list(term, type))
            elif form == 1:
                tests.append(Call("not", (self._in_list(term, type),), BOOL))
            elif form == 2:
                tests.append(compare(random.choice(COMPARISONS), term, other))
            elif form == 3 and random.random() < 0.4:
                tests.append(Call(random.choice(("is_null", "is_not_null")), (term,), BOOL))
            else:
                tests.append(Call(random.choice(COMPARISONS), (term, self.literal(type, 0.02)), BOOL))
        return Call(random.choice(("and", "or")), tuple(tests), BOOL)

    def _in_list(self, term: Scalar, type: DataType) -> InList:
        items: Sequence[Scalar] = [
            self.column(type) if self.random.random() < 0.05 else self.literal(type) for _ in range(self.random.choice((1, 2, 3)))
        ]
        return InList(term, tuple(items))


def type_value(type: DataType, number: int) -> Any:
    if pa.types.is_decimal(type):
        return Decimal(number).quantize(Decimal(1).scaleb(-type.scale))
    return float(number) if pa.types.is_floating(type) else number
