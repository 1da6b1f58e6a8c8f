"""CSV files: types, NULLs as in DuckDB, and what is said about files that are not well-formed."""

from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from executor import Session
from experiments.stored_rows import as_declared, open_source, rows_ascend
from optimizer.catalog import csv_files
from optimizer.catalog.table import Table
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError


def rows(table: Table) -> pa.Table:
    """As an analysis reads them."""
    return open_source(table).to_table(as_declared(table, [column.name for column in table.columns]))


def opened(folder: Path, text: str, schema: str = "") -> Table:
    (folder / "t.csv").write_bytes(text.encode())
    if schema:
        (folder / "schema.sql").write_text(schema)
    return open_dataset(folder).tables["t"]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("values", "type"),
    [
        (["1", "2"], "int64"), (["1", "2.5"], "double"), (["1", "x"], "string"), (["2020-01-01", "2020-01-02"], "date32[day]"),
        (["2020-01-01", "2020-01-02 10:00:00"], "timestamp[us]"),
        (["2020-01-01 10:00:00.5", "2020-01-02 10:00:00"], "timestamp[us]"), (["2020-01-01", "x"], "string"),
        (["true", "false"], "bool"), (["true", "FALSE"], "bool"), (["true", "7"], "string"), (["10:00:00", "11:00:00"], "string"),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00+02"], "timestamp[us]"),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00.123456000Z"], "timestamp[us]"),
        (["2020-01-01 10:00:00.5", "2020-01-01 10:00:00.123456000"], "timestamp[us]"),
        (["2020-01-01 10:00:00.5", "2020-01-01 10:00:00.123456001"], "string"),
        (["2020-01-01 10:00:00.5", "9999-12-31 23:59:59.999"], "timestamp[us]"),
        (["0001-01-01T00:00:00.5Z", "2020-01-01T00:00:00Z"], "timestamp[us]"),
        (["9999-12-31 23:59:59.123456000", "2020-01-01"], "string"), (["2020-13-01 10:00", "2020-01-01"], "string"),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00"], "string"), (["2020-01-01T10:00:00", "2020-01-01T10:00:00Z"], "string"),
        (["", ""], "string"), (["", "3"], "int64"), (["NULL", "nan"], "string"),
        (["9223372036854775808", "-1"], "decimal128(38, 0)"), (["", "9223372036854775808"], "decimal128(38, 0)"),
        (["nan", "NaN"], "double"), (["12345678901234567", "1.5"], "string"), (["1" * 39, "1"], "string"),
        (["12345678901234567890", "007"], "string"), (["1.5", "1234567890123456"], "double"), (["1", "+49"], "string"),
        (["1", "true"], "string"), (["1", "1e400"], "string"), (["1e308", "-inf"], "double"), (["1", "00501"], "string"),
        (["2.5", "-007.5"], "string"), (["1", "0x10"], "string"), (["0", "-0.5"], "double"), (["100", "1e05"], "double"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("padding", [0, 9000])
def test_type_is_the_first_that_all_values_have(tmp_path: Path, values: list[str], type: str, padding: int) -> None:
    """With padding the second value lies in another block than the first, which alone suggests a type at first."""
    lines = [f"{i},{values[0]},{'p' * 1000}" for i in range(padding)] + [f"0,{value},p" for value in values]
    table = opened(tmp_path, "id,v,p\n" + "\n".join(lines) + "\n")
    assert str(table.columns[1].type) == type
    assert rows(table).num_rows == padding + 2 == table.stats.rows


def test_few_readings_tell_the_types_of_many_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inferred ones, and declared ones that Arrow does not read, where another block than the first has what tells."""
    read, readings = csv_files._read, list[Path]()
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(csv_files, "_read", lambda path, *more: readings.append(path) or read(path, *more))
    values = {"x": "string", "2020-01-01": "date32[day]", "1.5": "double", "true": "bool", "2020-01-01 10:00Z": "timestamp[us]"}
    columns = [*values.items(), *[("+7", "int32")] * 5] * 4
    names = [f"c{i}" for i in range(len(columns))]
    schema = ", ".join(f"{name} int" for name, (_, type) in zip(names, columns, strict=True) if type == "int32")
    lines = [",".join(names), *[f"{',' * (len(names) - 1)}"] * 50, ",".join(value for value, _ in columns), ""]
    table = opened(tmp_path, "\n".join(lines), f"create table t ({schema})")
    assert [str(column.type) for column in table.columns] == [type for _, type in columns]
    assert rows(table).slice(50).to_pylist()[0]["c5"] == 7 and len(readings) < 6


def test_nulls_late_in_a_column_of_nulls(tmp_path: Path) -> None:
    table = opened(tmp_path, "id,v\n" + "1,\n" * 1_500_000 + "2,2020-01-01\n")
    assert str(table.columns[1].type) == "date32[day]"
    assert table.stats.columns["v"].nulls == 1_500_000


def test_part_files_get_one_type(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "1.csv").write_text("a,b\n1,x\n")
    (tmp_path / "t" / "2.csv").write_text("b,a\ny,2.5\n")
    table = open_dataset(tmp_path).tables["t"]
    assert [str(c.type) for c in table.columns] == ["double", "string"]
    assert open_source(table).to_table().to_pydict() == {"a": [1.0, 2.5], "b": ["x", "y"]}


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n1,\n2,""\n3,"x ""y"" z"\n4,"line\nbreak"\n,NULL\n', "a\n1\n\n3\n", "a,b\r\n1,x\r\n\r\n2,y\r\n", "\ufeffa,b\n1,2",
        "a,b\n1, x \n2,\n", '"a;b"\n1;2\n', "a;b\nx\ny;z\n", "\n\na,b\n1,2\n",
    ],
)  # fmt: skip
def test_fields_are_read_as_duckdb_reads_them(tmp_path: Path, text: str) -> None:
    table = opened(tmp_path, text)
    expected = duckdb.sql(f"from read_csv('{table.files[0]}', header = true, delim = ',')").fetchall()
    assert [tuple(row.values()) for row in open_source(table).to_table().to_pylist()] == expected
    assert sum(s.nulls or 0 for s in table.stats.columns.values()) == sum(row.count(None) for row in expected)


@pytest.mark.parametrize("text", ["a,b", '"a","b"\n', "\ufeffa,b"])
def test_names_without_rows(tmp_path: Path, text: str) -> None:
    assert opened(tmp_path, text).stats.rows == 0
    assert Session(tmp_path).sql("select count(*) as rows, max(b) as b from t").table.to_pylist() == [{"rows": 0, "b": None}]


def test_declared_types_are_used(tmp_path: Path) -> None:
    schema = "create table T (A decimal(9,2) not null, b varchar, c smallint, d timestamp, e double)"
    table = opened(tmp_path, "a,b,c,d,e\n1.5,7,3,2020-01-01,1\n", schema)
    assert [str(c.type) for c in table.columns] == ["decimal128(9, 2)", "string", "int16", "timestamp[us]", "double"]
    assert table.columns[0].nullable is False
    assert open_source(table).to_table().schema == table.schema


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,c\n1,2,3\n4,5\n7,8,9\n", r"t\.csv, line 3 \(row 2\): 2 fields, but the first line names 3 columns"),
        ('a,b\n"1\n2",x\n3,4,5\n', r"t\.csv, line 4 \(row 2\): 3 fields, but the first line names 2 columns"),
        ("a;b\n1;2\n", r"t\.csv has one column, \"a;b\", but its fields .* by ';'\nplanscope data import \S+t.csv --option "),
        ("a\tb;c\n1\t2,5;6\n", r"t\.csv has one column, .* separated by ';'\n"),
        ("a\n1\n2,3\n", r"t\.csv, line 3 \(row 2\): 2 fields, but the first line names 1 column"),
        ("", r"t\.csv is empty: a CSV file starts with a line of column names"),
        ("a,b,a\n1,2,3\n", r't\.csv, line 1: column "a" is there twice'),
        ("a,A\n1,2\n", r'columns "a" and "A" differ at most in letter case'),
        ("a,\n1,2\n", r"t\.csv, line 1: a column has no name$"),
        (",a\n0,2\n", r"t\.csv, line 1: a column has no name\npandas writes its index without one"),
        ('"' + "x" * 200_000 + '"\n1\n', r"t\.csv, line 1: field larger than field limit"),
        ("\na\n1\n", r"t\.csv begins with an empty line"),
        *(
            (f"a,b\n1,x\n2,{field}\n3,y\n", r"t\.csv, line 3: there is more in a field than quotes and what is between them\n")
            for field in ('"x"y', '""y', '"x" ', '"a ""b"" c"d', '"""x"" y"""z', '"a,""b"c')
        ),
    ],
)
def test_what_is_wrong_and_where(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        opened(tmp_path, text)


def test_ragged_row_far_into_a_file(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"line 900002 \(row 900001\): 3 fields"):
        opened(tmp_path, "a,b\n" + "12345,67890\n" * 900_000 + "1,2,3\n")


def test_times_with_a_zone_and_loose_numbers(tmp_path: Path) -> None:
    """Of all ways to read a table: as texts, where Arrow does not read what an import does."""
    text = "a,b,c\n2020-01-01 10:00Z,+5,2020-01-01T10:00:00+02:00\n2020-01-02,+100,\n"
    table = opened(tmp_path, text, "create table t (a timestamp, b int, c timestamp)")
    expected = {"a": [datetime(2020, 1, 1, 10), datetime(2020, 1, 2)], "b": [5, 100], "c": [datetime(2020, 1, 1, 8), None]}
    assert rows(table).to_pydict() == expected == Session(tmp_path).sql("select * from t").table.to_pydict()
    assert (table.stats.columns["a"].min, table.stats.columns["b"].max) == (datetime(2020, 1, 1, 10), 100)
    assert rows_ascend(table, ["a", "b"])
    (tmp_path / "schema.sql").unlink()
    assert rows(open_dataset(tmp_path).tables["t"])["c"].to_pylist() == expected["c"]


@pytest.mark.parametrize(
    ("type", "first", "value", "said"),
    [
        *(("int", "1", value, "INTEGER") for value in ("x", "0x10", "1e2")),
        *((type, "1.5", value, "DECIMAL") for type in ("decimal(10,2)", "decimal(38,2)")
          for value in ("1.239", "1e-31", "1e38", "9" * 38, str((2**128 + 5 * 10**37) // 100))),  # digits would be lost
        ("double", "inf", "-1e400", ""), ("real", "inf", "1e39", ""),  # too large
    ],
)  # fmt: skip
def test_value_of_another_type_than_declared(tmp_path: Path, type: str, first: str, value: str, said: str) -> None:
    shown = "[0-9.e-]*" if said == "DECIMAL" else value
    with pytest.raises(
        CatalogError, match=rf"""t\.csv, line 3 \(row \d\), column "a": '{shown}' is not of the declared type {said}"""
    ):
        opened(tmp_path, f"a,b\n{first},1\n{value},2\n", f"create table t (a {type}, b int)")


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a\nstraße\n".encode("latin-1"))
    with pytest.raises(CatalogError, match="is not UTF-8 text"):
        open_dataset(tmp_path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('1,"a\n' + "".join(f"{i},b\n" for i in range(50)), 2),  # to the end of the file
        ('1,a\n2,"a\n3,"b\n4,c\n', 3),  # to the next quote
        ('1,"a\r2,"b"\r3,c\r', 2),
        ('1,a\n2,"a\n\n', 3),
        ('1,a\n2,"a\n', 3),
        ('1,5" x\n2,"a', 3),
        ('1,"a\r\n', 2),
        ('1,"', 2),
    ],
)
def test_a_quote_that_is_never_closed(tmp_path: Path, text: str, line: int) -> None:
    """Rows would vanish in one value."""
    with pytest.raises(CatalogError, match=rf"t\.csv, line {line}: a quote is opened there, and not closed"):
        opened(tmp_path, ("a,b\r" if "\r" in text else "a,b\n") + text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('1,"a\nb"\n2,c\n', ["a\nb", "c"]),
        ('1,"a\n""b"", c"\n', ['a\n"b", c']),
        ('1,5" pipe\n2,"two\nlines"\n', ['5" pipe', "two\nlines"]),
        ('1,5" "b\n2,c\n\n\n', ['5" "b', "c"]),
        ('1,"""a"" ""b"""\n2,"c,""d"""\n', ['"a" "b"', 'c,"d"']),
        ('1,"a\r\nb"\r\n2,""\r\n', ["a\r\nb", None]),
        ('1,"a\n"', ["a\n"]),
        ('1,5" pipe\n2,5"', ['5" pipe', '5"']),
        ('1,a\n2,"b"', ["a", "b"]),
    ],
)
def test_quotes_and_lines_in_values(tmp_path: Path, text: str, values: list[str | None]) -> None:
    rows = open_source(opened(tmp_path, "a,b\n" + text)).to_table()
    assert rows["b"].to_pylist() == values


def test_names_with_odd_characters(tmp_path: Path) -> None:
    table = opened(tmp_path, '"a b","c,d","e""f"\n1,2,3\n')
    assert [c.name for c in table.columns] == ["a b", "c,d", 'e"f']
    assert table.columns[0].type == pa.int64()
