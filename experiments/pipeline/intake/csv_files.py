"""CSV files by Spark's reader, with every row of the wrong length told apart.

Lines are looked at first: whether a quote is left open in one, so that rows go over lines and Spark has to read the file in one
piece; whether a quote is left open at the end of the file; and whether all bytes are text. A field is NULL when it is empty,
quoted or not, as in DuckDB, or equal to the option `null`. Empty lines are no rows, except NULLs in a file of one
column; a line of blanks is a row with one field.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from experiments.pipeline.intake.opened import PLACE, PLACES, TOLD, Opened, check_distinct, numbered
from experiments.pipeline.intake.sources import COMPRESSED
from experiments.pipeline.intake.values import literal
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.paths import reader, to_read, to_write
from experiments.pipeline.spark.session import SMALL
from optimizer.catalog.delimiters import name_of, rival
from optimizer.errors import many

_OPEN = "a quote is opened and never closed"
_AT = F.monotonically_increasing_id


class Looked(NamedTuple):
    """What lines say of their file: quotes go `over` them, one is left `open` at the end, bytes are no text (`marked`), there are
    quotes and NUL bytes (`nul`); the `first` line that is not of blanks, its place `at` from 0, and the `last` one that is not
    empty; both are None where all are."""

    over: bool = False
    open: bool = False
    marked: bool = False
    nul: bool = False
    first: str | None = None
    at: int = -1
    last: str | None = None


class CsvFiles:
    """Files of an import. Raises PipelineError for options that make no sense."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self.spark, self.options = spark, options
        self.quote = _one("quote", options.get("quote", '"'))
        escape = _one("escape", options.get("escape", self.quote))
        self.escape = escape if escape != self.quote else None  # doubled ones
        header = options.get("header", "true").lower()
        if header not in ("true", "false"):
            raise PipelineError(f"--option header takes true or false, not {options['header']!r}")
        self.header = header == "true"
        self._delimiter("")

    def look(self, files: Mapping[str, str]) -> dict[str, Looked]:
        """By label, for paths by label. Small files are looked at here, sooner than Spark would, others in one query. Raises
        what Spark raises."""
        with suppress(OSError):  # Spark says why
            size = sum(os.path.getsize(path) for path in files.values())
            if size <= SMALL and not any(path.lower().endswith(COMPRESSED) for path in files.values()):
                return {label: self._look(Path(path).read_bytes()) for label, path in files.items()}
        bare = F.col("value") if self.escape is None else F.regexp_replace("value", re.escape(self.escape) + ".", "")
        odd = (F.length(bare) - F.length(F.replace(bare, F.lit(self.quote), F.lit("")))) % 2
        lines = self.lines(*files.values())
        looked = lines.select("_file", "value", odd.alias("odd"), _AT().alias("id")).where("value <> ''")
        place = F.when(F.trim("value") != "", F.col("id"))
        nul, quotes = (F.bool_or(F.contains("value", F.lit(text))) for text in ("\0", self.quote))
        found = looked.groupBy("_file").agg(
            (F.max("odd") == 1).alias("over"), (F.sum("odd") % 2 == 1).alias("open"),
            F.bool_or(~F.is_valid_utf8("value")).alias("marked"), (nul & quotes).alias("nul"),
            F.min_by("value", place).alias("first"), F.min(place).bitwiseAND(PLACES).alias("at"),
            F.max_by("value", "id").alias("last"),
        )  # fmt: skip
        by_path = {unquote(file): Looked(*looked) for file, *looked in found.collect()}
        return {label: by_path.get(to_write(path), Looked()) for label, path in files.items()}

    def _look(self, content: bytes) -> Looked:
        lines = content.removeprefix(codecs.BOM_UTF8).splitlines()
        at = next((i for i, line in enumerate(lines) if line.strip(b" ")), None)
        if at is None:
            return Looked()
        bare = lines if self.escape is None else (re.sub(re.escape(self.escape).encode() + b".", b"", line) for line in lines)
        odd = sum(line.count(self.quote.encode()) % 2 for line in bare)
        last = next(line for line in reversed(lines) if line)
        marked = content.decode(errors="ignore").encode() != content
        nul = b"\0" in content and self.quote.encode() in content
        first = lines[at].decode(errors="replace")
        return Looked(odd > 0, odd % 2 == 1, marked, nul, first, at, last.decode(errors="replace"))

    def open(self, label: str, path: str, looked: Looked, declared: Sequence[str]) -> Opened:
        """The file. `declared`: names for the columns of files without a header. Raises PipelineError."""
        with suppress(OSError), Path(path).open("rb") as file:
            if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                raise PipelineError(f"{label} is text in UTF-16: --option encoding=utf-16 reads it")
        if looked.nul:
            raise PipelineError(f"{label} has NUL bytes, which get lost in quotes\nwrite it without them, or without quotes")
        delimiter = self._delimiter(label)
        blank = 0  # rows of blanks before the header, where rows go over lines
        if looked.over and self.header and looked.at > 0:
            blank = sum(row["value"] != "" for row in self.lines(path).head(looked.at))
        names = self._header(label, path, delimiter, looked, blank) if self.header else list(declared)
        if not names:
            raise PipelineError(f"{label} has no header: --schema with CREATE TABLE names the columns of a table, in their order")
        check_distinct(label, names)
        if len(names) == 1 and looked.over:
            self._check_no_nulls(label, path, delimiter)
        cut = False  # whether a quote is open at the end of the last line, if that is a row
        with suppress(csv.Error):  # a field beyond the reader's size limit
            cut = "\n" in "".join(self._fields(looked.last or "", delimiter))
        end = self._line_end(path, delimiter) if looked.over else "\n"
        at = blank if looked.over else looked.at if self.header else -1
        alone = label if looked.open or cut or (looked.over and blank) else ""
        read = _Rows(self, delimiter, names, looked.over, end, at, looked.open, cut, alone)
        return Opened({label: path}, dict.fromkeys(names), read, marked=looked.marked)

    def _check_no_nulls(self, label: str, path: str, delimiter: str) -> None:
        """Raises PipelineError for an empty line outside of quotes in a file of one column, which Spark leaves out where rows go
        over lines."""
        lines = (f"{row['value']}\n" for row in self.lines(path).toLocalIterator())
        rows = csv.reader(lines, **self._form(delimiter))
        with suppress(csv.Error):  # a field beyond the reader's size limit
            if self.header:
                next(filter(None, rows), None)
            if any(not row for row in rows):
                raise PipelineError(
                    f"{label}, line {rows.line_num}: this empty line is a NULL, which is not read where values have line breaks\n"
                    'write "" for a NULL'
                )

    def lines(self, *paths: str, end: str | None = None) -> DataFrame:
        """`value`, and `PLACE`."""
        return reader(self.spark).text(list(map(to_read, paths)), lineSep=end).selectExpr("value", *PLACE)

    def _line_end(self, path: str, delimiter: str) -> str | None:
        """How all rows end; None where they differ. What is in quotes is told apart only where line breaks differ."""
        elsewhere = not path.startswith("/")
        if (end := self._break_elsewhere(path) if elsewhere else _break(path)) is not None:
            return end
        with nullcontext() if elsewhere else io.TextIOWrapper(pa.input_stream(path), "latin-1", newline="") as file:
            ends = self._row_ends(file or self._broken_lines(path), delimiter)
        return ends.pop() if len(ends) == 1 else None

    def _row_ends(self, lines: Iterable[str], delimiter: str) -> set[str]:
        last, ends = "", set()

        def passed() -> Iterator[str]:
            nonlocal last
            for line in lines:
                last = line
                yield line

        with suppress(csv.Error):  # a field beyond the reader's size limit
            for _ in csv.reader(passed(), **self._form(delimiter)):
                ends.add(last[len(last.rstrip("\r\n")) :])
        return ends - {""}

    def _broken_lines(self, path: str) -> Iterator[str]:
        """With their ends."""
        for row in self.lines(path, end="\n").toLocalIterator():
            yield from io.StringIO(f"{row['value']}\n", newline="")

    def _break_elsewhere(self, path: str) -> str | None:
        """As `_break`: what is between two CR LF has neither CR nor LF where all lines end so."""
        cr, lf = (F.contains("value", F.lit(end)) for end in "\r\n")
        if not self.lines(path, end="\n").where(cr).head(1):
            return "\n"
        [[lfs, crs, count]] = self.lines(path, end="\r\n").agg(F.bool_or(lf), F.bool_or(cr), F.count("value")).collect()
        return None if lfs or (crs and count > 1) else "\r" if crs else "\r\n"

    def options_of(self, delimiter: str, over: bool = False, **more: Any) -> dict[str, str]:
        """Spark's: a row of another length is in the column `_bad` as it is."""
        sep = delimiter if delimiter != "\\" else "\\\\"  # Spark takes one for the beginning of an escape
        form = {"sep": sep, "quote": self.quote, "escape": self.escape or self.quote, "multiLine": over, **more}
        return {name: str(value) for name, value in {**form, "columnNameOfCorruptRecord": "_bad"}.items()}

    def _delimiter(self, label: str) -> str:
        tab = ".tsv" in label.lower().rpartition("/")[2]
        found = _one("delimiter", self.options.get("delimiter", "\t" if tab else ","))
        if found in (self.quote, self.escape):
            raise PipelineError(f"--option: {found!r} cannot be the delimiter and also a quote or an escape")
        return found

    def _header(self, label: str, path: str, delimiter: str, looked: Looked, blank: int) -> list[str]:
        if looked.first is None:
            raise PipelineError(
                f"{label} is empty: a CSV file starts with a line of column names\n--option header=false if it has none"
            )
        names = self._names(label, looked.first, delimiter)
        rows = reader(self.spark).options(**self.options_of(delimiter, looked.over))
        if "\n" in names[-1]:  # the header goes over lines
            row = rows.schema("c0 string, _bad string").csv(to_read(path)).head(blank + 1)[blank]
            names = [row["c0"]] if row["_bad"] is None else self._names(label, row["_bad"], delimiter)
        if names[-1].endswith("\n"):
            raise PipelineError(f"{label}, line 1: {_OPEN}")
        if looked.marked and any("\ufffd" in name for name in names):
            raise PipelineError(f"{label}, line 1: the names of columns are not UTF-8 text\ntry --option encoding=latin-1, say")
        if len(names) == 1 and "delimiter" not in self.options:
            second = rows.schema("c0 string, _bad string").csv(to_read(path)).head(blank + 2)[blank + 1 :]
            value = (second[0]["_bad"] or second[0]["c0"] or "") if second else None
            if (other := rival(delimiter, names[0], value)) is not None:
                raise PipelineError(
                    f'{label} has one column, "{names[0][:60]}"\n'
                    f"its fields seem to be separated by {other!r}: try --option delimiter={name_of(other)}, "
                    f"or TABLE.delimiter={name_of(other)} for one table; if it is one column, delimiter={name_of(delimiter)}"
                )
        if (place := next((i for i, name in enumerate(names) if not name), None)) is not None:
            raise PipelineError(f"{label}, line 1: column {place + 1} has no name\n--option header=false is for files without")
        return names

    def _names(self, label: str, text: str, delimiter: str) -> list[str]:
        try:
            return self._fields(text, delimiter)
        except csv.Error as error:  # a field beyond the reader's size limit
            raise PipelineError(
                f"{label}, line 1: {error}\nthis is no header; --option header=false is for files without"
            ) from error

    def _fields(self, text: str, delimiter: str) -> list[str]:
        """Of a row; the last one ends with a line break where a quote is left open in it."""
        return next(csv.reader(io.StringIO(f"{text}\n", newline=""), **self._form(delimiter)))

    def _form(self, delimiter: str) -> dict[str, Any]:
        return {"delimiter": delimiter, "quotechar": self.quote, "escapechar": self.escape, "doublequote": not self.escape}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Reads files with these `names`, of which all have quotes that go `over` lines or none, rows that end in `end` (None: not
    all alike), and names in the line `at`, -1 for none; where quotes go over lines, so many rows of blanks before them. `open`,
    `cut`: a quote is left open at the end of the file, of its last line. `alone`: a file that is not to be read with others."""

    files: CsvFiles
    delimiter: str
    names: Sequence[str]
    over: bool
    end: str | None
    at: int
    open: bool
    cut: bool
    alone: str

    def __call__(self, paths: Sequence[str], wanted: Sequence[str]) -> DataFrame:
        fields = [f"c{i}" for i in range(len(self.names))]
        schema = ", ".join(f"{field} string" for field in [*fields, "_bad"])
        rows = self._over(paths, schema) if self.over else self._lines(paths, schema)
        broken, line = F.when(F.col("_bad").isNotNull(), f"not {many(len(fields), 'field')}"), F.col("_bad")
        if self.end is None:
            text = F.concat_ws("", *fields)
            broken = broken.when(F.contains(text, F.lit("\r")), "a CR in a file whose lines end in more than one way")
        if self.open or self.cut:  # the last row would hold all that comes after the quote
            rows = rows.withColumn("_at", _AT())
            last = F.lead("_at").over(Window.partitionBy(F.lit(0)).orderBy("_at")).isNull()
            last &= F.when(F.concat_ws(" ", *fields).contains("\n"), F.lit(self.open)).otherwise(F.lit(self.cut))
            whole = F.concat_ws(self.delimiter, *(F.coalesce(F.col(field), F.lit("")) for field in fields))
            broken, line = F.when(last, _OPEN).otherwise(broken), F.when(last, F.coalesce(line, whole)).otherwise(line)
        nulls = ", ".join(map(literal, dict.fromkeys(["", self.files.options.get("null", "")])))
        chosen = [fields[self.names.index(name)] for name in wanted]
        values = numbered([f"CASE WHEN {field} NOT IN ({nulls}) THEN {field} END" for field in chosen])
        return rows.withColumns({"_broken": broken, "_line": line}).selectExpr(*values, *TOLD)

    def _over(self, paths: Sequence[str], schema: str) -> DataFrame:
        # without `lineSep` Spark takes every line break in quotes for the first one
        more = {"header": self.files.header and not self.at, "columnPruning": False, "lineSep": self.end or "\n"}
        source = reader(self.files.spark).options(**self.files.options_of(self.delimiter, True, **more)).schema(schema)
        rows = source.csv(list(map(to_read, paths))).selectExpr("*", *PLACE)
        return rows.withColumn("_at", _AT()).where(F.col("_at") > self.at) if self.at else rows

    def _lines(self, paths: Sequence[str], schema: str) -> DataFrame:
        """Spark's reader of CSV would leave out lines of nothing beyond U+0020, such as tabs."""
        lines = self.files.lines(*paths).withColumn("_at", _AT().bitwiseAND(PLACES))
        lines = lines.where((F.col("_start") > 0) | (F.col("_at") > self.at))
        if len(self.names) > 1:
            lines = lines.where("value <> ''")
        row = F.when(F.col("value") != "", F.from_csv("value", schema, self.files.options_of(self.delimiter)))
        return lines.select("_file", "_start", row.alias("row")).select("_file", "_start", "row.*")


def _break(path: str) -> str | None:
    """How all lines end, also in quotes; None where they differ."""
    seen = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("latin-1")(), translate=False)
    with suppress(OSError), pa.input_stream(path) as file:
        while block := file.read(1 << 20):
            seen.decode(block)
    seen.decode(b"", final=True)
    return None if isinstance(seen.newlines, tuple) else seen.newlines or "\n"


def _one(option: str, text: str) -> str:
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text.encode()) != 1 or text in "\r\n":
        raise PipelineError(f"--option {option} takes one character, not {text!r}")
    return text
