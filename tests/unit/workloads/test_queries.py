"""SQL by text, file, standard input and name."""

import importlib.util
import io
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from experiments.workloads.queries import built_in_queries, named_sql, query_name, resolve_sql
from experiments.workloads.tpcds_queries import _texts
from optimizer.errors import SqlError


def test_every_built_in_query_has_text_and_title() -> None:
    queries = built_in_queries()
    assert [query.name for query in queries if query.name.startswith("tpch/")] == [f"tpch/q{n:02}" for n in range(1, 23)]
    counts = Counter(query.name.partition("/")[0] for query in queries)
    assert counts == {"job": 113, "job_light": 70, "job_m": 113, "stats": 146, "tpcds": 99, "tpch": 22}
    for query in queries:
        assert resolve_sql(query.name).rstrip().endswith(";")
        assert query.title


def test_tpch_queries_run_in_duckdb(tpch_duckdb: duckdb.DuckDBPyConnection) -> None:
    queries = [query.name for query in built_in_queries() if query.name.startswith("tpch/")]
    empty = [name for name in queries if not tpch_duckdb.sql(resolve_sql(name)).fetchall()]
    assert empty == []


def test_text_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_sql("select 4 / 2") == "select 4 / 2"
    (tmp_path / "q.sql").write_bytes("\ufeffselect 'ä'".encode())
    assert resolve_sql(f"@{tmp_path / 'q.sql'}") == "select 'ä'"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"select 1")))
    assert resolve_sql("-") == "select 1"
    assert resolve_sql("select 'ä'".encode().decode("ascii", "surrogateescape")) == "select 'ä'", "as in an ASCII locale"
    with pytest.raises(SqlError, match="the query is not UTF-8 text"):
        resolve_sql("select '\udcff'")


def test_a_file_that_ends_in_sql_needs_no_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SqlError, match=r"there is no file q\.sql"):
        resolve_sql("q.sql")
    (tmp_path / "q.sql").write_text("select 1")
    (tmp_path / "tpch").mkdir()
    (tmp_path / "tpch" / "my q05.sql").write_text("select 5")
    assert resolve_sql("q.sql") == "select 1" and resolve_sql("tpch/my q05.sql") == "select 5"


def test_sql_from_a_program_names_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text("select 1")
    assert [named_sql(text) for text in ("-", "")] == ["-", ""]
    for text in ("@q.sql", "q.sql"):
        with pytest.raises(SqlError, match=f"^{text} is the name of a file\n"):
            named_sql(text)
    assert named_sql("tpch/q05") == resolve_sql("tpch/q05") and named_sql("chain/3") == resolve_sql("chain/3")
    with pytest.raises(SqlError, match="did you mean tpch/q05"):
        named_sql("tpch/q5")


def test_what_a_query_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text("select 1")
    names = {"stats/001": "stats/001", "chain/4": "chain/4", "@some/where.sql": "where", "q.sql": "q", "select 1": "", "-": ""}
    assert {text: query_name(text) for text in names} == names


def test_tpcds_queries_need_the_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    _texts.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SqlError, match=r"pip install 'planscope\[tpcds\]'"):
        resolve_sql("tpcds/q01")
    monkeypatch.undo()
    assert "store_returns" in resolve_sql("tpcds/q01")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tpch/q99", 'there is no built-in query "tpch/q99"\ndid you mean tpch/q'),
        ("tpch/q5", "did you mean tpch/q05?"),
        ("TPCH/Q05", "did you mean tpch/q05?"),
        (
            "other/thing",
            "workloads: chain, clique, cycle, grid, job, job_light, job_m, random, snowflake, star, stats, "
            "steinbrunn_SHAPE, tpcds, tpch; plan",
        ),
        ("", "there is no SQL to run"),
        ("  \n", "there is no SQL to run"),
        ("@no-such-file.sql", "there is no file no-such-file.sql"),
        ("no-such-file.sq", "there is no file no-such-file.sq"),
        ("@tests", "tests is a folder, not a file of SQL"),
    ],
)
def test_what_is_wrong(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent.parent.parent)
    with pytest.raises(SqlError) as error:
        resolve_sql(text)
    assert message in str(error.value)


def test_a_name_close_by(tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text("select 1")
    with pytest.raises(SqlError) as error:
        resolve_sql(f"@{tmp_path / 'qeury.sql'}")
    assert str(error.value).endswith(f"did you mean @{tmp_path / 'query.sql'}?")


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_bytes(b"select '\xff'")
    with pytest.raises(SqlError, match=r"q\.sql is not UTF-8 text"):
        resolve_sql(f"@{tmp_path / 'q.sql'}")
