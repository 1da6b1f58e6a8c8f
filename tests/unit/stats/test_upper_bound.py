"""Upper bounds are never below the truth, whatever the query, the data and the order of joins."""

import functools
import random
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase
from hypothesis import strategies as st

from experiments.duckdb_estimates import FlatQuery
from experiments.sub_plans import JOINS_ALONE, SubPlans
from optimizer.algebra.ctes import with_spools
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.spools import Spool, With
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.errors import InternalError, PlanscopeError
from optimizer.memo.memo import Memo
from optimizer.settings import DEFAULTS, Settings
from optimizer.stats.upper_bound import whole
from planscope import OptimizedQuery, Optimizer, Tree
from tests.conftest import quick_and_slow
from tests.differential.correlated.engines import engines_over
from tests.differential.correlated.generator import correlated_queries
from tests.differential.correlated.tables import DATASETS
from tests.differential.datasets import POOL, dataset
from tests.differential.join_queries import join_queries
from tests.differential.queries import queries
from tests.examples import try_examples
from tests.reference.exact_statistics import with_exact_statistics
from tests.reference.naive import run
from tests.search.stored_tables import catalog as catalog_of
from tests.search.stored_tables import table

BOUND = DEFAULTS.replace(estimator="upper_bound")
PHASES = (Phase.generate,)
Tables = dict[str, pa.Table]


# -- any query: every group of the memo ------------------------------------------------------------------------------------------


def group_tree(memo: Memo, gid: int) -> Tree:
    """The first expression of a group, and so on down to the leaves; what reads spools for a query that has them."""
    expr = memo.group(gid).logical[0]
    if isinstance(expr.op, With):
        return group_tree(memo, expr.inputs[-1])
    inputs = tuple(group_tree(memo, i) for i in expr.inputs)
    if isinstance(expr.op, RegionGraph):
        return expr.op.region.written(expr.op.relations, inputs)
    return Tree(expr.op, inputs)


def assert_bounds_hold(query: OptimizedQuery, tables: Tables) -> int:
    """Every group that reads no outer column has at most its estimated rows; returns how many groups."""
    checked = 0
    spools = [group_tree(query.memo, g.id) for g in query.memo.live_groups() if isinstance(g.logical[0].op, Spool)]
    for group in query.memo.live_groups():
        if group.outer or group.volatile:
            continue
        tree = group_tree(query.memo, group.id)
        if isinstance(tree.op, Spool):
            (tree,) = tree.inputs
        try:
            true = len(run(with_spools(spools, tree), query.columns, tables))
        except InternalError:
            raise
        except PlanscopeError:
            continue  # this expression of the group raises on these rows
        assert group.stats.rows >= true, f"{group.stats.rows} rows at most, {true} in truth: {tree.op}\n{query.sql}"
        checked += 1
    return checked


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool, int], tuple[Catalog, Tables]]:
    folders = {correlated: tmp_path_factory.mktemp("bounds") for correlated in (False, True)}

    @functools.cache
    def made(correlated: bool, index: int) -> tuple[Catalog, Tables]:
        if correlated:
            engines = engines_over(folders[correlated], index)
            return with_exact_statistics(engines.catalog), engines.data.tables
        stored = dataset(folders[correlated], index)
        return with_exact_statistics(open_dataset(stored.folder), common=index % 4), stored.tables

    return made


JOINS_OR_ANY = st.booleans().flatmap(lambda joins: join_queries() if joins else queries())
QUERIES = {  # by whether they are correlated: what is drawn of queries, data and settings
    False: (JOINS_OR_ANY, st.integers(0, POOL - 1), st.sampled_from([{}, {"enumeration": "rules", "budget_mexprs": 400}])),
    True: (
        correlated_queries(), st.integers(0, DATASETS - 1),
        st.sampled_from([{"decorrelate": method} for method in ("general", "none", "value_generator")]),
    ),
}  # fmt: skip
FEW_OR_MANY = quick_and_slow(
    [(False, 5, 50, 200), (True, 6, 30, 100)],
    (case for part in range(8) for case in ((False, 100 + part, 500, 2000), (True, 200 + part, 200, 600))),
)


@pytest.mark.parametrize(("correlated", "seed_number", "count", "least"), FEW_OR_MANY)
def test_every_group_of_random_queries(
    data: Callable[[bool, int], tuple[Catalog, Tables]], correlated: bool, seed_number: int, count: int, least: int
) -> None:
    checked = []

    def bounds_hold(query, index: int, changed: dict[str, object]) -> None:
        catalog, tables = data(correlated, index)
        planned = plan(catalog, BOUND.replace(**changed), query.sql)
        if planned is not None:
            checked.append(assert_bounds_hold(planned, tables))

    try_examples(bounds_hold, seed_number, count, *QUERIES[correlated], phases=PHASES)
    assert sum(checked) > least


def plan(catalog: Catalog, changed: Settings, sql: str) -> OptimizedQuery | None:
    """None where the query is refused."""
    try:
        return Optimizer(catalog, changed).optimize(sql)
    except InternalError:
        raise
    except PlanscopeError:
        return None


# -- joins of skewed tables: every connected set ---------------------------------------------------------------------------------


def skewed_table(dice: random.Random, rows: int) -> pa.Table:
    """`id` is unique, a few values of `a` have most rows, `b` is even, `c` is mostly NULL."""
    values = range(1, 15)
    skew = [1 / value**2 for value in values]
    return pa.table(
        {
            "id": pa.array(dice.sample(range(1, 3 * rows + 2), rows), pa.int32()),
            "a": pa.array(dice.choices(values, skew, k=rows), pa.int32()),
            "b": pa.array([dice.randint(1, 20) for _ in range(rows)], pa.int64()),
            "c": pa.array([dice.randint(1, 5) if dice.random() < 0.3 else None for _ in range(rows)], pa.int32()),
        }
    )


def join_sql(dice: random.Random, tables: int) -> str:
    """A join graph of `tables` relations, connected, sometimes cyclic, with filters on some."""
    predicates = []
    for i in range(1, tables):
        for other in {dice.randrange(i), *([dice.randrange(i)] if dice.random() < 0.4 else [])}:
            predicates.append(f"x{i}.{dice.choice('abc')} = x{other}.{dice.choice(['a', 'b', 'c', 'id'])}")
    for i in range(tables):
        if dice.random() < 0.5:
            predicates.append(f"x{i}.{dice.choice('abc')} {dice.choice(['=', '<', '>=', '<>'])} {dice.randint(1, 6)}")
    dice.shuffle(predicates)
    names = ", ".join(f"t{dice.randrange(4)} as x{i}" for i in range(tables))
    return f"select count(*) from {names} where {' and '.join(predicates)}"


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("skewed")
    dice = random.Random(7)
    connection = duckdb.connect()
    for i, rows in enumerate((60, 25, 120, 0)):
        pq.write_table(skewed_table(dice, rows), folder / f"t{i}.parquet")
        connection.execute(f"create table t{i} as from '{folder / f't{i}.parquet'}'")
    declared = "".join(f"create table t{i} (id integer primary key);\n" for i in range(3))
    (folder / "schema.sql").write_text(declared)
    return with_exact_statistics(open_dataset(folder), common=3), connection


def test_every_set_of_skewed_joins(skewed: tuple[Catalog, duckdb.DuckDBPyConnection]) -> None:
    catalog, connection = skewed
    optimizer = Optimizer(catalog, BOUND.replace(disable=[*JOINS_ALONE, "join_infer_filter"]))
    checked = close = 0
    for number in range(40):
        sql = join_sql(random.Random(number), 2 + number % 3)
        sub_plans, flat = SubPlans(optimizer.optimize(sql)), FlatQuery(sql)
        aliases = sorted(flat.tables)
        for size in range(1, len(aliases) + 1):
            for chosen in combinations(aliases, size):
                if not sub_plans.graph.connected(sum(1 << sub_plans.aliases.index(alias) for alias in chosen)):
                    continue
                text = flat.sub_query(chosen)
                true = connection.execute(text).fetchall()[0][0]
                bound = sub_plans.rows(chosen)
                assert bound >= true, text
                checked += 1
                close += bound <= 10 * true
    assert checked > 150 and close > checked / 3


# -- what bounds are -----------------------------------------------------------------------------------------------------------


def bound(catalog: Catalog, sql: str) -> float:
    """The rows of what is below the count."""
    plan = Optimizer(catalog, BOUND.replace(disable=list(JOINS_ALONE))).optimize(sql).plan
    return plan.inputs[0].rows if plan.inputs else 0.0


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("t0 as f, t1 as k where f.b = k.id", 60),  # to a key: no more than the referring side
        ("t0 as f, t1 as k where f.b = k.id and k.a < 0", 0),  # beyond the least value
        ("t0 as f, t3 as e where f.a = e.a", 0),
        ("t1 as k where k.id = 3", 1),
        ("t1 as k where k.id in (3, 4, 4)", 2),
        ("t1 as k where k.id between 3 and 7", 5),  # a key, so each number once
        ("t2 as f where f.c is null and f.c = 1", 0),
        ("(select a, c from t2 group by a, c) as g", None),
        ("(select distinct c from t2) as g", 6),
        ("(select a from t0 limit 10) as g", 10),
        ("(select a from t0 union all select a from t1) as g", 85),
        ("(select a from t0 intersect all select a from t1) as g", 25),
        ("t0 left join t1 on t0.b = t1.id", 60),
        ("t0 full join t1 on t0.id = t1.id", 85),
        ("t1 where exists (select 1 from t0 where t0.c = t1.c)", None),
    ],
)
def test_bounds(skewed: tuple[Catalog, duckdb.DuckDBPyConnection], where: str, expected: int | None) -> None:
    catalog, connection = skewed
    true = connection.execute(f"select count(*) from {where}").fetchall()[0][0]
    found = bound(catalog, f"select count(*) from {where}")
    assert found >= true
    assert expected is None or found == expected


def test_two_relations_by_degree_sequences(skewed: tuple[Catalog, duckdb.DuckDBPyConnection]) -> None:
    """Σ d_R(i) · d_S(i), which is no more than min(|R| · mf(S), |S| · mf(R))."""
    catalog, connection = skewed
    each = []
    for name in ("t0", "t2"):
        counts = connection.execute(f"select count(*) from {name} group by a order by 1 desc").fetchall()
        each.append([count for (count,) in counts])
    expected = sum(x * y for x, y in zip(*each, strict=False))
    assert bound(catalog, "select count(*) from t0 as r, t2 as s where r.a = s.a") == expected
    assert expected <= min(60 * each[1][0], 120 * each[0][0])


def test_the_order_of_joins_does_not_matter(skewed: tuple[Catalog, duckdb.DuckDBPyConnection]) -> None:
    """Join rules merge groups only of equal estimates; and another order of the text gives the same."""
    catalog, _ = skewed
    found = set()
    for order in (("t0 as x", "t1 as y", "t2 as z"), ("t2 as z", "t0 as x", "t1 as y"), ("t1 as y", "t2 as z", "t0 as x")):
        for enumeration in ("rules", "adaptive"):
            where = "x.a = y.a and y.b = z.id and z.c = x.c and x.b < 7"
            changed = BOUND.replace(enumeration=enumeration)
            query = Optimizer(catalog, changed).optimize(f"select count(*) from {', '.join(order)} where {where}")
            found.add(query.plan.inputs[0].rows)
    assert len(found) == 1


def test_relations_that_repeat_as_much_are_joined_so_that_a_key_closes() -> None:
    """Nothing is known of degrees, so all repeat alike at first; the first of FROM had been taken, for 10,000 times the rows."""
    tables = catalog_of(table("a", 10000, {"i": 1000, "k": 1000}, "i k"), table("b", 10000, {"j": 1000, "k": 1000}))
    for order in ("a t0, b t1, b t3", "b t1, a t0, b t3", "b t3, b t1, a t0"):
        sql = f"select t0.k from {order} where t0.k = t1.j and t0.i = t3.k"
        assert Optimizer(tables, BOUND).optimize(sql).plan.rows == 1e8


def test_unknown_statistics_are_taken_at_their_worst(tmp_path: Path) -> None:
    for name in ("r", "s"):
        pq.write_table(pa.table({"k": [1, 1, 2, None], "x": [0.0, -0.0, 1.0, None]}), tmp_path / f"{name}.parquet")
    catalog = open_dataset(tmp_path)
    assert bound(catalog, "select count(*) from r, s where r.k = s.k") == 9  # NULL counts come from the files
    assert bound(with_exact_statistics(catalog), "select count(*) from r, s where r.k = s.k") == 5
    assert bound(with_exact_statistics(catalog), "select count(*) from r, s where r.x = s.x") == 9  # 0.0 = -0.0
    assert bound(with_exact_statistics(catalog), "select count(*) from r, s where r.k is not distinct from s.k") == 6


def test_whole_numbers() -> None:
    assert [whole(x) for x in (0.0, 2.9999999999, 3.0000000001, 3.5)] == [0, 3, 3, 3]
    assert whole(1e300) >= 1e300 and whole(float("inf")) == float("inf")
