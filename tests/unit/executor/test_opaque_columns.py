"""Columns of types that nothing is computed with: passed through every operator, or refused by name."""

from __future__ import annotations

import datetime
import io
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.formats import write_rows
from optimizer.errors import ExecutionError, Unsupported
from planscope import Session

BIG = Decimal(2) ** 200
TABLE = pa.table(
    {
        "k": [1, 2, 3],
        "list": [[1, None], None, []],
        "struct": [{"a": 1, "b": "x"}, None, {"a": None, "b": 'q"'}],
        "pairs": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        "uuid": pa.array([uuid.UUID(int=1).bytes, None, uuid.UUID(int=3).bytes], pa.uuid()),
        "huge": pa.array([BIG, None, -BIG], pa.decimal256(70, 0)),
        "span": pa.array([pa.MonthDayNano((1, 2, 3000)), None, None]),
        "time": [datetime.time(1, 2), None, None],
        "zoned": pa.array([0, None, 1], pa.timestamp("us", tz="UTC")),
        "seconds": pa.array([1, None, 2], pa.duration("s")),
    }
)
OPAQUE = TABLE.column_names[1:]
ROWS = {row["k"]: row for row in TABLE.to_pylist()}
NOTHING = dict.fromkeys(OPAQUE)

CARRIED = {
    "select * from t": [1, 2, 3],
    "select * from t where k > 1 order by k desc limit 1": [3],
    "select t.* from t join s using (k) order by k": [1, 3, 3],
    "select t.* from s left join t using (k) order by k": [None, 1, 3, 3],
    "select t.* from s full join t using (k) where t.k is null or k = 2": [None, 2],
    "select t.* from t where exists (select * from s where s.k = t.k) order by k": [1, 3],
    "select t.* from t where k not in (select k from s) or (select count(*) from s where s.k >= t.k) = 4": [1, 2],
    "select * from t union all select * from t where k = 1": [1, 1, 2, 3],
    "with c as materialized (select * from t) select a.* from c a, c b where a.k < b.k": [1, 1, 2],
    "select distinct on (k) * from t": [1, 2, 3],
    "select * exclude (n) from (select t.*, row_number() over (order by k) n from t) q where n = 2": [2],
    "select x.* from s, lateral (select * from t where t.k < s.k order by k desc limit 1) x": [2, 2, 3],
    "select * from t where list is not null and k < 3": [1],
    "select * from t order by span limit 1": [1],
}
PLANS: tuple[dict[str, Any], ...] = (
    {},
    {"decorrelate": "none", "disable": ["join_to_hash_join"]},
)


@pytest.fixture(scope="module", params=["parquet", "arrow"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as a file; Parquet has no intervals of Arrow's kind."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    tables = {"t": TABLE.drop_columns(["span"] if request.param == "parquet" else []), "s": pa.table({"k": [1, 3, 3, 4]})}
    for name, table in tables.items():
        if request.param == "parquet":
            pq.write_table(table, folder / f"{name}.parquet", row_group_size=2)
        else:
            with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    return folder


@pytest.mark.parametrize("plan", PLANS, ids=["hash", "merge and apply"])
def test_every_operator_passes_them_through(folder: Path, plan: dict[str, Any]) -> None:
    session = Session(folder, plan)
    for sql, keys in CARRIED.items():
        if "span" in sql and folder.name.startswith("parquet"):
            continue
        rows = session.sql(sql).table.to_pylist()
        assert sorted(str(row["k"]) for row in rows) == sorted(map(str, keys)), sql
        for row in rows:
            expected = ROWS.get(row["k"], NOTHING)
            assert {name: row[name] for name in row if name != "k"} == {name: expected[name] for name in row if name != "k"}, sql


def test_what_looks_at_validity_alone() -> None:
    session = Session({"t": TABLE})
    for name in OPAQUE:
        missing = TABLE[name].null_count
        counts = session.sql(f"select count({name}), count(*) filter (where {name} is null) from t").table.to_pylist()
        assert list(counts[0].values()) == [3 - missing, missing]
    assert session.sql("select list from t union all select null").table["list"].to_pylist()[-1] is None


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select list from t group by list", '"list" of type BIGINT\\[\\] in GROUP BY'),
        ("select distinct struct from t", '"struct" of type STRUCT in GROUP BY, DISTINCT'),
        ("select pairs from t union select pairs from t", '"pairs" of type MAP in'),
        ("select pairs from t except all select pairs from t", '"pairs" of type MAP in'),
        ("select k from t order by uuid", '"uuid" of type UUID in ORDER BY'),
        ("select uuid from t order by 1 limit 1", "in ORDER BY"),
        ("select rank() over (order by time) from t", '"time" of type TIME in ORDER BY'),
        ("select rank() over (partition by zoned order by k) from t", "in PARTITION BY"),
        ("select distinct on (seconds) k from t", "in PARTITION BY or DISTINCT ON"),
        ("select 1 from t a join t b on a.huge = b.huge", '"huge" of type DECIMAL\\(70,0\\) in an expression'),
        ("select 1 from t join t b using (list)", "in an expression"),
        ("select max(span) from t", '"span" of type INTERVAL in an expression'),
        ("select count(distinct list) from t", "in an expression"),
        ("select first_value(list) over (order by k) from t", "in an expression"),
        ("select coalesce(list, list) from t", "in an expression"),
        ("select (select list from t where k = 1)", "in an expression"),
        ("select 1 where null in (select list from t)", "in an expression"),
        ("with q as (select list from t group by list) select * from q a, q b", "in GROUP BY"),
    ],
)
def test_uses_are_refused_by_name(sql: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        Session({"t": TABLE}).optimize(sql)


def test_every_format_writes_them() -> None:
    result = Session({"t": TABLE}).sql("select * from t where k < 3").table
    written = {}
    for format in ("table", "csv", "json"):
        sink = io.BytesIO()
        write_rows(result, format, sink)
        written[format] = sink.getvalue().decode()
    first, second = json.loads(written["json"], parse_float=Decimal, parse_int=Decimal)
    assert first == {
        "k": 1, "list": [1, None], "struct": {"a": 1, "b": "x"}, "pairs": {"a": 1}, "uuid": str(uuid.UUID(int=1)), "huge": BIG,
        "span": "1 months 2 days 3 microseconds", "time": "01:02:00", "zoned": "1970-01-01 00:00:00+00:00", "seconds": "0:00:01",
    }  # fmt: skip
    assert second == {"k": 2, **NOTHING}
    sink = io.BytesIO()
    write_rows(Session({"t": TABLE}).sql("select pairs from t where k = 3").table, "json", sink)
    assert json.loads(sink.getvalue()) == [{"pairs": {}}]
    assert '1,"[1, null]","{""a"": 1, ""b"": ""x""}"' in written["csv"]
    assert '[1, null] │ {"a": 1, "b": "x"}' in written["table"]
    with pytest.raises(ExecutionError, match="Parquet has no such type"):
        write_rows(result, "parquet", io.BytesIO())
    write_rows(result.drop_columns(["span"]), "parquet", io.BytesIO())
