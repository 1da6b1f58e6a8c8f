"""Parquet, CSV and Arrow files: the same rows give the same columns and statistics, and read back as they were."""

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from executor import Session
from executor.formats import cell_texts
from experiments.stored_rows import open_source
from optimizer.algebra.types import is_opaque
from optimizer.catalog.table import Catalog, ColumnStats, Table, TableColumn, TableStats
from optimizer.catalog.types import canonical_type
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, ExecutionError, Unsupported

ROWS = pa.table(
    {
        "id": pa.array([3, 1, 2], pa.int64()),
        "name": pa.array(["b", None, "ä,\n"], pa.string()),
        "price": pa.array([1.5, None, -2.0], pa.float64()),
        "day": pa.array([datetime.date(2020, 2, 29), None, datetime.date(1999, 1, 1)], pa.date32()),
        "at": pa.array([datetime.datetime(2020, 1, 1, 12, 30), None, datetime.datetime(2021, 1, 1)], pa.timestamp("us")),
        "flag": pa.array([True, None, False], pa.bool_()),
    }
)


def write(folder: Path, format: str, rows: pa.Table = ROWS, name: str = "t") -> None:
    if format == "parquet":
        pq.write_table(rows, folder / f"{name}.parquet")
    elif format == "csv":
        pacsv.write_csv(rows, folder / f"{name}.csv")
    else:
        feather.write_feather(rows, str(folder / f"{name}.arrow"), compression="uncompressed")


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
def test_columns_statistics_and_rows(tmp_path: Path, format: str) -> None:
    write(tmp_path, format)
    table = open_dataset(tmp_path).tables["t"]
    assert table.format == format
    assert [(c.name, c.type, c.nullable) for c in table.columns] == [(f.name, f.type, True) for f in ROWS.schema]
    assert table.stats.rows == 3
    assert table.stats.bytes == table.files[0].stat().st_size
    stats = table.stats.columns
    assert stats["id"] == ColumnStats(nulls=0, min=1, max=3, avg_width=8.0)
    assert (stats["name"].nulls, stats["name"].min, stats["name"].max) == (1, "b", "ä,\n")
    assert (stats["price"].nulls, stats["price"].min, stats["price"].max) == (1, -2.0, 1.5)
    assert (stats["day"].min, stats["day"].max) == (datetime.date(1999, 1, 1), datetime.date(2020, 2, 29))
    assert (stats["at"].min, stats["at"].max) == (datetime.datetime(2020, 1, 1, 12, 30), datetime.datetime(2021, 1, 1))
    assert (stats["flag"].min, stats["flag"].max) == (False, True)
    assert open_source(table).to_table().equals(ROWS.cast(table.schema))


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_every_encoding_becomes_the_canonical_type(tmp_path: Path, format: str) -> None:
    rows = pa.table(
        {
            "u8": pa.array([255, None], pa.uint8()), "u32": pa.array([2**32 - 1, 0], pa.uint32()),
            "u64": pa.array([2**64 - 1, 0], pa.uint64()), "view": pa.array(["x", None], pa.string_view()),
            "large": pa.array(["x", None], pa.large_string()), "dictionary": pa.array(["x", None]).dictionary_encode(),
            "bytes": pa.array([b"ab", None], pa.binary(2)), "decimal": pa.array([Decimal("1.20"), None], pa.decimal128(5, 2)),
            "seconds": pa.array([0, None], pa.timestamp("ms")), "float": pa.array([0.5, None], pa.float32()),
        }
    )  # fmt: skip
    write(tmp_path, format, rows)
    table = open_dataset(tmp_path).tables["t"]
    types = "int16 int64 decimal128(38,0) string string string binary decimal128(5,2) timestamp[us] float"
    assert [str(c.type).replace(" ", "") for c in table.columns] == types.split()
    read = open_source(table).to_table()
    assert read.schema == table.schema
    assert read.column("u64").to_pylist() == [Decimal(2**64 - 1), Decimal(0)]
    assert read.column("dictionary").to_pylist() == ["x", None]
    assert table.stats.columns["u64"].max == 2**64 - 1
    assert table.stats.columns["decimal"].min == Decimal("1.20")
    assert table.stats.columns["u8"].nulls == 1


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_columns_of_other_types_stay_as_they_are(tmp_path: Path, format: str) -> None:
    rows = pa.table(
        {
            "list": pa.array([[1, 2]]), "struct": pa.array([{"a": 1, "b": "x"}]), "id": pa.array([7], pa.int32()),
            "time": pa.array([datetime.time(1, 2)]),
        }
    )  # fmt: skip
    write(tmp_path, format, rows)
    table = open_dataset(tmp_path).tables["t"]
    assert table.schema.types == rows.schema.types
    assert table.stats.columns["id"].max == 7, "the statistics of a column behind nested ones are its own"
    assert all(table.stats.columns[name].max is None for name in ("list", "struct", "time"))
    assert open_source(table).to_table().to_pydict() == rows.to_pydict()


class Span(pa.ExtensionType):
    """A type of two columns in Parquet, that cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(pa.struct([("a", pa.int64()), ("b", pa.int64())]), "tests.span")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "Span":
        return cls()


@pytest.fixture
def spans() -> Iterator[pa.Table]:
    """A column of spans, and two of numbers."""
    pa.register_extension_type(Span())
    stored = pa.array([{"a": i, "b": i} for i in range(4)], Span().storage_type)
    yield pa.table({"s": pa.ExtensionArray.from_storage(Span(), stored), "day": [0, 1, 2, 3], "b": [30, 10, 20, 0]})
    pa.unregister_extension_type("tests.span")


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_bounds_and_order_behind_a_type_of_several_stored_columns(tmp_path: Path, format: str, spans: pa.Table) -> None:
    """The bounds and the order of `day` were taken for those of `b`, which so came back as it was stored."""
    if format == "parquet":
        pq.write_table(spans, tmp_path / "t.parquet", sorting_columns=[pq.SortingColumn(2)])
    else:
        write(tmp_path, format, spans)
    session = Session(tmp_path)
    table = session.catalog.tables["t"]
    assert {name: (table.stats.columns[name].min, table.stats.columns[name].max) for name in ("day", "b")} == {
        "day": (0, 3), "b": (0, 30)
    }  # fmt: skip
    assert table.order == (("day",) if format == "parquet" else ())
    assert session.sql("select b from t order by b").table["b"].to_pylist() == [0, 10, 20, 30]


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_two_columns_of_one_name(tmp_path: Path, format: str) -> None:
    write(tmp_path, format, pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], ["a", "a"]))
    with pytest.raises(CatalogError, match=f't.{format} has more than one column "a"'):
        open_dataset(tmp_path)


def test_part_files_are_one_table_in_name_order(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(ROWS.slice(2), tmp_path / "t" / "b.parquet")
    pq.write_table(ROWS.slice(0, 2), tmp_path / "t" / "a.parquet")
    (tmp_path / "t" / "_SUCCESS").touch()
    table = open_dataset(tmp_path).tables["t"]
    assert [file.name for file in table.files] == ["a.parquet", "b.parquet"]
    assert table.stats.rows == 3
    assert table.stats.columns["id"] == ColumnStats(nulls=0, min=1, max=3, avg_width=8.0)
    assert table.stats.columns["name"].nulls == 1
    assert open_source(table).to_table().column("id").to_pylist() == [3, 1, 2]


def test_part_files_that_differ(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t" / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "t" / "2.parquet")
    with pytest.raises(CatalogError, match=r'table "t" differ: column "a" is int64 in 1.parquet and string in 2.parquet'):
        open_dataset(tmp_path)


def test_row_groups_add_up(tmp_path: Path) -> None:
    rows = pa.table({"a": pa.array([5, None, None, None, 1, 9], pa.int64())})
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=2)  # the second group holds NULLs only
    assert open_dataset(tmp_path).tables["t"].stats.columns["a"] == ColumnStats(nulls=3, min=1, max=9, avg_width=8.0)


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
def test_bounds_leave_nan_out(tmp_path: Path, format: str) -> None:
    nan = float("nan")
    write(
        tmp_path, format, pa.table({"some": [nan, 2.0, nan, 1.0], "only": [nan] * 4, "infinite": [1.0, float("inf"), nan, 0.0]})
    )
    stats = open_dataset(tmp_path).tables["t"].stats.columns
    assert (stats["some"].min, stats["some"].max) == (1.0, 2.0)
    assert (stats["only"].nulls, stats["only"].min, stats["only"].max) == (0, None, None)
    assert (stats["infinite"].min, stats["infinite"].max) == (0.0, float("inf"))


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_nanoseconds(tmp_path: Path, format: str) -> None:
    """Columns that need them are carried through a query; others are as any timestamp."""
    nanos = pa.timestamp("ns")
    whole, fine = pa.array([5000, None, 7000], nanos), pa.array([5001, None, -1], nanos)
    write(tmp_path, format, pa.table({"fine": fine, "whole": whole, "n": [1, 2, 3]}), "t")
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts", format, pa.table({"at": fine}), "a")
    write(tmp_path / "parts", format, pa.table({"at": whole.cast(pa.timestamp("us"))}), "b")
    session = Session(tmp_path)
    table = session.catalog.tables["t"]
    assert table.stats.columns["whole"].min == datetime.datetime(1970, 1, 1, 0, 0, 0, 5)
    assert table.schema.types == [nanos, pa.timestamp("us"), pa.int64()]
    assert session.sql("select count(*) c, count(fine) f from t where whole is not null").table.to_pylist() == [{"c": 2, "f": 2}]
    assert session.sql("select fine from t order by n").table["fine"].combine_chunks() == fine
    assert session.sql("select * from parts").table["at"].cast(pa.int64()).to_pylist() == [5001, None, -1, 5000, None, 7000]
    assert cell_texts(fine)[0] == "1970-01-01 00:00:00.000005001"
    with pytest.raises(Unsupported, match='column "fine" of type TIMESTAMP_NS in ORDER BY'):
        session.sql("select n from t order by fine")


def test_nanoseconds_that_bounds_do_not_tell(tmp_path: Path) -> None:
    write(tmp_path, "parquet", pa.table({"n": [1, 2, 3], "at": pa.array([5000, 6001, 7000], pa.timestamp("ns"))}))
    assert Session(tmp_path).sql("select sum(n) s from t").table.to_pylist() == [{"s": 6}]
    with pytest.raises(ExecutionError, match=r't\.parquet\): column "at": Casting .* lose data: 6001\n(.*\n)*.*data import'):
        Session(tmp_path).sql("select max(at) from t")


def test_parquet_without_statistics(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "t.parquet", write_statistics=False)
    assert open_dataset(tmp_path).tables["t"].stats.columns["id"] == ColumnStats(avg_width=8.0)


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
def test_no_rows(tmp_path: Path, format: str) -> None:
    write(tmp_path, format, ROWS.slice(0, 0))
    table = open_dataset(tmp_path).tables["t"]
    assert table.stats.rows == 0
    assert table.stats.columns["id"].nulls == 0
    assert table.stats.columns["id"].min is None
    assert open_source(table).to_table().num_rows == 0


def test_not_null_in_the_file(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())])
    pq.write_table(pa.table({"a": [1], "b": [1]}, schema=schema), tmp_path / "t.parquet")
    assert [c.nullable for c in open_dataset(tmp_path).tables["t"].columns] == [False, True]


def test_canonical_types_are_stable() -> None:
    for type in (pa.int8(), pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.binary(), pa.date32(), pa.timestamp("us")):
        assert canonical_type(type) == type
    assert canonical_type(pa.decimal256(38, 3)) == pa.decimal128(38, 3)
    for type in (pa.decimal256(39, 3), pa.decimal128(5, -2), pa.map_(pa.string(), pa.int8()), pa.uuid(), pa.duration("s")):
        assert canonical_type(type) == type and is_opaque(type)


def test_names_are_found_in_any_case(tmp_path: Path) -> None:
    write(tmp_path, "parquet", pa.table({"Id": [1]}), name="Orders")
    catalog = open_dataset(tmp_path)
    table = catalog.table("ORDERS")
    assert table is catalog.tables["Orders"]
    assert table.column("iD") == TableColumn("Id", pa.int64())
    assert catalog.table("order") is None
    assert table.column("x") is None


def test_digest_is_of_the_data_alone(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    for folder, last in ((first, 3), (second, 3), (third, 4)):
        folder.mkdir()
        write(folder, "parquet", pa.table({"a": [1, 2, last]}))
        write(folder, "csv", pa.table({"a": [1, 2, 3]}), name="c")
    assert open_dataset(first).digest == open_dataset(second).digest
    assert open_dataset(first).digest != open_dataset(third).digest
    (second / "c.csv").write_text("a\n1\n3\n2\n")  # same rows, bounds and size in another order
    assert open_dataset(first).digest != open_dataset(second).digest
    (first / "schema.sql").write_text("create table t (a bigint primary key)")
    assert open_dataset(first).digest != open_dataset(third).digest


def test_a_catalog_without_rows() -> None:
    table = Table("t", (TableColumn("a", pa.int64()),), stats=TableStats(10, columns={"a": ColumnStats(ndv=4.0)}))
    catalog = Catalog("statistics only", [table])
    assert catalog.table("T") is table
    assert catalog.digest != Catalog("statistics only", []).digest
    with pytest.raises(CatalogError, match=r'table "t" has statistics only, no rows'):
        open_source(table)


def test_tables_whose_names_differ_in_case_only() -> None:
    tables = [Table(name, (TableColumn("a", pa.int64()),)) for name in ("t", "T")]
    with pytest.raises(CatalogError, match=r'"T" and "t" differ at most in case'):
        Catalog("c", tables)
