"""Declared keys that the data contradicts: believed until somebody has looked, and said so once."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.workloads.data import open_data
from optimizer.catalog.findings import Constraint, Findings, read_findings
from optimizer.catalog.fingerprint import file_identities
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

SCHEMA = "create table p (k bigint primary key); create table c (k bigint references p (k), n bigint unique)"
KEY, REFERENCE = Constraint("p", ("k",)), Constraint("c", ("k",), "p", ("k",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    pq.write_table(pa.table({"k": [1, 1]}), data / "p.parquet")
    pq.write_table(pa.table({"k": [1, 7], "n": [1, 2]}), data / "c.parquet")
    (data / "schema.sql").write_text(SCHEMA)
    return data


def found(folder: Path, **against: str) -> None:
    files = {name: file_identities([folder / f"{name}.parquet"]) for name in ("p", "c")}
    Findings({}).with_found({KEY: against["key"], REFERENCE: against["reference"]}, files).write(folder)


def test_what_is_contradicted_is_not_there(folder: Path) -> None:
    believed = open_dataset(folder)
    assert believed.tables["p"].keys and believed.tables["p"].stats.columns["k"].ndv == 2 and believed.tables["c"].foreign_keys
    found(folder, key="two of one", reference="")
    tables = open_dataset(folder).tables
    assert not tables["p"].keys and tables["p"].stats.columns["k"].ndv is None and tables["c"].foreign_keys
    found(folder, key="", reference="7 is nowhere")
    tables = open_dataset(folder).tables
    assert tables["p"].keys and not tables["c"].foreign_keys
    assert open_dataset(folder, as_declared=True).tables["c"].foreign_keys
    pq.write_table(pa.table({"k": [1, 7]}), folder / "p.parquet")
    assert open_dataset(folder).tables["c"].foreign_keys, "another p may have it"


def test_damaged_findings(folder: Path) -> None:
    path = folder / "_planscope" / "constraints.json"
    path.parent.mkdir()
    for content in ("{", '{"version": 1, "found": [{"table": "p"}]}', '{"version": 1, "found": [7]}', "[]"):
        path.write_text(content)
        with pytest.raises(CatalogError, match=r"cannot read .*constraints\.json\ndelete it: planscope data analyze"):
            open_dataset(folder)
    path.write_text(
        '{"version": 1, "found": [{"table": "p", "columns": ["k"], "target": "", "referenced": [], "files": {}, "against": "x"}]}'
    )
    assert open_dataset(folder).tables["p"].keys, "of no files"
    path.write_text('{"version": 2}')
    assert read_findings(folder).is_empty


def test_keys_are_said_to_be_believed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANSCOPE_HOME", str(folder.parent / "home"))
    said: list[str] = []
    open_data(str(folder))
    open_data(str(folder), said.append)
    open_data(str(folder), said.append)
    assert len(said) == 1 and "are believed as declared" in said[0] and f"planscope data analyze {folder} verifies" in said[0]
    monkeypatch.setenv("PLANSCOPE_HOME", str(folder.parent / "other-home"))
    found(folder, key="", reference="")
    open_data(str(folder), said.append)
    assert len(said) == 1
