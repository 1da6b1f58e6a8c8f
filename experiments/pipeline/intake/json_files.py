"""JSON files by Spark: objects one a line, one after the other, or all in one array.

A record becomes a VARIANT, which keeps numbers of up to 38 digits as they are and takes neither a key twice nor anything that is
no JSON; a mark after it shows that there is nothing more on its line. A key that a record lacks is NULL. A key that has
objects or arrays is not imported. Of a file whose records go over lines the whole text is one value, at most 128 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from experiments.pipeline.intake.frames import Opened, numbered, reader, union, uri
from experiments.pipeline.intake.values import TIMES, bits, literal, quoted
from experiments.pipeline.spark.errors import PipelineError
from optimizer.algebra.columns import DataType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType as SparkType

OPTIONS = {"encoding": "default utf-8"}
_BLANK = " \t\r\n"
_CORRUPT = "_planscope_broken"
_MARK = 20201119  # after a record: nothing else may be there
_SURE = 17  # digits that a DOUBLE may not hold


class JsonFiles:
    """Files of one table."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def open(self, files: Mapping[str, str]) -> dict[str, Opened | PipelineError]:
        """By label, for paths by label: the file, all with the same columns, or why it cannot be read."""
        from pyspark.sql import functions as F

        text = F.btrim("value", F.lit(_BLANK))
        ends = {}
        for label, path in files.items():
            first = self._lines(path).select(F.left(text, F.lit(1)), F.right(text, F.lit(1))).head()
            ends[label] = tuple(first or ("{", "}"))
        by_line = {label: end == "}" and start != "[" for label, (start, end) in ends.items()}
        broken = {label: reason for label in files if not by_line[label] and (reason := self._trouble(label, files[label]))}
        whole = [label for label in files if label not in broken]
        types = self._types([self._texts(files[label], by_line[label]) for label in whole]) if whole else {}
        found: dict[str, Opened | PipelineError] = dict(broken)
        for label in whole:
            found[label] = self._opened(label, files[label], by_line[label], types)
        return found

    def _opened(self, label: str, path: str, by_line: bool, types: Mapping[str, DataType | int]) -> Opened:
        hints = {name: type for name, type in types.items() if not isinstance(type, int)}
        among = {name: type for name, type in types.items() if isinstance(type, int)}
        rows = partial(self._rows, path, by_line)
        texts = partial(self._read, path) if by_line and _CORRUPT not in types else None
        return Opened(label, dict.fromkeys(types), rows, open=True, hints=hints, among=among, texts=texts)

    def _read(self, path: str, names: Sequence[str]) -> DataFrame:
        """Values by Spark's reader of JSON, which takes half the time but also keys that are there twice."""
        schema = ", ".join([*(f"{quoted(name)} string" for name in names), f"{_CORRUPT} string"])
        frame = reader(self.spark).schema(schema).json(uri(path), columnNameOfCorruptRecord=_CORRUPT)
        return frame.selectExpr(*numbered([quoted(name) for name in names]), f"{_CORRUPT} AS _broken")

    def _rows(self, path: str, by_line: bool, names: Sequence[str]) -> DataFrame:
        from pyspark.sql import functions as F

        if by_line:
            frame, root = self._texts(path, True).withColumn("record", _marked(F.col("value"))), "$[0]"
            broken = _reason(F.col("value"), F.col("record"))
        else:
            elements = F.try_variant_get(_marked(_joined(F.col("value"))), "$[0]", "array<variant>")
            frame = self._whole(path).select(F.explode(elements).alias("record")).withColumn("value", F.to_json("record"))
            root, broken = "$", F.when(F.left("value", F.lit(1)) != "{", "not a JSON object")
        values = numbered([f"try_variant_get(record, {literal(root + _key(name))}, 'string')" for name in names])
        frame = frame.withColumn("_broken", broken)
        return frame.selectExpr(*values, "_broken", "CASE WHEN _broken IS NOT NULL THEN value END AS _line")

    def _types(self, texts: Sequence[DataFrame]) -> dict[str, DataType | int]:
        """The keys in the order of the first record, then by name; the type of all values, or bits of those they may have."""
        read = self.spark.read.options(prefersDecimal=True, columnNameOfCorruptRecord=_CORRUPT, allowSingleQuotes=False)
        records = union(texts)
        before = self.spark.conf.get("spark.sql.caseSensitive")
        self.spark.conf.set("spark.sql.caseSensitive", "true")  # keys that differ only by case are an error of ours
        fields = {field.name: field.dataType for field in read.json(records).schema.fields if field.name != _CORRUPT}
        self.spark.conf.set("spark.sql.caseSensitive", before or "false")
        first = records.selectExpr("json_object_keys(value) as keys").where("keys is not null").head()
        names = [name for name in dict.fromkeys([*(first["keys"] if first else ()), *fields]) if name in fields]
        return {name: _type(fields[name]) for name in names}

    def _trouble(self, label: str, path: str) -> PipelineError | None:
        """Why a file that is to be one value is none."""
        from pyspark.sql import functions as F

        record = _marked(_joined(F.col("value")))
        kept = F.try_variant_get(record, "$[1]", "int") == _MARK
        try:
            fine = self._whole(path).select(F.coalesce(kept, F.lit(False))).head()
            return (
                None
                if fine is None or fine[0]
                else PipelineError(
                    f"{label} is no JSON: cut off, more after its array, or a key twice in a record\n"
                    "records one a line are checked one by one"
                )
            )
        except Exception as error:
            if "VARIANT_SIZE_LIMIT" in str(error) or "VARIANT_CONSTRUCTOR_SIZE_LIMIT" in str(error):
                return PipelineError(f"{label} is one value of more than 128 MB; write its records one a line")
            raise

    def _lines(self, path: str) -> DataFrame:
        from pyspark.sql import functions as F

        return reader(self.spark).text(uri(path)).where(F.btrim("value", F.lit(_BLANK)) != "")

    def _whole(self, path: str) -> DataFrame:
        from pyspark.sql import functions as F

        return reader(self.spark).text(uri(path), wholetext=True).where(F.btrim("value", F.lit(_BLANK + "\ufeff")) != "")

    def _texts(self, path: str, by_line: bool) -> DataFrame:
        from pyspark.sql import functions as F

        if by_line:
            return self._lines(path)
        return self._whole(path).select(_joined(F.col("value")).alias("value"))


def _marked(text: Column) -> Column:
    """[TEXT, mark] as a VARIANT; NULL when that is no JSON."""
    from pyspark.sql import functions as F

    return F.try_parse_json(F.concat(F.lit("["), text, F.lit(f",{_MARK}]")))


def _joined(text: Column) -> Column:
    """The text of a whole file as one array.

    Where an object ends and another begins on a later line both are at the top: strings hold no line breaks, and elements have a
    comma between them."""
    from pyspark.sql import functions as F

    text = F.btrim(text, F.lit(_BLANK + "\ufeff"))
    objects = F.concat(F.lit("["), F.regexp_replace(text, r"\}[ \t]*[\r\n]\s*\{", "},{"), F.lit("]"))
    return F.when(F.left(text, F.lit(1)) == "[", text).otherwise(objects)


def _reason(text: Column, record: Column) -> Column:
    """Why a line is no record; NULL when it is one."""
    from pyspark.sql import functions as F

    alone = (F.try_variant_get(record, "$[1]", "int") == _MARK) & F.try_variant_get(record, "$[2]", "variant").isNull()
    loose = F.from_json(text, "map<string,string>", {"allowSingleQuotes": "false"})
    twice = F.size(F.map_keys(loose)) > F.size(F.array_distinct(F.map_keys(loose)))
    long = text.rlike("[0-9]{39}") & text.rlike(r"[:,\s]-?[0-9]{39,}\s*[,}\]]")
    return (
        F.when(~F.is_valid_utf8(text), "bytes that are no text in this encoding")
        .when(F.coalesce(alone, F.lit(False)) & (F.left(F.btrim(text, F.lit(_BLANK)), F.lit(1)) != "{"), "not a JSON object")
        .when(F.coalesce(alone, F.lit(False)), F.when(long, "a whole number of more than 38 digits"))
        .when(F.coalesce(twice, F.lit(False)), "a key is there twice")
        .when(text.rlike(r"\\u[dD][89a-fA-F]"), "half of a surrogate pair")
        .otherwise("not JSON")
    )


def _key(name: str) -> str:
    """A key within a path. Raises PipelineError for one that no path can say."""
    quote = "'" if "'" not in name else '"'
    if quote in name:
        raise PipelineError(f"the key {name} has both kinds of quotes in it, which Spark cannot look up; rename it")
    return f"[{quote}{name}{quote}]"


def _type(found: SparkType) -> DataType | int:
    """The type of a column from what Spark saw in all its values, or bits of those it may have."""
    from pyspark.sql import types as T

    if isinstance(found, T.LongType):
        return pa.int64()
    if isinstance(found, T.BooleanType):
        return pa.bool_()
    if isinstance(found, T.DecimalType):
        if found.scale == 0:
            return pa.decimal128(38, 0)
        return pa.float64() if found.precision - found.scale < _SURE else pa.decimal128(found.precision, found.scale)
    if isinstance(found, T.StructType | T.ArrayType):
        return pa.struct([])
    return bits("number") if isinstance(found, T.DoubleType) else bits(*TIMES)
