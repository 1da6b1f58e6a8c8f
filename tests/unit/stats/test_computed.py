"""Figures of computed columns: groups by expressions, and bounds that no value lies outside of."""

from datetime import date
from decimal import Decimal
from math import inf
from random import Random

import pyarrow as pa
import pytest

from executor.session import Session
from optimizer.algebra.columns import Columns
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.scalars import BOOL, Call, Cast, ColumnRef, Literal, Scalar
from optimizer.algebra.types import DATE, DOUBLE, INT64, STRING
from optimizer.errors import ExecutionError
from optimizer.stats.computed import Computed
from optimizer.stats.relation import ColumnFigures
from optimizer.stats.selectivity import selectivity

GROUPED = """
year(o_orderdate) ; month(o_orderdate) ; extract(dow from o_orderdate) ; date_trunc('month', o_orderdate) ;
date_trunc('year', o_orderdate) ; date_trunc('week', o_orderdate) ; dayname(o_orderdate) ;
o_orderdate - date '1992-01-01' ; o_custkey % 10 ; o_custkey % -10 ; abs(o_custkey % 5) ; greatest(o_custkey % 3, 1) ;
o_custkey // 100 ; o_orderkey & 7 ; o_orderkey >> 10 ; (o_orderkey / 1000)::int ; floor(o_totalprice / 10000) ;
round(o_totalprice / 10000) ; trunc(o_totalprice / 10000) ; round(o_totalprice, -4) ; sign(o_custkey - 700) ;
length(o_comment) ; o_totalprice > 1000 ; o_shippriority + 1 ; coalesce(o_custkey % 4, 3) ;
case when o_custkey % 2 = 0 then o_custkey % 7 else 3 end
"""
FILTERS = """
o_custkey % 10 = 3 ; o_orderkey & 7 = 1 ; o_custkey % 10 < 3 ; o_custkey % 7 <> 3 ; abs(o_custkey - 500) < 100 ;
month(o_orderdate) > 6 ; quarter(o_orderdate) in (1, 2) ; extract(dow from o_orderdate) = 0 ; year(o_orderdate) % 2 = 0 ;
case when o_custkey % 2 = 0 then 1 else 0 end = 1 ; o_custkey % 10 between 3 and 4 ; month(o_orderdate) between 6 and 7 ;
round(o_totalprice, -3) between 100000 and 140000 ; left(o_orderpriority, 1) = '1' ; upper(o_orderpriority) = '1-URGENT'
"""


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("tpch:0.01")


@pytest.mark.parametrize(
    ("sql", "within"),
    [
        *((f"select {each.strip()} k, count(*) from orders group by 1", 0.7) for each in GROUPED.split(";")),
        *((f"select * from orders where {each.strip()}", 0.4) for each in FILTERS.split(";")),
    ],
)
def test_rows_of_expressions_are_estimated_by_their_bounds_and_values(sql: str, within: float, session: Session) -> None:
    assert session.optimize(sql).rows == pytest.approx(len(session.sql(sql).table), rel=within)


@pytest.fixture(scope="module")
def prices() -> Session:
    thousandths = pa.array([Decimal(i) / 1000 for i in range(10_000)], pa.decimal128(10, 3))
    infinite = pa.table({"f": [float(i) for i in range(1_000)] + [inf]})
    return Session({"t": pa.table({"x": thousandths}), "u": {"k": list(range(10))}, "i": infinite})


@pytest.mark.parametrize(
    "sql",
    [
        "t where cast(x as integer) = 3",
        "t where cast(x as integer) in (1, 2, 3)",
        "t where cast(x as integer) = 10",  # above the largest x, which is rounded up
        "t where cast(x as integer) between 2 and 3",
        "t where cast(x as decimal(12, 4)) between 2 and 3",
        "t, u where cast(x as integer) = k",
        "t a, t b where cast(a.x as integer) = cast(b.x as integer)",
        "i where f > 400",
        "i where f >= 5 and f <= 100",
    ],
)
def test_rows_of_rounded_values_and_beside_infinity(prices: Session, sql: str) -> None:
    """What casts round had the values and bounds of what it was made of, and infinity left no row in any range."""
    assert prices.optimize(f"select * from {sql}").rows == pytest.approx(len(prices.sql(f"select 1 from {sql}").table), rel=0.7)


def test_no_value_lies_outside_of_the_bounds() -> None:
    random, known = Random(7), 0
    columns = Columns()
    a, b = (ColumnRef(columns.new(name, INT64, False).id, INT64) for name in "ab")
    for _ in range(400):
        ends = {ref: sorted(random.randint(-20, 20) for _ in "lh") for ref in (a, b)}
        below = {ref.id: ColumnFigures(41.0, low=low, high=high) for ref, (low, high) in ends.items()}
        scalar: Scalar = a
        for _ in range(random.randint(1, 3)):
            other = random.choice([b, Literal(random.randint(-6, 6), INT64)])
            function = random.choice(["+", "-", "*", "%", "//", "greatest", "least", "abs", "neg", "sign", "floor", "round"])
            if function in ("floor", "round"):
                half = Call("/", (Cast(scalar, DOUBLE, False), Literal(4.0, DOUBLE)), DOUBLE)
                scalar = Cast(Call(function, (half,), DOUBLE), INT64, False)
            elif function in ("abs", "neg", "sign"):
                scalar = Call(function, (scalar,), INT64)
            else:
                scalar = Call(function, random.choice([(scalar, other), (other, scalar)]), INT64)
        figures = Computed(below).figures(scalar)
        values = set()
        for x in range(ends[a][0], ends[a][1] + 1):
            for y in range(ends[b][0], ends[b][1] + 1):
                try:
                    values.add(evaluate(scalar, {a.id: x, b.id: y}))
                except ExecutionError:
                    continue
        values -= {None}
        if values and figures.low is not None and figures.high is not None:
            known += 1
            assert figures.low - 1 < min(values) and max(values) < figures.high + 1, scalar  # // cuts towards zero
            assert len(values) <= figures.ndv + 1, scalar
    assert known > 200


def test_what_is_rounded_may_lie_outside_of_what_it_was_made_of() -> None:
    known = {
        0: ColumnFigures(9.0, low=0.4, high=46_000.6),
        1: ColumnFigures(9.0, low=date(2020, 5, 1).toordinal(), high=737_800.0),
    }
    number, day = ColumnRef(0, DOUBLE), ColumnRef(1, DATE)
    rounded = Computed(known).figures(Call("round", (number, Literal(-4, INT64)), DOUBLE))
    whole = Computed(known).figures(Cast(number, INT64, False))
    year = Computed(known).figures(Call("date_trunc", (Literal("year", STRING), day), DATE))
    assert (rounded.low, rounded.high, whole.low, whole.high) == (0.0, 50_000.0, 0.0, 46_001.0)
    assert year.low is not None and year.low <= date(2020, 1, 1).toordinal()


def test_null_satisfies_no_comparison_of_an_expression() -> None:
    figures = {0: ColumnFigures(100.0, null_fraction=0.75, low=1.0, high=100.0)}
    more = Call("+", (ColumnRef(0, INT64), Literal(1, INT64)), INT64)
    assert selectivity(Call(">", (more, Literal(0, INT64)), BOOL), figures) == pytest.approx(0.25)
