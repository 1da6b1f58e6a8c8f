"""What windows cost in sorts: compatible orders share one, stored orders and keys spare it, numbers of rows are orders too."""

import itertools
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.session import Session
from optimizer.algebra.physical import PartialSort, Sort, WindowRows
from optimizer.catalog.order import remember_orders
from optimizer.dataset import open_dataset
from tests.conftest import duckdb_over
from tests.reference.compare import assert_same_bag, rows_of

ROWS = 3000


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """`u` in no order with the key `id`; `v`, the same rows, stored by p, o."""
    folder = tmp_path_factory.mktemp("stored")
    rows = [(i * 7919 % ROWS, i * 31 % 20, i * 17 % 7, i * 101 % 300) for i in range(ROWS)]
    made = pa.table(list(zip(*rows, strict=True)), ["id", "p", "q", "o"])
    pq.write_table(made, folder / "u.parquet")
    pq.write_table(made.sort_by([("p", "ascending"), ("o", "ascending")]), folder / "v.parquet")
    columns = "(id bigint primary key, p bigint, q bigint, o bigint)"
    (folder / "schema.sql").write_text(f"create table u {columns};\ncreate table v {columns};\n")
    remember_orders(folder, {"v": ("p", "o")}, open_dataset(folder).tables)
    return Session(folder)


@pytest.mark.parametrize(
    ("sql", "sorts", "partial_sorts"),
    [
        ("select sum(o) over (partition by p order by o), rank() over (partition by p order by o, id) from u", 1, 0),
        ("select count(*) over (partition by p), rank() over (partition by p order by o desc) from u", 1, 0),
        ("select rank() over (partition by q, p order by o), count(*) over (partition by p) from u", 1, 0),
        ("select count(*) over (partition by p), rank() over (partition by q, p order by o) from u", 1, 0),
        ("select sum(o) over (order by p), sum(o) over (order by p, q), sum(o) over (partition by p) from u", 1, 0),
        ("select sum(o) over (order by p), sum(o) over (order by q) from u", 2, 0),
        ("select sum(o) over (partition by id order by p) from u", 0, 0),
        ("select count(*) over () from u", 0, 0),
        ("select sum(q) over (partition by p order by o) from v", 0, 0),
        ("select count(*) over (partition by p) from v", 0, 0),
        ("select sum(q) over (partition by p order by o desc) from v", 0, 1),
        ("select sum(q) over (partition by p, q order by o) from v", 0, 1),
        ("select sum(q) over (order by p, o) from v order by p, o", 0, 0),
        ("select p, sum(o) over (partition by p order by o) from u order by p desc", 1, 0),
        ("select p, q, count(*) over (partition by p, q) from u order by q desc, p", 1, 0),
        ("select p, o, id, count(*) over (partition by p) from u order by p, o, id", 1, 0),
        ("select id, row_number() over (order by o) as r from u order by r", 1, 0),
        ("select id, p, row_number() over (partition by p order by o, id) as r from u order by p, r", 1, 0),
        ("select id, p, rank() over (partition by p order by o, id) as r from u order by p desc, r", 1, 0),
        ("select id, row_number() over (order by o) as r from u order by r, q", 1, 0),
        ("select id, rank() over (order by o) as r from u order by r, q", 1, 1),
        ("select id, row_number() over (order by o) as r from u order by r desc", 2, 0),
        ("select p, max(r) from (select p, rank() over (partition by p order by o) as r from v) as x group by p", 0, 0),
    ],
)
def test_sorts(session: Session, sql: str, sorts: int, partial_sorts: int) -> None:
    query = session.optimize(sql)
    ops = [node.op for node in query.plan.walk()]
    assert any(isinstance(op, WindowRows) for op in ops)
    assert (sum(isinstance(op, Sort) for op in ops), sum(isinstance(op, PartialSort) for op in ops)) == (sorts, partial_sorts)
    if "row_number() over (order by o) as r" not in sql:  # numbers among equal rows are anybody's
        assert_same_bag(rows_of(duckdb_over(session.catalog).execute(sql).to_arrow_table()), rows_of(session.sql(sql).table))


def test_rows_come_in_the_order_of_their_numbers(session: Session) -> None:
    table = session.sql("select p, row_number() over (partition by p order by o, id) as r, rank() over (order by q) as k from u "
                        "order by p desc, r").table  # fmt: skip
    rows = list(zip(table["p"].to_pylist(), table["r"].to_pylist(), strict=True))
    assert rows == sorted(rows, key=lambda row: (-row[0], row[1]))
    assert len(rows) == ROWS


def test_an_order_by_what_follows_from_the_partition(session: Session) -> None:
    """v.q follows from v.id, so (v.q, v.id) parts the rows as v.id does; but rows sorted by v.id are not sorted by v.q."""
    sql = ("select v.q, v.id, row_number() over (partition by v.id order by u.id) as r from u join v on u.p = v.id "
           "order by v.q, v.id, r")  # fmt: skip
    rows = rows_of(session.sql(sql).table)
    assert len(rows) == ROWS
    assert rows == sorted(rows)


def test_a_filter_on_numbers_expects_few_rows(session: Session) -> None:
    first = session.optimize("select id from u qualify row_number() over (partition by p order by o) = 1")
    assert 1 <= first.plan.rows <= 60
    half = session.optimize("select id from u qualify ntile(2) over (order by o) = 1")
    assert ROWS / 3 <= half.plan.rows <= ROWS


@pytest.mark.parametrize("partition", ["x.p, y.q", "y.q, x.p", "x.p, y.q, y.o"])
def test_any_sequence_of_a_partition_may_lead(session: Session, partition: str) -> None:
    """So no plan in an order that is asked for costs less than the best one in any."""
    sql = f"select row_number() over (partition by {partition} order by x.id), {partition} from u x join v y on x.o < y.o"
    best = session.optimize(sql)
    orders = [", ".join(order) for order in itertools.permutations(partition.split(", "))]
    asked = [session.optimize(f"{sql} order by {order}").cost for order in orders]
    assert best.search.proven and best.cost == pytest.approx(min(asked))


def test_a_search_goes_on_where_an_order_of_many_keys_costs_less_than_none() -> None:
    """Sequences of more than three keys are tried where they are asked for, and not all of them where none is: then nothing is
    proven, and no bound of the cost model is to blame."""
    random = Random(0)
    rows = [(i, random.randrange(160), random.randrange(10), random.randrange(200)) for i in range(800)]
    session = Session({"t": pa.table(list(zip(*rows, strict=True)), ["k", "a", "b", "c"])})
    lowest = "select z.k from t z where z.a > x.k and z.k > x.b and z.c > y.c and z.b > x.a order by 1 limit 1"
    found = session.optimize(
        f"select count(*) from t x where x.k = (select y.c from t y where y.b < x.k and y.a = ({lowest}) order by 1 limit 1)"
    )
    assert not found.search.proven and "sequences" in found.search.heuristic
