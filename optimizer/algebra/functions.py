"""The scalar and aggregate functions a bound query may call, and what rules must know about each.

The binder maps SQL names to these; `evaluate` (reference semantics), the Arrow executors and the Spark engine implement
every one. Operand types are made equal by explicit casts when a query is bound, so that no implementation converts in
silence. Semantics are DuckDB's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from optimizer.algebra import evaluate_aggregates as aggregates
from optimizer.algebra.columns import DataType
from optimizer.algebra.types import (
    DOUBLE,
    HUGEINT,
    INT64,
    TIMESTAMP,
    UINT32,
    aggregate_type,
    is_date,
    is_integer,
    is_numeric,
    is_timestamp,
)

Result = Callable[[DataType], DataType | None]  # from the type of the first argument; None where it does not apply


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
    """An aggregate, and what rules may take for granted of it. The defaults are the cautious answers.

    `parameters`: what each argument has to be (`PARAMETERS`); constants come last. `result`: see `Result`. `reference`: its value
    from a list for each argument that is no constant, and then the constants; rows with a NULL among those arguments are left
    out before, unless `keeps_nulls`, and the lists are not empty; None: in the tests' naive evaluator.
    `empty_value`: its value over no rows. `duplicate_insensitive`: DISTINCT changes nothing. `two_steps`: it is the aggregate of
    partial results of its groups (count and avg are by their own formulas). `one_row`: over one row it is its first argument.
    `ordered`: the order of the rows may matter, so an ORDER BY inside the call is kept. `raises`: may fail on some values.
    `spelled`: other names of it. `means`: another aggregate under which it is known once bound.
    """

    name: str
    doc: str
    parameters: tuple[str, ...]
    result: Result
    reference: Callable[..., Any] | None = None
    empty_value: int | None = None
    duplicate_insensitive: bool = False
    two_steps: bool = False
    one_row: bool = False
    ordered: bool = False
    keeps_nulls: bool = False
    raises: bool = False
    spelled: tuple[str, ...] = ()
    means: str = ""

    @property
    def constants(self) -> int:
        """How many of its last parameters are constants."""
        return sum(p in CONSTANTS for p in self.parameters)


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
}
CONSTANTS = ("fraction", "separator")


def _always(type: DataType) -> Result:
    return lambda arg: type


def _same(arg: DataType) -> DataType | None:
    return arg


def _of(name: str) -> Result:
    return lambda arg: aggregate_type(name, arg)


def continuous_type(arg: DataType) -> DataType | None:
    """The type of a value between two of `arg`; None where there is nothing between."""
    if is_integer(arg):
        return DOUBLE
    if is_date(arg) or is_timestamp(arg):
        return TIMESTAMP
    return arg if is_numeric(arg) else None


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
    AggregateFunction("count", "count(*): the rows; count(x): those where x is not NULL", ("any",), _of("count"), empty_value=0),
    AggregateFunction(
        "sum",
        "the sum, exact for integers and decimals",
        ("number",),
        _of("sum"),
        two_steps=True,
        one_row=True,
        spelled=("fsum",),
    ),
    AggregateFunction("avg", "the mean", ("number",), _of("avg"), one_row=True, spelled=("mean", "favg")),
    AggregateFunction("min", "the smallest value", ("any",), _same, duplicate_insensitive=True, two_steps=True, one_row=True),
    AggregateFunction("max", "the largest value", ("any",), _same, duplicate_insensitive=True, two_steps=True, one_row=True),
    AggregateFunction("bool_and", "whether all are TRUE", ("boolean",), _same, spelled=("every", "logical_and"), means="min"),
    AggregateFunction("bool_or", "whether one is TRUE", ("boolean",), _same, spelled=("logical_or",), means="max"),
    AggregateFunction(
        "count_if",
        "the rows where x is TRUE; NULL where x is never known",
        ("boolean",),
        _always(HUGEINT),
        spelled=("countif",),
        means="sum",
    ),
    AggregateFunction(
        "approx_count_distinct", "the number of distinct values, here an exact one", ("any",), _always(INT64), means="count"
    ),
    *(
        AggregateFunction(name, doc, ("double",), _always(DOUBLE), getattr(aggregates, name), raises=True, spelled=spelled)
        for name, doc, spelled in (
            ("var_pop", "the variance of all the values there are; 0 for one value", ()),
            ("var_samp", "the variance that a sample says of where it is from; NULL for one value", ("variance",)),
            ("stddev_pop", "the square root of var_pop", ()),
            ("stddev_samp", "the square root of var_samp", ("stddev",)),
            ("sem", "the standard error of the mean: stddev_pop / sqrt(count)", ()),
            ("skewness", "the skewness of a sample; NULL for less than 3 values", ()),
            ("kurtosis", "the excess kurtosis of a sample; NULL for less than 4 values", ()),
            ("kurtosis_pop", "the excess kurtosis of all the values there are", ()),
        )
    ),
    *(
        AggregateFunction(name, doc, ("double", "double"), _always(DOUBLE), getattr(aggregates, name), raises=raises)
        for name, doc, raises in (
            ("covar_pop", "the covariance of y and x", False),
            ("covar_samp", "the covariance that a sample says of where it is from", False),
            ("corr", "Pearson's correlation of y and x", True),
            ("regr_avgx", "the mean of x, the second argument, over rows with both", False),
            ("regr_avgy", "the mean of y, the first argument, over rows with both", False),
            ("regr_sxx", "the sum of squared distances of x from its mean", True),
            ("regr_syy", "the sum of squared distances of y from its mean", True),
            ("regr_sxy", "the sum of products of the distances of x and y from their means", False),
            ("regr_slope", "the slope of the line of least squares through the points (x, y)", True),
            ("regr_intercept", "where that line crosses x = 0", True),
            ("regr_r2", "the share of the variance of y that the line explains", True),
        )
    ),
    AggregateFunction(
        "regr_count", "the rows with both", ("double", "double"), _always(UINT32), aggregates.regr_count, empty_value=0
    ),
    AggregateFunction(
        "mode",
        "the value that is there most often, the first of several",
        ("orderable",),
        _same,
        aggregates.mode,
        one_row=True,
        ordered=True,
    ),
    AggregateFunction(
        "median",
        "quantile_cont(x, 0.5), and quantile_disc(x, 0.5) of what has nothing between two values",
        ("orderable",),
        lambda arg: continuous_type(arg) or arg,
        means="quantile_cont",
    ),
    AggregateFunction(
        "quantile_cont",
        "quantile_cont(x, q): the value at the fraction q of the sorted values, between two if need be; "
        "also quantile_cont(q) WITHIN GROUP (ORDER BY x)",
        ("number or date", "fraction"),
        continuous_type,
        aggregates.quantile_cont,
        spelled=("percentile_cont",),
    ),
    AggregateFunction(
        "quantile_disc",
        "quantile_disc(x, q): the first of the sorted values that has the fraction q up to it",
        ("orderable", "fraction"),
        _same,
        aggregates.quantile_disc,
        one_row=True,
        spelled=("quantile", "percentile_disc"),
    ),
    AggregateFunction(
        "string_agg",
        "string_agg(x, separator): the texts one after the other",
        ("text", "separator"),
        _same,
        aggregates.string_agg,
        ordered=True,
        spelled=("listagg", "group_concat"),
    ),
    AggregateFunction(
        "first",
        "x of the first row, also where it is NULL",
        ("any",),
        _same,
        aggregates.first,
        one_row=True,
        ordered=True,
        keeps_nulls=True,
        spelled=("arbitrary",),
    ),
    AggregateFunction(
        "last",
        "x of the last row, also where it is NULL",
        ("any",),
        _same,
        aggregates.last,
        one_row=True,
        ordered=True,
        keeps_nulls=True,
    ),
    AggregateFunction(
        "any_value",
        "the first value",
        ("any",),
        _same,
        aggregates.first,
        one_row=True,
        ordered=True,
    ),
    AggregateFunction(
        "arg_min",
        "arg_min(x, y): x where y is smallest, in the first of such rows",
        ("any", "orderable"),
        _same,
        aggregates.arg_min,
        ordered=True,
        spelled=("argmin", "min_by"),
    ),
    AggregateFunction(
        "arg_max",
        "arg_max(x, y): x where y is largest, in the first of such rows",
        ("any", "orderable"),
        _same,
        aggregates.arg_max,
        ordered=True,
        spelled=("argmax", "max_by"),
    ),
    AggregateFunction(
        "bit_and",
        "the bits that all have",
        ("integer",),
        _same,
        aggregates.bit_and,
        duplicate_insensitive=True,
        two_steps=True,
        one_row=True,
    ),
    AggregateFunction(
        "bit_or",
        "the bits that one has",
        ("integer",),
        _same,
        aggregates.bit_or,
        duplicate_insensitive=True,
        two_steps=True,
        one_row=True,
    ),
    AggregateFunction(
        "bit_xor",
        "the bits that an odd number has",
        ("integer",),
        _same,
        aggregates.bit_xor,
        two_steps=True,
        one_row=True,
    ),
    AggregateFunction("product", "the product as DOUBLE", ("double",), _always(DOUBLE), aggregates.product, one_row=True),
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
AGGREGATE_NAMES = {name: f for f in _AGGREGATE for name in (f.name, *f.spelled)}  # by every name that SQL has for them
