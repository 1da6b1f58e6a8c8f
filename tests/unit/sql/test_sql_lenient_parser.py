"""Texts in which something is missing, which the parser lets pass, are refused as by DuckDB; commas it allows are allowed.
With a compiled sqlglot, from whose classes none can be derived, the parser is read from its source."""

import sys
from pathlib import Path

import duckdb
import pytest
import sqlglot.parser
from sqlglot.dialects.duckdb import DuckDB

from optimizer.errors import SqlError
from optimizer.sql.bind import bind
from optimizer.sql.derivable import is_compiled, parser_class
from tests.cases import Case, params, read
from tests.unit.sql.world import World, assert_means_the_same

CASES = read(Path(__file__).parent / "lenient_parser.cases", "refused")


@pytest.mark.parametrize("case", params([case for case in CASES if "refused" in case.marks]))
def test_refused(world: World, case: Case) -> None:
    with pytest.raises(duckdb.Error):
        world.duck.execute(case.sql).fetchall()
    with pytest.raises(SqlError) as caught:
        bind(case.sql, world.catalog)
    assert "^" in str(caught.value)


@pytest.mark.parametrize("case", params([case for case in CASES if "refused" not in case.marks]))
def test_allowed(world: World, case: Case) -> None:
    assert_means_the_same(world, case.sql)


def test_a_second_statement_logs_no_warning(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SqlError, match="more than one statement"):
        bind("select 1; reset role", world.catalog)
    assert caplog.records == []


def test_group_by_distinct(world: World) -> None:
    """DuckDB does not read it: the sets that remain are written out."""
    sets = "(a, b), (a), (b), ()"
    for distinct in ("rollup (a, b), rollup (b, a)", "cube (a, b), cube (a, b)", f"grouping sets ({sets}, (b, a), (a))"):
        sql = f"select a, b, count(*), grouping(a, b) from t group by distinct {distinct}"
        assert_means_the_same(world, sql, f"select a, b, count(*), grouping(a, b) from t group by grouping sets ({sets})")
    plain = "select a, count(*) from t group by"
    assert_means_the_same(world, f"{plain} distinct a", f"{plain} a")
    assert_means_the_same(world, f"{plain} all rollup (a), rollup (a)", f"{plain} rollup (a), rollup (a)")


def test_the_source_is_read_and_nobody_else_sees_it(monkeypatch):
    own, module = DuckDB().parser_class, sqlglot.parser
    monkeypatch.setattr(own, "__mypyc_attrs__", (), raising=False)
    assert is_compiled()
    found = type("Derived", (parser_class(),), {})
    assert not issubclass(found, module.Parser)
    (tree,) = found(dialect=DuckDB()).parse(DuckDB().tokenize("select a + 1 from t"), "")
    assert tree.sql() == "SELECT a + 1 FROM t"
    assert DuckDB().parser_class is own
    assert sys.modules["sqlglot.parser"] is sqlglot.parser is module
