"""Stored timestamps with a time zone are TIMESTAMPs of the same moments in UTC: DuckDB with that time zone is the judge."""

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from executor import Session
from executor.arrow.parquet_rows import ParquetFiles
from optimizer.catalog.table import ColumnStats

MINUTE = 60_000_000  # microseconds
ROWS = 400
COUNTS = pa.array([None if i % 11 == 5 else (i - 100) * 37 * MINUTE for i in range(ROWS)])
TYPES = {
    "us": pa.timestamp("us", "Europe/Berlin"), "ms": pa.timestamp("ms", "America/New_York"), "s": pa.timestamp("s", "UTC"),
    "ns": pa.timestamp("ns", "+05:30"), "plain": pa.timestamp("us"),
}  # fmt: skip
TABLE = pa.table({"k": range(ROWS)} | {name: COUNTS.cast(pa.timestamp("us", t.tz)).cast(t) for name, t in TYPES.items()})
QUERIES = [
    "select k, Z from t",
    "select k from t where Z > timestamp '1970-01-02 03:00:00'",
    "select k from t where Z = timestamp '1970-01-01 18:30:00' or Z <= date '1969-12-30'",
    "select k from t where Z in (timestamp '1970-01-01 18:30:00', timestamp '1970-01-02')",
    "select min(Z), max(Z), count(distinct Z) from t",
    "select cast(Z as date) d, date_trunc('hour', Z) h, extract(hour from Z) e, cast(Z as varchar) v from t",
    "select date_trunc('day', Z) d, count(*) from t group by 1",
    "select a.k, b.k from t a join t b on a.Z = b.plain where b.k < 50",
    "select k, Z + interval 1 day, Z - plain from t where k < 9",
    "select k, rank() over (order by Z desc) from t",
    "select Z from t union select plain from t",
]


@pytest.fixture(scope="module", params=["parquet", "arrow", "session"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "session":
        return Session({"t": TABLE})
    if request.param == "parquet":
        pq.write_table(TABLE, folder / "t.parquet", row_group_size=50)
        (folder / "schema.sql").write_text("create table t (k bigint, us timestamptz, ms timestamp with time zone)")
    else:
        feather.write_feather(TABLE, str(folder / "t.arrow"), compression="uncompressed")
    return Session(folder)


@pytest.fixture(scope="module")
def judge() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("set TimeZone = 'UTC'")
    connection.register("stored", TABLE)
    columns = ", ".join(f"cast({name} as timestamp) {name}" for name in TYPES)
    connection.execute(f"create table t as select k, {columns} from stored")
    return connection


@pytest.mark.parametrize("column", ["us", "ms", "s", "ns"])
def test_zoned_columns_are_timestamps_in_utc(column: str, session: Session, judge: duckdb.DuckDBPyConnection) -> None:
    for query in QUERIES:
        sql = query.replace("Z", column)
        found, expected = session.sql(sql).table, judge.execute(sql).to_arrow_table()
        assert Counter(map(repr, found.to_pylist())) == Counter(
            map(repr, expected.rename_columns(found.schema.names).to_pylist())
        )
    table = session.catalog.tables["t"]
    assert table.schema.field(column).type == pa.timestamp("us")
    assert table.stats.columns[column] == table.stats.columns["plain"] != ColumnStats()


def test_row_groups_are_ruled_out_by_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the files of a table have other zones, and by the keys of a join."""
    (tmp_path / "t").mkdir()
    for part, type in enumerate(TYPES.values()):
        times = pa.array([(100 * part + i) * MINUTE for i in range(100)], pa.timestamp("us", type.tz)).cast(type)
        pq.write_table(pa.table({"at": times}), tmp_path / "t" / f"{part}.parquet", row_group_size=20)
    pq.write_table(pa.table({"k": [1], "at": pa.array([85 * MINUTE], pa.timestamp("us"))}), tmp_path / "few.parquet")
    found: list[int] = []
    row_groups = ParquetFiles.row_groups

    def counted(*arguments: object) -> list[object]:
        groups = row_groups(*arguments)  # type: ignore[arg-type]
        found.append(len(groups))
        return groups  # type: ignore[return-value]

    monkeypatch.setattr(ParquetFiles, "row_groups", counted)
    session = Session(tmp_path)
    late = "select count(*) n from t where at >= timestamp '1970-01-01 07:30:00'"
    assert (session.sql(late).table.to_pydict(), found) == ({"n": [50]}, [3])
    found.clear()
    assert session.sql("select count(*) n from t join few using (at) where k = 1").table.to_pydict() == {"n": [1]}
    assert found[-1] == 1


def test_a_row_group_of_one_moment(tmp_path: Path) -> None:
    """Its statistics say what the column equals, and not between what it lies."""
    times = pa.array([MINUTE, None, 2 * MINUTE, 2 * MINUTE], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"k": [1, 2, 3, 4], "at": times}), tmp_path / "t.parquet", row_group_size=2)
    session = Session(tmp_path)
    for where in ("at > timestamp '1970-01-01 00:01:00'", "at = timestamp '1970-01-01 00:02:00'"):
        assert session.sql(f"select k from t where {where}").table.to_pydict() == {"k": [3, 4]}
