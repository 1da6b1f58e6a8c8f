"""D1 to D25 and the named bugs, query by query: naive evaluation = every decorrelation method = DuckDB.

In the default run every other query meets the rich dataset with one method, in turns, and every sixth another dataset; the slow
tests try all with every method, on several datasets. What DuckDB does not run at all stands at the end.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import duckdb
import pytest

from optimizer.errors import SqlError
from optimizer.sql.bind import bind
from tests.cases import Case, numbered, params, read
from tests.differential.correlated.engines import METHODS, Engines, Failed, assert_agree, assert_rows
from tests.differential.correlated.tables import EMPTY_INNER, EMPTY_OUTER, ONE_ROW, RICH_DATA

EVERYWHERE = (RICH_DATA, EMPTY_INNER, EMPTY_OUTER, 4, ONE_ROW)
OTHERS = (EMPTY_INNER, EMPTY_OUTER, 4, 5, ONE_ROW, 7)
HERE = Path(__file__).parent
PITFALLS = read(HERE / "pitfalls.cases", "naive", "raises", "refused")
ANSWERED = [case for case in PITFALLS if "refused" not in case.marks] + read(HERE / "named_bugs.cases")


@pytest.mark.parametrize(("number", "case"), numbered(ANSWERED)[::2])
def test_rich_data(number: int, case: Case, pool: Callable[[int], Engines]) -> None:
    check(case, pool(RICH_DATA), (METHODS[number // 2 % len(METHODS)],))


@pytest.mark.parametrize(("number", "case"), numbered(ANSWERED)[::6])
def test_other_data(number: int, case: Case, pool: Callable[[int], Engines]) -> None:
    check(case, pool(OTHERS[number // 6 % len(OTHERS)]), (METHODS[number % len(METHODS)],))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "case"), numbered(ANSWERED))
def test_all_data(number: int, case: Case, pool: Callable[[int], Engines]) -> None:
    for data in EVERYWHERE:
        check(case, pool(data))
    if (other := OTHERS[number // 3 % len(OTHERS)]) not in EVERYWHERE:
        check(case, pool(other), (METHODS[number % len(METHODS)],))


def check(case: Case, engines: Engines, methods: tuple[str, ...] = METHODS) -> None:
    """`raises` holds for the rich dataset; elsewhere a query of that kind gives rows or not, all engines alike."""
    wanted = engines.by_definition(case.sql)
    expected = engines.by_duckdb(case.sql)
    where = engines.reproducer(case.sql)
    if engines.data.number == RICH_DATA:
        assert isinstance(wanted, Failed) == ("raises" in case.marks), f"naive: {wanted}\n{where}"
    if "naive" not in case.marks:
        if isinstance(expected, Failed):
            assert not isinstance(expected.error, duckdb.BinderException | duckdb.NotImplementedException), f"{expected}\n{where}"
            assert isinstance(wanted, Failed), f"DuckDB fails, the naive evaluation does not: {expected}\n{where}"
        else:
            with explained("naive", where):
                assert_agree(expected, wanted)
    for method in methods:
        with explained(method, where):
            actual = engines.by_method(case.sql, method)
            if isinstance(wanted, Failed):
                assert isinstance(actual, Failed), f"{actual.num_rows} rows instead of an error: {wanted}"
            elif "naive" in case.marks or isinstance(expected, Failed):
                assert_rows(wanted, actual)
            else:
                assert_agree(expected, actual)


class explained:
    """Says which engine failed on which query and data."""

    def __init__(self, name: str, where: str) -> None:
        self.name, self.where = name, where

    def __enter__(self) -> None:
        pass

    def __exit__(self, type: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise AssertionError(f"{self.name}: {error.__class__.__name__}: {error}\n\n{self.where}") from error


@pytest.mark.parametrize("case", params([case for case in PITFALLS if "refused" in case.marks]))
def test_refused(case: Case, pool: Callable[[int], Engines]) -> None:
    """What planscope lacks it refuses by name; it does not answer wrongly (DuckDB gives NULL for two of these counts)."""
    engines = pool(RICH_DATA)
    assert not isinstance(engines.by_duckdb(case.sql), Failed)
    with pytest.raises(SqlError):
        bind(case.sql, engines.catalog)


def test_every_reason_not_to_ask_duckdb_is_true(pool: Callable[[int], Engines]) -> None:
    """Where the naive evaluation alone decides, DuckDB does refuse, or answers something else on some dataset."""
    engines = [pool(number) for number in (RICH_DATA, *OTHERS)]
    for case in ANSWERED:
        if "naive" in case.marks:
            assert any(differs(case, each) for each in engines), f"{case.place}: DuckDB agrees everywhere: {case.sql}"


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
    assert list(dict.fromkeys(case.title.partition(":")[0] for case in PITFALLS)) == [f"D{i}" for i in range(1, 26)]
    sqls = [case.sql for case in PITFALLS]
    assert len(sqls) == len(set(sqls))


# ON that reaches over a comma or into an enclosing query, in a region of several joins: bound by the Apply around it. Some
# operators of such a region read outer columns, which the group of the whole region has to know: an Apply asks it what to bind
JOINS_THAT_REACH_OUT = (
    "select r.a, x.b, y.a, z.c from r, q x left join q y on r.a <> y.a left join q z on r.a = z.b",
    "select count(*) from r, q x left join q y on r.a = y.a and x.b = y.b left join t on t.a = y.a left join k on k.a = r.b",
    "select r.a, x.b from r, q x full join q y on x.a = y.b left join t on t.c = r.b and t.a = x.a",
    "select r.a, (select count(*) from q left join t on t.a = q.a and t.c = r.b left join k on k.id = t.a and k.b > r.a) from r",
    "select r.a from r where exists (select 1 from q semi join t on t.a = r.a left join k on k.a = r.b anti join n on n.a = r.a)",
)
# rows compared with subqueries by an ordering, three-valued
ROW_ORDERINGS = (
    "select r.a, (r.a, r.b) < any (select q.a, q.b from q where q.a = r.a) from r",
    "select r.a, (r.a, r.b) >= all (select q.b, q.c from q where q.a < r.a) from r",
    "select r.a, not (r.a, r.b) > any (select q.a, q.b from q) from r",
    "select r.a from r where (r.a, r.b) <= any (select q.a, q.b from q where q.c is not null)",
)


@pytest.mark.parametrize("sql", [*JOINS_THAT_REACH_OUT, *ROW_ORDERINGS])
def test_what_duckdb_does_not_run(sql: str, engines: Engines) -> None:
    wanted = engines.by_definition(sql)
    assert isinstance(wanted, list) and wanted
    for method, prepass in product(METHODS, (True, False)):
        assert_rows(wanted, engines.by_method(sql, method, prepass=prepass))
