"""Random queries over small random tables: DuckDB = naive evaluation of the bound tree = optimized plan on Arrow.

QUICK queries in the default run, MANY more among the slow tests (PLANSCOPE_FUZZ_QUERIES=100000 makes them that many), in
parts so that workers can share them. Every run tries the same ones. Most are planned with settings changed or rules off, which
changes the plan and nothing else. Where a predicate of a join may raise, DuckDB may see it raise on rows that the text keeps
from it, and the naive evaluation alone counts. A failure shows the smallest query found, with its data as SQL.
"""

import functools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import strategies as st

from optimizer.errors import ExecutionError, InternalError, PlanscopeError, SqlError
from tests.conftest import quick_and_slow
from tests.differential.datasets import POOL, dataset
from tests.differential.engines import Engines
from tests.differential.join_queries import join_queries, raising_join_queries
from tests.differential.queries import Query, failing_queries, queries
from tests.differential.variants import variants
from tests.examples import try_examples
from tests.reference.compare import Row, assert_result, assert_same_kinds, rows_of

# a third join many tables; one in ten has a join that may raise, one in ten is meant to fail on some values
STATEMENTS = st.integers(0, 9).flatmap(
    lambda die: (
        failing_queries() if die == 9 else raising_join_queries() if die == 8 else join_queries() if die > 3 else queries()
    )
)
ANY_WAY = variants()


def twice(query: Query, form: str) -> Query:
    sql = form.format(query.unlimited)
    return Query(sql, sql, raising=query.raising)


TWICE_THE_SAME = st.builds(
    twice,
    st.one_of(queries(), join_queries(), raising_join_queries()),
    st.sampled_from(
        (
            "SELECT count(*) FROM ({0}) x, ({0}) y",
            "SELECT * FROM ({0}) x UNION ALL SELECT * FROM ({0}) y",
            "SELECT * FROM ({0}) x EXCEPT ALL SELECT * FROM ({0}) y",
            "SELECT * FROM (SELECT DISTINCT * FROM ({0}) x) UNION ALL SELECT * FROM ({0}) y",
        )
    ),
)
COMMON_PARTS = st.builds(lambda own, each: {**each, "common_parts": own}, st.sampled_from(("always", "cost")), ANY_WAY)


MANY, PARTS = int(os.environ.get("PLANSCOPE_FUZZ_QUERIES", "12000")), 24
RANDOM = quick_and_slow([(0, 50), (1, 50)], [(2, 200), *((1000 + part, MANY // PARTS) for part in range(PARTS))])


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Engines]:
    root: Path = tmp_path_factory.mktemp("datasets")
    return functools.cache(lambda index: Engines(dataset(root, index)))


@pytest.mark.parametrize(("seed_number", "count"), RANDOM)
def test_random_queries(pool: Callable[[int], Engines], seed_number: int, count: int) -> None:
    try_queries(pool, seed_number, count)


@pytest.mark.parametrize(("seed_number", "count"), quick_and_slow([(2000, 20)], [(2001, 500), (2002, 500)]))
def test_queries_with_a_part_twice(pool: Callable[[int], Engines], seed_number: int, count: int) -> None:
    try_queries(pool, seed_number, count, TWICE_THE_SAME, COMMON_PARTS)


def try_queries(
    pool: Callable[[int], Engines],
    seed_number: int,
    count: int,
    statements: st.SearchStrategy[Query] = STATEMENTS,
    ways: st.SearchStrategy[dict[str, Any]] = ANY_WAY,
) -> None:
    strategies = (statements, st.integers(0, POOL - 1), ways)
    try_examples(lambda query, index, way: compare_engines(pool(index), query, way), seed_number, count, *strategies)


def compare_engines(engines: Engines, query: Query, variant: dict[str, Any]) -> None:
    name = f"optimized with {variant}" if variant else "optimized"
    if query.raising:
        compare_with_naive(engines, query, variant, name)
        return
    try:
        expected = engines.duckdb.execute(query.sql).to_arrow_table()
        rows = everything = rows_of(expected)
        if query.unlimited != query.sql:
            everything = rows_of(engines.duckdb.execute(query.unlimited).to_arrow_table())
    except duckdb.Error as error:
        with reported(engines, query, "naive"):
            assert_fails(lambda: engines.naive(query.sql), error)
        with reported(engines, query, name):
            assert_fails(lambda: engines.optimized(query.sql, variant), error)
        return
    with reported(engines, query, "naive"):
        assert_agrees(query, rows, everything, engines.naive(query.sql))
    with reported(engines, query, name):
        table = engines.optimized(query.sql, variant)
        assert_same_kinds(expected, table)
        assert_agrees(query, rows, everything, rows_of(table))


def compare_with_naive(engines: Engines, query: Query, variant: dict[str, Any], name: str) -> None:
    """Where the naive evaluation raises, a plan may, but need not: it may look at fewer rows."""
    try:
        everything = engines.naive(query.unlimited)
        expected = everything if query.unlimited == query.sql else engines.naive(query.sql)
    except InternalError:
        raise
    except PlanscopeError:
        with reported(engines, query, name), suppress(SqlError, ExecutionError):
            engines.optimized(query.sql, variant)
        return
    with reported(engines, query, name):
        assert_agrees(query, expected, everything, rows_of(engines.optimized(query.sql, variant)))


def assert_agrees(query: Query, expected: list[Row], everything: list[Row], actual: list[Row]) -> None:
    """`everything` is the expected result without the outermost LIMIT."""
    assert_result(expected, actual, query.order, query.total, None if query.limit is None else everything)


def assert_fails(run: Callable[[], object], error: duckdb.Error) -> None:
    if isinstance(error, duckdb.BinderException):
        return  # DuckDB folds a grouping key such as x = x before it looks for it: the judge does not take the question
    try:
        result = run()
    except InternalError:
        raise
    except PlanscopeError:
        return
    raise AssertionError(f"DuckDB fails with {str(error).splitlines()[0]!r}, but the result is {result}")


@contextmanager
def reported(engines: Engines, query: Query, name: str) -> Iterator[None]:
    """Any error inside becomes an AssertionError with the statement and the data it reads."""
    try:
        yield
    except Exception as error:
        used = {table for table in engines.data.tables if re.search(rf"\b{table}\b", query.sql)}
        message = f"{name}: {type(error).__name__}: {error}\n\n{query.sql}\n\n{engines.data.show(used)}"
        raise AssertionError(message) from error
