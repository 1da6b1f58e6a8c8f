"""The front door from Python."""

import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.errors import CatalogError, PlanscopeError, SettingsError, SqlError
from optimizer.presets import preset_file
from planscope import Optimizer, Replay, Session, Settings, SparkEngine, Trace, explain, open_data

PEOPLE = "select 1 from people"


def test_sql_gives_arrow_under_the_users_names(shop):
    result = Session(shop).sql("select id as a, balance as a, id from people order by id desc")
    assert result.table.column_names == ["a", "a", "id"]
    assert result.table.column(1).to_pylist() == [Decimal("0.05"), None, Decimal("-20.00"), Decimal("1.10")]
    assert result.table.column(0).to_pylist() == result.table.column(2).to_pylist() == [4, 3, 2, 1]
    assert "(4 rows)" in repr(result) and "(4 rows)" in result.text


def test_order_column_that_is_not_selected_is_not_shown(shop):
    table = Session(str(shop)).sql("select name from people order by balance").table
    assert table.column_names == ["name"]
    assert table.column(0).to_pylist() == [None, 'quo"te, <b>&\n', "Ann", "NULL"]


def test_the_schema_says_what_is_never_null(tmp_path):
    columns = {"i": pa.array([1, 2], pa.int64()), "j": pa.array([1, None], pa.int64())}
    schema = pa.schema([pa.field("i", pa.int64(), False), pa.field("j", pa.int64())])
    pq.write_table(pa.table(columns, schema=schema), tmp_path / "t.parquet")
    sql = "select i, j, count(*) as n, sum(i) as s, coalesce(j, 0) as c, 1 as o from t group by i, j"
    for settings in ({}, {"prepass": False}):
        table = Session(tmp_path, settings).sql(sql).table
        assert {field.name: field.nullable for field in table.schema} == {
            "i": False, "j": True, "n": False, "s": True, "c": False, "o": False,
        }  # fmt: skip
    outer = Session(tmp_path).sql("select l.i as l, r.i as r from t as l left join t as r on l.i = r.j").table
    assert [field.nullable for field in outer.schema] == [False, True]
    asked = "select exists (select 1 from t as o where o.j = t.i) as e, i in (select j from t) as f from t"
    assert [field.nullable for field in Session(tmp_path).sql(asked).table.schema] == [False, True]
    assert Session(tmp_path).sql("select i from t where false").table.schema == pa.schema([pa.field("i", pa.int64(), False)])


@pytest.mark.parametrize("sql", [None, b"select 1", 7])
def test_what_is_no_text_is_refused(shop, sql):
    session = Session(shop)
    for ask in (session.sql, session.explain, session.prepare, session.why, explain):
        with pytest.raises(SqlError, match="SQL is a text, not"):
            ask(sql)


def test_explain_does_not_run(shop):
    session = Session(shop)
    explanation = session.explain("select cast(name as integer) from people")  # would fail if it ran
    assert explanation.actual is None
    assert "table_scan" in explanation.text and "table_scan" in repr(explanation)
    query = session.optimize("select name from people")
    shown = [query.plan, query.stages[0], session.optimizer, session.what_if("select name from people"), Trace(), Replay([])]
    assert all(repr(each).startswith(f"{type(each).__name__}(") for each in shown)
    assert explanation.plan._repr_svg_().startswith("<svg")
    assert explanation.memo._repr_svg_().startswith("<svg")
    assert explanation.memo.state.winners()
    assert explanation.trace.events[0]["kind"] == "header"
    assert explanation.trace._repr_html_().startswith("<iframe ") and explanation.trace.html.startswith("<!doctype html>")


def test_analyze_counts(shop):
    result = Session(shop).sql("select * from people where id > 2", analyze=True)
    assert result.explanation.actual[0].rows == 2 == result.table.num_rows
    assert "q-error" in result.explanation.text


def test_settings(shop):
    assert Session(shop, {"pruning": "none"}).settings.pruning == "none"
    assert Session(shop, Settings(pruning="upper")).settings.pruning == "upper"
    with pytest.raises(SettingsError, match="did you mean"):
        Session(shop, {"prunning": "none"})


def test_presets(shop):
    settings = Session(shop, {"pruning": "none"}, preset="textbook").settings
    assert settings.enumeration == "rules" and settings.pruning == "none" and "partial_sort" in settings.disable
    assert settings == Settings.from_pairs(["pruning=none"], preset=preset_file("textbook"))
    assert Session(shop, {"disable": ["sort"]}, preset="textbook").settings.disable == ("sort",)
    with pytest.raises(SettingsError, match='unknown preset "textbok"\ndid you mean "textbook"'):
        Session(shop, preset="textbok")
    with pytest.raises(SettingsError, match="give those of your own as a mapping"):
        Session(shop, Settings(), preset="textbook")


def test_errors(shop, tmp_path):
    with pytest.raises(CatalogError):
        Session(tmp_path / "nowhere")
    with pytest.raises(CatalogError):
        Session("nowhere:1")
    with pytest.raises(SqlError, match="nam"):
        Session(shop).sql("select nam from people")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda shop: Session(None), "data is a folder, the name of a dataset, a Catalog or tables by name, not None"),
        (lambda shop: Session(shop, "pruning=none"), "settings are a Settings object or a mapping from names to values"),
        (lambda shop: Session(shop, engine="spark"), r"engine is an object, SparkEngine\(\) for example, not 'spark'"),
        (lambda shop: Session(shop, engine=5), r"engine is an object, SparkEngine\(\) for example, not 5"),
        (lambda shop: Session(shop, plugins=[5]), r"plugins are files, not \[5\]"),
        (lambda shop: Optimizer(open_data(shop), estimator="true"), "estimator is a class of an Estimator, .* not 'true'"),
        (lambda shop: Optimizer(open_data(shop), transformations=5), "Optimizer takes a sequence of TransformationRules, not 5"),
        (lambda shop: Optimizer(open_data(shop), implementations=["x"]), "Optimizer takes ImplementationRules, and 'x' is none"),
        (lambda shop: Optimizer(str(shop)), "Optimizer takes a Catalog and Settings"),
        (lambda shop: Session(shop).what_if(PEOPLE).under({frozenset({"people"}): -1}), "cannot be -1: a number"),
        (lambda shop: Session(shop).what_if(PEOPLE).under({frozenset({"people"}): math.inf}), "cannot be inf"),
        (lambda shop: Session(shop).what_if(PEOPLE).diagram([(frozenset({"people"}), 9, 5)]), "9..5 is no range"),
        (
            lambda shop: Session(shop).what_if(PEOPLE).diagram([({"people"}, "9", 5)]),
            "an axis goes from .* not '9'",
        ),
        (
            lambda shop: Session(shop).what_if(PEOPLE).diagram([({"people"}, 1, 5)], points=1),
            "two points or more",
        ),
        (lambda shop: Session(shop).what_if(PEOPLE).diagram([]), "has one axis or two"),
        (lambda shop: Session(shop).what_if(PEOPLE).under(None, {"hash_jion": 2}), 'did you mean "hash_join"'),
        (lambda shop: Session(shop).what_if(PEOPLE).under(None, {"sort": 10**400}), "a number from 0 up"),
        (lambda shop: Session(shop, engine=SparkEngine), "engine is an object"),
        (lambda shop: Session(shop, engine=Settings()), "engine is an object"),
        (lambda shop: SparkEngine("local[2]"), "takes a SparkSession"),
        (lambda shop: SparkEngine(nodes=0), "nodes of a SparkEngine is a whole number from 1 up"),
        (lambda shop: Session(shop, program="fast"), "a program is a sequence of rules and batches, not 'fast'"),
        (lambda shop: Session(shop, preset=1), 'unknown preset "1"'),
        (lambda shop: Session(shop, {1: 2}), 'unknown setting "1"'),
        (lambda shop: Session(shop, {"disable": 5}), "setting disable is a list, not 5"),
        (lambda shop: Session(shop, {"join_order": ("a", "b")}), r"setting join_order is a text, not \('a', 'b'\)"),
        (lambda shop: Session(shop, {"gap": 10**400}), "setting gap is a number"),
        (lambda shop: Session(shop).optimize("select 1", "trace.jsonl"), r"trace is a Trace\(\), to be filled"),
        (lambda shop: list(map(Session(shop).optimize, ["select 1"] * 2, [Trace()] * 2)), "has a search already"),
        (lambda shop: Session(shop).why("select 1").join_order(("a", "b")), "a join order is a text"),
        (lambda shop: Session(shop).why("select 1").operator(["sort"]), "an operator is told by its name"),
        (lambda shop: Session(shop).explain("select 1").show("80"), "a width is a number"),
        (lambda shop: Replay("abc"), "a Replay is of the events of a trace, not 'abc'"),
    ],
)
def test_what_is_something_else_than_asked_for(shop, make, message):
    with pytest.raises(PlanscopeError, match=message):
        make(shop)


def test_a_result_is_a_table(shop):
    session = Session(shop)
    result = session.sql("select id from people")
    session.register("ids", result)
    assert len(result) == 4 and pa.table(result) == result.table
    assert session.sql("select count(*) from ids").table.column(0).to_pylist() == [4]
    with pytest.raises(SqlError, match=r"@q\.sql is the name of a file\ngive its text"):
        session.sql("@q.sql")


def test_a_replay_of_a_trace(shop):
    session, trace = Session(shop), Trace()
    session.optimize("select id from people", trace)
    assert len(Replay(trace)) == len(Replay(trace.events)) == len(trace.events)


def test_built_in_names():
    assert Session("tpch:0.01").sql("select count(*) from lineitem").table.column(0).to_pylist() == [60175]
