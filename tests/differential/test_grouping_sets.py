"""GROUPING SETS, ROLLUP and CUBE: DuckDB = naive evaluation = the optimized plan, on NULL keys, duplicates and empty tables."""

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from executor.arrow.context import Tuning
from executor.session import Session
from optimizer.errors import SqlError
from tests.cases import Case, params, read
from tests.differential.datasets import dataset
from tests.differential.engines import Engines, engines_over_tables
from tests.reference.compare import Row

DATASETS = (0, 1, 4, 5, 7)  # 7 has no rows
SMALL = Tuning(batch=2, merge=3, part=2, inline=1, workers=1)  # partial groups are merged many times

CASES = read(Path(__file__).parent / "grouping_sets.cases", "refused")


def check(engines: Engines, sql: str) -> list[Row]:
    return engines.check(sql, tuning=SMALL, ordered=" order by " in sql)


@pytest.fixture(scope="module", params=DATASETS)
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return Engines(dataset(tmp_path_factory.mktemp("data"), request.param))


@pytest.mark.few(2)
@pytest.mark.parametrize("case", params([case for case in CASES if "refused" not in case.marks]))
def test_forms(engines: Engines, case: Case) -> None:
    check(engines, case.sql)


@pytest.mark.few(2)
def test_random_grouping_sets(engines: Engines) -> None:
    dice = random.Random(engines.catalog.name)
    rows = sum(len(check(engines, random_query(dice))) for _ in range(10))
    assert rows > 5, "the queries have rows"


def test_the_order_of_rows_decides_at_every_level(tmp_path: Path) -> None:
    t = pa.table({"k": [1, 2, 1, 2], "y": [5, 1, 1, None], "x": ["a", "b", "c", None]})
    engines = engines_over_tables(tmp_path, {"t": t})
    calls = "arg_min(x, y), arg_max(x, -y), first(x), last(x), first(x ORDER BY y), last(x) FILTER (WHERE y > 0), any_value(x)"
    check(engines, f"select k, {calls}, mode(x), string_agg(x, ',') from t group by rollup (k)")
    engines.check("select string_agg(distinct x, ',') from t group by rollup (k)", duckdb_too=False)


def test_refused_like_duckdb(tmp_path: Path) -> None:
    engines = Engines(dataset(tmp_path, 0))
    for case in CASES:
        if "refused" in case.marks:
            with pytest.raises(duckdb.Error):
                engines.duckdb.execute(case.sql)
            with pytest.raises(SqlError):
                Session(engines.catalog).sql(case.sql)


def test_a_single_set_is_an_aggregate(tmp_path: Path) -> None:
    session = Session(dataset(tmp_path, 0).folder)
    for group in ("grouping sets ((k, s))", "k, grouping sets (s)", "(k, s), ()"):
        plan = session.explain(f"select k, s, grouping(s, k), count(*) from t group by {group}").query.plan
        assert not any(node.op.name == "hash_grouping_sets" for node in plan.walk())


KEYS = ("k", "s", "f", "x", "k + 1", "rid", "(s is null)")
CALLS = (
    "count(*)", "count(k)", "sum(k)", "avg(x)", "min(s)", "max(k)", "count(distinct k)", "sum(distinct rid)",
    "sum(k) filter (where f)", "max(x)",
)  # fmt: skip


def random_query(dice: random.Random) -> str:
    keys = dice.sample(KEYS, dice.randint(1, 4))

    def some(least: int) -> list[str]:
        return [dice.choice(keys) for _ in range(dice.randint(least, 3))]

    def element(depth: int) -> str:
        match dice.randrange(5 if depth else 3):
            case 0:
                return f"({', '.join(some(0))})"
            case 1:
                return f"rollup ({', '.join(some(1))})"
            case 2:
                return f"cube ({', '.join(some(1)[:2])})"
        return f"grouping sets ({', '.join(element(depth - 1) for _ in range(dice.randint(1, 3)))})"

    elements = [element(2) for _ in range(dice.randint(1, 2))]
    shown = [key for key in keys if any(key in each for each in elements)]
    # "k" is written in "k + 1" too: name all keys in one more element, so that each is a key
    elements.append(f"grouping sets (({', '.join(shown)}), ())" if shown else "()")
    items = [f"{key} as c{i}" for i, key in enumerate(shown)] + dice.sample(CALLS, dice.randint(0 if shown else 1, 3))
    if shown and dice.random() < 0.7:
        items.append(f"grouping({', '.join(dice.choice(shown) for _ in range(dice.randint(1, 3)))}) as g")
    sql = f"select {', '.join(items)} from {dice.choice(['t', 't', '(select * from t where f) t'])}"
    sql += f" group by {', '.join(elements)}"
    if shown and dice.random() < 0.4:
        sql += f" having {dice.choice(['count(*) > 1', f'grouping({shown[0]}) = 1', f'{shown[0]} is not null'])}"
    return sql
