"""A conjunct that raises is never moved to rows that another conjunct had kept from it: DuckDB returns rows, and so do we."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor import Session
from optimizer.dataset import open_dataset
from tests.conftest import duckdb_over
from tests.reference.compare import assert_same_bag, rows_of

TABLES = {
    "a": {"x": [1, 2, 3]}, "b": {"x": [1, 2, 9], "y": [10, 20, 30], "s": ["5", "6", "abc"]}, "c": {"y": [10, 30]},
    "g": {"k": ["1", "2", "zz", "1", "2"], "v": [1, 2, 3, 4, 5]}, "h": {"s": ["5", "abc"], "x": [1, 2], "y": [10, 30]},
    "e": {"a": ["foo", "bar", "3", "4"], "k": [1, 2, 3, 4], "z": ["0", "0", "-9", "7"]},
}  # fmt: skip

QUERIES = {
    "join order": "select a.x, b.s from a join b on a.x = b.x and cast(b.s as int) > 0 join c on b.y = c.y",
    "having": "select k from (select k from g group by k having min(v) <> 3) t where cast(k as int) > 0",
    "join predicate": "select * from (select h.s, a.x from h join a on a.x = h.x and abs(h.y + a.x) < 25) t where t.s::int > 0",
    "filter": "select * from (select * from b where y < 25) t where cast(s as int) > 0",
    "left join": "select b.x, a.x from b left join a on b.x = a.x and b.y < 25 and cast(b.s as int) > 0 where b.y < 25",
    "several that raise, in a list": "select b.x, c.y, g.v from c, g, b, h, a where b.y = c.y and h.y = c.y and a.x = b.x"
    " and b.x < 9 and cast(h.s as int) = cast(b.s as int) and cast(g.k as int) = b.x and g.v <> 3",
    "no row to meet": "select x, x = 2 or exists (select 1 from b where b.x = a.x + 9223372036854775805 and y > 99) from a",
    "subqueries beside a filter": "select x from a where x < 3"
    " and x < (select min(y) from c where c.y <> a.x + 9223372036854775805)"
    " and x < (select max(y) from c where c.y <> a.x + 9223372036854775804)",
    "a set operation": "select x from a where x < 3"
    " and exists (select y from c except select y from b where b.y < a.x + 9223372036854775805 and b.x = 1)",
    "an ANY over nothing": "select k, v from g where cast(k as int) < any (select y from c where y > 99)",
    "branches of an OR": "select * from e where (z::int <> 0 and a::int + k > 1) or (z::int > 6 and a::int + k > 1)",
    "a mark over nothing": "select k, v, cast(k as int) > all (select y from c where y > 99) from g",
}
CORRELATED = {
    "exists": "select x from a where exists (select 1 from b where b.x = a.x and cast(b.s as int) > 5)",
    "not exists": "select x from a where not exists (select 1 from b where cast(b.s as int) > 5 and b.x = a.x)",
    "not in": "select x, x not in (select x from b where cast(s as int) > 5 and b.x = a.x) from a",
    "a join inside": "select x from a where exists (select 1 from b join c on cast(b.s as int) + c.y > 15 where b.x = a.x)",
    "an outer join inside": "select x, (select min(c.y) from b left join c on cast(b.s as int) < c.y where b.x = a.x) from a",
    "an item": "select x, i from a left join lateral (select cast(s as int) i from b where b.x = a.x) on i = 5",
    "a branch not taken": "select x, case when x > 100 then (select max(cast(s as int) + b.y) from b where b.x >= a.x) end"
    " from a",
    "a branch not taken, of one row": "select x, case when x > 100 then (select max(cast(s as int)) from b) end from a",
    "a branch not taken, the first of all": "select x, case when x > 100"
    " then (select cast(s as int) from b order by 1 limit 1) end from a",
    "a branch not taken, after one that may raise": "select y, case when s like 'a%' then 0 when cast(s as int) > 5"
    " then (select max(cast(b.s as int) + c.y) from c where c.y >= b.y) end from b",
    "a branch not taken, with a join": "select x, case when x > 100"
    " then (select count(*) from b full join c on cast(b.s as int) = c.y) end from a",
    "a branch not taken, of groups": "select x, case when x > 100 then x in (select cast(s as int) from b group by 1) end from a",
    "a conjunct above a join": "select q.x from (select b.x, b.y from b join a on b.x = a.x where cast(b.s as int) > 0) q"
    " where q.x <= (select avg(c.y) from c where c.y < q.y + 30)",
    "two columns of a row": "select x, (select sum(cast(h.s as int) + c.y) from c where c.y > h.y) from h",
    "a subquery inside": "select x from a where exists (select 1 from b where b.x = a.x and (select cast(b.s as int)) > 0)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sheltered")
    for name, columns in TABLES.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize("disable", [(), ("join_to_hash_join",), ("join_to_hash_join", "join_to_merge_join"), ("join_commute",)])
@pytest.mark.parametrize("query", QUERIES)
def test_nothing_raises(query: str, disable: tuple[str, ...], folder: Path) -> None:
    expected = duckdb_over(open_dataset(folder)).execute(QUERIES[query]).to_arrow_table()
    actual = Session(folder, {"disable": disable}).sql(QUERIES[query]).table
    assert_same_bag(rows_of(expected), rows_of(actual))


@pytest.mark.parametrize("method", ["none", "quick", "value_generator", "general", "cost"])
@pytest.mark.parametrize("query", CORRELATED)
def test_nothing_raises_of_rows_that_no_outer_row_asks_for(query: str, method: str, folder: Path) -> None:
    catalog = open_dataset(folder)
    expected = duckdb_over(catalog).execute(CORRELATED[query].replace("cast(", "try_cast(")).to_arrow_table()
    actual = Session(catalog, {"decorrelate": method}).sql(CORRELATED[query]).table
    assert_same_bag(rows_of(expected), rows_of(actual))
