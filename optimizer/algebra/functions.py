"""What there is to say about a function that a bound query may call, and about an aggregate or a window function.

The binder maps SQL names to functions; `evaluate` (reference semantics), the Arrow executors and the Spark engine implement every
one. Operand types are made equal by explicit casts when a query is bound, so that no implementation converts in silence.
Semantics are DuckDB's. The functions are in `scalar_functions` and `aggregate_functions`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from optimizer.algebra.columns import DataType

Result = Callable[[DataType], DataType | None]  # from the type of the first argument; None where it does not apply

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
NEGATED = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Function(NamedTuple):
    """`parameters`: what each argument has to be (`PARAMETERS`; with a ? it may be left out), None where the binder has a form of
    its own for it. `gives`: the type of its value, or what says so. `reference`: its value from those of its arguments, none NULL
    if it is strict, and, if `typed`, the type of the call. `spelled`: other names of it.

    `raises`: may fail on some values of some types (`scalars.call_may_fail` looks closer), so it must not run on rows that a
    predicate below would have removed. `strict`: NULL in, NULL out (every argument). `volatile`: two calls may differ, so it is
    neither moved nor duplicated.
    """

    name: str
    doc: str
    parameters: tuple[str, ...] | None = None
    gives: DataType | Result | None = None
    reference: Callable[..., Any] | None = None
    raises: bool = False
    strict: bool = True
    volatile: bool = False
    typed: bool = False
    spelled: tuple[str, ...] = ()

    def result(self, arg: DataType) -> DataType | None:
        """The type of its value where the first argument has this type; None where it cannot be."""
        return self.gives(arg) if callable(self.gives) else self.gives


class AggregateFunction(NamedTuple):
    """An aggregate, and what rules may take for granted of it. The defaults are the cautious answers.

    `parameters`: what each argument has to be (`PARAMETERS`); constants come last. `gives`: as of a Function. `reference`: its
    value from a list for each argument that is no constant, and then the constants; rows with a NULL among those arguments are
    left out before, unless `keeps_nulls`, and the lists are not empty; None: in the tests' naive evaluator.
    `empty_value`: its value over no rows. `duplicate_insensitive`: DISTINCT changes nothing. `two_steps`: it is the aggregate of
    partial results of its groups (count and avg are by their own formulas). `one_row`: over one row it is its first argument.
    `ordered`: the order of the rows may matter, so an ORDER BY inside the call is kept. `raises`: may fail on some values.
    `spelled`: other names of it. `means`: another aggregate under which it is known once bound.
    """

    name: str
    doc: str
    parameters: tuple[str, ...]
    gives: DataType | Result
    reference: Callable[..., Any] | None = None
    empty_value: float | None = None
    duplicate_insensitive: bool = False
    two_steps: bool = False
    one_row: bool = False
    ordered: bool = False
    keeps_nulls: bool = False
    raises: bool = False
    spelled: tuple[str, ...] = ()
    means: str = ""

    def result(self, arg: DataType) -> DataType | None:
        """The type of its value where the first argument has this type; None where it cannot be."""
        return self.gives(arg) if callable(self.gives) else self.gives

    @property
    def constants(self) -> int:
        """How many of its last parameters are constants."""
        return sum(p in CONSTANTS for p in self.parameters)


class WindowFunction(NamedTuple):
    """`parameters`: as of a Function; "any" is the value that is picked. `gives`: the type of its value, None for that of what is
    picked. `framed`: looks at the frame, not at the whole partition."""

    name: str
    doc: str
    parameters: tuple[str, ...] = ()
    gives: DataType | None = None
    framed: bool = False


PARAMETERS = {
    "any": "a value of any type",
    "number": "a number",
    "double": "a number, taken as DOUBLE",
    "integer": "an integer",
    "boolean": "a boolean",
    "number or date": "a number, a date or a timestamp",
    "text": "a value of any type, taken as text",
    "orderable": "a value of any type that has an order",
    "fraction": "a constant from -1 to 1; below 0 counts from the largest value",
    "separator": "a constant text; a comma when left out",
    "texts": "values of any type, taken as text",
    "integers": "an integer; all such arguments get one type",
    "moment": "a date or a timestamp",
    "timestamp": "a date or a timestamp, taken as a timestamp",
    "regex": "a regular expression of RE2",
    "options": "a constant text of the letters c, i, s and, to replace, g",
    "interval": "a constant interval above 0: of months, or of days and time",
    "format": "a constant text with %Y, %m, %d and the like",
    "unit": "a constant text: year, quarter, month, week, day, hour and the like",
}
CONSTANTS = ("fraction", "separator")


def same_type(arg: DataType) -> DataType | None:
    """For `gives`: the type of the first argument."""
    return arg
