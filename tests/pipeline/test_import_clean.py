"""Small CSV files without a fault: imported without Spark, to the same dataset that Spark makes."""

import csv
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from experiments.pipeline.intake import clean, tables
from experiments.pipeline.intake.request import ImportRequest, import_dataset
from optimizer.dataset import open_dataset
from optimizer.errors import PlanscopeError
from tests.pipeline.conftest import lay, no_spark
from tests.processes import run_python

SHOP = {
    "people/a.csv": "id,name,born,height\n1,Ann,2000-02-29,1.5\n2,,,\n",
    "people/b.csv": '\ufeffid,name,born,height\r\n7,"Li, ""X""\nY",1582-10-10,3\r\n',
    "sales.csv": "person,at,paid,code,ok\n7,2020-01-01T10:00+02,12345678901234567890,007,tRUE\n,2020-01-01 10Z,-1,+49,false\n",
    "empty.csv": "a,b\n",
    "one.csv": "x\n1\n\n3\n",
    "schema.sql": "create table people (id int primary key, name varchar, height decimal(4,2), unique (name));"
    "create table sales (person int references people (id), ok boolean not null);",
}
TEXTS = {
    "whole": ["0", "-1", "42", "9223372036854775807", " 7", "8 "],
    "huge": ["9223372036854775808", "123456789012345678901234567890", "1", "-0"],
    "code": ["007", "+5", "0x10", "1"],
    "real": ["1.5", ".5", "5.", "1e3", "-0.0", "12345678901234567", "1e400", "nan", "-nan", "-inf", "0.1234567890123456789"],
    "truth": ["true", "FALSE", "tRUE", " true", "t", "0", "yes"],
    "day": ["2020-01-01", "0001-01-01", "9999-12-31", "2020-02-30", "2020-1-5", "1582-10-10", " 2020-01-01"],
    "time": ["2020-01-01 10:00:00", "2020-01-01T10:00", "2020-01-01 10:00:00.123456000", "2020-01-01", "0001-01-01 00:00:00"],
    "zone": ["2020-01-01 10:00:00Z", "2020-01-01T10:00:00+02", "2020-01-01 10-0530", "2020-01-01Z"],
    "text": ["a", "é😀", " a ", "a,b", 'a"b', "line\nbreak", "NULL", "\\N", "\x7f", " ", "true", "1"],
}
TYPES = ["integer", "bigint", "smallint", "varchar", "double", "real", "decimal(9,2)", "boolean", "date", "timestamp", "hugeint"]


def asked_of(folder: Path, files: dict[str, str]) -> ImportRequest:
    return ImportRequest((str(lay(folder / "in", files)),), folder / "out")


class Started(PlanscopeError):
    """Spark would have been."""


def start() -> SparkSession:
    raise Started


def without_spark(asked: ImportRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict | None:
    """The counts of the same import into `folder`, None where Spark would have been started."""
    with monkeypatch.context() as patch, suppress(Started):
        patch.setattr(tables, "is_running", lambda: False)
        return import_dataset(replace(asked, folder=folder), start, lambda line: None).counts
    return None


def rows(folder: Path, table: str) -> tuple[pa.Schema, list[str]]:
    """As texts, so that NaN is NaN."""
    read = pa.concat_tables(pq.read_table(path) for path in sorted((folder / table).glob("*.parquet")))
    texts = [column.cast(pa.string()) if pa.types.is_temporal(column.type) else column for column in read.columns]
    return read.schema, list(map(repr, pa.table(texts, read.column_names).to_pylist()))


def assert_same(asked: ImportRequest, counts: dict, folder: Path, spark: SparkSession) -> None:
    made = import_dataset(asked, lambda: spark, lambda line: None)
    there = Path(made.place)
    assert counts == made.counts and (folder / "schema.sql").read_text() == (there / "schema.sql").read_text()
    for table in counts["tables"]:
        assert rows(folder, table) == rows(there, table)


@pytest.mark.slow
def test_the_dataset_is_the_one_that_spark_makes(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of(tmp_path, SHOP)
    counts = without_spark(asked, tmp_path / "clean", monkeypatch)
    assert counts is not None and {name: one["kept"] for name, one in counts["tables"].items()} == {
        "empty": 0, "one": 3, "people": 3, "sales": 2,
    }  # fmt: skip
    assert_same(asked, counts, tmp_path / "clean", spark)
    (key,) = open_dataset(tmp_path / "clean").tables["sales"].foreign_keys
    assert key.table == "people"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_files_are_what_spark_makes_of_them(
    seed: int, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those without a fault, which are not most of them."""
    chance = random.Random(seed)
    while True:
        folder = tmp_path / str(chance.random())
        columns = []
        for name in ("a", "b c", "ü")[: chance.randint(1, 3)]:
            texts = chance.sample(TEXTS[chance.choice(list(TEXTS))], 3)[: chance.randint(1, 3)]
            columns.append((name, [*texts, *chance.choice([[], [""], chance.sample(TEXTS["text"], 1)])]))
        asked = asked_of(folder, {})
        for part in range(chance.randint(1, 2)):
            (folder / "in" / "t").mkdir(parents=True, exist_ok=True)
            with (folder / "in" / "t" / f"{part}.csv").open("w", newline="") as file:
                writer = csv.writer(file, lineterminator=chance.choice(["\n", "\r\n", "\r"]), quoting=chance.choice([0, 1]))
                writer.writerow([name for name, _ in columns])
                writer.writerows([[chance.choice(texts) for _, texts in columns] for _ in range(chance.randint(0, 9))])
        if chance.random() < 0.3:
            (folder / "in" / "schema.sql").write_text(f'create table t ("{columns[0][0]}" {chance.choice(TYPES)});')
        counts = without_spark(asked, folder / "clean", monkeypatch)
        if counts is not None:
            return assert_same(asked, counts, folder / "clean", spark)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"t.csv": "a,b\n1\n"}, "a row of another length"),
        ({"t.csv": "a\n1\n", "schema.sql": "create table t (a date);"}, "a value of another type"),
        ({"t.csv": "a,b\n,1\n", "schema.sql": "create table t (a int not null);"}, "a NULL where none may be"),
        ({"t.csv": "a\n1\n1\n", "schema.sql": "create table t (a int primary key);"}, "a key that is there twice"),
        (
            {"t.csv": "a\n1\n", "schema.sql": "create table t (a int references u); create table u (b int primary key);"}
            | {"u.csv": "b\n2\n"},
            "a row without one to refer to",
        ),
        ({"t/1.csv": "a\n1\n", "t/2.csv": "b\n1\n"}, "files that differ"),
        ({"t.csv": "a,A\n1,2\n"}, "names that are one to SQL"),
        ({"t.csv": 'a\n"1\n'}, "a quote that is never closed"),
        ({"t.csv": "a\n1\n", "schema.sql": "create table t (b int);"}, "a declared column that is not there"),
        ({"t.csv": "a\n1\n", "schema.sql": "create table t (a json);"}, "a type that imports lack"),
        ({"t.csv": "a\n1\n", "u.json": '{"a": 1}\n'}, "files of another kind"),
        ({"t/a=1/1.csv": "b\n1\n"}, "folders of partitions"),
        ({"t.tsv": "a\tb\n1\t2\n"}, "another delimiter"),
        ({"t.csv": "a\n-nan\n1.5\n"}, "what others read otherwise"),
        ({"t.csv": "a\n true\n"}, "blanks that others pass over"),
        ({"t.csv": 'a\n"5\n"\n6\n'}, "line breaks that others pass over"),
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_spark(
    files: dict[str, str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert without_spark(asked_of(tmp_path, files), tmp_path / "clean", monkeypatch) is None, why


def test_much_of_it_and_what_has_options_is_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of(tmp_path, SHOP)
    assert without_spark(replace(asked, options={"null": "-"}), tmp_path / "options", monkeypatch) is None
    monkeypatch.setattr(clean, "SMALL", 9)
    assert without_spark(asked, tmp_path / "large", monkeypatch) is None


@pytest.mark.slow
def test_spark_reads_the_tables_with_faults_alone(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, told = asked_of(tmp_path, SHOP), list[str]()
    monkeypatch.setattr(tables, "is_running", lambda: False)
    made = import_dataset(asked, no_spark, told.append)
    assert made.made and not import_dataset(asked, no_spark, told.append).made
    assert "people: 2 of 2 files, 3 rows read" in told
    (tmp_path / "in" / "one.csv").write_text("x,y\n1\n2,3\n")
    (tmp_path / "in" / "people" / "c.csv").write_text("id,name,born,height\n1,Ed,,\n")
    found = import_dataset(replace(asked, folder=tmp_path / "again"), lambda: spark, told.append)
    assert [line for line in told if "looking" in line] == ["one: looking at 1 file"]
    faults = {name: [one["reason"] for one in table["rejected"]] for name, table in found.counts["tables"].items()}
    assert faults == {"empty": [], "one": ["not 2 fields"], "people": ["a row before it has the same key"], "sales": []}
    assert rows(tmp_path / "again", "people")[1] == rows(tmp_path / "out", "people")[1]


@pytest.mark.slow
def test_a_broken_key_is_what_spark_is_started_for(tmp_path: Path) -> None:
    """In a process that has no session yet."""
    asked = asked_of(tmp_path, {"t.csv": "a\n1\n1\n", "schema.sql": "create table t (a int primary key);"})
    done = run_python("-m", "planscope", "data", "import", *asked.sources, "-o", str(asked.folder))
    assert "t  1 of 2 rows, 1 rejected" in done.stdout, done.stderr
    assert done.stderr.index("t: 1 of 1 files, 2 rows read") < done.stderr.index("starting Spark")
