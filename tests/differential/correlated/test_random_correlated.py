"""Random correlated queries: naive evaluation of the bound tree = every decorrelation method = DuckDB.

40 queries in the default run, 800 more among the slow tests, in parts that workers can share. The naive evaluation is the
judge; DuckDB must agree with it unless it fails. Where the naive evaluation fails, a plan may fail or look at fewer rows. A
failure shows the smallest query found, its data as SQL.
"""

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from tests.conftest import quick_and_slow
from tests.differential.correlated.engines import METHODS, Engines, Failed, assert_agree, assert_rows
from tests.differential.correlated.generator import Query, correlated_queries
from tests.differential.correlated.tables import DATASETS
from tests.examples import try_examples

EXAMPLES = (correlated_queries(), st.integers(0, DATASETS - 1))
PARTS = quick_and_slow(((part, 10) for part in range(4)), ((1000 + part, 200) for part in range(4)))


@pytest.mark.few(4)
@pytest.mark.parametrize(("seed_number", "count"), PARTS)
def test_random_queries(pool: Callable[[int], Engines], seed_number: int, count: int) -> None:
    try_examples(lambda query, number: compare_engines(pool(number), query), seed_number, count, *EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_trees_after_each_stage(pool: Callable[[int], Engines], part: int) -> None:
    """Removal, each method and the pre-pass on their own, without a search or an executor that could hide what they do."""
    try_examples(lambda query, number: compare_stages(pool(number), query), 2000 + part, 150, *EXAMPLES)


def test_trees_of_a_choice_stay_equal(pool: Callable[[int], Engines]) -> None:
    """Once an outer join became an inner one in one tree of a choice, for what a filter above says, and not in the other."""
    sql = (
        "select x1.a, x2.c1 from r x1, lateral (select sum(x3.a) c0, (select count(*) from q x4 where x4.a is not distinct from"
        " x1.a and x4.a is not distinct from (select coalesce(count(*), 0) from q x5 where x5.a = x4.a)) c1 from q x3"
        " where x3.a = x1.a) x2 left join r x6 on x1.a = x6.a where x1.a = all (select x7.a from q x7 where x7.a = x1.a)"
        " and x1.b = x2.c0"
    )
    compare_stages(pool(9), Query(sql, frozenset()))


def compare_stages(engines: Engines, query: Query) -> None:
    wanted = engines.by_definition(query.sql)
    for method in METHODS:
        stage = method
        try:
            for name, rows in engines.by_trees(query.sql, method).items():
                stage = name
                if not isinstance(wanted, Failed):
                    assert_rows(wanted, rows)
        except Exception as error:
            raise AssertionError(f"{stage}: {type(error).__name__}: {error}\n\n{engines.reproducer(query.sql)}") from error


def compare_engines(engines: Engines, query: Query, methods: tuple[str, ...] = METHODS) -> None:
    name = "naive"
    try:
        wanted = engines.by_definition(query.sql)
        expected = engines.by_duckdb(query.sql)
        if not isinstance(wanted, Failed) and not isinstance(expected, Failed):
            assert_agree(expected, wanted)
        for method in methods:
            name = method
            actual = engines.by_method(query.sql, method)
            if not isinstance(wanted, Failed):
                assert_rows(wanted, actual)
    except Exception as error:
        raise AssertionError(f"{name}: {type(error).__name__}: {error}\n\n{engines.reproducer(query.sql)}") from error
