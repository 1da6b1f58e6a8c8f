"""What is said about folders and files that are not a dataset."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, SqlError
from optimizer.pipeline import Optimizer

ROWS = pa.table({"a": list(range(1000))})


def refuse(folder: Path, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        open_dataset(folder)


def test_missing_folder(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    refuse(tmp_path / "salse", r"there is no folder .*salse; did you mean .*sales\?")
    refuse(Path("s3a://bucket/shop"), "no folder s3a:/bucket/shop\na dataset is a local folder: planscope data import")
    refuse(tmp_path / "entirely" / "else", rf"its path exists up to {tmp_path}$")


def test_a_file_instead_of_a_folder(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "t.parquet")
    refuse(tmp_path / "t.parquet", r"t\.parquet is a file; a dataset is a folder")


def test_no_tables(tmp_path: Path) -> None:
    refuse(tmp_path, r"no tables in .*: it holds nothing")
    (tmp_path / "notes.txt").touch()
    (tmp_path / "queries").mkdir()
    refuse(tmp_path, "planscope data import makes one of JSON")
    refuse(tmp_path, r"it holds notes\.txt, queries\na dataset is a folder with one \.parquet, \.csv or \.arrow file per table")


NESTED = r"has data files below year=2020: nested \(partitioned\) table folders are not read"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("t.parquet t.csv", r'table "t" is there twice in .*: as t\.csv and as t\.parquet'),
        ("t/year=2020/p.parquet", NESTED),
        ("t/year=2020/month=1/p.parquet", NESTED),
        ("t/1.parquet t/2.csv", r"different kinds \(csv, parquet\)"),
        ("t.parquet _planscope/order.json", r"cannot read .*order\.json; delete it"),
    ],
)
def test_files_that_are_no_dataset_together(tmp_path: Path, files: str, message: str) -> None:
    for path in (tmp_path / name for name in files.split()):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(ROWS, path) if path.suffix == ".parquet" else path.write_text("a\n1\n")
    refuse(tmp_path, message)


def test_a_compressed_part_beside_others(tmp_path: Path) -> None:
    """Its rows would be missing."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "1.csv.gz").touch()
    refuse(tmp_path, "no tables in")
    (tmp_path / "t" / "2.csv").write_text("a\n1\n")
    refuse(tmp_path, r"1\.csv\.gz is compressed, and not read, beside part files that are\nplanscope data import makes")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
@pytest.mark.parametrize("damage", ["cut", "empty", "text", "flipped"])
def test_damaged_files(tmp_path: Path, name: str, damage: str) -> None:
    path = tmp_path / name
    if name == "t.parquet":
        pq.write_table(ROWS, path)
    else:
        feather.write_feather(ROWS, str(path))
    content = path.read_bytes()
    flipped = bytes(b ^ 0xFF if i > len(content) - 60 and i < len(content) - 10 else b for i, b in enumerate(content))
    path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "text": b"a,b\n1,2\n", "flipped": flipped}[damage])
    refuse(tmp_path, rf"{name} is damaged, incomplete or not a")


def test_damaged_offsets_of_an_arrow_file(tmp_path: Path) -> None:
    """Reading them would end the process."""
    rows = pa.table({"s": [f"value {i}" for i in range(1000)]})
    file = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(file), rows.schema) as writer:
        writer.write_table(rows)
    content = file.read_bytes()
    third = b"".join(n.to_bytes(4, "little") for n in (14, 21))
    assert content.count(third) == 1
    file.write_bytes(content.replace(third, (14).to_bytes(4, "little") + (1 << 30).to_bytes(4, "little")))
    refuse(tmp_path, r"t\.arrow is damaged, incomplete or not an Arrow file")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t/part.arrow", "schema.sql"])
def test_a_pipe_is_no_table(tmp_path: Path, name: str) -> None:
    """Reading one would wait for ever."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    refuse(tmp_path, f"{path.name} is a pipe, socket or device, not a file")
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    refuse(tmp_path, f"{path.name} is a link to nothing, not a file")


def test_runs_are_not_read(tmp_path: Path) -> None:
    rows = pa.table({"r": pc.run_end_encode(pa.array([1, 1, 2]))})
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), rows.schema) as writer:
        writer.write_table(rows)
    refuse(tmp_path, r'column "r" of .*t\.arrow is run-end encoded, which is not read\ndecode it')


def test_an_arrow_stream(tmp_path: Path) -> None:
    with pa.ipc.new_stream(str(tmp_path / "t.arrow"), ROWS.schema) as stream:
        stream.write_table(ROWS)
    refuse(tmp_path, r"not an Arrow file .*\nwrite it again as an Arrow IPC file \(not a stream\)")


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "t.csv")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", denied)
        refuse(tmp_path, r"cannot read .*t\.csv: Permission denied")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", denied)
        refuse(tmp_path, r"cannot read folder .*: Permission denied; check its permissions")
    (tmp_path / "t.csv").rename(tmp_path / "t")
    pq.write_table(ROWS, tmp_path / "p.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(pq, "ParquetFile", denied)
        refuse(tmp_path, r"cannot read .*p\.parquet: permission denied")


def test_technical_names_are_passed_over(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "t.parquet")
    for name in (".hidden.parquet", "_old.csv"):
        (tmp_path / name).write_text("not data")
    (tmp_path / "_planscope").mkdir()
    (tmp_path / "_planscope" / "order.json").write_text(json.dumps({"version": 2, "tables": {}}))
    assert list(open_dataset(tmp_path).tables) == ["t"]


def test_what_cannot_be_read_is_an_error_of_its_table(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("a\n1\n")
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "short.csv").write_text("a,b\n1\n")
    (tmp_path / "lost.arrow").symlink_to(tmp_path / "nowhere")
    (tmp_path / "parts" / "a=1").mkdir(parents=True)
    (tmp_path / "parts" / "a=1" / "p.csv").write_text("a\n1\n")
    for name in ("t.csv", "t.arrow", "U.csv", "u.csv"):
        (tmp_path / name).write_text("a\n1\n")
    (tmp_path / "x.json").write_text("{}")
    (tmp_path / "holes.csv").write_text("a,b\n1,2\n,2\n")
    declared = (
        "create table empty (a int primary key); create table good (a int references empty); create table holes (a int not null)"
    )
    (tmp_path / "schema.sql").write_text(declared)
    Path(os.fsdecode(bytes(tmp_path / "v") + b"\xff.csv")).write_text("a\n1\n")
    catalog = open_dataset(tmp_path)
    assert "is not UTF-8" in catalog.unread.pop("v\udcff")
    assert list(catalog.tables) == ["good"] and catalog.tables["good"].foreign_keys == ()
    said = {
        "empty": r"empty\.parquet is damaged", "short": r"short\.csv, line 2 \(row 1\): 1 field,", "LOST": "a link to nothing",
        "holes": "holes.a is declared NOT NULL, but holds 1 NULLs",
        "parts": "has data files below a=1", "t": "is there twice", "u": r'has a table "U" and a table "u"',
    }  # fmt: skip
    for name, reason in said.items():
        with pytest.raises(CatalogError, match=reason):
            Optimizer(catalog).optimize(f"select * from {name}")
    with pytest.raises(SqlError, match=r"there is a file x\.json, which is not read: planscope data import"):
        Optimizer(catalog).optimize("select * from x")
    Optimizer(catalog).optimize("with t as (select 1 as a) select * from good, t")
