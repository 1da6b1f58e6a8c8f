"""Common table expressions: DuckDB = naive evaluation, which fills a spool once = every way to treat them, by every method.

Where one is volatile its rows cannot be compared with another engine's, but all its readers must have the same.
"""

from pathlib import Path
from typing import Any

import pytest

from executor.arrow.context import Tuning
from executor.arrow.counters import Counters
from executor.arrow.run import execute
from executor.session import Session
from optimizer.errors import ExecutionError
from tests.cases import Case, numbered, params, read
from tests.differential.correlated.engines import METHODS, Engines, Failed, assert_agree, assert_rows
from tests.reference.compare import rows_of

CASES = read(Path(__file__).parent / "ctes.cases", "once")
QUERIES = [case for case in CASES if "once" not in case.marks]
WAYS: tuple[dict[str, Any], ...] = tuple({"ctes": way} for way in ("cost", "spool", "inline"))
SETTINGS: tuple[dict[str, Any], ...] = (
    {"driver": "iterative"}, {"prepass": False}, {"prepass": False, "ctes": "spool"}, {"cost_model": "c_mm"},
    {"exploration": "on_demand"}, {"cost_model": "c_out"}, {"cost_model": "spark"}, {"estimator": "upper_bound"},
    {"estimator": "true"}, {"estimator": "perturbed", "ctes": "spool"}, {"enumeration": "rules", "rule_order": 3},
    {"pruning": "none", "ctes": "spool"},
)  # fmt: skip


def is_ordered(sql: str) -> bool:
    return "order by" in sql.rpartition(")")[2]


@pytest.mark.parametrize(("number", "case"), numbered(QUERIES)[::2])
def test_ctes(number: int, case: Case, engines: Engines) -> None:
    check(case.sql, METHODS[number % len(METHODS)], engines)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_ctes_by_every_method(method: str, engines: Engines) -> None:
    for case in QUERIES:
        check(case.sql, method, engines)


def check(sql: str, method: str, engines: Engines) -> None:
    expected, naive = engines.by_duckdb(sql), engines.by_definition(sql)
    assert not isinstance(expected, Failed), f"{expected}"
    assert_rows(rows_of(expected), naive)
    for name, rows in engines.by_trees(sql, method).items():
        assert not isinstance(naive, Failed) and not isinstance(rows, Failed), f"{name}: {naive}, {rows}"
        assert_rows(naive, rows)
    for way in WAYS:
        assert_agree(expected, engines.by_method(sql, method, **way), is_ordered(sql))


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_settings(number: int, engines: Engines) -> None:
    for case in QUERIES[number % 9 :: 9]:
        expected = engines.by_duckdb(case.sql)
        assert not isinstance(expected, Failed), f"{expected}"
        assert_agree(expected, engines.by_method(case.sql, "general", **SETTINGS[number]), is_ordered(case.sql))


@pytest.mark.parametrize("case", params([case for case in CASES if "once" in case.marks]))
def test_a_volatile_one_is_evaluated_once(case: Case, engines: Engines) -> None:
    assert engines.by_definition(case.sql) == [(True,)]
    for method in ("none", "cost"):
        answer = engines.by_method(case.sql, method)
        assert not isinstance(answer, Failed), f"{answer}"
        assert rows_of(answer) == [(True,)], method


def test_what_the_query_says_is_heeded(engines: Engines) -> None:
    twice = "(select a, count(*) as n from q group by a) select u.a, v.n from s u join s v on u.a = v.n"
    for way, word, spooled in (("inline", "materialized", True), ("spool", "not materialized", False)):
        plan = Session(engines.catalog, {"ctes": way}).optimize(f"with s as {word} {twice}").plan
        assert ("fill_spool" in [node.op.name for node in plan.walk()]) == spooled


def test_references_that_double_do_not_multiply_the_query(engines: Engines) -> None:
    chain = ", ".join(f"c{i} as (select distinct x.a from c{i - 1} x, c{i - 1} y)" for i in range(1, 30))
    query = Session(engines.catalog).optimize(f"with c0 as (select a from q), {chain} select count(*) from c29")
    assert sum(node.op.name == "fill_spool" for node in query.plan.walk()) == 29


def test_a_recursion_ends_when_nobody_asks_for_more(engines: Engines) -> None:
    sql = "with recursive n as (select 1 as x union all select x + 1 from n) select x from n limit 4"
    assert_rows([(1,), (2,), (3,), (4,)], engines.by_method(sql, "general"))


def test_a_recursion_that_does_not_end_is_an_error(engines: Engines) -> None:
    sql = "with recursive n as (select 1 as x union all select 1 from n) select count(*) from n"
    query = Session(engines.catalog).optimize(sql)
    with pytest.raises(ExecutionError, match=r'recurse: the recursive CTE "n" has not ended after 20 rounds\nadd a condition'):
        execute(query.plan, query.columns, engines.catalog.tables, tuning=Tuning(rounds=20)).read_all()


def test_what_does_not_change_is_computed_once(engines: Engines) -> None:
    sql = "with recursive n as (select 1 as x union all select n.x + 1 from n join q on q.a = n.x where n.x < 9) select x from n"
    query, counters = Session(engines.catalog).optimize(sql), Counters()
    execute(query.plan, query.columns, engines.catalog.tables, counters).read_all()
    (scan,) = (node for node in query.plan.walk() if node.op.name == "table_scan")
    assert counters[scan.id].rows <= 8
