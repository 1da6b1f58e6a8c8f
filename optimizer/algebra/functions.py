"""The scalar and aggregate functions a bound query may call, and what rules must know about each.

The binder maps SQL names to these; `evaluate` (reference semantics), the Arrow executors and the Spark engine implement
every one. Operand types are made equal by explicit casts when a query is bound, so that no implementation converts in
silence. Semantics are DuckDB's.
"""

from __future__ import annotations

from typing import NamedTuple


class Function(NamedTuple):
    """`strict`: NULL in, NULL out (every argument). `raises`: may fail on some values of some types
    (`scalars.call_may_fail` looks closer), so it must not run on rows that a predicate below would have removed.
    `volatile`: two calls may differ, so it is neither moved nor duplicated."""

    name: str
    doc: str
    strict: bool = True
    raises: bool = False
    volatile: bool = False


class AggregateFunction(NamedTuple):
    """`empty_value`: its value over no rows. `duplicate_insensitive`: DISTINCT changes nothing."""

    name: str
    doc: str
    empty_value: int | None = None
    duplicate_insensitive: bool = False


class WindowFunction(NamedTuple):
    """`framed`: looks at the frame, not at the whole partition."""

    name: str
    doc: str
    framed: bool = False


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_SCALAR = (
    *(Function(name, "comparison; both sides of one type") for name in COMPARISONS),
    Function("is_distinct_from", "<> with NULL as an ordinary value; never NULL", strict=False),
    Function("is_not_distinct_from", "= with NULL as an ordinary value; never NULL", strict=False),
    Function("and", "three-valued AND of two or more booleans", strict=False),
    Function("or", "three-valued OR of two or more booleans", strict=False),
    Function("not", "three-valued NOT"),
    Function("is_null", "TRUE where the argument is NULL; never NULL", strict=False),
    Function("is_not_null", "TRUE where the argument is not NULL; never NULL", strict=False),
    Function("coalesce", "the first argument that is not NULL; later ones are not evaluated where one was found", strict=False),
    Function("+", "addition; integers of one type, decimals (exact), or doubles", raises=True),
    Function("-", "subtraction; as +", raises=True),
    Function("*", "multiplication; as +", raises=True),
    Function("/", "floating division of two doubles, IEEE 754 (x/0 is inf or NaN)"),
    Function("//", "division truncating to an integer, of integers; of doubles the plain quotient; NULL when the divisor is 0"),
    Function("%", "remainder with the sign of the dividend; by 0 it is NULL, of doubles NaN"),
    Function("neg", "minus x", raises=True),
    Function("abs", "absolute value", raises=True),
    Function("round", "round(x, digits): half away from zero; digits is an integer literal"),
    Function("floor", "largest integer not above x"),
    Function("ceil", "smallest integer not below x"),
    Function("sqrt", "square root of a double; negative raises", raises=True),
    Function("power", "power of doubles", raises=True),
    Function("ln", "natural logarithm of a double; not positive raises", raises=True),
    Function("exp", "e to the x"),
    Function("greatest", "the largest argument that is not NULL", strict=False),
    Function("least", "the smallest argument that is not NULL", strict=False),
    Function("concat", "|| of two strings"),
    Function("like", "like(s, pattern[, escape]): % any run, _ one character; pattern may be any string expression"),
    Function("ilike", "like, ignoring case"),
    Function("upper", "upper case"),
    Function("lower", "lower case"),
    Function("length", "number of characters, int64"),
    Function("substring", "substring(s, start, [length]): 1-based characters; negative start counts from the end"),
    Function("trim", "without spaces at both ends"),
    Function("ltrim", "without spaces at the left end"),
    Function("rtrim", "without spaces at the right end"),
    Function("replace", "replace(s, from, to)"),
    Function("starts_with", "starts_with(s, prefix)"),
    Function("strpos", "strpos(s, part): 1-based position, 0 when absent, int64"),
    *(
        Function(part, f"extract({part} from date or timestamp), int64")
        for part in ("year", "quarter", "month", "day", "hour", "minute", "second", "dayofweek", "dayofyear", "week")
    ),
    Function("date_add", "date_add(timestamp, interval): calendar months first (day clipped), then days, then time", raises=True),
    Function("date_add_days", "date_add_days(date, integer): a date that many days later", raises=True),
    Function("date_diff_days", "date_diff_days(a, b): a - b of two dates in days, int64"),
    Function("date_trunc", "date_trunc(unit, timestamp): unit is a string literal"),
    Function("random", "a double in [0, 1), new on every row", volatile=True),
)

_AGGREGATE = (
    AggregateFunction("count", "count(*) has no argument; count(x) counts non-NULL x; int64", empty_value=0),
    AggregateFunction("sum", "integers to decimal(38,0), decimal(p,s) to decimal(38,s), floats to double; NULL over no rows"),
    AggregateFunction("avg", "mean as double; NULL over no rows"),
    AggregateFunction("min", "smallest non-NULL value", duplicate_insensitive=True),
    AggregateFunction("max", "largest non-NULL value", duplicate_insensitive=True),
)

_WINDOW = (
    WindowFunction("row_number", "1, 2, 3 ... in the order of the window, peers in any order; int64"),
    WindowFunction("rank", "number of rows before the first peer, plus 1; int64"),
    WindowFunction("dense_rank", "number of peer groups before this one, plus 1; int64"),
    WindowFunction("percent_rank", "(rank - 1) / (rows - 1), 0 for a single row; double"),
    WindowFunction("cume_dist", "rows up to the last peer / rows; double"),
    WindowFunction("ntile", "ntile(n): number of the bucket, larger buckets first; int64"),
    WindowFunction("lag", "lag(x[, offset[, default]]): x of the row that many before this one in the partition"),
    WindowFunction("lead", "lead(x[, offset[, default]]): x of the row that many after this one in the partition"),
    WindowFunction("first_value", "x of the first row of the frame", framed=True),
    WindowFunction("last_value", "x of the last row of the frame", framed=True),
    WindowFunction("nth_value", "nth_value(x, n): x of the n-th row of the frame, NULL when there is none", framed=True),
)

WINDOW_FUNCTIONS = {f.name: f for f in _WINDOW}
SCALAR_FUNCTIONS = {f.name: f for f in _SCALAR}
AGGREGATE_FUNCTIONS = {f.name: f for f in _AGGREGATE}
