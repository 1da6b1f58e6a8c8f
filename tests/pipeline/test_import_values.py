"""Values become what they are declared as, exactly or not at all; and inferred types hold every value."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from experiments.pipeline.intake.checked import checked
from experiments.pipeline.intake.inference import Inference, inferred_type
from experiments.pipeline.intake.records import Records
from experiments.pipeline.intake.resolve import FileColumns, resolve
from experiments.pipeline.intake.schema_file import Declared, Reference, schema_sql
from experiments.pipeline.intake.target import Target, as_schema
from experiments.pipeline.intake.values import from_text, from_values
from experiments.pipeline.spark.errors import PipelineError
from optimizer.catalog.declarations import ColumnDeclaration, TableDeclaration
from optimizer.sql.schema import parse_schema

BAD = "not a value"


def noon(day, hour=12, micro=0):
    return dt.datetime(2020, 1, day, hour, 0, 0, micro)


@pytest.mark.parametrize(
    ("type", "cases"),
    [
        (
            pa.int32(),
            {"12": 12, "+12": 12, " -3 ": -3, "007": 7, "0x1f": BAD, "1.0": BAD, "": BAD, "2147483648": BAD, "1_0": BAD},
        ),
        (pa.int64(), {"9223372036854775807": 2**63 - 1, "9223372036854775808": BAD, "--1": BAD, "++1": BAD}),
        (pa.bool_(), {"true": True, "F": False, "yes": True, "0": False, "2": BAD, "": BAD}),
        (pa.float64(), {"1.5": 1.5, "-1e3": -1000.0, "inf": math.inf, "1e400": BAD, "1,5": BAD, "": BAD, " .5": 0.5}),
        (pa.float32(), {"1e39": BAD, "0.5": 0.5}),
        (
            pa.decimal128(5, 2),
            {"1.5": Decimal("1.50"), "1.500": Decimal("1.50"), "1.555": BAD, "1234.5": BAD, "1e1": Decimal("10.00"), "NaN": BAD},
        ),
        (pa.date32(), {"2020-02-29": dt.date(2020, 2, 29), "2019-02-29": BAD, "29.02.2020": BAD, "2020-02-29 00:00": BAD}),
        (
            pa.timestamp("us"),
            {
                "2020-01-01 12:00": noon(1),
                "2020-01-01T12:00:00.000001": noon(1, micro=1),
                "2020-01-01T12:00:00.000001000": noon(1, micro=1),
                "2020-01-01T12:00:00.000000001": BAD,
                "2020-01-01T12:00:00Z": noon(1),
                "2020-01-01 12:00:00+02:00": noon(1, 10),
                "2020-01-01 12:00:00-0500": noon(1, 17),
                "2020-01-01": noon(1, 0),
                "2020-01-01 25:00": BAD,
                "now": BAD,
            },
        ),
        (pa.string(), {"": "", " x ": " x ", "ä": "ä"}),
        (pa.binary(), {"ä": "ä".encode()}),
    ],
    ids=str,
)
def test_texts(type, cases):
    values, failed = from_text(pa.array([*cases, None], pa.string()), type)
    assert values.type == type
    got = [BAD if bad else value for value, bad in zip(values.to_pylist(), failed.tolist(), strict=True)]
    assert got == [*cases.values(), None]
    alone = [from_text(pa.array([text], pa.string()), type) for text in cases]
    assert [BAD if bad[0] else value[0].as_py() for value, bad in alone] == list(cases.values())


def test_no_texts_at_all():
    for type in (pa.int32(), pa.bool_(), pa.float64(), pa.decimal128(5, 2), pa.date32(), pa.timestamp("us"), pa.string()):
        values, failed = from_text(pa.array([], pa.string()), type)
        assert values.type == type and len(values) == len(failed) == 0


def test_stored_values():
    berlin = pa.array([0, 1_000, 1], pa.timestamp("ns", "Europe/Berlin"))
    values, failed = from_values(berlin, pa.timestamp("us"))
    assert values.to_pylist()[:2] == [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, 0, 0, 0, 1)] and failed.tolist() == [
        False,
        False,
        True,
    ]
    values, failed = from_values(pa.array([1, 2**64 - 1], pa.uint64()), pa.decimal128(20, 0))
    assert values.to_pylist() == [1, 2**64 - 1] and not failed.any()
    values, failed = from_values(pa.array([1, 300]), pa.int8())
    assert values.to_pylist() == [1, None] and failed.tolist() == [False, True]
    values, failed = from_values(pa.array([1.0, 1.5, None]), pa.int32())
    assert values.to_pylist() == [1, None, None] and failed.tolist() == [False, True, False]
    values, failed = from_values(pa.array(["a", None]).dictionary_encode(), pa.string())
    assert values.to_pylist() == ["a", None] and values.type == pa.string()
    values, failed = from_values(pa.array([b"ok", b"\xff"]), pa.string())
    assert values.to_pylist() == ["ok", None] and failed.tolist() == [False, True]


@pytest.mark.parametrize(
    ("texts", "type"),
    [
        (["1", " 2", None], pa.int64()),
        (["1"] * 300 + ["late"], pa.string()),
        (["9223372036854775808"], pa.decimal128(38, 0)),
        (["1" * 39], pa.string()),
        (["1.5", "2"], pa.float64()),
        (["1.5", "12345678901234567890"], pa.string()),
        (["true", "False"], pa.bool_()),
        (["0", "1"], pa.int64()),
        (["t", "f"], pa.string()),
        (["2020-01-01"], pa.date32()),
        (["2020-01-01", "2020-01-01 10:00"], pa.timestamp("us")),
        (["2020-01-01 10:00Z", "2020-01-01 10:00+01"], pa.timestamp("us")),
        (["2020-01-01 10:00Z", "2020-01-01 10:00"], pa.string()),
        (["0x1f"], pa.string()),
        ([None, None], pa.string()),
        ([], pa.string()),
    ],
)
def test_inference(texts, type):
    one = Inference()
    one.see(pa.array(texts, pa.string()))
    assert inferred_type([one.as_json()]) == type
    parts = [Inference() for _ in texts] or [Inference()]
    for part, text in zip(parts, texts, strict=False):  # the same from as many files as there are values
        part.see(pa.array([text], pa.string()))
    assert inferred_type([part.as_json() for part in parts]) == type
    assert not from_text(pa.array(texts, pa.string()), type)[1].any()


def test_inferred_types_hold_every_value():
    choose = random.Random(5)
    pool = [
        "1",
        "-7",
        "1.5",
        "1e9",
        "true",
        "2020-01-01",
        "2020-01-01 10:00",
        "2020-01-01T10:00:00Z",
        "x",
        "",
        "9" * 25,
        None,
        "nan",
    ]
    for _ in range(300):
        texts = pa.array(choose.choices(choose.sample(pool, choose.randint(1, 3)), k=choose.randint(1, 150)), pa.string())
        inference = Inference()
        inference.see(texts)
        values, failed = from_text(texts, inferred_type([inference.as_json()]))
        assert not failed.any() and values.is_null().equals(texts.is_null())


def test_kinds_of_json_values_bound_the_type():
    digits = Inference()
    digits.see(pa.array(["1", "2"]))
    assert inferred_type([digits.as_json()], ["number"]) == pa.int64()
    assert inferred_type([digits.as_json()], ["text"]) == pa.string()
    assert inferred_type([digits.as_json()], ["number", "text"]) == pa.string()


def test_one_reject_for_each_bad_row():
    schema = as_schema((Target("id", pa.int32(), True), Target("day", pa.date32()), Target("more", pa.string())))
    columns = {"id": pa.array(["1", "x", None, "4", "5"]), "day": pa.array(["2020-01-01", "no", "no", "no", None])}
    batch, rejects = checked(Records(columns, pa.array([3, 4, 5, 6, 9]).to_numpy()), schema)
    assert batch.to_pylist() == [
        {"id": 1, "day": dt.date(2020, 1, 1), "more": None},
        {"id": 5, "day": None, "more": None},
    ]
    assert batch.schema == schema
    assert [(r.row, r.column, r.reason, r.value) for r in rejects] == [
        (4, "id", "not a INTEGER", "x"),
        (5, "id", "NULL, which is forbidden here", None),
        (6, "day", "not a DATE", "no"),
    ]
    assert rejects[0].record == '{"id": "x", "day": "no"}'


def typed(file, **types):
    return FileColumns(file, dict(types))


def test_files_that_differ():
    a, b = typed("a.parquet", x=pa.int32(), y=pa.string()), typed("b.parquet", x=pa.int64())
    with pytest.raises(PipelineError, match=r'a\.parquet has a column "y", b\.parquet has none\n--merge-schema'):
        resolve("t", [a, b], None, merge=False)
    assert resolve("t", [a, b], None, merge=True).targets == (Target("x", pa.int64()), Target("y", pa.string()))
    with pytest.raises(PipelineError, match=r'"x" is INTEGER in a\.parquet and BIGINT in b\.parquet'):
        resolve("t", [typed("a.parquet", x=pa.int32()), b], None, merge=False)
    with pytest.raises(PipelineError, match="INTEGER in a and VARCHAR in b"):
        resolve("t", [typed("a", x=pa.int32()), typed("b", x=pa.string())], None, merge=True)
    empty = resolve("t", [typed("a", x=pa.null()), typed("b", x=pa.string())], None, merge=False)
    assert empty.targets == (Target("x", pa.string()),)
    mixed = resolve("t", [typed("a", x=pa.int32()), typed("b", x=pa.decimal128(5, 2))], None, merge=True)
    assert mixed.targets == (Target("x", pa.decimal128(12, 2)),)


def declared(*columns, **more):
    return TableDeclaration("t", [ColumnDeclaration(name, type, sql, False) for name, type, sql in columns], **more)


def test_types_planscope_lacks_are_dropped_by_name():
    file = typed("f", a=pa.int8(), l=pa.list_(pa.int8()), t=pa.time64("us"), d=pa.decimal256(50, 2), z=pa.timestamp("s", "UTC"))
    found = resolve("t", [file], None, merge=False)
    assert found.targets == (Target("a", pa.int8()), Target("z", pa.timestamp("us")))
    assert list(found.dropped) == ["l", "t", "d"] and "list<" in found.dropped["l"]
    wanted = declared(
        ("D", pa.float64(), "DOUBLE"), ("t", pa.string(), "VARCHAR"), ("l", pa.string(), "VARCHAR"), primary_key=("a",)
    )
    wanted.columns.append(ColumnDeclaration("a", pa.int32(), "INT", True))
    found = resolve("t", [file], wanted, merge=False)
    assert found.targets[0] == Target("a", pa.int32(), True) and Target("d", pa.float64()) in found.targets
    assert list(found.dropped) == ["l"]
    with pytest.raises(PipelineError, match="has no column to import: l: is list"):
        resolve("t", [typed("f", l=pa.list_(pa.int8()))], None, merge=False)
    with pytest.raises(PipelineError, match="it has none at all"):
        resolve("t", [typed("f")], None, merge=False)


def test_declarations_that_do_not_fit():
    with pytest.raises(PipelineError, match=r'(?s)"agee" of table t is declared, but not there.*did you mean "age"'):
        resolve("t", [typed("f", age=pa.int32())], declared(("agee", pa.int32(), "INT")), merge=False)
    with pytest.raises(PipelineError, match="declared as DATE, but f holds int32"):
        resolve("t", [typed("f", age=pa.int32())], declared(("age", pa.date32(), "DATE")), merge=False)


def test_schema_sql_reads_back():
    types = [
        pa.int8(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.bool_(),
        pa.string(),
        pa.binary(),
        pa.date32(),
        pa.timestamp("us"),
        pa.decimal128(20, 3),
    ]
    names = ["a", 'quo"te', "sp ace", "ünï", "select", "A;--", "x'", "d", "t", "n"]
    targets = tuple(Target(name, type, i == 0) for i, (name, type) in enumerate(zip(names, types, strict=True)))
    first = Declared(
        'o"ne', targets, ("a",), (("sp ace", "d"),), (Reference(("d",), "two", ("d",)),), ("foreign key (x)\n: broken",)
    )
    second = Declared("two", (Target("d", pa.date32(), True),), ("d",))
    one, two = parse_schema(schema_sql([first, second]), __file__)
    assert (one.name, one.primary_key, one.unique) == ('o"ne', ("a",), [("sp ace", "d")])
    assert [(c.name, c.type, c.not_null) for c in one.columns] == [(t.name, t.type, t.required) for t in targets]
    assert [(f.columns, f.table, f.referenced) for f in one.foreign_keys] == [(("d",), "two", ("d",))]
    assert two.primary_key == ("d",)
