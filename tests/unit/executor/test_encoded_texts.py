"""Texts that are read as dictionaries, and may stay such up to an aggregate: the rows that DuckDB gives."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor import Session
from executor.arrow.batches import ENCODED_TEXT, plain_texts
from executor.arrow.encoded_texts import encoded_texts
from executor.arrow.key_places import groups_by_place
from executor.arrow.parquet_rows import Decoder
from optimizer.algebra.columns import column_ids
from tests.cases import Case, params, read
from tests.conftest import duckdb_over
from tests.reference.compare import assert_same_bag, assert_same_kinds, rows_of

WORDS = ["", "a", None, "été", "a longer text that is repeated"]
ROWS = 6_000


@pytest.fixture(scope="module", params=["string", "large_string", "string_view", "dictionary", "int8 dictionary"])
def folders(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same tables, with dictionaries and without. In `t` `w` and `v` repeat, `u` does not; its two files have other texts."""
    types = {
        "large_string": pa.large_string(),
        "string_view": pa.string_view(),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
        "int8 dictionary": pa.dictionary(pa.int8(), pa.string()),
    }
    found = []
    for name in ("with", "without"):
        folder = tmp_path_factory.mktemp(name)
        (folder / "t").mkdir()
        for part in range(2):
            texts = {
                "w": pa.array([WORDS[(i * (part + 1)) % 5] for i in range(ROWS)]),
                "v": pa.array([f"{part} {i % 3}" for i in range(ROWS)]),
            }
            if name == "with" and request.param in types:
                texts = {key: column.cast(types[request.param]) for key, column in texts.items()}
            u = pa.array([f"{part} {i}" for i in range(ROWS)])
            table = pa.table({**texts, "u": u, "k": [i % 7 for i in range(ROWS)]})
            pq.write_table(table, folder / "t" / f"{part}.parquet", row_group_size=2_500, use_dictionary=name == "with")
        names = pa.table({"n": [0, 1, 2, 3, 9], "name": ["x", "y", None, "x", "z"]})
        pq.write_table(pa.concat_tables([names] * 40), folder / "names.parquet", use_dictionary=name == "with")
        found.append(folder)
    return found[0], found[1]


def _encoded(session: Session, sql: str) -> set[str]:
    """Which columns of scans come as dictionaries."""
    query = session.optimize(sql)
    found = encoded_texts(query.plan, query.columns, query.catalog.tables)
    return {query.columns[id].name for columns in found.values() for id in column_ids(columns)}


@pytest.mark.parametrize("case", params(read(Path(__file__).parent / "encoded_texts.cases", "encoded", "none")))
def test_rows_are_duckdbs(folders: tuple[Path, Path], case: Case) -> None:
    sql = case.sql
    encoded, plain = (Session(folder) for folder in folders)
    expected = duckdb_over(plain.catalog).execute(sql).to_arrow_table()
    for session in (encoded, plain):
        found = session.sql(sql).table
        assert_same_kinds(expected, found)
        assert_same_bag(rows_of(expected), rows_of(found))
    assert expected.num_rows or "false" in sql
    if case.marks:
        columns = set(case.marks["encoded"].split(", ")) if "encoded" in case.marks else set()
        assert _encoded(plain, sql) == columns & ({"name"} if "name, w" in sql else set())
        assert _encoded(encoded, sql) == columns


@pytest.mark.parametrize("texts", [["a", "b", "a"], ["a", None, "c"], ["a", "b", "c", "d", "e"], ["a", "b"]])
def test_the_texts_of_a_dictionary_that_is_handed_on_differ(texts: list[str | None]) -> None:
    read = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, len(texts) - 1], pa.int32()), pa.array(texts))
    decoder = Decoder((), {0: "w"}, {0: pa.string()}, pa.schema([pa.field("c0", ENCODED_TEXT)]))
    made = decoder.decode(pa.record_batch([read], ["w"]))
    assert made is not None and made.column(0).to_pylist() == read.to_pylist()
    known = made.column(0).dictionary.to_pylist()
    assert None not in known and len(set(known)) == len(known) <= 4


def test_numbers_of_texts_are_groups() -> None:
    made = groups_by_place([pa.array(["b", None, "a", "b", None]).dictionary_encode()])
    assert made is not None and made.group.tolist() == [0, 1, 2, 0, 1]
    encoded = pa.array(["a", "b", "a"]).dictionary_encode()
    assert plain_texts(encoded).to_pylist() == ["a", "b", "a"] and encoded.type == ENCODED_TEXT
    texts = pa.array(["a"])
    assert plain_texts(texts) is texts
