"""Tables described by declarations and figures, without rows."""

from pathlib import Path

import pyarrow as pa
import pytest

from experiments.workloads.described import described_catalog
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError
from optimizer.sql.schema import parse_schema

SCHEMA = """
create table a (id integer not null primary key, t text, b integer);
create table b (id integer primary key);
alter table a add foreign key (b) references b (id);
"""


def described(figures: dict, schema: str = SCHEMA) -> Catalog:
    return described_catalog("made", parse_schema(schema, Path("schema.sql")), figures)


def test_keys_types_and_figures() -> None:
    catalog = described(
        {"a": {"rows": 90_000, "columns": {"t": {"nulls": 50_000, "ndv_above": 100, "mcv": [["x", 0.25]]}}}, "b": {"rows": 7}}
    )
    a = catalog.table("A")
    assert a is not None and catalog.statistics_only and not a.files
    assert [(c.type, c.nullable) for c in a.columns] == [(pa.int32(), False), (pa.string(), True), (pa.int32(), True)]
    assert a.keys == (("id",),) and a.foreign_keys[0].table == "b"
    assert a.stats.columns["id"].ndv == 90_000  # a key says so
    assert a.stats.columns["t"].ndv == 2_000 and a.stats.columns["t"].mcv == (("x", 0.25),)
    assert a.stats.columns["b"].ndv is None and a.stats.columns["b"].avg_width == 4


def test_a_bound_above_the_number_of_values() -> None:
    figures = {"a": {"rows": 4, "columns": {"t": {"nulls": 0, "ndv_above": 100}}}, "b": {"rows": 0}}
    a = described(figures).table("a")
    assert a is not None and a.stats.columns["t"].ndv == 4


def test_the_digest_tells_common_values_apart() -> None:
    one, two = (
        described({"a": {"rows": 4, "columns": {"b": {"mcv": [[value, 0.5]]}}}, "b": {"rows": 0}}).digest for value in (1, 2)
    )
    assert one != two


@pytest.mark.parametrize(
    ("figures", "schema", "message"),
    [
        ({"a": {"rows": 1}}, SCHEMA, 'table "b" has no row count'),
        ({"a": {"rows": 1}, "b": {"rows": 1}, "c": {"rows": 1}}, SCHEMA, 'figures for "c", which is no table'),
        ({"a": {"rows": 1, "columns": {"x": {}}}, "b": {"rows": 1}}, SCHEMA, 'figures for "x", which is no column of a'),
        ({"a": {"rows": 1}}, "create table a (x integer[])", "a.x is declared as"),
    ],
)
def test_what_is_wrong(figures: dict, schema: str, message: str) -> None:
    with pytest.raises(CatalogError) as error:
        described(figures, schema)
    assert message in str(error.value)
