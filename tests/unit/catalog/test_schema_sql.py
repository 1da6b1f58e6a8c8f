"""schema.sql: what it may declare, how that meets the files, and what is said when it does not."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.catalog.table import Catalog, ForeignKey
from optimizer.dataset import open_dataset, read_declarations
from optimizer.errors import CatalogError
from optimizer.sql.schema import parse_schema

T = pa.table({"a": [1, 2], "b": [1, 2], "c": ["x", None]})
U = pa.table({"x": [1, 2], "y": [1, 2], "l": [[1], [2]]})


def opened(folder: Path, schema: str) -> Catalog:
    pq.write_table(T, folder / "t.parquet")
    pq.write_table(U, folder / "u.parquet")
    (folder / "schema.sql").write_text(schema)
    return open_dataset(folder)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("create table t (a int)", encoding="utf-8-sig")
    assert [table.name for table in read_declarations([tmp_path / "schema.sql"])] == ["t"]


def refuse(folder: Path, schema: str, message: str) -> None:
    """Columns that are not as declared are an error of their table alone."""
    try:
        said = opened(folder, schema).unread
    except CatalogError as error:
        said = {"t": str(error)}
    assert list(said) == ["t"] and re.search(message, said["t"])


@pytest.mark.parametrize(
    ("schema", "keys"),
    [
        ("create table t (a int primary key, b int, c text)", (("a",),)),
        ('CREATE TABLE IF NOT EXISTS "T" (A BIGINT, B BIGINT, PRIMARY KEY (B, A))', (("b", "a"),)),
        ("create table t (a int, b int, constraint pk primary key (a, b))", (("a", "b"),)),
        ("create table t (a int not null unique, b int)", (("a",),)),
        ("create table t (a int unique, b int)", ()),  # NULLs may repeat
        ("create table t (a int primary key unique, b int not null, unique (b), unique (a))", (("a",), ("b",))),
        ("create table t (a int not null, b int, unique (a, b))", ()),
        ("create table t (a int); alter table t add primary key (a);", (("a",),)),
        ("create table t (a int); alter table only t add constraint k unique (a);", ()),
        ("create table t (a int not null); create unique index i on t (a); create index j on t (a)", (("a",),)),
        ("create table t (a int not null); create unique index i on t (a) where a > 1", ()),
        ("create table t (a int not null); create unique index i on t (abs(a))", ()),
        ("create table t (a int default 3 check (a > 0), b int null, check (b > 0))", ()),
        ("-- nothing but a comment", ()),
        ("", ()),
    ],
)
def test_keys(tmp_path: Path, schema: str, keys: tuple[tuple[str, ...], ...]) -> None:
    table = opened(tmp_path, schema).tables["t"]
    assert table.keys == keys
    for key in keys:
        assert not any(table.schema.field(name).nullable for name in key)
        if len(key) == 1:
            assert table.stats.columns[key[0]].ndv == 2.0


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("create table t (a int references u (x))", (("a",), ("x",))),
        ("create table t (a int references U)", (("a",), ("x", "y"))),
        ("create table t (a int, b int, foreign key (a, b) references u)", (("a", "b"), ("x", "y"))),
        ("create table t (a int, b int, foreign key (B, A) references U (Y, X) on delete cascade)", (("b", "a"), ("y", "x"))),
        ("create table t (a int); alter table t add constraint f foreign key (a) references u (y)", (("a",), ("y",))),
    ],
)
def test_foreign_keys(tmp_path: Path, declared: str, expected: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    schema = f"create table u (x int, y int, primary key (x, y)); {declared}"
    if len(expected[0]) != len(expected[1]):
        refuse(tmp_path, schema, r"a foreign key of t has 1 column \(a\), but refers to 2 of u \(x, y\)")
    else:
        assert opened(tmp_path, schema).tables["t"].foreign_keys == (ForeignKey(expected[0], "u", expected[1]),)


def test_not_null(tmp_path: Path) -> None:
    table = opened(tmp_path, "create table t (a int not null, c varchar(3))").tables["t"]
    assert [c.nullable for c in table.columns] == [False, True, True]


@pytest.mark.parametrize("type", ["bigint", "integer", "int4", "smallint", "tinyint", "utinyint"])
def test_any_width_of_a_type_fits(tmp_path: Path, type: str) -> None:
    assert str(opened(tmp_path, f"create table t (a {type})").tables["t"].columns[0].type) == "int64", "files decide"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("create table v (a int)", r'declares table "v", but the folder has no file or folder of that name\nthere is t, u'),
        ("create table t (d int)", r'declares column "d" of table t, but its files have no such column\nthere is a, b, c'),
        ("create table t (a date)", r"declares t\.a as DATE, but t\.parquet holds BIGINT"),
        ("create table t (a decimal(9, 2))", r"declares t\.a as DECIMAL\(9, 2\), but t\.parquet holds BIGINT"),
        ("create table t (c int)", r"declares t\.c as INT, but t\.parquet holds VARCHAR"),
        ("create table t (a int[])", r"declares t\.a as INT\[\], but"),
        ("create table t (c text not null)", r"t\.c is declared NOT NULL, but holds 1 NULLs in t\.parquet"),
        ("create table t (c text primary key)", r"t\.c is declared NOT NULL, but holds 1 NULLs in t\.parquet"),
        ("create table t (a int references v)", r'refers to table "v", which has no files'),
        ("create table t (a int references u (z))", r'declares column "z" of table u'),
        ("create table t (a int, b int, unique (a, b, A))", r"a constraint of table t names a column twice: a, b, A"),
        ("create table t (a int, primary key (z))", r'a constraint of table t names "z", which is not a column of it'),
        ("create table t (a int); create table T (a int)", r'table "T" is declared twice'),
        ("create table t (a int, A int)", r'column "A" of table t is declared twice'),
        ("create table t (a int primary key, b int primary key)", r"table t has two primary keys"),
        ("alter table t add primary key (a)", r'table "t" is used before its CREATE TABLE'),
        ("create table t (a int); alter table t add column b int", r"only ADD constraint is read of ALTER TABLE"),
        ("create table t (a)", r"cannot read this part of table t: a"),
        ("create table t as select 1", r"cannot read: CREATE TABLE t AS SELECT 1"),
        ("insert into t values (1)", r"cannot read: INSERT INTO t VALUES \(1\)"),
        ("create tabel t (a int)", r"schema\.sql: cannot read: "),
        ("create table t (a int", r"schema\.sql, line 1: "),
    ],
)
def test_what_is_wrong(tmp_path: Path, schema: str, message: str, caplog: pytest.LogCaptureFixture) -> None:
    refuse(tmp_path, schema, message)
    assert not caplog.records, "the parser's own warnings stay away from the user"


def test_declared_columns_of_opaque_types(tmp_path: Path) -> None:
    catalog = opened(tmp_path, "create table u (x int, l int[], unique (x, l)); create table t (a int references u (l))")
    assert catalog.tables["u"].keys == () == catalog.tables["t"].foreign_keys


def test_sql_types_in_canonical_form() -> None:
    text = "create table t (a varchar(3), b hugeint, c numeric, d decimal(39, 1), e real, f timestamptz, g blob, h datetime)"
    columns = parse_schema(text, Path("schema.sql"))[0].columns
    assert [str(c.type) for c in columns] == [
        "string", "decimal128(38, 0)", "decimal128(18, 3)", "None", "float", "timestamp[us]", "binary", "timestamp[us]",
    ]  # fmt: skip
