"""Values become what they are declared as, exactly or not at all; and inferred types hold every value."""

import datetime as dt
import math
from contextlib import nullcontext
from decimal import Decimal

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from executor import Session
from experiments.pipeline.intake.declared import Declared, schema_sql
from experiments.pipeline.intake.opened import Opened, open_typed
from experiments.pipeline.intake.resolve import resolve, undeclared
from experiments.pipeline.intake.values import converted, literal, possible, trimmed, type_of
from experiments.pipeline.spark.errors import PipelineError
from optimizer.algebra.types import type_name
from optimizer.catalog.declarations import ColumnDeclaration, ForeignKeyDeclaration, TableDeclaration
from optimizer.errors import CatalogError
from optimizer.sql.schema import parse_schema
from tests.pipeline.conftest import no_spark

BAD = "not a value"


def noon(day, hour=12, micro=0):
    return dt.datetime(2020, 1, day, hour, 0, 0, micro)


@pytest.mark.parametrize(
    ("type", "cases"),
    [
        (pa.int32(),
            {"12": 12, "+12": 12, " -3 ": -3, "007": 7, "0x1f": BAD, "1.0": BAD, "": BAD, "2147483648": BAD, "1_0": BAD}
            | {"5e2": BAD, "00000000000000000000005": 5, "+": BAD, "1.5": BAD, " ": BAD, "+0x1": BAD}),
        (pa.int64(),
            {"9223372036854775807": 2**63 - 1, "9223372036854775808": BAD, "--1": BAD, "++1": BAD, "0xFFFFFFFFFFFFFFFF": BAD}),
        (pa.bool_(), {"true": True, "F": False, "yes": True, "0": False, "2": BAD, "on": BAD, "": BAD, " T ": True}
            | {"T": True, "Yes": True, "y": True, "1": True, "FALSE": False, "f": False, "nO": False, "n": False}),
        (pa.float64(), {"1.5": 1.5, "-1e3": -1000.0, "inf": math.inf, "1e400": BAD, "1,5": BAD, "": BAD, " .5": 0.5}),
        (pa.float32(), {"1e39": BAD, "0.5": 0.5}),
        (pa.decimal128(5, 2),
            {"1.5": Decimal("1.50"), "1.500": Decimal("1.50"), "1.555": BAD, "1234.5": BAD, "1e1": Decimal("10.00"), "NaN": BAD}
            | {"5E-2": Decimal("0.05"), "120e-3": Decimal("0.12"), "0E-10": Decimal("0.00"), "1e3": BAD, "1e30": BAD}
            | dict.fromkeys(["1e-3", "12e-3", "1e-36", "1e-99", "1.0000000000000000000000000000000001e0"], BAD)),
        (pa.date32(), {"2020-02-29": dt.date(2020, 2, 29), "2019-02-29": BAD, "29.02.2020": BAD, "2020-02-29 00:00": BAD}),
        (pa.timestamp("us"), {
                "2020-01-01 12:00": noon(1), "2020-01-01T12:00:00.000001": noon(1, micro=1),
                "2020-01-01T12:00:00.000001000": noon(1, micro=1), "2020-01-01T12:00:00.000000001": BAD,
                "2020-01-01T12:00:00Z": noon(1), "2020-01-01 12:00:00+02:00": noon(1, 10),
                "2020-01-01 12:00:00-0500": noon(1, 17), "2020-01-01T10+02": noon(1, 8), "2020-01-01 12": noon(1),
                " 2020-01-01 12:00:00.5": noon(1, micro=500_000), "2020-01-01-05": BAD, "2020-01-01": noon(1, 0),
                "2020-01-01 25:00": BAD, "now": BAD,
        }),
        (pa.string(), {"": "", " x ": " x ", "ä": "ä"}),
        (pa.binary(), {" ä": " ä".encode()}),
    ],
    ids=str,
)  # fmt: skip
def test_texts(spark, tmp_path, type, cases):
    """As an import takes them, and as a query of the CSV file does."""
    rows = ", ".join(f"({i}, {literal(text)})" for i, text in enumerate([*cases, None]))
    found = spark.sql(f"SELECT i, {converted('t', None, type)} AS c FROM VALUES {rows} AS texts(i, t)")
    got = [BAD if row[1] is None else row[1] for row in sorted(found.collect(), key=lambda row: row[0])]
    assert got == [*cases.values(), BAD]
    (tmp_path / "schema.sql").write_text("".join(f"create table t{i} (t {type_name(type)});" for i in range(len(cases))))
    for i, text in enumerate(cases):
        (tmp_path / f"t{i}.csv").write_text(f't\n"{text}"\n')
    session = Session(tmp_path)
    for i, (text, value) in enumerate(cases.items()):
        if text:
            with pytest.raises(CatalogError, match="is not of the declared type") if value == BAD else nullcontext():
                assert (value, session.sql(f"select t from t{i}").table["t"].to_pylist()) == (value, [value])


def test_stored_values(spark, tmp_path):
    """As they are written and read: exactly, or not at all."""

    def become(values, type):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"v": values}), path)
        spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
        opened = open_typed(spark, "parquet", "t", str(path))
        return [row[0] for row in opened.rows(["v"]).selectExpr(converted("v0", opened.types["v"], type)).collect()]

    berlin = pa.array([0, 1_000, -1_000, 1], pa.timestamp("ns", "Europe/Berlin"))
    epoch, micro = dt.datetime(1970, 1, 1), dt.timedelta(microseconds=1)
    assert become(berlin, pa.timestamp("us")) == [epoch, epoch + micro, epoch - micro, None]
    assert become(pa.array([1, 2**64 - 1], pa.uint64()), pa.decimal128(38, 0)) == [1, 2**64 - 1]
    assert become(pa.array([1, 300]), pa.int8()) == [1, None]
    assert become(pa.array([1.0, 1.5, None]), pa.int32()) == [1, None, None]
    assert become(pa.array([2**53, 2**53 + 1]), pa.float64()) == [2.0**53, None]
    assert become(pa.array([1e300, -1e39, math.inf, 0.5]), pa.float32()) == [None, None, math.inf, 0.5]
    assert become(pa.array(["a", None]).dictionary_encode(), pa.string()) == ["a", None]
    assert become(pa.array([b"ok", b"\xff"]), pa.string()) == ["ok", None]


@pytest.mark.parametrize("module", [pq, orc])
def test_columns_named_like_settings_are_refused(tmp_path, module):
    """Hadoop, which Spark gives the names, would look up another column."""
    module.write_table(pa.table({"a": [1], "${user.home}": [1]}), tmp_path / "t")
    with pytest.raises(PipelineError, match=r't has a column "\$\{user.home\}", for which Hadoop would look up a setting'):
        open_typed(None, module.__name__.rpartition(".")[2], "t", str(tmp_path / "t"))


INFERRED = [
    (["1", " 2", None], pa.int64()), (["1"] * 300 + ["late"], pa.string()), (["9223372036854775808"], pa.decimal128(38, 0)),
    (["1" * 39], pa.string()), (["1.5", "2"], pa.float64()), (["1.5", "12345678901234567890"], pa.string()),
    (["12345678901234567.5"], pa.string()), (["true", "False"], pa.bool_()), (["0", "1"], pa.int64()), (["t", "f"], pa.string()),
    (["2020-01-01"], pa.date32()), (["2020-01-01 10", "2020-01-01 10:00"], pa.timestamp("us")),
    (["2020-01-01 10:00Z", "2020-01-01 10:00+01"], pa.timestamp("us")), (["2020-01-01 10:00Z", "2020-01-01 10:00"], pa.string()),
    (["0x1f"], pa.string()), (["1", "00501"], pa.string()), (["2.5", "-07.5"], pa.string()), (["1", "+49"], pa.string()),
    (["0", "-0.5", "0e1"], pa.float64()), (["0001-01-01"], pa.date32()), ([None, None], pa.string()), ([], pa.string()),
]  # fmt: skip


def test_inference(spark):
    """In one query, as imports ask for the columns of all tables."""
    rows = ", ".join(f"({i}, {literal(text)})" for i, (texts, _) in enumerate(INFERRED) for text in [*texts, None])
    select = f"FROM VALUES {rows} AS texts(i, t)"
    masks = dict(spark.sql(f"SELECT i, bit_and({possible(trimmed('t'))}) {select} GROUP BY i").collect())
    assert [type_of(masks[i]) for i in range(len(INFERRED))] == [type for _, type in INFERRED]
    cases = " ".join(f"WHEN {i} THEN {converted('t', None, type)} IS NULL" for i, (_, type) in enumerate(INFERRED))
    assert not any(lost for (lost,) in spark.sql(f"SELECT CASE i {cases} END {select} WHERE t IS NOT NULL").collect())


def column(name, type, not_null=False):
    return ColumnDeclaration(name, type, type_name(type), not_null)


def typed(file, **types):
    return Opened({file: file}, dict(types), no_spark)


def resolved(files, declared, merge):
    assert not undeclared("t", files, declared, merge), "nothing is text here"
    return resolve("t", files, declared, merge, {})


def test_an_unsigned_integer_of_64_bits_becomes_a_hugeint():
    (found,) = resolved([typed("a.parquet", u=pa.uint64())], None, False).columns
    assert found.type == pa.decimal128(38, 0)


def test_files_that_differ():
    a, b = typed("a.parquet", x=pa.int32(), y=pa.string()), typed("b.parquet", x=pa.int64())
    with pytest.raises(PipelineError, match=r'a\.parquet has a column "y", b\.parquet has none\n--merge-schema'):
        resolved([a, b], None, False)
    assert resolved([a, b], None, True).columns == [column("x", pa.int64()), column("y", pa.string())]
    with pytest.raises(PipelineError, match=r'"x" is INTEGER in a\.parquet and BIGINT in b\.parquet'):
        resolved([typed("a.parquet", x=pa.int32()), b], None, False)
    with pytest.raises(PipelineError, match="INTEGER in a and VARCHAR in b"):
        resolved([typed("a", x=pa.int32()), typed("b", x=pa.string())], None, True)
    empty = resolved([typed("a", x=pa.null()), typed("b", x=pa.string())], None, False)
    assert empty.columns == [column("x", pa.string())]
    mixed = resolved([typed("a", x=pa.int32()), typed("b", x=pa.decimal128(5, 2))], None, True)
    assert mixed.columns == [column("x", pa.decimal128(12, 2))]
    real = resolved([typed("a", x=pa.int64()), typed("b", x=pa.float32())], None, True)
    assert real.columns == [column("x", pa.float64())], "a FLOAT would hold neither exactly"
    with pytest.raises(PipelineError, match=r"DECIMAL\(38,0\) in a and DECIMAL\(5,2\) in b"):
        resolved([typed("a", x=pa.decimal128(38, 0)), typed("b", x=pa.decimal128(5, 2))], None, True)


def declared(*columns, **more):
    return TableDeclaration("t", [ColumnDeclaration(name, type, sql, False) for name, type, sql in columns], **more)


def test_types_planscope_lacks_are_dropped_by_name():
    file = typed("f", a=pa.int8(), l=pa.list_(pa.int8()), t=pa.time64("us"), d=pa.decimal256(50, 2), z=pa.timestamp("s", "UTC"))
    found = resolved([file], None, False)
    assert found.columns == [column("a", pa.int8()), column("z", pa.timestamp("us"))]
    assert list(found.dropped) == ["l", "t", "d"] and "list<" in found.dropped["l"]
    wanted = declared(("l", pa.string(), "VARCHAR"), primary_key=("a",))
    wanted.columns.append(ColumnDeclaration("a", pa.int32(), "INT", True))
    found = resolved([file], wanted, False)
    assert found.columns[0] == column("a", pa.int32(), True)
    assert list(found.dropped) == ["l", "t", "d"]
    assert resolved([typed("f", l=pa.list_(pa.int8()))], None, False).columns == []


def test_declarations_that_do_not_fit():
    with pytest.raises(PipelineError, match=r'(?s)"agee" of table t is declared, but not there.*did you mean "age"'):
        resolved([typed("f", age=pa.int32())], declared(("agee", pa.int32(), "INT")), False)
    with pytest.raises(PipelineError, match="declared as DATE, but f holds int32"):
        resolved([typed("f", age=pa.int32())], declared(("age", pa.date32(), "DATE")), False)


def test_schema_sql_reads_back():
    types = [
        pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.binary(), pa.date32(), pa.timestamp("us"),
        pa.decimal128(20, 3),
    ]  # fmt: skip
    names = ["a", 'quo"te', "sp ace", "ünï", "select", "A;--", "x'", "d", "t", "n"]
    columns = [column(name, type, i == 0) for i, (name, type) in enumerate(zip(names, types, strict=True))]
    foreign = [ForeignKeyDeclaration(("d",), "two", ("d",))]
    first = Declared('o"ne', columns, ("a",), [("sp ace", "d")], foreign, ["foreign key (x)\n: broken"])
    second = Declared("two", [column("d", pa.date32(), True)], ("d",))
    one, two = parse_schema(schema_sql([first, second]), __file__)
    assert (one.name, one.primary_key, one.unique) == ('o"ne', ("a",), [("sp ace", "d")])
    assert [(c.name, c.type, c.not_null) for c in one.columns] == [(c.name, c.type, c.not_null) for c in columns]
    assert [(f.columns, f.table, f.referenced) for f in one.foreign_keys] == [(("d",), "two", ("d",))]
    assert two.primary_key == ("d",)
