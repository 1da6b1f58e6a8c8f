"""Only the columns that a text may mean are bound: that is faster, and nothing else may come of it."""

import pyarrow as pa
import pytest

from experiments.workloads.queries import built_in_queries, resolve_sql
from optimizer.algebra import Scan, Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.errors import SqlError
from optimizer.sql.bind import bind
from optimizer.sql.source import Source
from optimizer.sql.stored import KEPT, StoredTable
from planscope import Optimizer, Session, Settings

WIDE = {
    "wide": pa.table({"a": [1, 2, 3], "b": [1, 1, 2], "Größe": [4, 5, 6], 'odd "name"': [7, 8, 9], "flag": [True, False, None]}),
    "other": pa.table({"b": [1, 2, 2], "c": [10, 20, 30], "flag": [True, True, True]}),
}


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(WIDE)


def read(sql: str, catalog: Catalog) -> list[list[str]]:
    """The names of the columns that each scan has after binding."""
    parts = postorder(bind(sql, catalog).tree)
    return [[c.source for c in node.op.columns] for node in parts if isinstance(node, Tree) and isinstance(node.op, Scan)]


EVERYTHING = ["a", "b", "Größe", 'odd "name"', "flag"]


@pytest.mark.parametrize(
    ("sql", "wide"),
    [
        ("select a from wide", ["a", "flag"]),
        ("select A from WIDE", ["a", "flag"]),
        ("select count(*) from wide", ["flag"]),  # rows are counted by the narrowest column
        ("select sum(a * b) from wide", ["a", "b", "flag"]),
        ("select 'the b in a string' /* and in a comment */ from wide", ["flag"]),
        ('select größe, "ODD ""name""" from wide', ["Größe", 'odd "name"', "flag"]),
        ("select * from wide", EVERYTHING),
        ("from wide", EVERYTHING),
        ("select w.* exclude (flag) from wide w", EVERYTHING),
        ("select x from wide as w(x)", EVERYTHING),  # names by place
        ("select b_1 from (wide cross join other) v", EVERYTHING),  # the second b
        ("select a from (wide cross join other)", ["a", "flag"]),
        ("select count(*) from (select 6 o) x join other on o>5natural join wide", EVERYTHING),
        ("select (select count(*) from other) from wide", ["flag"]),
        ("select * from (select a from wide) v", ["a", "flag"]),  # the star is another block's
        ("with v as (from wide) select a from v", EVERYTHING),
        ("select a from wide union all select c from other", ["a", "flag"]),
    ],
)
def test_columns_that_a_text_names(session: Session, sql: str, wide: list[str]) -> None:
    assert wide in read(sql, session.catalog)


def test_columns_of_keys_are_bound(tpch: Catalog) -> None:
    """Decorrelation tells rows apart by them."""
    assert read("select l_tax from lineitem", tpch) == [["l_orderkey", "l_linenumber", "l_tax"]]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select count(*) n from wide natural join other", [(1,)]),
        ("select a, c from wide join other using (b) where wide.flag order by a", [(1, 10)]),
        ("select x, y from (wide cross join other) v(x, y) where x = 3 limit 1", [(3, 2)]),
        ("select max(b_1) from (wide cross join other) v, (select 7 b_2) w", [(2,)]),
        ("select * exclude (\"Größe\", \"odd \"\"name\"\"\") from wide join other using (b) where c = 20 and a = 3",
         [(3, 2, None, 20, True)]),
    ],
)  # fmt: skip
def test_columns_that_a_join_means(session: Session, sql: str, rows: list[tuple[object, ...]]) -> None:
    columns = session.sql(sql).table.columns
    assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == rows


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select bb from wide", "wide has a, b, Größe and 2 more"),
        ("select a from wide join other using (c)", "that side has a, b, Größe and 2 more"),
        ("select flag from wide, other", "write other.flag or wide.flag"),
        ("select w.nothing from wide w", "w has a, b, Größe and 2 more"),
    ],
)
def test_messages_name_columns_that_the_text_does_not(session: Session, sql: str, told: str) -> None:
    with pytest.raises(SqlError) as error:
        session.sql(sql)
    assert told in str(error.value)
    assert error.value.__context__ is None


def test_what_is_kept_of_a_table_is_bounded() -> None:
    (table,) = Session({"t": {f"c{i}": [i] for i in range(12)}}).catalog.tables.values()
    stored = StoredTable(table)
    assert stored.columns(frozenset({"c1"})) is stored.columns(frozenset({"c1", "w", "1"}))
    assert stored.columns(None).names == tuple(column.name for column in table.columns)
    for number in range(1 << 12):  # each set of columns
        named = {f"c{i}" for i in range(12) if number >> i & 1}
        assert set(stored.columns(frozenset(named)).names) == named | {"c0"}
        assert len(stored._known) <= KEPT


@pytest.mark.few(2)
@pytest.mark.parametrize("decorrelate", ["general", "cost", "value_generator", "none"])
def test_plans_are_those_of_all_columns(tpch: Catalog, decorrelate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with `decorrelate=quick`, which groups by all columns of the outer rows: there fewer are cheaper."""
    names = [query.name for query in built_in_queries() if query.name.startswith("tpch/")]
    texts = [*map(resolve_sql, names), "select count(*) from orders", "select count(*) from nation, region"]
    assert len(texts) == 24
    optimizer = Optimizer(tpch, Settings(decorrelate=decorrelate))
    named = [optimizer.optimize(text) for text in texts]
    monkeypatch.setattr(Source, "words", lambda self: None)
    everything = [optimizer.optimize(text) for text in texts]
    assert sum(len(query.columns) for query in named) < sum(len(query.columns) for query in everything) / 2
    for one, other in zip(named, everything, strict=True):
        assert (one.cost, one.search.proven, one.search.tasks) == (other.cost, other.search.proven, other.search.tasks)
