"""What bound queries mean: the naive evaluation of the bound tree and the plan give DuckDB's rows, types aside.

The data has NULLs, duplicates, an empty table, zeros, negative numbers, month ends. All engines may also refuse alike.
"""

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from executor.session import Session
from tests.cases import Case, params, read
from tests.unit.sql.world import World, assert_means_the_same

HERE = Path(__file__).parent
QUERIES = read(HERE / "queries.cases")


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
