"""D1 to D25 and the named bugs, query by query: naive evaluation = every decorrelation method = DuckDB.

In the default run every other query meets the rich dataset with one method, in turns, and every third another dataset; the
rest is for the slow tests.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from optimizer.errors import SqlError
from optimizer.sql.bind import bind
from tests.differential.correlated.engines import METHODS, Engines, Failed, assert_agree, assert_rows, engines_over
from tests.differential.correlated.named_bugs import NAMED_BUGS
from tests.differential.correlated.pitfalls import PITFALLS, Case
from tests.differential.correlated.tables import EMPTY_INNER, EMPTY_OUTER, ONE_ROW, RICH_DATA

OTHERS = (EMPTY_INNER, EMPTY_OUTER, 4, 5, ONE_ROW, 7)
CASES = {f"{id}-{i}": case for id, pitfall in PITFALLS.items() for i, case in enumerate(pitfall.cases)} | {
    f"{name.replace(' ', '_')}-{i}": Case(sql) for name, queries in NAMED_BUGS.items() for i, sql in enumerate(queries)
}
ANSWERED = {id: case for id, case in CASES.items() if not case.refused}


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Engines]:
    root: Path = tmp_path_factory.mktemp("correlated")
    return functools.cache(lambda number: engines_over(root, number))


@pytest.mark.few(2)
@pytest.mark.parametrize(("number", "id"), list(enumerate(ANSWERED)), ids=ANSWERED)
def test_rich_data(number: int, id: str, pool: Callable[[int], Engines]) -> None:
    check(ANSWERED[id], pool(RICH_DATA), (METHODS[number // 2 % len(METHODS)],))


@pytest.mark.few(3)
@pytest.mark.parametrize(("number", "id"), list(enumerate(ANSWERED)), ids=ANSWERED)
def test_other_data(number: int, id: str, pool: Callable[[int], Engines]) -> None:
    check(ANSWERED[id], pool(OTHERS[number // 3 % len(OTHERS)]), (METHODS[number % len(METHODS)],))


@pytest.mark.slow
@pytest.mark.parametrize("id", ANSWERED)
def test_all_data(id: str, pool: Callable[[int], Engines]) -> None:
    for number in (RICH_DATA, EMPTY_INNER, EMPTY_OUTER, 4, ONE_ROW):
        check(ANSWERED[id], pool(number))


def check(case: Case, engines: Engines, methods: tuple[str, ...] = METHODS) -> None:
    """`raises` holds for the rich dataset; elsewhere a query of that kind gives rows or not, all engines alike."""
    wanted = engines.by_definition(case.sql)
    expected = engines.by_duckdb(case.sql)
    where = engines.reproducer(case.sql)
    if engines.data.number == RICH_DATA:
        assert isinstance(wanted, Failed) == case.raises, f"naive: {wanted}\n{where}"
    if not case.duckdb:
        if isinstance(expected, Failed):
            assert not isinstance(expected.error, duckdb.BinderException | duckdb.NotImplementedException), f"{expected}\n{where}"
            assert isinstance(wanted, Failed), f"DuckDB fails, the naive evaluation does not: {expected}\n{where}"
        else:
            with explained("naive", where):
                assert_agree(expected, wanted, case.ordered)
    for method in methods:
        with explained(method, where):
            actual = engines.by_method(case.sql, method)
            if isinstance(wanted, Failed):
                assert isinstance(actual, Failed), f"{actual.num_rows} rows instead of an error: {wanted}"
            elif case.duckdb or isinstance(expected, Failed):
                assert_rows(wanted, actual, case.ordered)
            else:
                assert_agree(expected, actual, case.ordered)


class explained:
    """Says which engine failed on which query and data."""

    def __init__(self, name: str, where: str) -> None:
        self.name, self.where = name, where

    def __enter__(self) -> None:
        pass

    def __exit__(self, type: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise AssertionError(f"{self.name}: {error.__class__.__name__}: {error}\n\n{self.where}") from error


@pytest.mark.parametrize("id", [id for id, case in CASES.items() if case.refused])
def test_refused(id: str, pool: Callable[[int], Engines]) -> None:
    """What planscope lacks it refuses by name; it does not answer wrongly (DuckDB gives NULL for two of these counts)."""
    engines = pool(RICH_DATA)
    assert not isinstance(engines.by_duckdb(CASES[id].sql), Failed)
    with pytest.raises(SqlError):
        bind(CASES[id].sql, engines.catalog)


def test_every_reason_not_to_ask_duckdb_is_true(pool: Callable[[int], Engines]) -> None:
    """Where the naive evaluation alone decides, DuckDB does refuse, or answers something else on some dataset."""
    engines = [pool(number) for number in (RICH_DATA, *OTHERS)]
    for id, case in ANSWERED.items():
        if case.duckdb:
            assert any(differs(case, each) for each in engines), f"{id}: DuckDB agrees everywhere: {case.sql}"


def differs(case: Case, engines: Engines) -> bool:
    wanted, expected = engines.by_definition(case.sql), engines.by_duckdb(case.sql)
    if isinstance(expected, Failed) or isinstance(wanted, Failed):
        return isinstance(expected, Failed) != isinstance(wanted, Failed)
    try:
        assert_agree(expected, wanted)
    except AssertionError:
        return True
    return False


def test_the_table_is_complete() -> None:
    assert list(PITFALLS) == [f"D{i}" for i in range(1, 26)]
    sqls = [case.sql for pitfall in PITFALLS.values() for case in pitfall.cases]
    assert len(sqls) == len(set(sqls))
