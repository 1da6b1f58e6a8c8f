"""What bound queries mean: the naive evaluation of the bound tree and the plan give DuckDB's rows, types aside.

The data has NULLs, duplicates, an empty table, zeros, negative numbers, month ends. All engines may also refuse alike. Where
DuckDB refuses a query, or is not right about one, an equivalent query says what is expected of it.
"""

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from executor.session import Session
from optimizer.errors import ExecutionError, SqlError
from optimizer.sql.bind import bind
from tests.cases import Case, params, read
from tests.reference.naive import run_query
from tests.unit.sql.test_sql_fuzz import assert_consistent
from tests.unit.sql.world import World, assert_means_the_same

HERE = Path(__file__).parent
QUERIES, SUBQUERIES = read(HERE / "queries.cases"), read(HERE / "subqueries.cases")


@pytest.mark.parametrize("case", params(read(HERE / "expressions.cases")))
def test_expressions(case: Case, world: World) -> None:
    assert_means_the_same(world, f"select {case.sql} as r from t")


@pytest.mark.parametrize("case", params(QUERIES))
def test_queries(case: Case, world: World) -> None:
    assert_means_the_same(world, case.sql)


@pytest.mark.parametrize("case", params([case for case in QUERIES if " order by " not in case.sql][::3]))
def test_queries_in_a_derived_table(case: Case, world: World) -> None:
    assert_means_the_same(world, f"select count(*) from ({case.sql}) q")
    assert_means_the_same(world, f"with c as ({case.sql}) select * from c union all select * from c")


NAMED = {"t": {"Name": ["abc"], "Other": [1]}, "u": {"NAME": ["abc"], "z": [2]}}


@pytest.mark.parametrize(
    "sql",
    [
        "select name, t.OTHER, name as nAmE from t",
        "select name from (select other as oTHER, NAME from t)",
        "with c(A, b) as (select * from t) select a, B from c group by all",
        "select name, t.nAME, u.name from t join u using (name)",
        "select n, z from (select name as N from t) x left join u on n = u.name",
        "select name from t union all select name from u order by NAME",
    ],
)
def test_columns_are_spelled_as_they_are_called_where_they_come_from(sql: str) -> None:
    tables = {name: pa.table(columns) for name, columns in NAMED.items()}
    duck = duckdb.connect()
    for name, table in tables.items():
        duck.register(name, table)
    assert Session(tables).sql(sql).table.column_names == [column[0] for column in duck.execute(sql).description]


def test_bytes_as_text_and_places_in_names() -> None:
    table = pa.table({"b": [*(bytes([i, 65]) for i in range(256)), b"", None]})
    sql = "select b::varchar as text, try_cast(b as varchar)[2:-1] as part from t"
    expected = duckdb.from_arrow(table).query("t", sql).to_arrow_table()
    assert Session({"t": table}).sql(sql).table.to_pylist() == expected.to_pylist()
    assert Session({"t": table}).sql("select b[2:-1] from (select b::varchar as b from t) t").table.column_names == ["b[2:-1]"]


@pytest.mark.few(2)
@pytest.mark.parametrize("case", params(SUBQUERIES))
def test_subqueries(case: Case, world: World) -> None:
    assert_means_the_same(world, case.sql, case.marks.get("="))


@pytest.mark.parametrize("word", ["all", "any", "some"])
@pytest.mark.parametrize("case", params(read(HERE / "parenthesized.cases")))
def test_quantified(case: Case, word: str, world: World) -> None:
    sql = f"select b, b <> {word} {case.sql}, b <= {word} {case.sql} from t"
    assert_means_the_same(world, sql)
    assert_consistent(bind(sql, world.catalog))


@pytest.mark.parametrize("case", params(SUBQUERIES))
def test_outer_columns_are_those_around(case: Case, world: World) -> None:
    try:
        query = bind(case.sql, world.catalog)
    except SqlError:
        assert "=" not in case.marks
        return
    assert_consistent(query)
    assert not query.tree.outer


def test_more_than_one_row(world: World) -> None:
    with pytest.raises(ExecutionError, match="more than one row"):
        run_query(bind("select (select c from u where u.a = t.a) from t", world.catalog), world.tables)


def test_volatile(world: World) -> None:
    """A subquery is volatile when something in its tree is, and is then no other one's double."""
    query = bind("select (select random()), (select random()), (select 1), (select 1) from t", world.catalog)
    scalars = query.tree.op.scalars()
    assert [s.volatile for s in scalars] == [True, True, False]
    assert len({o.id for o in query.outputs}) == 3


# Every form of subquery in every clause, over subqueries that the truth table in tests/differential/correlated has not. The forms
# are those of SQL's three-valued logic, asked of the column b, which has NULLs and values that match and that do not.
INNER = {
    "all rows": "select c from u",
    "inequality": "select c from u where u.c > t.b",
    "union": "select c from u where u.a = t.b union all select t.b",
    "limit": "select c from u where u.a = t.b order by c desc limit 1",
}
FORMS = (
    "exists ({q})",
    "not exists ({q})",
    "b in ({q})",
    "b not in ({q})",
    "5 in ({q})",
    "null not in ({q})",
    *(f"b {comparison} {word} ({{q}})" for comparison in ("=", "<>", "<", ">=") for word in ("any", "all")),
    "b < (select max(z) from ({q}) w(z))",
)
CLAUSES = (
    "select a, b, {p} as r from t",
    "select a, b from t where {p}",
    "select a, b from t where not ({p})",
    "select a, b from t where {p} or a = 1",
    "select a, b from t where ({p}) is null and a > 0",
    "select a, case when {p} then 'yes' when not ({p}) then 'no' else 'unknown' end as r from t",
    "select b, count(*) from t group by b having {p}",
    "select x.a, t.b from t x join t on x.a = t.a and {p}",
    "select b, a from t order by {p}, b, a",
    "select {p} as r, count(*) from t group by {p}",
    "select sum(case when {p} then 1 end), count(*) filter (where {p}) from t",
    "select b, r from t, lateral (select {p} as r) q",
)


@pytest.mark.few(5)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("subquery", INNER)
def test_every_form_in_every_clause(form: str, subquery: str, world: World) -> None:
    condition = form.replace("{q}", INNER[subquery])
    for clause in CLAUSES:
        assert_means_the_same(world, clause.replace("{p}", condition))
