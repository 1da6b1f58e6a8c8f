"""JSON files by Spark: objects one a line, one after the other, or all in one array.

A record becomes a VARIANT, which keeps numbers of up to 38 digits as they are and takes neither a key twice nor anything that is
no JSON; a mark after it shows that there is nothing more on its line. A key that a record lacks is NULL. A key that has
objects or arrays is not imported. Of a file whose records go over lines the whole text is one value, at most 128 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from experiments.pipeline.intake.frames import Opened, numbered, union
from experiments.pipeline.intake.values import TIMES, bits, literal, quoted
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.paths import reader, to_read
from experiments.pipeline.spark.session import configured
from optimizer.algebra.columns import DataType

_BLANK = " \t\r\n"
_CORRUPT = "_planscope_broken"
_MARK = 20201119  # after a record: nothing else may be there
_SURE = 17  # digits that a DOUBLE may not hold


def open_json(spark: SparkSession, files: Mapping[str, str]) -> dict[str, Opened | PipelineError]:
    """The files of one table, by label, for paths by label: each with the columns of all, or why it cannot be read."""
    found: dict[str, Opened | PipelineError] = {}
    texts = {}  # of each file that is whole: records one a line, or an array
    by_line = {}
    for label, path in files.items():
        text = F.btrim("value", F.lit(_BLANK))
        first = _lines(spark, path).select(F.left(text, F.lit(1)), F.right(text, F.lit(1))).head()
        start, end = first or ("{", "}")
        by_line[label] = end == "}" and start != "["
        if not by_line[label] and (trouble := _trouble(spark, label, path)):
            found[label] = trouble
        else:
            whole = _whole(spark, path).select(_joined(F.col("value")).alias("value"))
            texts[label] = _lines(spark, path) if by_line[label] else whole
    types = _types(spark, union(list(texts.values()))) if texts else {}
    for label in texts:
        rows = partial(_records if by_line[label] else _elements, spark, files[label])
        quick = partial(_read, spark, files[label]) if by_line[label] else None
        found[label] = Opened(label, dict.fromkeys(types), rows, open=True, known=types, texts=quick)
    return {label: found[label] for label in files}


def _read(spark: SparkSession, path: str, names: Sequence[str]) -> DataFrame:
    """Values by Spark's reader of JSON, which takes half the time but also keys that are there twice."""
    schema = ", ".join([*(f"{quoted(name)} string" for name in names), f"{_CORRUPT} string"])
    frame = reader(spark).schema(schema).json(to_read(path), columnNameOfCorruptRecord=_CORRUPT)
    return frame.selectExpr(*numbered([quoted(name) for name in names]), f"{_CORRUPT} AS _broken")


def _records(spark: SparkSession, path: str, names: Sequence[str]) -> DataFrame:
    """Of lines."""
    frame = _lines(spark, path).withColumn("record", _marked(F.col("value")))
    return _values(frame.withColumn("_broken", _reason(F.col("value"), F.col("record"))), "$[0]", names)


def _elements(spark: SparkSession, path: str, names: Sequence[str]) -> DataFrame:
    """Of an array."""
    found = F.try_variant_get(_marked(_joined(F.col("value"))), "$[0]", "array<variant>")
    frame = _whole(spark, path).select(F.explode(found).alias("record")).withColumn("value", F.to_json("record"))
    return _values(frame.withColumn("_broken", F.when(F.left("value", F.lit(1)) != "{", "not a JSON object")), "$", names)


def _values(frame: DataFrame, root: str, names: Sequence[str]) -> DataFrame:
    values = numbered([f"try_variant_get(record, {literal(root + _key(name))}, 'string')" for name in names])
    return frame.selectExpr(*values, "_broken", "CASE WHEN _broken IS NOT NULL THEN value END AS _line")


def _types(spark: SparkSession, records: DataFrame) -> dict[str, DataType | int]:
    """The keys in the order of the first record, then by name; the type of all values, or bits of those they may have."""
    read = spark.read.options(prefersDecimal=True, columnNameOfCorruptRecord=_CORRUPT, allowSingleQuotes=False)
    with configured(spark, {"spark.sql.caseSensitive": "true"}):  # keys that differ only by case are an error of ours
        fields = {field.name: field.dataType for field in read.json(records).schema.fields if field.name != _CORRUPT}
    first = records.selectExpr("json_object_keys(value) as keys").where("keys is not null").head()
    names = [name for name in dict.fromkeys([*(first["keys"] if first else ()), *fields]) if name in fields]
    return {name: _type(fields[name]) for name in names}


def _trouble(spark: SparkSession, label: str, path: str) -> PipelineError | None:
    """Why a file that is to be one value is none."""
    kept = F.try_variant_get(_marked(_joined(F.col("value"))), "$[1]", "int") == _MARK
    try:
        fine = _whole(spark, path).select(F.coalesce(kept, F.lit(False))).head()
    except Exception as error:
        if "VARIANT_SIZE_LIMIT" in str(error) or "VARIANT_CONSTRUCTOR_SIZE_LIMIT" in str(error):
            return PipelineError(f"{label} is one value of more than 128 MB; write its records one a line")
        raise
    if fine is None or fine[0]:
        return None
    return PipelineError(
        f"{label} is no JSON: cut off, more after its array, or a key twice in a record\n"
        "records one a line are checked one by one"
    )


def _lines(spark: SparkSession, path: str) -> DataFrame:
    return reader(spark).text(to_read(path)).where(F.btrim("value", F.lit(_BLANK)) != "")


def _whole(spark: SparkSession, path: str) -> DataFrame:
    return reader(spark).text(to_read(path), wholetext=True).where(F.btrim("value", F.lit(_BLANK + "\ufeff")) != "")


def _marked(text: Column) -> Column:
    """[TEXT, mark] as a VARIANT; NULL when that is no JSON."""
    return F.try_parse_json(F.concat(F.lit("["), text, F.lit(f",{_MARK}]")))


def _joined(text: Column) -> Column:
    """The text of a whole file as one array.

    Where an object ends and another begins on a later line both are at the top: strings hold no line breaks, and elements have a
    comma between them."""
    text = F.btrim(text, F.lit(_BLANK + "\ufeff"))
    objects = F.concat(F.lit("["), F.regexp_replace(text, r"\}[ \t]*[\r\n]\s*\{", "},{"), F.lit("]"))
    return F.when(F.left(text, F.lit(1)) == "[", text).otherwise(objects)


def _reason(text: Column, record: Column) -> Column:
    """Why a line is no record; NULL when it is one."""
    alone = (F.try_variant_get(record, "$[1]", "int") == _MARK) & F.try_variant_get(record, "$[2]", "variant").isNull()
    alone = F.coalesce(alone, F.lit(False))
    keys = F.map_keys(F.from_json(text, "map<string,string>", {"allowSingleQuotes": "false"}))
    twice = F.coalesce(F.size(keys) > F.size(F.array_distinct(keys)), F.lit(False))
    long = text.rlike("[0-9]{39}") & text.rlike(r"[:,\s]-?[0-9]{39,}\s*[,}\]]")
    return (
        F.when(~F.is_valid_utf8(text), "bytes that are no text in this encoding")
        .when(alone & (F.left(F.btrim(text, F.lit(_BLANK)), F.lit(1)) != "{"), "not a JSON object")
        .when(alone, F.when(long, "a whole number of more than 38 digits"))
        .when(twice, "a key is there twice")
        .when(text.rlike(r"\\u[dD][89a-fA-F]"), "half of a surrogate pair")
        .otherwise("not JSON")
    )


def _key(name: str) -> str:
    """A key within a path. Raises PipelineError for one that no path can say."""
    quote = "'" if "'" not in name else '"'
    if quote in name:
        raise PipelineError(f"the key {name} has both kinds of quotes in it, which Spark cannot look up; rename it")
    return f"[{quote}{name}{quote}]"


def _type(found: T.DataType) -> DataType | int:
    """The type of a column from what Spark saw in all its values, or bits of those it may have."""
    match found:
        case T.LongType():
            return pa.int64()
        case T.BooleanType():
            return pa.bool_()
        case T.DecimalType(scale=0):
            return pa.decimal128(38, 0)
        case T.DecimalType(precision=precision, scale=scale):
            return pa.float64() if precision - scale < _SURE else pa.decimal128(precision, scale)
        case T.StructType() | T.ArrayType():
            return pa.struct([])
        case T.DoubleType():
            return bits("number")
    return bits(*TIMES)
