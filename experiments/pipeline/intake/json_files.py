"""JSON files by Spark: objects one a line, one after the other, or all in one array.

A record becomes a VARIANT, which keeps numbers of up to 38 digits as they are and takes neither a key twice nor anything that is
no JSON; a mark after it shows that there is nothing more on its line. A key that a record lacks is NULL. A key that has
only objects and arrays is not imported; among other values they are texts. Of a file whose records go over lines the whole
text is one value, at most 128 MB.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from experiments.pipeline.intake.opened import Opened, numbered, union
from experiments.pipeline.intake.values import FLOAT, NESTED, NO_TEXT, TIMES, literal, possible, trimmed
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.paths import reader, to_read
from experiments.pipeline.spark.session import configured

_BLANK = " \t\r\n\ufeff"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BETWEEN = r"(?<=\})[ \t]*[\r\n]\s*(?=\{)"  # an object that ends on one line and another that begins on a later one
# for all files together: an expression of its own for each file takes long to be planned
_PARSED_ONCE = {"spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion"}
_MARK = 20201119  # after a record: nothing else may be there


def json_records(spark: SparkSession, label: str, path: str) -> DataFrame:
    """`value`: the records of a file, a text each. Raises PipelineError for a file that is to be one value and is none. Records
    go over lines where the first line, which is text, leaves an object or an array open; where it is all there is and begins
    with an array, that has the records."""
    lines = _text(spark, path)
    start, opened = F.left("value", F.lit(1)), _depth(F.col("value")) > 0
    alone = opened & F.is_valid_utf8("value") & ~F.endswith("value", F.lit("}"))
    match lines.select(start, F.when(start == "{", alone).otherwise(opened)).head(2):
        case [("[", True), *_] | [("{", True), *_] | [("[", _)]:
            pass
        case _:
            return lines
    whole = _text(spark, path, whole=True)
    unfit = F.when(~F.is_valid_utf8("value"), NO_TEXT).otherwise(_unfit(F.col("value")))
    texts = whole.select(_marked(_joined(F.col("value"))).alias("all"), unfit.alias("unfit"))
    try:
        fine = texts.select(F.try_variant_get("all", "$[1]", "int").eqNullSafe(_MARK), "unfit").head()
    except Exception as error:
        if "VARIANT_SIZE_LIMIT" in str(error) or "VARIANT_CONSTRUCTOR_SIZE_LIMIT" in str(error):
            raise PipelineError(f"{label} is one value of more than 128 MB; write its records one a line") from error
        raise
    if fine is not None and (fine[1] or not fine[0]):
        wrong = f"has {fine[1]}" if fine[1] else "is no JSON: cut off, more after its array, or a key twice in a record"
        raise PipelineError(f"{label} {wrong}\nrecords one a line are checked one by one")
    return texts.select(F.explode(F.try_variant_get("all", "$[0]", "array<variant>"))).select(F.to_json("col").alias("value"))


def without_keys(records: DataFrame) -> str:
    """Why there is no key in a file, of which these are the records."""
    first = _parsed(records).select("_broken").head()
    if first is None:
        return "is empty: a JSON file holds records, one a line"
    return f"has no record with a key: the first line that is not empty is {first[0] or 'an object of none'}"


def open_json(spark: SparkSession, files: Mapping[str, DataFrame]) -> list[Opened]:
    """Files of one table, for records by label: each with the columns of all."""
    with configured(spark, _PARSED_ONCE):
        masks = _masks(spark, union(list(files.values())))
    for name in masks:
        _key(name)
    return [Opened(label, dict.fromkeys(masks), partial(_rows, one), masks=masks, open=True) for label, one in files.items()]


def _text(spark: SparkSession, path: str, whole: bool = False) -> DataFrame:
    """`value`: a line that is not blank, or the whole text, without blanks around it."""
    lines = reader(spark).text(to_read(path), wholetext=whole)
    return lines.select(F.btrim("value", F.lit(_BLANK)).alias("value")).where("value <> ''")


def _parsed(records: DataFrame) -> DataFrame:
    """`value`; `record`: the value, marked; `_broken`: why it is no record."""
    frame = records.withColumn("record", _marked(F.col("value")))
    return frame.withColumn("_broken", _reason(F.col("value"), F.col("record")))


def _rows(records: DataFrame, names: Sequence[str]) -> DataFrame:
    values = numbered([f"try_variant_get(record, {literal(f'$[0]{_key(name)}')}, 'string')" for name in names])
    return _parsed(records).selectExpr(*values, "_broken", "CASE WHEN _broken IS NOT NULL THEN value END AS _line")


def _masks(spark: SparkSession, records: DataFrame) -> dict[str, int | None]:
    """What all values of a key may be (`values.possible`), as far as JSON says; keys in the order of the first record, then by
    name."""
    # no filter, for which Spark would parse each record once more
    good = _parsed(records).selectExpr("if(_broken IS NULL, try_variant_get(record, '$[0]', 'variant'), NULL) AS record")
    values = good.lateralJoin(spark.tvf.variant_explode(F.col("record").outer()))
    text = f"{trimmed('value::string')} AS text"
    told = values.where("key IS NOT NULL").selectExpr("key", text, "schema_of_variant(value) AS type")
    allowed = f"""CASE WHEN type = 'STRING' THEN {TIMES}
        WHEN type RLIKE '^DECIMAL[(]([0-9]|1[0-8]),' THEN {FLOAT} ELSE -1 END"""
    mask = F.expr(f"bit_and(if(type RLIKE '^(OBJECT|ARRAY)', {NESTED}, {possible('text')} & {allowed}))")
    found = dict(told.groupBy("key").agg(mask).orderBy("key").collect())
    first = records.selectExpr("json_object_keys(value) AS keys").where("keys IS NOT NULL").head()
    names = dict.fromkeys([*(first["keys"] if first else ()), *found])
    return {name: found[name] for name in names if name in found}


def _marked(text: Column) -> Column:
    """[TEXT, mark] as a VARIANT; NULL when that is no JSON. A number -0.0 is parsed as -0e0, or its sign would be lost."""
    parts = F.regexp_extract_all(text, F.lit(rf'{_STRING}|[^"]+|"'), F.lit(0))

    def signed(part: Column) -> Column:
        return F.when(part.startswith('"'), part).otherwise(F.regexp_replace(part, r"-0\.0+(?![0-9eE])", "-0e0"))

    text = F.when(text.rlike(r"-0\.0"), F.array_join(F.transform(parts, signed), "")).otherwise(text)
    return F.try_parse_json(F.concat(F.lit("["), text, F.lit(f",{_MARK}]")))


def _joined(text: Column) -> Column:
    """The text of a whole file as one array, with commas between objects that are all at the top: strings hold no line breaks."""
    parts = F.split(text, _BETWEEN)
    objects = F.when(F.forall(parts, lambda part: _depth(part) == 0), F.array_join(parts, ",")).otherwise(text)
    return F.when(F.left(text, F.lit(1)) == "[", text).otherwise(F.concat(F.lit("["), objects, F.lit("]")))


def _depth(text: Column) -> Column:
    """How many objects and arrays more begin than end in a text of JSON."""
    bare = F.regexp_replace(text, _STRING, "")
    return F.length(F.regexp_replace(bare, r"[^\[{]", "")) - F.length(F.regexp_replace(bare, r"[^\]}]", ""))


def _reason(text: Column, record: Column) -> Column:
    """Why a line is no record; NULL when it is one."""
    alone = F.try_variant_get(record, "$[1]", "int").eqNullSafe(_MARK) & F.try_variant_get(record, "$[2]", "variant").isNull()
    keys = F.map_keys(F.from_json(text, "map<string,string>", {"allowSingleQuotes": "false"}))
    twice = F.coalesce(F.size(keys) > F.size(F.array_distinct(keys)), F.lit(False))
    return (
        F.when(~F.is_valid_utf8(text), NO_TEXT)
        .when(alone & (F.left(text, F.lit(1)) != "{"), "not a JSON object")
        .when(alone, _unfit(text))
        .when(twice, "a key is there twice")
        .when(text.rlike(r"\\u[dD][89a-fA-F]"), "half of a surrogate pair")
        .otherwise("not JSON")
    )


def _unfit(text: Column) -> Column:
    """Why a number in a text of JSON would not stay what it is; NULL when all do."""
    suspect = text.rlike(r"[eE]\+?[0-9]") | text.rlike("[0-9]{39}")
    bare = F.regexp_replace(text, _STRING, '""')
    numbers = F.regexp_extract_all(bare, F.lit(r"[0-9.]+[eE]\+?[0-9]+|[0-9]{39,}"), F.lit(0))
    long = bare.rlike(r"[:,\s]-?[0-9]{39,}\s*[,}\]]")
    huge = F.array_max(numbers.try_cast("array<double>")) == math.inf
    return F.when(suspect, F.when(long, "a whole number of more than 38 digits").when(huge, "a number too large for a DOUBLE"))


def _key(name: str) -> str:
    """A key within a path. Raises PipelineError for one that no path can say."""
    quote = "'" if "'" not in name else '"'
    if quote in name:
        raise PipelineError(f"the key {name} has both kinds of quotes in it, which Spark cannot look up; rename it")
    return f"[{quote}{name}{quote}]"
