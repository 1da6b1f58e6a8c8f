"""Dates and timestamps beyond the years 1 to 9999, which files may hold and Python lacks: rows or an error, never a traceback."""

import io
import re
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.formats import write_rows
from optimizer.errors import ExecutionError
from planscope import Session

DAYS = pa.array([0, 10**7, -(10**6), None], pa.int32()).cast(pa.date32())
MOMENTS = pa.array([0, 10**18, -(10**17), None], pa.int64()).cast(pa.timestamp("us"))
MERGING = {"disable": ("join_to_hash_join", "join_to_nested_loop_join")}
TABLE = pa.table({"k": [1, 2, 3, 4], "d": DAYS, "t": MOMENTS})


@pytest.fixture(scope="module", params=["parquet", "arrow"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Session:
    if request.param == "arrow":
        return Session({"f": TABLE})
    folder: Path = tmp_path_factory.mktemp("far")
    pq.write_table(TABLE, folder / "f.parquet")
    return Session(folder)


def test_what_arrow_computes(session: Session) -> None:
    assert session.sql("select d, t from f order by d").table["d"].take([1]) == pa.chunked_array([DAYS.take([0])])
    assert session.sql("select year(d) y from f where d > date '2000-01-01'").table["y"].to_pylist() == [29349]
    assert session.sql("select a.k from f a join f b on a.d = b.d and a.t = b.t order by 1").table["k"].to_pylist() == [1, 2, 3]
    assert session.sql("select max(d) m from f").table["m"].cast(pa.int32()).to_pylist() == [10**7]
    assert session.sql("select cast(d as varchar) x from f where k = 2").table["x"].to_pylist() == ["29349-01-26"]
    between = session.sql("select median(d) d, quantile_cont(t, 0.75) t from f").table
    assert [column.cast(pa.int64()).to_pylist() for column in between.columns] == [[0], [5 * 10**17]]


@pytest.mark.parametrize("column", ["d", "t"])
@pytest.mark.parametrize(
    ("operator", "settings", "query", "wanted"),
    [
        ("merge_join", MERGING, "select a.k from f a join f b on a.{0} = b.{0}", [3, 1, 2]),
        (
            "merge_union", {"disable": ("union_to_union_all",)}, "select k from (from f union all from f) order by {0}",
            [3, 3, 1, 1, 2, 2, 4, 4],
        ),
        ("nested_apply", {"decorrelate": "none"}, "select (select count(*) from f b where b.{0} < a.{0}) from f a", [1, 2, 0, 0]),
        ("nested_apply", {"decorrelate": "none"}, "select (select k from f b where b.{0} = a.{0}) from f a", [1, 2, 3, None]),
    ],
)  # fmt: skip
def test_compared_value_by_value(
    session: Session, operator: str, settings: dict[str, Any], query: str, wanted: list[int | None], column: str
) -> None:
    result = Session(session.catalog, settings).sql(query.format(column))
    assert operator in {node.op.name for node in result.explanation.query.plan.walk()}
    assert result.table.column(0).to_pylist() == wanted


@pytest.mark.parametrize(
    "value", ["d + 1", "cast(d as varchar)", "d + interval 1 month", "cast(t as varchar)", "t + interval 1 day"]
)
def test_what_it_does_not(session: Session, value: str) -> None:
    with pytest.raises(ExecutionError, match=r"^project_rows: .*out of range"):
        session.sql(f"select {value} from f")


@pytest.mark.parametrize("value", ["year(d)", "hour(t)", "date_trunc('month', d)", "date_trunc('month', t)", "decade(t)"])
@pytest.mark.parametrize("sign", [1, -1])
def test_parts_of_what_duckdb_writes_for_infinity(value: str, sign: int) -> None:
    days, moments = pa.array([sign * (2**31 - 1)], pa.int32()), pa.array([sign * (2**63 - 1)], pa.int64())
    session = Session({"f": pa.table({"d": days.cast(pa.date32()), "t": moments.cast(pa.timestamp("us"))})})
    with pytest.raises(ExecutionError, match=r"^project_rows: a (date|timestamp) is (infinite|out of range)"):
        session.sql(f"select {value} from f")
    greater = session.sql("select d > date '2020-01-01' a, t > timestamp '2020-01-01' b from f").table.to_pylist()
    assert greater == [{"a": sign > 0, "b": sign > 0}]


def test_a_text_of_a_year_that_nobody_writes() -> None:
    far = pa.table({"d": pa.array([1_147_483_646], pa.int32()).cast(pa.date32())})
    with pytest.raises(ExecutionError, match=r"^project_rows: .*out of range"):
        Session({"far": far}).sql("select cast(d as varchar) from far")


@pytest.mark.parametrize("type", [pa.date32(), pa.timestamp("us")])
@pytest.mark.parametrize("far", ["1 month", "1 day", "3000 years"])
def test_a_frame_reaches_beyond_the_years(type: pa.DataType, far: str) -> None:
    days = pa.array([date.min, date.max, date(2020, 1, 31), date(2020, 2, 29), None], pa.date32()).cast(type)
    session = Session({"t": pa.table({"d": days})})
    for order in ("d", "d desc"):
        frame = f"over (order by {order} range between interval '{far}' preceding and interval '{far}' following)"
        counts = session.sql(f"select d, count(*) {frame} n from t order by d").table["n"].to_pylist()
        assert counts == {"1 month": [1, 2, 2, 1, 1], "1 day": [1, 1, 1, 1, 1], "3000 years": [3, 3, 3, 1, 1]}[far]


@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_infinite_ones_are_written_so_and_others_without_a_text_not_at_all(format: str) -> None:
    rows = {"d": pa.array([2**31 - 1, 1 - 2**31], pa.int32()), "t": pa.array([1 - 2**63, 2**63 - 1], pa.int64())}
    table, sink = pa.table({"d": rows["d"].cast(pa.date32()), "t": rows["t"].cast(pa.timestamp("us"))}), io.BytesIO()
    write_rows(table, format, sink)
    assert re.findall("-?infinity", sink.getvalue().decode()) == ["infinity", "-infinity", "-infinity", "infinity"]
    for column in (pa.array([2**31 - 2], pa.int32()).cast(pa.date32()), pa.array([-(2**63) + 2]).cast(pa.timestamp("us"))):
        with pytest.raises(ExecutionError, match=r"^a (DATE|TIMESTAMP) is out of range"):
            write_rows(pa.table({"x": column}), format, io.BytesIO())
