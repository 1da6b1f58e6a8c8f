"""Synthetic rows for the Join Order Benchmark: figures as published, references that hold, queries that find something."""

import re
from decimal import Decimal
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from executor.session import Session
from experiments.pipeline.generate.generate import generate
from experiments.pipeline.generate.kinds import recipe
from experiments.workloads.imdb_like.columns import COLUMNS, Reference
from experiments.workloads.imdb_like.figures import FOLDER, TYPES, rows_at_1, sampled_ndv, tables
from experiments.workloads.imdb_like.ranks import by_deciles, chosen, ranks, steps_of
from experiments.workloads.imdb_like.solve import witness
from experiments.workloads.imdb_like.tables import rows_of
from experiments.workloads.imdb_like.texts import digest, text
from experiments.workloads.imdb_like.witnesses import planted, table_rows
from experiments.workloads.job_data import job_catalog
from optimizer.errors import CatalogError, InternalError
from optimizer.sql.bind import bind
from tests.conftest import duckdb_over

SCALE = 0.001
MOSTLY_PLANTED = "movie_link", "keyword", "company_name"  # at this scale, so that they are larger than it says
QUERIES = sorted(FOLDER.glob("[0-9]*.sql"))


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("imdb")
    generate(recipe("imdb_like", Decimal(str(SCALE))), folder, lambda: spark, lambda line: None)
    return Session(folder)


@pytest.fixture(scope="module")
def beside(made: Session) -> duckdb.DuckDBPyConnection:
    return duckdb_over(made.catalog)


def test_tables_have_the_rows_they_should_have(made: Session) -> None:
    found = {name: table.stats.rows for name, table in made.catalog.tables.items()}
    assert found == table_rows(SCALE)
    assert len(found) == 21
    for name, rows in found.items():
        expected = rows_at_1(name) * (1 if name in TYPES else SCALE)
        assert rows == pytest.approx(expected, abs=1) or name in MOSTLY_PLANTED  # room for planted rows


def test_every_reference_is_to_a_row(made: Session, beside: duckdb.DuckDBPyConnection) -> None:
    declared = {(name, key.columns[0], key.table) for name, table in made.catalog.tables.items() for key in table.foreign_keys}
    contents = [(table, column, content) for table, columns in COLUMNS.items() for column, content in columns.items()]
    ours = {(table, column, content.table) for table, column, content in contents if isinstance(content, Reference)}
    assert len(declared) == 14
    assert declared <= ours
    for table, column, parent in sorted(ours):
        lost = f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT id FROM {parent})"
        assert beside.execute(lost).fetchone() == (0,), f"{table}.{column}"


def test_keys_are_keys(made: Session, beside: duckdb.DuckDBPyConnection) -> None:
    for name, table in made.catalog.tables.items():
        assert ("id",) in [tuple(key) for key in table.keys]
        assert table.order == ("id",)
        rows = table.stats.rows
        assert beside.execute(f"SELECT count(DISTINCT id), min(id), max(id) FROM {name}").fetchone() == (rows, 1, rows)


def test_nulls_and_distinct_values_are_as_published(beside: duckdb.DuckDBPyConnection) -> None:
    rows, extra = table_rows(SCALE), planted(SCALE)
    for table, columns in COLUMNS.items():
        for column, content in columns.items():
            figures, slack = tables()[table][column], len(extra.get(table, ()))
            counted = beside.execute(f"SELECT count(*) - count({column}), count(DISTINCT {column}) FROM {table}").fetchone()
            assert counted is not None
            assert counted[0] == pytest.approx(figures.nulls * rows[table] / figures.rows, abs=slack + 1), f"{table}.{column}"
            if isinstance(content, Reference) and figures.ndv is not None:
                ratio = rows[content.table] / rows_at_1(content.table)
                expected = min(figures.ndv * ratio, rows[table] - counted[0])
                assert counted[1] == pytest.approx(expected, abs=slack + 1), f"{table}.{column}"


@pytest.mark.slow
def test_every_query_finds_rows_and_duckdb_finds_the_same(made: Session, beside: duckdb.DuckDBPyConnection) -> None:
    assert len(QUERIES) == 113
    for path in QUERIES:
        sql = path.read_text(encoding="utf-8")
        theirs = beside.execute(re.sub(r'(?i)(?<![\w"])at(?=[.,])', '"at"', sql)).fetchall()
        assert None not in theirs[0], f"{path.stem} finds nothing"
        assert [tuple(row.values()) for row in made.sql(sql).table.to_pylist()] == theirs, path.stem


@pytest.mark.parametrize("table", ["title", "cast_info", "movie_info", "info_type"])
def test_a_row_is_the_same_in_whichever_part_it_is_made(table: str) -> None:
    rows = min(3000, table_rows(0.002)[table])
    whole = pa.Table.from_batches([rows_of(table, 0.002, 0, rows)])
    cuts = [0, 1, rows // 3, rows // 3, rows - 1, rows]
    pieces = [rows_of(table, 0.002, start, end) for start, end in pairwise(cuts)]
    assert pa.Table.from_batches(pieces).combine_chunks().equals(whole)
    whole.validate(full=True)


@pytest.mark.parametrize("scale", [0.0001, 0.37, 50.0])
def test_planted_rows_have_places_of_their_own_at_every_scale(scale: float) -> None:
    rows = table_rows(scale)
    for table, those in planted(scale).items():
        numbers = [row.number for row in those]
        assert numbers == sorted(set(numbers))
        assert 0 <= numbers[0] <= numbers[-1] < rows[table]
        for row in those:
            for column, value in row.values.items():
                content = COLUMNS[table][column]
                if isinstance(content, Reference) and value is not None:
                    assert isinstance(value, int) and 1 <= value <= rows[content.table]


@pytest.mark.parametrize("scale", ["0", "-1", "50.1"])
def test_scales_that_cannot_be(scale: str) -> None:
    with pytest.raises(CatalogError, match="imdb_like is made up to scale 50"):
        recipe("imdb_like", Decimal(scale))


def test_the_size_is_known_roughly(made: Session) -> None:
    size = sum(table.stats.bytes or 0 for table in made.catalog.tables.values())
    assert size / 3 < recipe("imdb_like", Decimal(str(SCALE))).bytes < size * 3


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 3000), nulls=st.floats(0, 1), ndv=st.integers(1, 3000), width=st.integers(0, 5000), data=st.data())
def test_columns_have_the_distinct_values_asked_for(rows: int, nulls: float, ndv: int, width: int, data: st.DataObject) -> None:
    filled = rows - int(rows * nulls)
    deciles = sorted(data.draw(st.lists(st.integers(0, width), min_size=11, max_size=11)))
    placed = ranks(np.arange(rows), rows, rows - filled, "t c")
    assert int(placed.null.sum()) == rows - filled
    steps = steps_of(deciles, ndv, filled)
    values = by_deciles(placed, steps)[~placed.null]
    if not filled:
        return
    assert deciles[0] <= values.min() and values.max() <= deciles[-1]
    bounds = [filled * k // 10 for k in range(11)]
    room = sum(min(high - low + 1, end - start) for (low, high, _), (start, end) in zip(steps, pairwise(bounds), strict=True))
    few = len(set(values.tolist()))
    assert few <= max(ndv, 10) + 1  # the least value may come on top of those of the deciles
    assert few >= min(ndv, room) - 10  # a decile that repeats its neighbour's value adds none
    numbers = chosen(placed, min(ndv, filled))[~placed.null]
    assert len(set(numbers.tolist())) == min(ndv, filled) == numbers.max() + 1


@pytest.mark.parametrize("kind", ["person", "character", "title", "company", "keyword", "alias_note", "release_note", "sentence"])
def test_different_numbers_are_different_texts(kind: str) -> None:
    numbers = np.concatenate([np.arange(3000), np.arange(10**7, 10**7 + 3000)])
    assert len(set(text(kind, numbers, ("one", "two")).to_pylist())) == len(numbers)
    assert text(kind, np.arange(2), ("one", "two")).to_pylist() == ["one", "two"]
    digests = digest("title", numbers).to_pylist()
    assert len(set(digests)) == len(numbers)
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in digests[:5])


def test_distinct_values_of_a_sample() -> None:
    assert sampled_ndv(1000, 100_000, 1.0) == 1000
    assert sampled_ndv(1000, 1000, 0.01) == pytest.approx(10, abs=1)
    assert sampled_ndv(1000, 100_000, 0.01) == pytest.approx(632, abs=5)  # 1 - 1/e of them
    assert sampled_ndv(1000, 100_000, 0.01, skew=6.0) < 632


def test_a_query_nobody_can_satisfy_is_said() -> None:
    query = bind("select min(t.title) from title t where t.production_year > 5 and t.production_year < 3", job_catalog())
    with pytest.raises(InternalError, match="no values found for t: production_year"):
        witness(query, {}, lambda table, column: ("x",) if column == "title" else ())
