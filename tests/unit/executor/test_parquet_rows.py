"""Parquet files read by row groups: texts as dictionaries, other types than the table's, row groups that need not be read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from executor import Session
from executor.arrow.context import Tuning
from executor.arrow.parquet_rows import ParquetFiles, _repeating
from optimizer.errors import ExecutionError

WORDS = ["", "a", None, "été", "a longer text that is repeated"]
ROWS = 30_000


@pytest.fixture(scope="module", params=["string", "large_string", "string_view", "dictionary"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`w` repeats, `u` does not; two files, whose dictionaries differ."""
    types = {"string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view()}
    folder = tmp_path_factory.mktemp("texts")
    (folder / "t").mkdir()
    for part in range(2):
        words = pa.array([WORDS[(i * (part + 1)) % 5] for i in range(ROWS)])
        column = words.dictionary_encode() if request.param == "dictionary" else words.cast(types[request.param])
        unique = pa.array([f"{part} {i}" for i in range(ROWS)])
        table = pa.table({"w": column, "u": unique, "n": range(part * ROWS, (part + 1) * ROWS)})
        pq.write_table(table, folder / "t" / f"{part}.parquet", row_group_size=7_000)
    return folder


def _expected(folder: Path) -> pa.Table:
    schema = pa.schema([("w", pa.string()), ("u", pa.string()), ("n", pa.int64())])
    return pa.concat_tables([pq.read_table(file).cast(schema) for file in sorted((folder / "t").iterdir())])


CONDITIONS = {
    "w = 'a'": lambda t: pc.equal(t["w"], "a"),
    "w is null": lambda t: pc.is_null(t["w"]),
    "coalesce(w, 'none') = 'none' and n % 2 = 0": lambda t: pc.and_(pc.is_null(t["w"]), pc.equal(pc.bit_wise_and(t["n"], 1), 0)),
    "w like '%t%' and u like '%7'": lambda t: pc.and_(pc.match_substring(t["w"], "t"), pc.ends_with(t["u"], "7")),
    "w <> '' and n > 40000": lambda t: pc.and_(pc.not_equal(t["w"], ""), pc.greater(t["n"], 40000)),
    "w = 'absent'": lambda t: pc.equal(t["w"], "absent"),
    "length(w) > 5 or w is null": lambda t: pc.or_kleene(pc.greater(pc.utf8_length(t["w"]), 5), pc.is_null(t["w"])),
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_on_texts(condition: str, folder: Path) -> None:
    table = _expected(folder)
    kept = table.filter(pc.fill_null(CONDITIONS[condition](table), False))
    found = Session(folder).sql(f"select w, u, n from t where {condition}").table
    assert found.to_pydict() == kept.to_pydict() and found.schema.types == [pa.string(), pa.string(), pa.int64()]
    counted = Session(folder).sql(f"select count(*), min(w) from t where {condition}").table.to_pydict()
    assert list(counted.values()) == [[kept.num_rows], [pc.min(kept["w"]).as_py()]]


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
