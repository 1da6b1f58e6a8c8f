"""Tables of a program's own, parameters, prepared queries."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from executor import Session
from optimizer.errors import CatalogError, PlanscopeError, SettingsError, SqlError
from optimizer.sql.parameters import with_values
from planscope import ANY, Replay, node
from planscope.algebra import Filter, Join, Limit


class Stream:
    """Nothing but the C stream interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


COLUMNS = {"k": [1, 2, 3, None], "s": ["a", "b", None, "a"]}
TABLE = pa.table(COLUMNS)
CHUNKS = {  # each with a dictionary of its own; runs of equal values
    "k": pa.chunked_array([pc.run_end_encode(pa.array(each, pa.int64())) for each in ([1, 2], [3, None])]),
    "s": pa.chunked_array([pa.DictionaryArray.from_arrays(*each) for each in (([0, 1], ["a", "b"]), ([None, 0], ["a", "c"]))]),
}


@pytest.mark.parametrize(
    "data",
    [TABLE, Stream(TABLE), TABLE.to_pandas(types_mapper=pd.ArrowDtype), COLUMNS, pa.table(CHUNKS)],
    ids=["arrow", "stream", "pandas", "mapping", "encoded"],
)
def test_registered_tables(data: Any) -> None:
    session = Session({"own": data})
    result = session.sql("select s, count(*) n, sum(k) total from own group by s order by s")
    assert result.table.to_pydict() == {"s": ["a", "b", None], "n": [2, 1, 1], "total": [1, 2, 3]}


def test_a_registered_table_beside_those_of_a_dataset(tpch: Any) -> None:
    session = Session(tpch)
    session.register("wanted", {"name": np.array(["ASIA", "EUROPE"])})
    sql = "select r_name, count(*) n from region join nation on r_regionkey = n_regionkey where r_name in (select name from wanted) group by 1 order by 1"  # noqa: E501
    assert session.sql(sql).table.to_pydict() == {"r_name": ["ASIA", "EUROPE"], "n": [5, 5]}
    session.register("Wanted", {"name": ["AFRICA"]})  # instead of the other
    assert session.sql(sql).table.to_pydict() == {"r_name": ["AFRICA"], "n": [5]}
    assert "wanted" not in Session(tpch).catalog.tables


def test_tables_of_several_threads() -> None:
    session, names = Session({}), [f"t{i}" for i in range(60)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: session.register(name, {"a": [1]}), names))
    assert session.catalog.tables.keys() == session.optimizer.catalog.tables.keys() == set(names)


def test_its_file_goes_with_the_session() -> None:
    session = Session({"t": {"a": [1]}})
    (file,) = session.catalog.tables["t"].files
    assert Path(file).exists()
    del session
    assert not Path(file).exists()


def test_its_file_stays_for_whoever_reads_it() -> None:
    assert Session({"t": {"a": [1, 2]}}).batches("select a from t").read_all().num_rows == 2
    catalog = Session({"t": {"a": [1, 2]}}).catalog
    assert Session(catalog).sql("select a from t").table.num_rows == 2


# of other libraries: their tables are not always what they say they are
DAMAGED = pa.Array.from_buffers(pa.decimal128(3, 0), 1, [None, pa.py_buffer((10**20).to_bytes(16, "little"))])


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        *(({"t": data}, '"t"') for data in (7, {}, {"a": [1], "b": [1, 2]}, pa.table({}), {"a": [1, "x"]}, {"a": [10**40]})),
        ({5: {"a": [1]}}, "name of a table is a text, not 5"),
        ({"t": pa.table({"a": DAMAGED})}, r'"t" cannot be read as a table: Column 0: .* does not fit in precision'),
        ({"t": pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])}, '"t" has more than one column "a"'),
        ({"mine": pa.table([[1], [2]], names=["a", "A"])}, '"mine": columns "a" and "A" differ'),
        ({"a": {"x": [1]}, "A": {"y": [2]}}, 'there are two tables "A": in SQL, upper and lower case are the same'),
    ],
)
def test_what_is_no_table(tables: dict[Any, Any], message: str) -> None:
    for make in (Session, registered)[: 3 - len(tables)]:  # to register a table of the same name is to replace it
        with pytest.raises(CatalogError, match=message):
            make(tables)


def registered(tables: dict[Any, Any]) -> None:
    session = Session({})
    for name, data in tables.items():
        session.register(name, data)


def test_the_index_of_a_data_frame_is_no_column() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]})
    session = Session({"t": frame[frame.a > 1]})
    session.register("u", frame.groupby("a").size().to_frame("n"))
    assert session.sql("select * from t").table.to_pydict() == {"a": [2, 3]}
    assert session.sql("select * from u").table.to_pydict() == {"n": [1, 1, 1]}


VALUES = [None, True, False, 0, -7, 2**62, -(2**63), 1.5, -0.0, float("inf"), Decimal("-12.340"), Decimal("1E+3"),
          Decimal("0.001"), "", "it's $x ?", date(1998, 12, 1), datetime(2020, 1, 2, 3, 4, 5, 6), date(1, 1, 1)]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(value: Any) -> None:
    session = Session({"t": {"a": [1]}})
    for sql, values in (("select ? v from t", [value]), ("select $x v from t", {"x": value}), ("select $1 v from t", [value])):
        found = session.sql(sql, values=values).table
        assert repr(found["v"][0].as_py()) == repr(Decimal("1000") if value == Decimal("1E+3") else value)
    if not isinstance(value, Decimal | str):
        (expected,) = duckdb.execute("select ?", [value]).fetchone()
        assert repr(expected) == repr(found["v"][0].as_py())


def test_parameters_stand_where_values_may() -> None:
    session = Session({"t": {"a": [1, 2, 3, 4], "s": ["x", "y", "z", "?"]}})
    sql = "select a, '? $1' q from t -- ?\n where a > ? and s <> ? order by a limit ?"
    assert session.sql(sql, values=[1, "z", 5]).table["a"].to_pylist() == [2, 4]
    assert session.sql(sql, values=[3, "it's", 1]).table.to_pydict() == {"a": [4], "q": ["? $1"]}
    cast = "select ?::date d, -?::int i, $$?::int$$ q from t where a = ?::int"
    assert session.sql(cast, values=["2020-01-02", "7", 2.0]).table.to_pylist() == [
        {"d": date(2020, 1, 2), "i": -7, "q": "?::int"}
    ]
    named = session.sql("select count(*) n from t where a < $top and a + 1 < $top", values={"top": 4})
    assert named.table.to_pydict() == {"n": [2]}
    assert [batch.num_rows for batch in session.batches("select a from t where a = $1 or a = $2", [1, 3])] == [2]


def test_a_whole_number_is_no_position_in_order_by_and_group_by() -> None:
    session = Session({"t": {"a": [3, 1, 2]}})
    assert session.sql("select a from t order by ?, a desc", values=[1]).table["a"].to_pylist() == [3, 2, 1]
    assert session.sql("select count(*) n from t group by ?", values=[7]).table["n"].to_pylist() == [3]


def test_a_parameter_in_a_heading_is_its_value() -> None:
    session = Session({"t": {"a": [3, 1, 2]}})
    sql = "select ?, a + ?, (?), sum(a) filter (a > ?), (cast(a as bigint)), ?::bigint from t group by a"
    names = ["3", "(a + 4)", "-5", "sum(a) FILTER (WHERE (a > 1))", "CAST(a AS BIGINT)", "CAST(2 AS BIGINT)"]
    assert session.sql(sql, values=[3, 4, -5, 1, 2]).table.column_names == names


def test_a_prepared_query_is_planned_once_for_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session({"t": {"a": [1, 2, 3]}})
    planned: list[str] = []
    optimize = Session.optimize
    monkeypatch.setattr(Session, "optimize", lambda self, sql: (planned.append(sql), optimize(self, sql))[1])
    prepared = session.prepare("select count(*) n from t where a >= ?")
    assert [prepared.sql([v]).table["n"][0].as_py() for v in (1, 3, 1, 1.0, True)][:4] == [3, 1, 3, 3]
    assert len(planned) == 4  # 1, 1.0 and TRUE are three values
    session.register("t", {"a": [9]})
    assert prepared.sql([1]).table["n"][0].as_py() == 1 and len(planned) == 5


@pytest.mark.parametrize(
    ("sql", "values", "message"),
    [
        ("select ?, ?", [1], 'no value for the parameter "2"'),
        ("select ?", [1, 2], 'has no parameter "2"'),
        ("select $a", {"b": 1}, 'no value for the parameter "a"'),
        ("select $a, ?", {"a": 1}, "one kind"),
        ("select ?", [[1]], r'the value of the parameter "1" cannot be written in SQL: \[1\]'),
        ("select ?", [datetime(2020, 1, 1, tzinfo=UTC)], "without a time zone"),
        ("select ?", [Decimal("NaN")], "cannot be written"),
        ("select 'open", [1], 'has no parameter "1"'),
        ("select (:x)", {"x": 1}, r"write \? by position, or \$name"),
        ("select ?", [pd.Timestamp("2020-01-01 00:00:00.000000001")], "a TIMESTAMP has microseconds"),
        ("select ?", 5, "a sequence or a mapping, not 5"),
        *(
            ("select ? v, ? w", each, "the values of parameters are a sequence or a mapping")
            for each in ({"b", "a"}, "ab", b"ab")
        ),
        ("select s from t where s = ?", ["\ud800"], "half of a character"),
        ("select '\ud800' c from t", [], "half of a character"),
        ("select s from t where s = ?", None, r"values=\[\.\.\.\]"),
    ],
)
def test_wrong_values(sql: str, values: Any, message: str) -> None:
    with pytest.raises(PlanscopeError, match=message) as error:
        Session({"t": {"s": ["x"]}}).sql(sql, values=values)
    assert values is None or isinstance(error.value, SqlError)


@pytest.mark.parametrize(
    ("sql", "values", "shown"),
    [
        ("select $a,$b", {"a": "x", "b": "y"}, "select 'x','y'"),
        ("select $1||$1", ["x"], "select 'x'||'x'"),
        ("($a)<($b)", {"a": "x", "b": None}, "('x')<(NULL)"),
        ("select $$ $a $$, $t$ $a,$t$,$a::text -- $a", {"a": "x"}, "select $$ $a $$, $t$ $a,$t$,'x'::text -- $a"),
        ("select $1, $2", {1: "x", 2: "y"}, "select 'x', 'y'"),
    ],
)
def test_where_parameters_stand(sql: str, values: Any, shown: str) -> None:
    assert with_values(sql, values) == shown


def test_values_of_numpy() -> None:
    values = [np.bool_(True), np.float32(0.5), np.int64(3), np.datetime64("2020-01-02"), np.datetime64("2020-01-02T03:04")]
    plain = [True, 0.5, 3, date(2020, 1, 2), datetime(2020, 1, 2, 3, 4)]
    assert [with_values("?", [each]) for each in values] == [with_values("?", [each]) for each in plain]
    assert with_values("? ?", [pd.NA, np.datetime64("NaT")]) == "NULL NULL"


def test_parameters_of_all_that_plans() -> None:
    session = Session({"t": {"a": [1, 2, 3]}})
    sql = "select a from t where a > ?"
    plan = session.explain(sql, values=[1]).json["plan"]
    assert session.prepare(sql).explain([1]).json["plan"] == plan
    assert session.optimize(sql, values=[1]).cost == session.what_if(sql, values=[1]).under().plan.cost == plan["cost"]
    assert session.why(sql, values=[1]).operator("table_scan").status == "chosen"


def test_times_of_pandas() -> None:
    assert with_values("select ?", [pd.NaT]) == "select NULL"
    assert with_values("select ?", [pd.Timestamp("2020-01-01")]) == with_values("select ?", [datetime(2020, 1, 1)])


def test_arrays_of_values() -> None:
    session = Session({"t": {"a": [1, 2, 3]}})
    assert session.sql("select a from t where a = ? or a = ?", values=np.array([1.0, 2.0])).table.num_rows == 2
    assert session.sql("select a from t", values=np.array([])).table.num_rows == 3
    assert session.sql("select a from t where a = ? or a = ?", values=np.array([1, 3])).table.num_rows == 2
    with pytest.raises(SqlError, match="cannot be written"):
        session.sql("select a from t where a = ?", values=np.array([1j]))


def test_a_session_goes_to_another_process_by_its_data_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    monkeypatch.chdir(tmp_path)
    session = Session("./", {"pruning": "none"}, timeout=9, memory_limit="1MB")
    assert copy(session).sql("select sum(a) s from t").table.to_pylist() == [{"s": 3}]
    kept = pickle.dumps((session, session.prepare("select a from t where a > ?")))
    monkeypatch.chdir(tmp_path.parent)
    sent, prepared = pickle.loads(kept)
    assert (sent.settings, sent.limits) == (session.settings, session.limits)
    assert sent.sql("select sum(a) s from t").table.to_pylist() == [{"s": 3}]
    assert prepared.sql([1]).table.to_pylist() == [{"a": 2}]


def test_what_cannot_be_pickled_says_what_can() -> None:
    session = Session({"t": {"a": [1]}})
    of_file = Session("joingraph", program=())
    for kept, message in (
        (session, "a Session with tables of this process"),
        (of_file, "a Session with a program or an engine of this process cannot be pickled: make one in each process"),
        (session.optimize("select a from t"), "pickle its plan, or its sql and the Session"),
        (session.sql("select a from t"), "pickle its table"),
    ):
        with pytest.raises(TypeError, match=message):
            pickle.dumps(kept)


def test_an_explanation_keeps_the_tables_of_its_query() -> None:
    """Asking why, and the trace, plan the query again; another table of the name was an unknown column."""
    session = Session({"t": {"a": [1, 2]}, "u": {"b": [1]}})
    explanation, result = session.explain("select * from t join u on a = b"), session.sql("select a from t order by a")
    session.register("t", {"x": [1]})
    assert explanation.why(join_order="(u t)").text and explanation.trace.events and result.trace.events


def test_plans_are_asked_alike_and_what_is_large_shows_itself_in_short() -> None:
    session = Session({"t": {"a": [1, 2]}})
    explanation, query = session.explain("select a from t"), session.optimize("select a from t")
    assert explanation.plan.op == query.plan.op and [each.cost for each in explanation.plan.walk()] == [query.plan.cost]
    for ask in (session.sql, session.explain):  # settings in the place of `analyze` were silently ignored
        with pytest.raises(SettingsError, match=r"analyze is True or False, not {'pruning': 'none'}: a Session has the settings"):
            ask("select a from t", {"pruning": "none"})
    with pytest.raises(SettingsError, match="by the number of an event, not 'end'"):
        Replay(explanation.trace.events).seek("end")
    with pytest.raises(AttributeError, match="oops"):
        explanation.plan.oops  # noqa: B018
    shown = (query.memo.groups[0], query.engine.root, session.prepare("select a from t"), explanation.memo.state)
    assert [repr(each) for each in shown] == [
        "Group(0, scan, rows=2)",
        f"Goal(0, group=0, any, optimal, cost={query.cost:,.0f})",
        "Prepared('select a from t')",
        "MemoState(1 group, 2 multi-expressions, 1 goal, 0 tasks)",
    ]
    assert repr(node(Join, ANY, node((Filter, Limit), ANY))) == "node(Join, ANY, node(Filter or Limit, ANY))"
