"""Parquet files read by row groups: what is read, and of what texts there are conditions. The rows: `test_encoded_texts.py`."""

import os
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from executor import Session
from executor.arrow.context import Tuning
from executor.arrow.parquet_rows import ParquetFiles, _repeating
from optimizer.errors import ExecutionError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`w` repeats, `u` does not; two files, whose dictionaries differ."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "t").mkdir()
    for part in range(2):
        numbers = range(part * 30_000, (part + 1) * 30_000)
        table = pa.table({"w": [f"{part} {n % 5}" for n in numbers], "u": [str(n) for n in numbers], "n": numbers})
        pq.write_table(table, folder / "t" / f"{part}.parquet", row_group_size=7_000)
    return folder


def test_an_error_is_raised_for_rows_only_that_are_there(tmp_path: Path) -> None:
    """The text "x" is in the dictionary of the row group, but not among the rows that the other conjunct leaves."""
    pq.write_table(pa.table({"w": ["1", "x"] * 5_000, "n": [0, 1] * 5_000}), tmp_path / "t.parquet")
    session = Session(tmp_path)
    assert session.sql("select count(*) from t where cast(w as int) = 1 and n = 0").table.to_pydict().popitem()[1] == [5_000]
    with pytest.raises(ExecutionError, match="x"):
        session.sql("select count(*) from t where cast(w as int) = 1")


def test_only_texts_that_repeat_are_read_as_dictionaries(folder: Path) -> None:
    file = next((folder / "t").iterdir())
    assert _repeating(pq.read_metadata(file), ["w", "u", "n", "none"]) == ["w"]


def test_row_groups_that_statistics_rule_out_are_not_read(folder: Path) -> None:
    dataset = ds.dataset([str(file) for file in sorted((folder / "t").iterdir())])
    files = ParquetFiles(dataset)
    assert [group.num_rows for group in files.row_groups(lambda _: [])] == [7_000, 7_000, 7_000, 7_000, 2_000] * 2
    some = files.row_groups(lambda _: [ds.field("n") >= 27_999, ds.field("n") < 30_001])
    assert [(group.number, group.num_rows) for group in some] == [(3, 7_000), (4, 2_000), (0, 7_000)]
    assert files.row_groups(lambda _: [ds.field("n") < 0]) == []


def test_a_limit_reads_no_more_than_it_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, batches = ParquetFiles.read, []

    def counted(self, group, columns, rows):
        for batch in read(self, group, columns, rows):
            batches.append(batch)
            yield batch

    monkeypatch.setattr(ParquetFiles, "read", counted)
    assert Session(folder).sql("select n from t limit 3 offset 2").table.to_pydict() == {"n": [2, 3, 4]}
    assert len(batches) == 1 and Tuning().batch > 7_000


def test_a_table_may_have_more_files_than_a_process_may_open(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for n in range(99):
        pq.write_table(pa.table({"n": [n]}), tmp_path / "t" / f"{n}.parquet")
    session, (soft, hard) = Session(tmp_path), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 40, hard))
    try:
        assert session.sql("select count(*) c, max(n) m from t where n >= 0").table.to_pylist() == [{"c": 99, "m": 98}]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
