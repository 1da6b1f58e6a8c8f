"""The functions of several rows: aggregates, and what only a window has."""

import operator
from functools import partial, reduce

import pyarrow as pa

from optimizer.algebra import evaluate_aggregates as aggregates
from optimizer.algebra.columns import DataType
from optimizer.algebra.functions import AggregateFunction, WindowFunction, same_type
from optimizer.algebra.types import (
    DOUBLE,
    HUGEINT,
    INT64,
    MAX_PRECISION,
    TIMESTAMP,
    UINT32,
    is_date,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    is_timestamp,
)


def continuous_type(arg: DataType) -> DataType | None:
    """The type of a value between two of `arg`; None where there is nothing between."""
    if is_integer(arg):
        return DOUBLE
    if is_date(arg) or is_timestamp(arg):
        return TIMESTAMP
    return arg if is_numeric(arg) else None


def _sum_type(arg: DataType) -> DataType | None:
    if is_float(arg):
        return DOUBLE
    if is_decimal(arg):
        return pa.decimal128(MAX_PRECISION, arg.scale)
    return HUGEINT if is_integer(arg) else None


_AGGREGATE = (
    AggregateFunction("count", "count(*): the rows; count(x): those where x is not NULL", ("any",), INT64, empty_value=0),
    AggregateFunction("sum", "the sum, exact for integers and decimals", ("number",), _sum_type, two_steps=True, one_row=True),
    AggregateFunction("avg", "the mean", ("number",), lambda arg: DOUBLE if is_numeric(arg) else None, one_row=True,
        spelled=("mean",)),
    AggregateFunction("min", "the smallest value", ("any",), same_type, duplicate_insensitive=True, two_steps=True, one_row=True),
    AggregateFunction("max", "the largest value", ("any",), same_type, duplicate_insensitive=True, two_steps=True, one_row=True),
    AggregateFunction("bool_and", "whether all are TRUE", ("boolean",), same_type, means="min"),
    AggregateFunction("bool_or", "whether one is TRUE", ("boolean",), same_type, means="max"),
    AggregateFunction("count_if", "the rows where x is TRUE; NULL where x is never known", ("boolean",), HUGEINT,
        spelled=("countif",), means="sum"),
    AggregateFunction("approx_count_distinct", "the number of distinct values, here an exact one", ("any",), INT64,
        means="count"),
    *(
        AggregateFunction(name, doc, ("double",), DOUBLE, getattr(aggregates, name), raises=True, spelled=spelled)
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
        AggregateFunction(name, doc, ("double", "double"), DOUBLE, reference, raises=raises)
        for name, doc, reference, raises in (
            ("covar_pop", "the covariance of y and x", lambda y, x: aggregates.co_moment(y, x) / len(y), False),
            ("covar_samp", "the covariance that a sample says of where it is from", aggregates.covar_samp, False),
            ("corr", "Pearson's correlation of y and x", aggregates.corr, True),
            ("regr_avgx", "the mean of x, the second argument, over rows with both", lambda y, x: aggregates.mean(x), False),
            ("regr_avgy", "the mean of y, the first argument, over rows with both", lambda y, x: aggregates.mean(y), False),
            ("regr_sxx", "the sum of squared distances of x from its mean", lambda y, x: aggregates.squares(x, "regr_sxx"), True),
            ("regr_syy", "the sum of squared distances of y from its mean", lambda y, x: aggregates.squares(y, "regr_syy"), True),
            ("regr_sxy", "the sum of products of the distances of x and y from their means", aggregates.co_moment, False),
            ("regr_slope", "the slope of the line of least squares through the points (x, y)", aggregates.regr_slope, True),
            ("regr_intercept", "where that line crosses x = 0", aggregates.regr_intercept, True),
            ("regr_r2", "the share of the variance of y that the line explains", aggregates.regr_r2, True),
        )
    ),
    AggregateFunction("regr_count", "the rows with both", ("double", "double"), UINT32, lambda y, x: len(y), empty_value=0),
    AggregateFunction("mode", "the value that is there most often, the first of several", ("orderable",), same_type,
        aggregates.mode, one_row=True, ordered=True),
    AggregateFunction("median", "quantile_cont(x, 0.5), and quantile_disc(x, 0.5) of what has nothing between two values",
        ("orderable",), lambda arg: continuous_type(arg) or arg, means="quantile_cont"),
    AggregateFunction("quantile_cont",
        "quantile_cont(x, q): the value at the fraction q of the sorted values, between two if need be; "
        "also percentile_cont(q) WITHIN GROUP (ORDER BY x)",
        ("number or date", "fraction"), continuous_type, aggregates.quantile_cont, spelled=("percentile_cont",)),
    AggregateFunction("quantile_disc", "quantile_disc(x, q): the first of the sorted values that has the fraction q up to it",
        ("orderable", "fraction"), same_type, aggregates.quantile_disc, one_row=True, spelled=("quantile", "percentile_disc")),
    AggregateFunction("string_agg", "string_agg(x, separator): the texts one after the other", ("text", "separator"), same_type,
        lambda texts, separator: None if separator is None else separator.join(texts), ordered=True,
        spelled=("listagg", "group_concat")),
    *(
        AggregateFunction(name, doc, ("any",), same_type, operator.itemgetter(place), one_row=True, ordered=True,
            keeps_nulls=nulls, spelled=spelled)
        for name, doc, place, nulls, spelled in (
            ("first", "x of the first row, also where it is NULL", 0, True, ("arbitrary",)),
            ("last", "x of the last row, also where it is NULL", -1, True, ()),
            ("any_value", "the first value", 0, False, ()),
        )
    ),
    *(
        AggregateFunction(name, doc, ("any", "orderable"), same_type, partial(aggregates.arg_extreme, of), ordered=True,
            spelled=spelled)
        for name, doc, of, spelled in (
            ("arg_min", "arg_min(x, y): x where y is smallest, in the first of such rows", min, ("argmin", "min_by")),
            ("arg_max", "arg_max(x, y): x where y is largest, in the first of such rows", max, ("argmax", "max_by")),
        )
    ),
    *(
        AggregateFunction(name, doc, ("integer",), same_type, partial(reduce, of), duplicate_insensitive=same, two_steps=True,
            one_row=True)
        for name, doc, of, same in (
            ("bit_and", "the bits that all have", operator.and_, True),
            ("bit_or", "the bits that one has", operator.or_, True),
            ("bit_xor", "the bits that an odd number has", operator.xor, False),
        )
    ),
    AggregateFunction("fsum", "the sum as DOUBLE, rounded once", ("double",), DOUBLE, aggregates.fsum, one_row=True,
        spelled=("kahan_sum", "sumkahan")),
    AggregateFunction("favg", "the mean of a sum rounded once", ("double",), DOUBLE, aggregates.mean, one_row=True),
    AggregateFunction("entropy", "the entropy of the values in bits", ("orderable",), DOUBLE, aggregates.entropy,
        empty_value=0.0),
    AggregateFunction("product", "the product as DOUBLE", ("double",), DOUBLE, partial(reduce, operator.mul), one_row=True),
)  # fmt: skip

_ROWS_AWAY = ("any", "integer?", "any?")
_WINDOW = (
    WindowFunction("row_number", "1, 2, 3 ... in the order of the window, peers in any order; int64", (), INT64),
    WindowFunction("rank", "number of rows before the first peer, plus 1; int64", (), INT64),
    WindowFunction("dense_rank", "number of peer groups before this one, plus 1; int64", (), INT64),
    WindowFunction("percent_rank", "(rank - 1) / (rows - 1), 0 for a single row; double", (), DOUBLE),
    WindowFunction("cume_dist", "rows up to the last peer / rows; double", (), DOUBLE),
    WindowFunction("ntile", "ntile(n): number of the bucket, larger buckets first; int64", ("integer",), INT64),
    WindowFunction("lag", "lag(x[, offset[, default]]): x of the row that many before this one in the partition", _ROWS_AWAY),
    WindowFunction("lead", "lead(x[, offset[, default]]): x of the row that many after this one in the partition", _ROWS_AWAY),
    WindowFunction("first_value", "x of the first row of the frame", ("any",), framed=True),
    WindowFunction("last_value", "x of the last row of the frame", ("any",), framed=True),
    WindowFunction("nth_value", "nth_value(x, n): x of the n-th row of the frame, NULL when there is none", ("any", "integer"),
        framed=True),
)  # fmt: skip

AGGREGATE_FUNCTIONS = {f.name: f for f in _AGGREGATE}
AGGREGATE_NAMES = {name: f for f in _AGGREGATE for name in (f.name, *f.spelled)}  # by every name that SQL has for them
WINDOW_FUNCTIONS = {f.name: f for f in _WINDOW}
RANKINGS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")  # they rise with the rows of a partition
NEVER_NULL = ("count", *RANKINGS)  # over a window; ntile is NULL where its argument is
