"""TPC-H data and datasets by name."""

from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from experiments.workloads.data import dataset_folder, open_data
from experiments.workloads.generated_data import seconds_of_steps
from experiments.workloads.scale import parse_scale
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError, OutputError


def test_tables_keys_and_order(tpch: Catalog, tpch_duckdb: duckdb.DuckDBPyConnection) -> None:
    assert tpch.name == "tpch:0.01"
    assert len(tpch.tables) == 8
    assert tpch.tables["lineitem"].order == ("l_orderkey", "l_linenumber")
    assert tpch.tables["orders"].order == ("o_orderkey",)
    for table in tpch.tables.values():
        count = tpch_duckdb.sql(f"select count(*) from {table.name}").fetchone()
        assert count == (table.stats.rows,)
        assert not any(column.nullable for column in table.columns)
        assert len(table.keys) == 1
        key = ", ".join(table.keys[0])
        assert tpch_duckdb.sql(f"select 1 from {table.name} group by {key} having count(*) > 1").fetchall() == []
        for foreign in table.foreign_keys:
            on = " and ".join(f"a.{here} = b.{there}" for here, there in zip(foreign.columns, foreign.referenced, strict=True))
            orphans = f"select count(*) from {table.name} a where not exists (from {foreign.table} b where {on})"
            assert tpch_duckdb.sql(orphans).fetchone() == (0,)
    assert sum(len(table.foreign_keys) for table in tpch.tables.values()) == 10


def test_it_is_analyzed(tpch: Catalog) -> None:
    assert tpch.tables["lineitem"].stats.analyzed
    assert tpch.tables["lineitem"].stats.columns["l_returnflag"].ndv == 3
    assert tpch.tables["orders"].stats.columns["o_orderstatus"].mcv
    assert set(seconds_of_steps(dataset_folder("tpch:0.01"))) >= {"generate", "analyze"}


def test_one_folder_for_one_number() -> None:
    folders = {dataset_folder(f"tpch:{text}") for text in ("0.01", "0.010", "1e-2", ".01")}
    assert len(folders) == 1
    assert open_data("tpch:1e-2").name == "tpch:0.01"


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan", "inf", "1e9", "0.1; rm", "1_0", " 1", "0.00001"])
def test_scale_factors_that_are_none(text: str) -> None:
    with pytest.raises(CatalogError, match=r"is no scale factor: write tpch:SF with a number from 0\.0001 to 100000"):
        parse_scale(text)


def test_scale_factors() -> None:
    assert parse_scale("10") == 10
    assert parse_scale("0.0001") == Decimal("0.0001")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tpch", r"tpch needs a scale factor: try tpch:0\.1"),
        ("tpch:", r"tpch needs a scale factor"),
        ("tpcds", r"tpcds needs a scale factor: try tpcds:0\.1"),
        ("tpcds:x", r'"x" is no scale factor: write tpcds:SF'),
        ("tpcds:0.001", r"tpcds is made from scale 0\.01 on"),
        ("tpcd:1", r'there is no dataset "tpcd:1"; built in: tpch:SF, tpcds:SF, .*; or name a folder with tables'),
        ("tpch0.1", r'there is no dataset "tpch0.1"; built in: tpch:SF.*\ndid you mean "tpch:0\.1"\?'),
        ("tcph:0.01", r'did you mean "tpch:0\.01"\?'),
        ("", r'there is no dataset ""'),
        ("no/such/folder", r"there is no folder no/such/folder; its path exists up to"),
    ],
)
def test_what_is_wrong(spec: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        open_data(spec)


def test_too_little_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    with pytest.raises(OutputError, match=r"(?s)tpch:100000 needs about .*choose a smaller scale, or a PLANSCOPE_HOME with"):
        open_data("tpch:100000")
    assert [path.name for path in tmp_path.iterdir()] == [".tpch-100000.lock"]
