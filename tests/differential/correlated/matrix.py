"""The truth table of subqueries: every form over every inner bag of at most two values, in every position of a query.

The expected rows are computed here from lists of Python values, by the definitions of SQL and by nothing else. Table o has
one row for each inner bag g and each element x, table i the values v of the bags, p a few more rows to join with; o2 and i2
are the same for rows of two values (every third of their bags of two). A correlated subquery reads the bag of its outer row,
the others a bag by its number.
"""

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.reference.compare import Row

Truth = bool | None
DOMAIN = (None, 0, 1)
BAGS: tuple[tuple[Any, ...], ...] = tuple(b for n in range(3) for b in itertools.combinations_with_replacement(DOMAIN, n))
PAIRS = tuple(itertools.product(DOMAIN, DOMAIN))
_TWO_PAIRS = tuple(itertools.combinations_with_replacement(PAIRS, 2))
PAIR_BAGS: tuple[tuple[Row, ...], ...] = ((), *((pair,) for pair in PAIRS), *_TWO_PAIRS[::3])
BESIDE = (None, 0, 1, 1)  # the values of p.z
MOST = 2  # rows of a bag

TABLES: dict[str, tuple[tuple[str, ...], list[Row]]] = {
    "o": (("g", "x"), [(g, x) for g in range(len(BAGS)) for x in DOMAIN]),
    "i": (("g", "v"), [(g, v) for g, bag in enumerate(BAGS) for v in bag]),
    "p": (("z",), [(z,) for z in BESIDE]),
    "o2": (("g", "x", "y"), [(g, x, y) for g in range(len(PAIR_BAGS)) for x, y in PAIRS]),
    "i2": (("g", "v", "w"), [(g, v, w) for g, bag in enumerate(PAIR_BAGS) for v, w in bag]),
}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def compared(op: str, a: Any, b: Any) -> Truth:
    return None if a is None or b is None else _COMPARE[op](a, b)


def both(truths: Sequence[Truth]) -> Truth:
    """AND of all: FALSE wins, then UNKNOWN."""
    return False if False in truths else None if None in truths else True


def either(truths: Sequence[Truth]) -> Truth:
    """OR of all: TRUE wins, then UNKNOWN."""
    return True if True in truths else None if None in truths else False


def inverse(truth: Truth) -> Truth:
    return None if truth is None else not truth


class TooMany(Exception):
    """A scalar subquery met two rows."""


class Form(NamedTuple):
    """`sql` with the element {x} and the subquery's {source} (FROM and WHERE); `value` of an element and its bag.

    `boolean`: its value is a condition; others are compared with the element to make one. `pairs`: over o2 and i2.
    """

    name: str
    sql: str
    value: Callable[[Any, Sequence[Any]], Any]
    boolean: bool = True
    pairs: bool = False

    @property
    def condition(self) -> str:
        return self.sql if self.boolean else f"{self.sql} = {{x}}"

    def truth(self, x: Any, bag: Sequence[Any]) -> Truth:
        value = self.value(x, bag)
        return value if self.boolean else compared("=", value, x)


def _any(op: str) -> Callable[[Any, Sequence[Any]], Truth]:
    return lambda x, bag: either([compared(op, x, v) for v in bag])


def _all(op: str) -> Callable[[Any, Sequence[Any]], Truth]:
    return lambda x, bag: both([compared(op, x, v) for v in bag])


def _same_pair(x: Row, v: Row) -> Truth:
    return both([compared("=", a, b) for a, b in zip(x, v, strict=True)])


def _only(bag: Sequence[Any]) -> Any:
    if len(bag) > 1:
        raise TooMany
    return bag[0] if bag else None


def _known(bag: Sequence[Any]) -> list[Any]:
    return [v for v in bag if v is not None]


FORMS: tuple[Form, ...] = (
    Form("exists", "exists (select v {source})", lambda x, bag: bool(bag)),
    Form("not exists", "not exists (select v {source})", lambda x, bag: not bag),
    Form("in", "{x} in (select v {source})", _any("=")),
    Form("not in", "{x} not in (select v {source})", _all("<>")),
    *(Form(f"{op} any", f"{{x}} {op} any (select v {{source}})", _any(op)) for op in _COMPARE),
    *(Form(f"{op} all", f"{{x}} {op} all (select v {{source}})", _all(op)) for op in _COMPARE),
    Form("exists aggregate", "exists (select max(v) {source})", lambda x, bag: True),
    Form("exists having", "exists (select 1 {source} having count(*) > 1)", lambda x, bag: len(bag) > 1),
    Form("in aggregate", "{x} in (select count(v) {source})", lambda x, bag: compared("=", x, len(_known(bag)))),
    Form("scalar", "(select v {source})", lambda x, bag: _only(bag), False),
    Form("count(*)", "(select count(*) {source})", lambda x, bag: len(bag), False),
    Form("count(v)", "(select count(v) {source})", lambda x, bag: len(_known(bag)), False),
    Form("count(distinct v)", "(select count(distinct v) {source})", lambda x, bag: len(set(_known(bag))), False),
    Form("sum", "(select sum(v) {source})", lambda x, bag: sum(_known(bag)) if _known(bag) else None, False),
    Form("min", "(select min(v) {source})", lambda x, bag: min(_known(bag), default=None), False),
    Form("max", "(select coalesce(max(v), 7) - 6 {source})", lambda x, bag: max(_known(bag), default=7) - 6, False),
    Form("grouped count", "(select count(*) {source} group by g)", lambda x, bag: len(bag) or None, False),
    Form("row in", "({x}) in (select v, w {source})", lambda x, bag: either([_same_pair(x, v) for v in bag]), True, True),
    Form(
        "row not in",
        "({x}) not in (select v, w {source})",
        lambda x, bag: both([inverse(_same_pair(x, v)) for v in bag]),
        True,
        True,
    ),
)


class Cell(NamedTuple):
    """One row of o (or o2): its bag, its element, and what the row looks like in a result."""

    bag: Sequence[Any]
    element: Any
    row: Row


class Position(NamedTuple):
    """Where the form stands. `sql` has {outer}: the outer table as o; {keys}: its columns; {value} and {condition}.

    `rows`: what comes out for the cells. `element`: what the form compares, where it is no column of o.
    """

    name: str
    sql: str
    rows: Callable[[Form, Sequence[Cell]], Iterator[Row]]
    element: str = ""


def _filtered(keep: Callable[[Truth, Cell], Truth]) -> Callable[[Form, Sequence[Cell]], Iterator[Row]]:
    return lambda form, cells: (c.row for c in cells if keep(form.truth(c.element, c.bag), c) is True)


def _first(cell: Cell) -> Any:
    return cell.element[0] if isinstance(cell.element, tuple) else cell.element


def _joined(left: bool, right: bool) -> Callable[[Form, Sequence[Cell]], Iterator[Row]]:
    """The form decides alone: each row of o matches all rows of p or none."""

    def rows(form: Form, cells: Sequence[Cell]) -> Iterator[Row]:
        matched = [c for c in cells if form.truth(c.element, c.bag) is True]
        yield from ((*c.row, z) for c in matched for z in BESIDE)
        if left:
            yield from ((*c.row, None) for c in cells if form.truth(c.element, c.bag) is not True)
        if right and not matched:
            yield from ((*(None for _ in cells[0].row), z) for z in BESIDE)

    return rows


def _joined_by_other(left: bool, right: bool) -> Callable[[Form, Sequence[Cell]], Iterator[Row]]:
    """The element is p.z, the bag that of the row of o: the form needs both sides."""

    def rows(form: Form, cells: Sequence[Cell]) -> Iterator[Row]:
        pairs = [(i, k) for i, c in enumerate(cells) for k, z in enumerate(BESIDE) if form.truth(z, c.bag) is True]
        yield from ((*cells[i].row, BESIDE[k]) for i, k in pairs)
        if left:
            yield from ((*c.row, None) for i, c in enumerate(cells) if all(i != j for j, _ in pairs))
        if right:
            yield from ((*(None for _ in cells[0].row), z) for k, z in enumerate(BESIDE) if all(k != j for _, j in pairs))

    return rows


_JOINS = (("join", False, False), ("left join", True, False), ("right join", False, True), ("full join", True, True))


def _where(name: str, condition: str, keep: Callable[[Truth, Cell], Truth], element: str = "") -> Position:
    return Position(name, f"select {{keys}} from {{outer}} {condition}", _filtered(keep), element)


POSITIONS: tuple[Position, ...] = (
    Position(
        "projection",
        "select {keys}, {value} from {outer}",
        lambda form, cells: ((*c.row, form.value(c.element, c.bag)) for c in cells),
    ),
    _where("where", "where {condition}", lambda t, c: t),
    _where("not", "where not ({condition})", lambda t, c: inverse(t)),
    _where("or", "where {condition} or o.x = 1", lambda t, c: either([t, compared("=", _first(c), 1)])),
    _where("not or", "where not ({condition} or o.x = 1)", lambda t, c: inverse(either([t, compared("=", _first(c), 1)]))),
    _where("is null", "where ({condition}) is null", lambda t, c: t is None),
    Position(
        "case",
        "select {keys}, case when {condition} then 1 when not ({condition}) then 2 else 3 end from {outer}",
        lambda form, cells: ((*c.row, {True: 1, False: 2, None: 3}[form.truth(c.element, c.bag)]) for c in cells),
    ),
    _where("having", "group by {keys} having {condition}", lambda t, c: t),
    _where("having of an aggregate", "group by {keys} having {condition} and count(*) = 1", lambda t, c: t, "max(o.x)"),
    *(
        Position(f"on {kind}{more}", f"select {{keys}}, p.z from {{outer}} {kind} p on {{condition}}", joined(a, b), element)
        for more, joined, element in (("", _joined, ""), (", both sides", _joined_by_other, "p.z"))
        for kind, a, b in _JOINS
    ),
    _where("semi", "where exists (select 1 from p where {condition})", lambda t, c: t),
    _where("anti", "where not exists (select 1 from p where {condition})", lambda t, c: t is not True),
)


class Question(NamedTuple):
    """A form in a position, over all bags at once (`bag` None, correlated) or over one of them, correlated or not."""

    form: Form
    position: Position
    bag: int | None = None
    correlated: bool = True

    @property
    def possible(self) -> bool:
        """An element of two values is not taken from one column."""
        return not (self.form.pairs and self.position.element)

    @property
    def sql(self) -> str:
        form, position = self.form, self.position
        outer, inner = ("o2", "i2") if form.pairs else ("o", "i")
        keys = "o.g, o.x, o.y" if form.pairs else "o.g, o.x"
        element = position.element or ("o.x, o.y" if form.pairs else "o.x")
        where = f"{inner}.g = o.g" if self.correlated else f"{inner}.g = {self.bag}"
        parts = {"x": element, "source": f"from {inner} where {where}"}
        if self.bag is not None:
            outer = f"(select * from {outer} where g = {self.bag}) o"
        elif form.name == "scalar":
            outer = f"(select * from {outer} where g < {_first_of_two()}) o"
        else:
            outer = f"{outer} o" if outer != "o" else outer
        return position.sql.format(
            outer=outer, keys=keys, value=form.sql.format(**parts), condition=form.condition.format(**parts)
        )

    def rows(self) -> list[Row]:
        """What SQL says. Raises TooMany."""
        return list(self.position.rows(self.form, self._cells()))

    def _cells(self) -> list[Cell]:
        bags: Sequence[Sequence[Any]] = PAIR_BAGS if self.form.pairs else BAGS
        numbers = range(len(bags)) if self.bag is None else [self.bag]
        if self.form.name == "scalar" and self.bag is None:
            numbers = range(_first_of_two())
        if self.form.pairs:
            return [Cell(bags[g], pair, (g, *pair)) for g in numbers for pair in PAIRS]
        return [Cell(bags[g], x, (g, x)) for g in numbers for x in DOMAIN]


def _first_of_two() -> int:
    """The bags are sorted by size: the number of the first that has two values."""
    return next(g for g, bag in enumerate(BAGS) if len(bag) == MOST)


def all_bags_at_once() -> list[Question]:
    return [q for q in (Question(f, p) for f in FORMS for p in POSITIONS) if q.possible]


def one_bag(form: Form, position: Position) -> Iterator[Question]:
    """The same over one bag after the other, not correlated; of rows of two values every fourth bag."""
    for g in range(0, len(PAIR_BAGS), 4) if form.pairs else range(len(BAGS)):
        question = Question(form, position, g, correlated=False)
        if question.possible:
            yield question
