"""What queries with subqueries and LATERAL mean: the naive evaluation of the bound tree and the plan give DuckDB's rows.

Where DuckDB refuses a query, or is not right about one, an equivalent query says what is expected of it.
"""

from pathlib import Path

import pytest

from optimizer.errors import ExecutionError, SqlError
from optimizer.sql.bind import bind
from tests.cases import Case, params, read
from tests.reference.naive import run_query
from tests.unit.sql.test_sql_fuzz import assert_consistent
from tests.unit.sql.world import World, assert_means_the_same

HERE = Path(__file__).parent
QUERIES = read(HERE / "subqueries.cases")


@pytest.mark.few(2)
@pytest.mark.parametrize("case", params(QUERIES))
def test_queries(case: Case, world: World) -> None:
    assert_means_the_same(world, case.sql, case.marks.get("="))


@pytest.mark.parametrize("word", ["all", "any", "some"])
@pytest.mark.parametrize("case", params(read(HERE / "parenthesized.cases")))
def test_quantified(case: Case, word: str, world: World) -> None:
    sql = f"select b, b <> {word} {case.sql}, b <= {word} {case.sql} from t"
    assert_means_the_same(world, sql)
    assert_consistent(bind(sql, world.catalog))


@pytest.mark.parametrize("case", params(QUERIES))
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
