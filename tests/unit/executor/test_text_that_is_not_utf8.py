"""A file whose texts are not UTF-8 ends a query with an error, wherever the text goes; it never reaches an output."""

from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from executor.session import Session
from optimizer.errors import CatalogError, ExecutionError

QUERIES = (
    "select s from t",
    "select upper(s) from t",
    "select max(s) from t",
    "select k, s || 'x' from t where k > 0 order by s",
    "select k, s, (select count(*) from t u where u.s > t.s and u.k <> t.k) from t order by s",
    "select s, count(*) from t group by s",
    "select case when s like '%a' then 1 else 2 end, lower(s) from t",
)


def bad_table() -> pa.Table:
    data = pa.array([b"ok", b"\xff\xfe", None, b"a"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(data), data.buffers())
    return pa.table({"k": [1, 2, 3, 4], "s": text})


@pytest.mark.parametrize("sql", QUERIES)
def test_parquet(sql: str, tmp_path: Path) -> None:
    pq.write_table(bad_table(), tmp_path / "t.parquet")
    for settings in ({}, {"decorrelate": "none"}):
        with pytest.raises(ExecutionError, match=r"(?i)utf-?8"):
            assert Session(tmp_path, settings).sql(sql).table is None
    assert Session(tmp_path).sql("select sum(k) as n from t where k < 3").table.to_pylist() == [{"n": 3}]


def test_arrow(tmp_path: Path) -> None:
    """Its values are read when the folder is opened."""
    feather.write_feather(bad_table(), tmp_path / "t.arrow", compression="uncompressed")
    with pytest.raises(CatalogError, match=r"(?s)t\.arrow.*UTF8"):
        Session(tmp_path)
