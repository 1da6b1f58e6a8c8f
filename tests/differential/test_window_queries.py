"""Random window queries: DuckDB = naive evaluation of the bound tree = the chosen plan on Arrow = other plans of its space.

Over tables of up to 30 rows, stored in no order or sorted; 200 queries in the default run, 4,000 more among the slow tests. The
other plans work on a few rows at a time, so that these cut through partitions.
"""

from math import isclose
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.arrow.context import Tuning
from executor.arrow.run import execute
from executor.session import Session
from experiments.plan_space import draw, ready
from experiments.timing import run
from optimizer.catalog.order import remember_orders
from optimizer.dataset import open_dataset
from optimizer.errors import ExecutionError
from optimizer.plan_space.of_search import full_space
from tests import once
from tests.conftest import quick_and_slow
from tests.differential.window_queries import DDL, NUMBERS, TYPES, WindowQueries, table
from tests.reference.compare import Row, assert_same_bag, assert_same_kinds, assert_same_list, rows_of
from tests.reference.naive import run_query

ORDERS: tuple[tuple[str, ...], ...] = ((), ("id",), ("p", "i"), ("q",))
SETTINGS: tuple[dict[str, object], ...] = (
    {}, {"pruning": "none"}, {"prepass": False}, {"driver": "iterative"}, {"disable": ("partial_sort",)}, {"rule_order": 5},
)  # fmt: skip


class Engines:
    """One table `v`, in memory, in DuckDB and in a folder."""

    def __init__(self, folder: Path, seed: int, rows: int, order: tuple[str, ...]) -> None:
        self.table = table(seed, rows).sort_by([(column, "ascending") for column in order]) if order else table(seed, rows)
        folder.mkdir()
        (folder / "schema.sql").write_text(DDL)
        pq.write_table(self.table, folder / "v.parquet")
        if order:
            remember_orders(folder, {"v": order}, open_dataset(folder).tables)
        self.catalog = open_dataset(folder)
        self.duckdb = duckdb.connect()
        self.duckdb.execute(DDL)
        self.duckdb.register("stored", self.table)
        self.duckdb.execute("insert into v select * from stored")

    def oracle(self, sql: str) -> list[Row] | None:
        """None: DuckDB lets a RANGE bound overflow its type, where only the comparison matters."""
        try:
            return rows_of(self.duckdb.execute(sql).to_arrow_table())
        except duckdb.OutOfRangeException as error:
            if "Overflow in" in str(error):
                return None
            raise

    def naive(self, sql: str) -> list[Row]:
        return run_query(once.bound(sql, self.catalog), {"v": self.table})

    def check(self, sql: str, random: Random, duckdb_too: bool = True) -> None:
        same = assert_same_list if sql.endswith((", id", "order by id")) else assert_same_bag
        session = Session(self.catalog, random.choice(SETTINGS))
        try:
            expected = self.naive(sql)
            query = session.optimize(sql)
            actual = rows_of(run(query))
            oracle = self.oracle(sql) if duckdb_too else None
            if oracle is not None:
                same(oracle, expected)
            same(expected, actual)
            space = full_space(query.engine)
            assert isclose(query.cost, space.best_cost), f"the plan costs {query.cost}, the cheapest {space.best_cost}"
            for rank in draw(space, 1, random):
                plan = ready(space.unrank(rank), query)
                small = Tuning(random.choice([1, 3]), window=random.choice([1, 4, 9]), workers=1)
                made = execute(plan, query.columns, self.catalog.tables, tuning=small).read_all()
                same(expected, rows_of(made.select([f"c{output.id}" for output in query.outputs])))
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n\n{sql}\n\n{self.table.to_pydict()}") from error


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> list[Engines]:
    root = tmp_path_factory.mktemp("windows")
    sizes = (0, 1, 6, 13, 30, 30, 21, 8)
    return [Engines(root / str(n), n, rows, ORDERS[n % len(ORDERS)]) for n, rows in enumerate(sizes)]


MANY = [(3, 80, False), *((100 + part, 300, part == 7) for part in range(8))]


@pytest.mark.parametrize(("seed", "count", "inverted"), quick_and_slow([(1, 40, False), (2, 20, True)], MANY))
def test_random_window_queries(engines: list[Engines], seed: int, count: int, inverted: bool) -> None:
    """`inverted`: frames that end before they start too, where DuckDB goes wrong."""
    queries, random = WindowQueries(seed, inverted), Random(seed)
    for _ in range(count):
        random.choice([engines[0], *engines[1:] * 4]).check(queries.text(), random, duckdb_too=not inverted)


def test_types_are_duckdbs(engines: list[Engines]) -> None:
    """Of every function over every type that it takes."""
    calls = [f"{f}() over w" for f in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")] + ["ntile(3) over w"]
    for column in TYPES:
        calls += [f"{f}({column}) over w" for f in ("lag", "lead", "first_value", "last_value", "count", "min", "max")]
        calls.append(f"nth_value({column}, 2) over w")
        if column in NUMBERS:
            calls += [f"sum({column}) over w", f"avg({column}) over w"]
    sql = f"select {', '.join(calls)} from v window w as (order by id)"
    expected, actual = engines[4].duckdb.execute(sql).to_arrow_table(), Session(engines[4].catalog).sql(sql).table
    assert_same_kinds(expected, actual)
    assert_same_bag(rows_of(expected), rows_of(actual))


def test_a_window_needs_a_row_per_bucket(engines: list[Engines]) -> None:
    with pytest.raises(ExecutionError, match="above 0"):
        Session(engines[4].catalog).sql("select ntile(id - 3) over () from v")
    with pytest.raises(ExecutionError, match="above 0"):
        engines[4].naive("select ntile(id - 3) over () from v")


@pytest.mark.parametrize("rows", [3, 70, 1000])
def test_long_and_short_partitions_together(rows: int, tmp_path: Path) -> None:
    """Sizes at which scans take another way, with a window of rows that cuts through partitions."""
    random = Random(rows)
    sizes = [random.choice([1, 2, 5, rows]) for _ in range(12)]
    made = pa.table(
        {
            "p": pa.array([k for k, size in enumerate(sizes) for _ in range(size)]),
            "o": pa.array([random.randrange(rows) for size in sizes for _ in range(size)]),
            "f": pa.array([random.choice([0.25, -1.5, 1e300, None]) for size in sizes for _ in range(size)]),
            "i": pa.array([random.choice([None, 1, -7, 1 << 62]) for size in sizes for _ in range(size)]),
        }
    )
    pq.write_table(made, tmp_path / "v.parquet")
    connection = duckdb.connect()
    connection.register("v", made)
    calls = ("count(i)", "min(f)", "max(i)", "sum(i)", "count(distinct i)", "sum(distinct i)")
    frames = (
        "order by o",
        "order by o, f, i rows 3 preceding",
        "order by o range between 2 preceding and 40 following",
        "order by o, f, i rows between current row and unbounded following",
    )
    items = ", ".join(f"{call} over (partition by p {frame})" for call in calls for frame in frames)
    sql = f"select p, o, rank() over (partition by p order by o), {items} from v"
    assert_same_bag(rows_of(connection.execute(sql).to_arrow_table()), rows_of(Session(tmp_path).sql(sql).table))
