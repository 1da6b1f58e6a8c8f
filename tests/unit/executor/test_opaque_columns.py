"""Columns of types that nothing is computed with: passed through every operator, or refused by name."""

import datetime
import io
import json
import re
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.formats import write_rows
from optimizer.errors import ExecutionError, PlanscopeError, Unsupported
from planscope import Session
from tests.cases import Case, params, read

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
        "seconds": pa.array([1, None, 2], pa.duration("s")),
    }
)
OPAQUE = TABLE.column_names[1:]
ROWS = {row["k"]: row for row in TABLE.to_pylist()}
NOTHING = dict.fromkeys(OPAQUE)

CASES = read(Path(__file__).parent / "opaque_columns.cases", "keys", "refused")
PLANS: tuple[dict[str, Any], ...] = ({}, {"decorrelate": "none", "disable": ["join_to_hash_join"]})


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
    for case in CASES:
        if "keys" not in case.marks or ("span" in case.sql and folder.name.startswith("parquet")):
            continue
        rows = session.sql(case.sql).table.to_pylist()
        assert sorted(str(row["k"]) for row in rows) == sorted(case.marks["keys"].split(", ")), case
        for row in rows:
            expected = ROWS.get(row["k"], NOTHING)
            assert {name: row[name] for name in row if name != "k"} == {name: expected[name] for name in row if name != "k"}, case


def test_what_looks_at_validity_alone() -> None:
    session = Session({"t": TABLE})
    for name in OPAQUE:
        missing = TABLE[name].null_count
        counts = session.sql(f"select count({name}), count(*) filter (where {name} is null) from t").table.to_pylist()
        assert list(counts[0].values()) == [3 - missing, missing]
    assert session.sql("select list from t union all select null").table["list"].to_pylist()[-1] is None


@pytest.mark.parametrize("case", params([case for case in CASES if "refused" in case.marks]))
def test_uses_are_refused_by_name(case: Case) -> None:
    with pytest.raises(Unsupported, match=re.escape(case.marks["refused"])):
        Session({"t": TABLE}).optimize(case.sql)


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
        "span": "1 months 2 days 3 microseconds", "time": "01:02:00", "seconds": "0:00:01",
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


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 from t where seconds = k", "select 1 from t where k = time",
        "select case when k = 1 then list else k end from t", "select date_trunc('day', time) from t",
        "select extract(hour from seconds) from t", "select sum(span) from t", "select seconds + 1 from t",
        "select length(list) from t", "select 1 from t where list like 'a'", "select 1 from t where not time",
    ],
)  # fmt: skip
def test_no_cast_is_advised_that_would_be_refused(sql: str) -> None:
    with pytest.raises(PlanscopeError, match="can be selected, tested by IS NULL and counted") as error:
        Session({"t": TABLE}).optimize(sql)
    assert "CAST" not in str(error.value)


def test_a_group_pulled_above_a_join_is_not_by_them() -> None:
    many = pa.table({"k": [i % 500 for i in range(2000)], "x": [1] * 2000})
    first = "(select * from t order by k limit 1) t"
    session = Session({"t": TABLE.select(["k", "list"]), "many": many})
    result = session.sql(f"select n, t.list from (select k, sum(x) n from many group by k) g join {first} on g.k = t.k")
    assert result.table.to_pylist() == [{"n": 4, "list": [1, None]}]
