"""Scalars: immutable, interned expressions over columns.

Building the same scalar twice gives the same object, so equality is identity and hashing is free; a memo key holds
scalars as they are. Build them with positional arguments only. Every scalar knows its type (`pyarrow.DataType`), the
columns it reads (`columns`, a bitset), the columns of enclosing queries it reads (`outer`), whether it is `volatile`,
whether it may raise (`raises`), and which rare forms stand in it (`flags`).

What walks through scalars and rewrites them is in `scalar_trees`; `predicates` are made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS, WINDOW_FUNCTIONS
from optimizer.algebra.columns import ColumnId, ColumnSet, DataType
from optimizer.algebra.flags import AGGREGATE, NOT_TRUE
from optimizer.algebra.interning import Interning
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.types import cast_may_fail, decimals_may_overflow

BOOL = pa.bool_()


class Scalar(metaclass=Interning):
    """Base of all scalars. `children` are the operands; `with_children` rebuilds with others."""

    __slots__ = ("__weakref__", "_text", "children", "columns", "flags", "outer", "raises", "type", "volatile")
    flag: ClassVar[int] = 0
    children: tuple[Scalar, ...]
    flags: int
    type: DataType
    columns: ColumnSet
    outer: ColumnSet
    volatile: bool
    raises: bool

    def _set(self, type: DataType, children: tuple[Scalar, ...], volatile: bool = False, raises: bool = False) -> None:
        columns = outer = 0
        flags = self.flag
        for child in children:
            columns |= child.columns
            outer |= child.outer
            flags |= child.flags
            volatile = volatile or child.volatile
            raises = raises or child.raises
        self.type, self.columns, self.outer, self.volatile, self.raises = type, columns, outer, volatile, raises
        self.children, self.flags = children, flags
        self._text: str | None = None

    @property
    def never_null(self) -> bool:
        """Whether it is never NULL, whatever its operands are."""
        return False

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        return self

    def with_same_values(self, children: tuple[Scalar, ...]) -> Scalar:
        """With other children that have the values of these."""
        return self.with_children(children)

    @property
    def text(self) -> str:
        """Canonical text with column ids (`(#3 = #7)`): a deterministic sort key, equal only for equal scalars."""
        if self._text is None:
            self._text = self._render(lambda id: f"#{id}", typed=True)
        return self._text

    def text_with(self, label: Callable[[ColumnId], str]) -> str:
        """Canonical text with other names of columns: equal only for scalars that are equal up to those."""
        return self._render(label, typed=True)

    def show(self, label: Callable[[ColumnId], str]) -> str:
        """Text for people; `label` names a column."""
        return self._render(label, typed=False)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        raise AssertionError(f"{self.__class__.__name__} does not say how it is printed")

    def __repr__(self) -> str:
        return self.show(lambda id: f"#{id}")


class ColumnRef(Scalar):
    __slots__ = ("id",)

    def __init__(self, id: ColumnId, type: DataType) -> None:
        self._set(type, ())
        self.id = id
        self.columns = 1 << id

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return label(self.id)


class OuterRef(Scalar):
    """Column `id` of an enclosing query: one value for each evaluation of the tree it stands in, which an Apply binds.

    It is no column of the rows at hand (`columns` is empty), so to rules it looks like a constant whose value is not known yet.
    """

    __slots__ = ("id",)

    def __init__(self, id: ColumnId, type: DataType) -> None:
        self._set(type, ())
        self.id = id
        self.outer = 1 << id

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return f"${label(self.id)}"


class Literal(Scalar):
    """A constant: a Python value as `pyarrow.Scalar.as_py` gives it (Decimal, datetime.date, ...), None for NULL."""

    __slots__ = ("value",)

    @staticmethod
    def key_of(value: Any, type: DataType) -> tuple[Any, ...]:
        """1, 1.0 and True are equal in Python, and so are 0.0 and -0.0; they are different literals."""
        return (value.__class__, repr(value) if isinstance(value, float) else value, type)

    def __init__(self, value: Any, type: DataType) -> None:
        self._set(type, ())
        self.value = value
        if value is None or value is False:
            self.flags = NOT_TRUE

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        value = self.value
        if value is None:
            text = "NULL"
        elif value is True or value is False:
            text = "TRUE" if value else "FALSE"
        elif isinstance(value, str):
            text = "'" + value.replace("'", "''") + "'"
        elif isinstance(value, pa.MonthDayNano):
            text = f"INTERVAL '{value.months} months {value.days} days {value.nanoseconds // 1000} microseconds'"
        elif pa.types.is_date(self.type) or pa.types.is_timestamp(self.type):
            text = f"'{value}'"
        else:
            text = str(value)
        return f"{text}:{self.type}" if typed else text


class Call(Scalar):
    """A function of `SCALAR_FUNCTIONS` over its operands."""

    __slots__ = ("args", "function")

    def __init__(self, function: str, args: tuple[Scalar, ...], type: DataType) -> None:
        known = SCALAR_FUNCTIONS[function]
        self._set(type, args, known.volatile, call_may_fail(function, args, type))
        self.function, self.args = function, args

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        return Call(self.function, children, self.type)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        args = [a._render(label, typed) for a in self.args]
        match self.function, args:
            case ("and" | "or") as word, _:
                return "(" + f" {word.upper()} ".join(args) + ")"
            case "not", [a]:
                return f"(NOT {a})"
            case "is_null", [a]:
                return f"({a} IS NULL)"
            case "is_not_null", [a]:
                return f"({a} IS NOT NULL)"
            case "is_distinct_from", [a, b]:
                return f"({a} IS DISTINCT FROM {b})"
            case "is_not_distinct_from", [a, b]:
                return f"({a} IS NOT DISTINCT FROM {b})"
            case ("like" | "ilike") as word, [a, b]:
                return f"({a} {word.upper()} {b})"
            case symbol, [a, b] if not symbol[0].isalpha():
                return f"({a} {symbol} {b})"
            case "concat", [a, b]:
                return f"({a} || {b})"
            case "neg", [a]:
                return f"(-{a})"
        return f"{self.function}({', '.join(args)})"


class Safe(Scalar):
    """What makes a call or a cast one that the bounds of its operands keep from raising (`arithmetic_within_bounds`); with others
    it is an ordinary one."""

    __slots__ = ()

    def __init__(self, *fields: Any) -> None:
        super().__init__(*fields)
        self.raises = any(child.raises for child in self.children)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return super()._render(label, typed) + "!" * typed


class SafeCall(Safe, Call):
    __slots__ = ()

    def with_same_values(self, children: tuple[Scalar, ...]) -> Scalar:
        return SafeCall(self.function, children, self.type)


class Cast(Scalar):
    """CAST(arg AS type); with `lenient` TRY_CAST: NULL where the value does not fit."""

    __slots__ = ("arg", "lenient")

    def __init__(self, arg: Scalar, type: DataType, lenient: bool) -> None:
        self._set(type, (arg,), raises=not lenient and cast_may_fail(arg.type, type))
        self.arg, self.lenient = arg, lenient

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        return Cast(children[0], self.type, self.lenient)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return f"{'TRY_' if self.lenient else ''}CAST({self.arg._render(label, typed)} AS {self.type})"


class SafeCast(Safe, Cast):
    __slots__ = ()

    def with_same_values(self, children: tuple[Scalar, ...]) -> Scalar:
        return SafeCast(children[0], self.type, self.lenient)


class Case(Scalar):
    """Searched CASE: the value of the first branch whose condition is TRUE, else `otherwise`; others are not evaluated."""

    __slots__ = ("branches", "otherwise")

    def __init__(self, branches: tuple[tuple[Scalar, Scalar], ...], otherwise: Scalar, type: DataType) -> None:
        self._set(type, (*(s for branch in branches for s in branch), otherwise))
        self.branches, self.otherwise = branches, otherwise

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        pairs = tuple((children[i], children[i + 1]) for i in range(0, len(children) - 1, 2))
        return Case(pairs, children[-1], self.type)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        whens = "".join(f" WHEN {c._render(label, typed)} THEN {v._render(label, typed)}" for c, v in self.branches)
        return f"CASE{whens} ELSE {self.otherwise._render(label, typed)} END"


class Slot(Scalar):
    """In the body of a `Once` of this number, the value that it computes. It counts as volatile: nothing that reads it may leave
    the body."""

    __slots__ = ("number",)

    def __init__(self, number: int, type: DataType) -> None:
        self._set(type, (), volatile=True)
        self.number = number

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return f"@{self.number}" + f":{self.type}" * typed


class Once(Scalar):
    """`body`, in which the slot `number` stands for `value`, computed once: for what a form says of an operand several times."""

    __slots__ = ("body", "number", "value")

    def __init__(self, number: int, value: Scalar, body: Scalar) -> None:
        self._set(body.type, (value, body))
        self.number, self.value, self.body = number, value, body
        self.volatile = value.volatile or _is_volatile(body)

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        return Once(self.number, *children)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return f"({self.body._render(label, typed)} WITH @{self.number} = {self.value._render(label, typed)})"


def _is_volatile(scalar: Scalar) -> bool:
    """Whether anything but slots is volatile in it."""
    below = [child for child in scalar.children if child.volatile]
    return scalar.volatile and not isinstance(scalar, Slot) and (not below or any(map(_is_volatile, below)))


class InList(Scalar):
    """`arg IN (items)`, three-valued: NULL when nothing matched and `arg` or an item is NULL. NOT IN is `not` of it."""

    __slots__ = ("arg", "items")

    def __init__(self, arg: Scalar, items: tuple[Scalar, ...]) -> None:
        self._set(BOOL, (arg, *items))
        self.arg, self.items = arg, items

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        return InList(children[0], children[1:])

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return f"({self.arg._render(label, typed)} IN ({', '.join(i._render(label, typed) for i in self.items)}))"


class Ordered(Scalar):
    """ORDER BY inside an aggregate: a term at the end of its arguments. It has no value of its own."""

    __slots__ = ("descending", "key", "nulls_first")

    def __init__(self, key: Scalar, descending: bool, nulls_first: bool) -> None:
        self._set(key.type, (key,))
        self.key, self.descending, self.nulls_first = key, descending, nulls_first

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        return Ordered(children[0], self.descending, self.nulls_first)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        down, first = " DESC" if self.descending else "", " NULLS FIRST" if self.nulls_first else ""
        return f"ORDER BY {self.key._render(label, typed)}{down}{first}"


class CallOverRows(Scalar):
    """Base of aggregates and window calls. `args` is empty for count(*) and ends with the terms of an ORDER BY, if any; `filter`
    keeps only rows where it is TRUE."""

    __slots__ = ("args", "distinct", "filter", "function")
    args: tuple[Scalar, ...]
    distinct: bool
    filter: Scalar | None
    function: str

    def _called(self, label: Callable[[ColumnId], str], typed: bool, ends: str = "") -> str:
        inner = ", ".join(a._render(label, typed) for a in self.args) or ("*" if self.function == "count" else "")
        tail = f" FILTER (WHERE {self.filter._render(label, typed)})" if self.filter is not None else ""
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{inner}{ends}){tail}"


class AggregateCall(CallOverRows):
    """An aggregate over the rows of a group."""

    __slots__ = ()
    flag = AGGREGATE

    def __init__(self, function: str, args: tuple[Scalar, ...], distinct: bool, filter: Scalar | None, type: DataType) -> None:
        known = AGGREGATE_FUNCTIONS[function]
        self._set(type, args if filter is None else (*args, filter), raises=known.raises)
        self.function, self.args, self.distinct, self.filter = function, args, distinct, filter

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        args, filter = (children, None) if self.filter is None else (children[:-1], children[-1])
        return AggregateCall(self.function, args, self.distinct, filter, self.type)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return self._called(label, typed)


class FrameBound(NamedTuple):
    """One end of a window frame: "preceding", "current" or "following"; `offset` None with the first and last: unbounded."""

    side: str
    offset: Literal | None = None


class Frame(NamedTuple):
    """The rows of its partition that a window call sees from a row: "rows", "range" or "groups" between two bounds.

    `exclude`: "none", "current row", "group" (all peers) or "ties" (the peers but not the row itself).
    """

    unit: str
    start: FrameBound
    end: FrameBound
    exclude: str = "none"


class WindowCall(CallOverRows):
    """A function over the window of each row. `function` is one of `WINDOW_FUNCTIONS` or an aggregate.

    `frame` None: the function sees the whole partition (ranking, lag and lead). The window's partition and order are the
    `Window` operator's. Frame offsets are scalars without columns.
    """

    __slots__ = ("frame", "ignore_nulls")

    def __init__(
        self, function: str, args: tuple[Scalar, ...], distinct: bool, filter: Scalar | None, ignore_nulls: bool,
        frame: Frame | None, type: DataType,
    ) -> None:  # fmt: skip
        known = AGGREGATE_FUNCTIONS.get(function)
        assert known is not None or function in WINDOW_FUNCTIONS, f"unknown window function {function}"
        self._set(type, args if filter is None else (*args, filter), raises=known is not None and known.raises)
        self.function, self.args, self.distinct, self.filter = function, args, distinct, filter
        self.ignore_nulls, self.frame = ignore_nulls, frame

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        args, filter = (children, None) if self.filter is None else (children[:-1], children[-1])
        return WindowCall(self.function, args, self.distinct, filter, self.ignore_nulls, self.frame, self.type)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        text = self._called(label, typed, " IGNORE NULLS" if self.ignore_nulls else "")
        if self.frame is None:
            return text
        start, end = (_show_bound(bound, label, typed) for bound in (self.frame.start, self.frame.end))
        exclude = "" if self.frame.exclude == "none" else f" exclude {self.frame.exclude}"
        return f"{text} {self.frame.unit} {start} to {end}{exclude}"


def _show_bound(bound: FrameBound, label: Callable[[ColumnId], str], typed: bool) -> str:
    if bound.side == "current":
        return "current row"
    return f"{'unbounded' if bound.offset is None else bound.offset._render(label, typed)} {bound.side}"


Predicate = tuple[Scalar, ...]

TRUE = Literal(True, BOOL)
FALSE = Literal(False, BOOL)


def call_may_fail(function: str, args: tuple[Scalar, ...], type: DataType) -> bool:
    """Whether some argument values make the call raise. Doubles never overflow into an error, and a decimal result
    whose precision was not capped holds every sum or product of its operands."""
    if function in ("like", "ilike"):
        return len(args) == 3  # a pattern must not end with the escape character
    if function == "date_trunc" and isinstance(args[0], Literal):
        return args[0].value in ("decade", "century", "millennium")  # which may begin before year 1
    if not SCALAR_FUNCTIONS[function].raises:
        return False
    if function in ("//", "%"):  # the least integer by -1
        return pa.types.is_signed_integer(type) and not (isinstance(args[1], Literal) and args[1].value != -1)
    if function == "round":  # of whole numbers, to tens or more
        whole = pa.types.is_integer(type) or (pa.types.is_decimal(type) and type.scale == 0)
        return whole and len(args) == 2 and not (isinstance(args[1], Literal) and (args[1].value or 0) >= 0)
    if function.startswith("regexp_") and isinstance(args[1], Literal):
        return False  # the binder has tried a constant pattern and constant options
    if function in ("+", "-", "*", "neg", "abs"):
        if pa.types.is_floating(type):
            return False
        if pa.types.is_decimal(type):
            return len(args) == 2 and decimals_may_overflow(function, args[0].type, args[1].type, type)
    return True


def is_null_literal(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.value is None
