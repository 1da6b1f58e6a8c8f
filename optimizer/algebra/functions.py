"""The scalar and aggregate functions a bound query may call, and what rules must know about each.

The binder maps SQL names to these; `evaluate` (reference semantics), the Arrow executors and the Spark engine implement
every one. Operand types are made equal by explicit casts when a query is bound, so that no implementation converts in
silence. Semantics are DuckDB's.
"""

from __future__ import annotations

import calendar
import math
import operator
from collections.abc import Callable
from functools import partial
from hashlib import md5
from typing import Any, NamedTuple

import pyarrow as pa

from optimizer.algebra import evaluate_aggregates as aggregates
from optimizer.algebra import evaluate_more as more
from optimizer.algebra import evaluate_regex as regex
from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_numbers import fit
from optimizer.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INT8,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    UINT32,
    aggregate_type,
    is_date,
    is_decimal,
    is_integer,
    is_numeric,
    is_timestamp,
)

Result = Callable[[DataType], DataType | None]  # from the type of the first argument; None where it does not apply


class Function(NamedTuple):
    """`strict`: NULL in, NULL out (every argument). `raises`: may fail on some values of some types
    (`scalars.call_may_fail` looks closer), so it must not run on rows that a predicate below would have removed.
    `volatile`: two calls may differ, so it is neither moved nor duplicated.

    `parameters`: what each argument has to be (`PARAMETERS`; with a ? it may be left out), None where the binder has a
    form of its own for it. `result`: see `Result`. `reference`: its value from those of its arguments, none NULL if it is
    strict, and, if `typed`, the type of the call. `spelled`: other names of it.
    """

    name: str
    doc: str
    strict: bool = True
    raises: bool = False
    volatile: bool = False
    parameters: tuple[str, ...] | None = None
    result: Result | None = None
    reference: Callable[..., Any] | None = None
    typed: bool = False
    spelled: tuple[str, ...] = ()


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
    empty_value: float | None = None
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
    "texts": "values of any type, taken as text",
    "integers": "an integer; all such arguments get one type",
    "moment": "a date or a timestamp",
    "timestamp": "a date or a timestamp, taken as a timestamp",
    "regex": "a regular expression of RE2",
    "options": "a constant text of the letters c, i, s and, to replace, g",
    "unit": "a constant text: year, quarter, month, day, hour, minute or second",
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


def _whole_type(arg: DataType) -> DataType | None:
    return pa.decimal128(arg.precision, 0) if is_decimal(arg) else arg


def _double(name: str, doc: str, reference: Callable[..., Any], raises: bool = False, *parameters: str) -> Function:
    return Function(name, doc, True, raises, False, parameters or ("double",), _always(DOUBLE), reference)


def _text(name: str, doc: str, reference: Callable[..., Any], *parameters: str, raises: bool = False, **more: Any) -> Function:
    return Function(name, doc, True, raises, False, ("text", *parameters), _always(STRING), reference, **more)


_MORE = (
    Function(
        "regexp_matches",
        "whether a part of the text matches; x ~* r ignores case",
        raises=True,
        parameters=("text", "regex", "options?"),
        result=_always(BOOLEAN),
        reference=regex.matches,
    ),
    Function(
        "regexp_full_match",
        "whether the whole text matches; also x ~ r, x SIMILAR TO r",
        raises=True,
        parameters=("text", "regex", "options?"),
        result=_always(BOOLEAN),
        reference=regex.full_match,
    ),
    _text(
        "regexp_replace",
        "the text with the first match replaced, or all with the option g; \\\\1 is the first group",
        regex.replaced,
        "regex",
        "text",
        "options?",
        raises=True,
    ),
    _text(
        "regexp_extract",
        "the first match, or its group of that number; empty where there is none",
        regex.extracted,
        "regex",
        "integer?",
        "options?",
        raises=True,
    ),
    _text("lpad", "cut or filled up at the left", lambda s, n, f: more.padded(s, n, f, True), "integer", "text", raises=True),
    _text("rpad", "cut or filled up at the right", lambda s, n, f: more.padded(s, n, f, False), "integer", "text", raises=True),
    _text("reverse", "the characters from the last to the first", lambda s: s[::-1]),
    _text("repeat", "the text so many times", more.repeat, "integer", raises=True),
    _text("left", "the first characters; below 0 all but so many at the end", more.left, "integer"),
    _text("right", "the last characters; below 0 all but so many at the start", more.right, "integer"),
    _text("split_part", "the part of that number between separators; below 0 from the end", more.split_part, "text", "integer"),
    _text("translate", "each character of the second text becomes its partner in the third", more.translate, "text", "text"),
    _text("trim_of", "without the given characters at both ends: trim(x, c)", more.strip, "text"),
    _text("ltrim_of", "without the given characters at the start: ltrim(x, c)", more.lstrip, "text"),
    _text("rtrim_of", "without the given characters at the end: rtrim(x, c)", more.rstrip, "text"),
    _text("md5", "the MD5 hash in hexadecimal digits", lambda s: md5(s.encode(), usedforsecurity=False).hexdigest()),
    Function(
        "concat_ws",
        "the texts that are not NULL, with a separator between",
        False,
        parameters=("text", "texts"),
        result=_always(STRING),
        reference=lambda by, *texts: None if by is None else by.join(t for t in texts if t is not None),
    ),
    Function(
        "chr",
        "the character with that code",
        raises=True,
        parameters=("integer",),
        result=_always(STRING),
        reference=more.character,
    ),
    Function(
        "ascii",
        "the code of the first character, 0 without one",
        parameters=("text",),
        result=_always(INT32),
        reference=lambda s: ord(s[0]) if s else 0,
    ),
    Function(
        "unicode",
        "the code of the first character, -1 without one",
        parameters=("text",),
        result=_always(INT32),
        reference=lambda s: ord(s[0]) if s else -1,
        spelled=("ord",),
    ),
    Function("strlen", "the number of bytes", parameters=("text",), result=_always(INT64), reference=lambda s: len(s.encode())),
    Function(
        "bit_length", "the number of bits", parameters=("text",), result=_always(INT64), reference=lambda s: 8 * len(s.encode())
    ),
    Function(
        "levenshtein",
        "the edits of bytes between two texts",
        parameters=("text", "text"),
        result=_always(INT64),
        reference=more.levenshtein,
        spelled=("editdist3",),
    ),
    Function(
        "ends_with",
        "whether the text ends with the other",
        parameters=("text", "text"),
        result=_always(BOOLEAN),
        reference=str.endswith,
        spelled=("suffix",),
    ),
    _double("log10", "the logarithm to base 10, also log(x)", more.log10, True),
    _double("log2", "the logarithm to base 2", more.log2, True),
    _double("log", "log(b, x): the logarithm of x to base b", more.log_to, True, "double", "double"),
    *(
        _double(n, f"the {w} of an angle in radians", partial(more.trigonometric, n), True)
        for n, w in (("sin", "sine"), ("cos", "cosine"), ("tan", "tangent"), ("cot", "cotangent"))
    ),
    *(_double(n, f"the angle with that {w}", partial(more.arc, n), True) for n, w in (("asin", "sine"), ("acos", "cosine"))),
    _double("atan", "the angle with that tangent", math.atan),
    _double("atan2", "the angle of the point (x, y)", math.atan2, False, "double", "double"),
    _double("degrees", "radians as degrees", lambda x: x * (180 / math.pi)),
    _double("radians", "degrees as radians", lambda x: x * (math.pi / 180)),
    _double("cbrt", "the cube root", more.cube_root),
    _double("even", "the next even number away from 0", more.even),
    Function("pi", "the number π", parameters=(), result=_always(DOUBLE), reference=lambda: math.pi),
    Function(
        "trunc", "without what stands after the point", parameters=("number",), result=_whole_type, reference=more.truncated
    ),
    Function("sign", "-1, 0 or 1", parameters=("number",), result=_always(INT8), reference=more.sign),
    Function("isnan", "whether it is no number", parameters=("double",), result=_always(BOOLEAN), reference=math.isnan),
    Function("isinf", "whether it is infinite", parameters=("double",), result=_always(BOOLEAN), reference=math.isinf),
    Function("isfinite", "whether it is neither", parameters=("double",), result=_always(BOOLEAN), reference=math.isfinite),
    Function(
        "gcd",
        "the greatest common divisor",
        parameters=("integer", "integer"),
        result=_always(INT64),
        raises=True,
        reference=lambda a, b, type: fit(math.gcd(a, b), type),
        typed=True,
        spelled=("greatest_common_divisor",),
    ),
    Function(
        "lcm",
        "the least common multiple",
        parameters=("integer", "integer"),
        result=_always(INT64),
        raises=True,
        reference=lambda a, b, type: fit(math.lcm(a, b), type),
        typed=True,
        spelled=("least_common_multiple",),
    ),
    Function(
        "factorial", "n!, up to 33", parameters=("integer",), result=_always(HUGEINT), raises=True, reference=more.factorial
    ),
    *(
        Function(name, doc, parameters=("integers", "integers"), result=_same, reference=fold)
        for name, doc, fold in (
            ("bit_and_of", "a & b: the bits that both have", operator.and_),
            ("bit_or_of", "a | b: the bits that one has", operator.or_),
            ("xor", "the bits that only one has", operator.xor),
        )
    ),
    Function("bit_not", "~a: the other bits", parameters=("integers",), result=_same, reference=more.bit_not, typed=True),
    Function(
        "shift_left",
        "a << n",
        raises=True,
        parameters=("integers", "integers"),
        result=_same,
        reference=more.shift_left,
        typed=True,
    ),
    Function("shift_right", "a >> n", parameters=("integers", "integers"), result=_same, reference=more.shift_right, typed=True),
    Function("last_day", "the last day of its month", parameters=("moment",), result=_always(DATE), reference=more.last_day),
    Function(
        "dayname", "Monday, …", parameters=("moment",), result=_always(STRING), reference=lambda d: calendar.day_name[d.weekday()]
    ),
    Function(
        "monthname",
        "January, …",
        parameters=("moment",),
        result=_always(STRING),
        reference=lambda d: calendar.month_name[d.month],
    ),
    Function(
        "make_date",
        "the date of a year, a month and a day",
        raises=True,
        parameters=("integer", "integer", "integer"),
        result=_always(DATE),
        reference=more.make_date,
    ),
    Function("epoch", "seconds since 1970", parameters=("moment",), result=_always(DOUBLE), reference=more.epoch),
    Function(
        "isodow",
        "the day of the week, Monday is 1",
        parameters=("moment",),
        result=_always(INT64),
        reference=lambda d: d.isoweekday(),
    ),
    Function(
        "isoyear",
        "the year that its week belongs to",
        parameters=("moment",),
        result=_always(INT64),
        reference=lambda d: d.isocalendar().year,
    ),
    Function(
        "date_diff",
        "how many starts of a unit lie between two moments",
        parameters=("unit", "timestamp", "timestamp"),
        result=_always(INT64),
        reference=more.boundaries,
        spelled=("datediff",),
    ),
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
    ),
    AggregateFunction("avg", "the mean", ("number",), _of("avg"), one_row=True, spelled=("mean",)),
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
    AggregateFunction(
        "fsum",
        "the sum as DOUBLE, rounded once",
        ("double",),
        _always(DOUBLE),
        aggregates.fsum,
        one_row=True,
        spelled=("kahan_sum", "sumkahan"),
    ),
    AggregateFunction("favg", "the mean of a sum rounded once", ("double",), _always(DOUBLE), aggregates.favg, one_row=True),
    AggregateFunction(
        "entropy", "the entropy of the values in bits", ("orderable",), _always(DOUBLE), aggregates.entropy, empty_value=0.0
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
SCALAR_FUNCTIONS = {f.name: f for f in (*_SCALAR, *_MORE)}
SCALAR_NAMES = {name: f for f in _MORE for name in (f.name, *f.spelled)}  # of those that a call by name means
AGGREGATE_FUNCTIONS = {f.name: f for f in _AGGREGATE}
AGGREGATE_NAMES = {name: f for f in _AGGREGATE for name in (f.name, *f.spelled)}  # by every name that SQL has for them
