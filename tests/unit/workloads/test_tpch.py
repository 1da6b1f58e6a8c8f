"""TPC-H data and datasets by name."""

from __future__ import annotations

import stat
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from experiments.workloads import tpch_data
from experiments.workloads.data import dataset_folder, open_data
from experiments.workloads.tpch_data import parse_scale
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError


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


def test_the_key_of_partsupp_is_declared_only_where_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    tiny = open_data("tpch:0.001").tables
    assert tiny["partsupp"].keys == ()
    assert tiny["partsupp"].order == ("ps_partkey",)
    assert all(key.table != "partsupp" for key in tiny["lineitem"].foreign_keys)


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
        ("tpcds:1", r'there is no dataset "tpcds:1"; built in: tpch:SF, job, joingraph; or name a folder with tables'),
        ("", r'there is no dataset ""'),
        ("no/such/folder", r"there is no folder no/such/folder; its path exists up to"),
    ],
)
def test_what_is_wrong(spec: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        open_data(spec)


def fake_generator(folder: Path, script: str) -> str:
    program = folder / "tpchgen-cli"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no luck >&2; exit 3", r"tpchgen-cli could not make tpch:0\.001: no luck"),
        ("exit 3", r"tpchgen-cli could not make tpch:0\.001: exit code 3"),
        ("exit 0", r"schema\.sql declares table|no tables in"),
    ],
)
def test_a_generator_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str) -> None:
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tpch_data, "_generator", lambda: fake_generator(tmp_path, script))
    with pytest.raises(CatalogError, match=message):
        open_data("tpch:0.001")
    assert [p.name for p in (tmp_path / "home").iterdir()] == [".tpch-0.001.lock"]


def test_no_generator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tpch_data.shutil, "which", lambda *_, **__: None)
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    with pytest.raises(CatalogError, match="not installed: pip install tpchgen-cli"):
        open_data("tpch:0.001")


def test_too_little_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(tpch_data, "_BYTES", 1e18)
    with pytest.raises(CatalogError, match=r"tpch:1 needs about 1e\+09 GB, but .* left\nchoose a smaller scale factor"):
        open_data("tpch:1")
