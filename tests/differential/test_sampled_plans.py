"""Every plan of a query's space gives the same result: uniformly sampled plans, run and compared with the chosen one.

60 plans in the default run, over 1,000 in all, of TPC-H at scale 0.01 and of random queries over small random tables.
TPC-H samples are drawn among plans of bounded cost, since a nested-loop join of the largest tables takes a minute; over the
small tables there is no such bound.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st

from experiments.plan_space import compare_run, draw, leaves_choice, operator_line, ready
from experiments.timing import run
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.plan_space.of_search import full_space
from planscope import PlanscopeError, Session
from tests.conftest import quick_and_slow
from tests.differential.datasets import POOL, dataset
from tests.differential.queries import Query, queries
from tests.differential.test_random_queries import assert_agrees
from tests.differential.test_tpch import ORDERS, query_text
from tests.examples import try_examples
from tests.reference.compare import rows_of

RULES = {"enumeration": "rules"}
CHEAP = 150_000.0  # µs, estimated


def run_sample(session: Session, sql: str, size: int, random: Random, most: float) -> int:
    """Run `size` plans of the query that cost at most `most`, or as many as there are; how many. All must give the chosen
    plan's rows."""
    query = session.optimize(sql)
    space = full_space(query.engine)
    expected = run(query)
    ranks = draw(space, size, random, most / space.best_cost)
    if space.count < 20_000:
        assert len(ranks) == min(size, sum(plan.cost <= most for plan in map(space.unrank, range(space.count))))
    else:
        assert len(ranks) == size
    for rank in ranks:
        plan = ready(space.unrank(rank), query)
        found = compare_run(query, plan, expected)
        assert found.difference is None, f"plan {rank}, {operator_line(plan)}: {found.difference}"
    return len(ranks)


@pytest.mark.few(3)
@pytest.mark.parametrize("number", ORDERS)
def test_sampled_tpch_plans(number: int, tpch: Catalog) -> None:
    ran = run_sample(Session(tpch, RULES), query_text(number), 5, Random(number), CHEAP)
    assert ran >= {1: 2, 6: 1}.get(number, 4)


@pytest.mark.slow
@pytest.mark.parametrize("number", ORDERS)
def test_many_sampled_tpch_plans(number: int, tpch: Catalog) -> None:
    ran = run_sample(Session(tpch, RULES), query_text(number), 50, Random(-number), 4 * CHEAP)
    assert ran >= {1: 2, 6: 1, 14: 6, 19: 6}.get(number, 14)


class Sampler:
    """Random queries over the pool of datasets; counts the plans it ran."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.ran = 0

    def check(self, query: Query, index: int, number: int, plans: int) -> None:
        session = Session(open_dataset(dataset(self._root, index).folder), RULES)
        try:
            optimized = session.optimize(query.sql)
            expected = rows_of(run(optimized))
            everything = rows_of(session.sql(query.unlimited).table)
        except PlanscopeError:  # the statement overflows, say: then there is no result to compare with
            return
        space = full_space(optimized.engine)
        for rank in draw(space, plans, Random(number)):
            plan = ready(space.unrank(rank), optimized)
            try:
                assert_agrees(query, expected, everything, rows_of(run(optimized, plan)))
            except Exception as error:
                message = f"plan {rank}, {operator_line(plan)}: {type(error).__name__}: {error}\n\n{query.sql}\n\ndataset {index}"
                raise AssertionError(message) from error
            self.ran += 1


@pytest.fixture(scope="module")
def sampler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sampler]:
    return Sampler(tmp_path_factory.mktemp("datasets"))


MANY = ((100 + part, 60, 6, 110) for part in range(5))


@pytest.mark.parametrize(("seed_number", "count", "plans", "least"), quick_and_slow([(1, 20, 4, 30)], MANY))
def test_sampled_plans_of_random_queries(sampler: Sampler, seed_number: int, count: int, plans: int, least: int) -> None:
    before = sampler.ran
    strategies = (queries(), st.integers(0, POOL - 1), st.integers(0, 2**32))
    try_examples(lambda query, index, number: sampler.check(query, index, number, plans), seed_number, count, *strategies)
    assert sampler.ran - before > least


@pytest.mark.parametrize(
    ("sql", "choice"),
    [
        ("select * from nation order by n_regionkey limit 3", True),
        ("select * from nation order by n_nationkey limit 3", False),
        ("select * from nation limit 3", True),
        ("select n_name from nation order by n_name", False),
        ("select random() from nation", True),
        ("select n_name from nation where random() < 0.5", True),
        ("select sum(random()) from nation", True),
        ("select count(*) from (select n_regionkey from nation order by 1 limit 7) x", True),
        ("select r_name, (select n_name from nation where n_regionkey = r_regionkey limit 1) from region", True),
        ("select string_agg(n_name, ',') from nation", True),
        ("select any_value(n_name), max(n_name) from nation group by n_regionkey", True),
        ("select string_agg(n_name, ',') over () from nation", True),
        ("select first(n_name order by n_regionkey) from nation", True),
        ("select first(n_name order by n_nationkey), string_agg(distinct n_comment, ',' order by n_comment) from nation", False),
        ("select arg_min(n_name, n_comment) from nation group by n_nationkey", False),
    ],
)
def test_which_queries_leave_a_choice(sql: str, choice: bool, tpch: Catalog) -> None:
    assert leaves_choice(Session(tpch).optimize(sql)) is choice


def test_a_wrong_plan_is_noticed(tpch: Catalog) -> None:
    """The comparison that the tests above rest on tells a wrong plan of another query from the right one."""
    session = Session(tpch, RULES)
    right, wrong = (session.optimize(f"select n_name from nation where n_regionkey {test} 1") for test in ("=", "<="))
    expected = run(right)
    wrong.columns = right.columns
    found: Any = compare_run(wrong, wrong.plan, expected)
    assert found.difference == "10 rows, not 5"
