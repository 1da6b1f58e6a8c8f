"""JSON files by Spark: objects one a line, one after the other, or all in one array.

A record becomes a VARIANT, which keeps numbers of up to 38 digits as they are and takes neither a key twice nor anything that is
no JSON; a mark after it shows that there is nothing more on its line. A key that a record lacks is NULL. A key that has
only objects and arrays is not imported; among other values they are texts. Of a file whose records go over lines the whole
text is one value, at most 128 MB.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from experiments.pipeline.intake.opened import PLACE, TOLD, Opened, numbered, union
from experiments.pipeline.intake.values import FLOAT, NESTED, NO_TEXT, TIMES, literal, possible, trimmed
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.paths import reader, to_read, to_write

_BLANK = " \t\r\n\ufeff"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BETWEEN = r"(?<=\})[ \t]*[\r\n]\s*(?=\{)"  # an object that ends on one line and another that begins on a later one
_DAMAGED = "is no JSON: cut off, more after its array, or a key twice in a record"
_MARK = 20201119  # after a record: nothing else may be there


def whole_files(spark: SparkSession, paths: Sequence[str]) -> frozenset[str]:
    """Those of the files whose records go over lines: where the first line, which is text, leaves an object or an array open;
    where it is all there is and begins with an array, that has the records."""
    lines = _text(spark, paths).withColumn("at", F.monotonically_increasing_id())
    first = lines.groupBy("_file").agg(F.min_by("value", "at").alias("value"), (F.count("at") == 1).alias("alone"))
    start, opened = F.left("value", F.lit(1)), _depth(F.col("value")) > 0
    text = opened & F.is_valid_utf8("value") & ~F.endswith("value", F.lit("}"))
    over = F.when(start == "{", text).otherwise((start == "[") & (opened | F.col("alone")))
    found = {unquote(row["_file"]) for row in first.where(over).select("_file").collect()}
    return frozenset(path for path in paths if to_write(path) in found)


def faults(spark: SparkSession, files: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with files that are to be one value each, by label, for paths by label."""
    fine = F.try_variant_get("all", "$[1]", "int").eqNullSafe(_MARK)
    try:
        found = _whole(spark, list(files.values())).where(~fine | F.col("unfit").isNotNull()).select("_file", "unfit").collect()
    except Exception as error:
        if "VARIANT_SIZE_LIMIT" not in str(error) and "VARIANT_CONSTRUCTOR_SIZE_LIMIT" not in str(error):
            raise
        if len(files) > 1:
            return {label: text for file in files.items() for label, text in faults(spark, dict([file])).items()}
        return {label: f"{label} is one value of more than 128 MB; write its records one a line" for label in files}
    labels = {to_write(path): label for label, path in files.items()}
    why = {labels[unquote(file)]: f"has {unfit}" if unfit else _DAMAGED for file, unfit in found}
    return {label: f"{label} {what}\nrecords one a line are checked one by one" for label, what in why.items()}


def without_keys(opened: Opened, path: str) -> str:
    """Why there is no key in a file."""
    first = opened.read([path], []).select("_broken").head()
    if first is None:
        return "is empty: a JSON file holds records, one a line"
    return f"has no record with a key: the first line that is not empty is {first[0] or 'an object of none'}"


def open_json(spark: SparkSession, paths: Mapping[str, str], whole: frozenset[str]) -> Opened:
    """Files of one table, of which those in `whole` are one value. Raises PipelineError."""
    read = _Records(spark, whole)
    masks = _masks(spark, read, list(paths.values()))
    for name in masks:
        _key(name)
    return Opened(paths, dict.fromkeys(masks), read, masks=masks, open=True)


@dataclass(frozen=True, slots=True)
class _Records:
    """Reads the records of files, each a line, or all the one value of files that are in `whole`."""

    spark: SparkSession
    whole: frozenset[str]

    def __call__(self, paths: Sequence[str], names: Sequence[str]) -> DataFrame:
        values = numbered([f"try_variant_get(record, {literal(f'$[0]{_key(name)}')}, 'string')" for name in names])
        line = F.when(F.col("_broken").isNotNull(), F.col("value"))
        return _parsed(self.texts(paths)).withColumn("_line", line).selectExpr(*values, *TOLD)

    def texts(self, paths: Sequence[str]) -> DataFrame:
        """`value`: the records, a text each; `PLACE`."""
        one, others = [path for path in paths if path in self.whole], [path for path in paths if path not in self.whole]
        found = [_text(self.spark, others)] if others else []
        if one:
            records = F.explode(F.try_variant_get("all", "$[0]", "array<variant>")).alias("record")
            found.append(_whole(self.spark, one).select(records, "_file", "_start").withColumn("value", F.to_json("record")))
        return union([frame.select("value", "_file", "_start") for frame in found])


def _text(spark: SparkSession, paths: Sequence[str], whole: bool = False) -> DataFrame:
    """`value`: lines that are not blank, or whole texts, without blanks around them; `PLACE`."""
    lines = reader(spark).text(list(map(to_read, paths)), wholetext=whole)
    return lines.select(F.btrim("value", F.lit(_BLANK)).alias("value"), *map(F.expr, PLACE)).where("value <> ''")


def _whole(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """`all`: the value of each file, as an array and marked; `unfit`: why it cannot be one; `PLACE`."""
    unfit = F.when(~F.is_valid_utf8("value"), NO_TEXT).otherwise(_unfit(F.col("value")))
    texts = _text(spark, paths, whole=True)
    return texts.select(_marked(_joined(F.col("value"))).alias("all"), unfit.alias("unfit"), "_file", "_start")


def _parsed(records: DataFrame) -> DataFrame:
    """`value`; `record`: the value, marked; `_broken`: why it is no record."""
    frame = records.withColumn("record", _marked(F.col("value")))
    return frame.withColumn("_broken", _reason(F.col("value"), F.col("record")))


def _masks(spark: SparkSession, read: _Records, paths: Sequence[str]) -> dict[str, int | None]:
    """What all values of a key may be (`values.possible`), as far as JSON says; keys in the order of the first record, then by
    name."""
    # no filter, for which Spark would parse each record once more
    good = _parsed(read.texts(paths)).selectExpr(
        "if(_broken IS NULL, try_variant_get(record, '$[0]', 'variant'), NULL) AS record"
    )
    values = good.lateralJoin(spark.tvf.variant_explode(F.col("record").outer()))
    text = f"{trimmed('value::string')} AS text"
    told = values.where("key IS NOT NULL").selectExpr("key", text, "schema_of_variant(value) AS type")
    allowed = f"""CASE WHEN type = 'STRING' THEN {TIMES}
        WHEN type RLIKE '^DECIMAL[(]([0-9]|1[0-8]),' THEN {FLOAT} ELSE -1 END"""
    mask = F.expr(f"bit_and(if(type RLIKE '^(OBJECT|ARRAY)', {NESTED}, {possible('text')} & {allowed}))")
    found = dict(told.groupBy("key").agg(mask).orderBy("key").collect())
    each = (read.texts([path]).selectExpr("json_object_keys(value) AS keys").where("keys IS NOT NULL").head() for path in paths)
    names = dict.fromkeys([*next((first["keys"] for first in each if first is not None), ()), *found])
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
