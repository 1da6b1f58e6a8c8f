"""The reference of functions, written from their tables."""

from experiments.documentation.markdown import table
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS, WINDOW_FUNCTIONS
from optimizer.algebra.functions import PARAMETERS, AggregateFunction, Function
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS

_HEAD = """# Functions

Written by `python -m experiments.documentation` from the tables of functions in `optimizer/algebra`; do not edit.

Semantics are DuckDB's, with these exceptions: `x ~* r` and `x !~* r`, which DuckDB has from 2.0 on, ask for the
whole text with case ignored, as `~` and `!~` do; `reverse` reverses code points, also where several make a character;
`approx_count_distinct` is exact; `mode` takes NaN for one value; `strptime` reads no `epoch` and
`infinity`; `now()` and `current_timestamp` are timestamps without zone,
in the zone of this machine, at the time at which the query is bound; decimals of 38 digits that meet keep
the digits after the point of both; HUGEINT is DECIMAL(38,0), so a double becomes one half away from zero, `//` of
two DECIMAL(38,0) has no fraction, and `gcd` and
operators of bits need a cast to BIGINT; a constant of the wrong type (`case when c then 1 else 'a' end`) is converted before
any row is read, and refused where it cannot be, even if no row asks for it. Functions over lists, structs and maps are refused.

Row values with NULLs are compared as the SQL standard says: `(NULL, 1) > (1, 1)`, `(1, 2) = (1, NULL)` and
`(2, 3) NOT IN ((1, 1), (2, NULL))` are NULL, where DuckDB takes NULL for the greatest value, equal to itself, as when it sorts.
Stored columns of unsigned integers have the next wider signed type, and UBIGINT becomes HUGEINT: `~u` of a UTINYINT 1 is -2,
`u - 5` is -4 and no error. `GROUP BY GROUPING SETS ((), ())` over no rows gives a row for each set also where nothing is
aggregated.

Dates go from year 1 to 9999. There are no infinite ones: what DuckDB writes to a file for `'infinity'` is the last day that
Arrow has, millions of years away. It is compared, sorted, joined and grouped by as that; computing with it is an error, and
`year(d) > 2020`, which is `d >= '2021-01-01'`, holds for it, where DuckDB has NULL.

Stored columns of timestamps with a time zone are TIMESTAMPs, of the same moments in UTC, and what is selected of them has no zone
either; DuckDB converts as much with `SET TimeZone = 'UTC'`. There is no type TIMESTAMPTZ to cast to. A column of timestamps that
are no whole microseconds is TIMESTAMP_NS: it can be selected, tested by IS NULL and counted.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(
        (
            _HEAD,
            "## Scalar functions and operators\n",
            "NULL in, NULL out, unless the page says otherwise. *May fail*: on some values, so it is not moved to other rows.\n",
            *table(("function", "also", "takes", "meaning", ""), map(_scalar, SCALAR_FUNCTIONS.values())),
            "\n## Aggregates\n",
            "Each takes `DISTINCT`, `ORDER BY` inside the call and `FILTER`, and may stand over a window. Rows with a NULL",
            "argument are left out, and over no rows the value is NULL, unless the page says otherwise. `ORDER BY` counts where",
            "row order matters; a sum of DOUBLEs is made in any order, also where one is written: plans differ in last digits.\n",
            *table(("function", "also", "takes", "meaning", ""), map(_aggregate, AGGREGATE_FUNCTIONS.values())),
            "\n## Window functions\n",
            *table(("function", "meaning"), ((f"`{f.name}`", f.doc) for f in WINDOW_FUNCTIONS.values())),
            "\n## What arguments have to be\n",
            *table(("word", "means"), PARAMETERS.items()),
            "",
        )
    )


def _scalar(function: Function) -> tuple[str, ...]:
    notes = [] if function.strict else ["takes NULL"]
    notes += ["may fail"] * function.raises + ["new on every row"] * function.volatile
    return (*_names(function.name, function.spelled), _takes(function.parameters), function.doc, ", ".join(notes))


def _aggregate(known: AggregateFunction) -> tuple[str, ...]:
    notes = ["keeps NULL"] * known.keeps_nulls + ["may fail"] * known.raises + ["row order matters"] * known.ordered
    notes += [f"{known.empty_value} over no rows"] * (known.empty_value is not None)
    return (*_names(known.name, known.spelled), _takes(known.parameters), known.doc, ", ".join(notes))


def _names(name: str, spelled: tuple[str, ...]) -> tuple[str, str]:
    return f"`{name}`", ", ".join(f"`{other}`" for other in spelled)


def _takes(parameters: tuple[str, ...] | None) -> str:
    return "" if parameters is None else ", ".join(parameters) or "nothing"
