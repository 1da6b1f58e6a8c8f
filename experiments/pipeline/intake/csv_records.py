"""CSV files as columns of texts, with every row of the wrong length told apart.

A field is NULL when it is empty, quoted or not, as in DuckDB, or equal to the option `null`. Blank lines are no rows, except
in a file of one column.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from experiments.pipeline.intake.records import Records, Reject, numbers_without
from experiments.pipeline.intake.stream import Decoded
from experiments.pipeline.spark.errors import PipelineError

OPTIONS = {
    "delimiter": "between fields; default a comma, in .tsv files a tab",
    "quote": 'around fields; default "',
    "escape": "before a quote inside quotes; default none, quotes are doubled",
    "header": "true or false: whether the first line has the names; default true",
    "null": "a text that stands for NULL, besides the empty one",
    "encoding": "default utf-8",
}
_BLOCK_BYTES = 16 << 20  # a row has to fit into one block
_LONGEST_HEADER = 8 << 20
_RIVALS = (";", "\t", "|", ",")


class CsvFile:
    """One file. Raises PipelineError: empty, names missing or repeated, another delimiter than the one expected."""

    def __init__(self, path: Path, options: Mapping[str, str], names: list[str] | None = None) -> None:
        """`names`: of the columns, for files without a header."""
        self.path, self.options = path, options
        tab = path.name.lower().split(".")[-1] == "tsv" or ".tsv." in path.name.lower()
        self.delimiter = _one("delimiter", options.get("delimiter", "\t" if tab else ","))
        self.quote = _one("quote", options.get("quote", '"'))
        self.escape = _one("escape", options["escape"]) if "escape" in options else None
        self.has_header = _truth("header", options.get("header", "true"))
        if not self.has_header and names is None:
            raise PipelineError(
                f"{path} has no header: --schema with CREATE TABLE names the columns of each table, in their order"
            )
        self.names = self._header() if self.has_header else list(names or ())
        self.sha256, self.size = "", 0

    def records(self) -> Iterator[Records]:
        """The rows in their order. Sets `sha256` and `size` at the end. Raises PipelineError when no more rows can be told."""
        file = Decoded(self.path, self.options.get("encoding", "utf-8"), self.quote)
        with file:
            yield from self._last_checked(file, self._batches(file))
            self.sha256, self.size = file.raw.sha256(), file.raw.size

    def _batches(self, file: Decoded) -> Iterator[Records]:
        broken: list[Reject] = []
        header = 1 if self.has_header else 0

        def keep(row: Any) -> str:
            broken.append(Reject(_fields(row.expected_columns, row.actual_columns), None, None, row.text, row.number - header))
            return "skip"

        after = 1  # the number of the next row
        skipped: list[int] = []  # numbers of broken rows from there on: the reader is ahead of what it gives out
        try:
            with self._reader(file, keep) as reader:
                for batch in reader:
                    faults, broken[:] = list(broken), []
                    skipped += [fault.row or 0 for fault in faults]
                    rows = numbers_without(after, batch.num_rows, skipped)
                    if len(rows):
                        after = int(rows[-1]) + 1
                        skipped = [number for number in skipped if number >= after]
                    yield Records(dict(zip(self.names, batch.columns, strict=True)), rows, faults, file.marked)
        except pa.ArrowException as error:
            raise self._complaint(str(error)) from error
        if broken:
            yield Records({name: pa.array([], pa.string()) for name in self.names}, np.array([], np.int64), broken, file.marked)

    def _reader(self, file: Decoded, keep: Any) -> Any:
        parse = pacsv.ParseOptions(
            delimiter=self.delimiter,
            quote_char=self.quote,
            double_quote=self.escape is None,
            escape_char=self.escape or False,
            newlines_in_values=True,
            ignore_empty_lines=len(self.names) > 1,
            invalid_row_handler=keep,
        )
        nulls = ["", *([self.options["null"]] if "null" in self.options else [])]
        types = dict.fromkeys(self.names, pa.string())
        convert = pacsv.ConvertOptions(column_types=types, null_values=nulls, strings_can_be_null=True, check_utf8=False)
        names = None if self.has_header else self.names
        read = pacsv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES, column_names=names)
        if names is not None and not file.path.stat().st_size:
            return _Nothing(self.names)
        return pacsv.open_csv(pa.PythonFile(file, mode="r"), read, parse, convert)

    def _last_checked(self, file: Decoded, batches: Iterator[Records]) -> Iterator[Records]:
        """The same rows, but for a last one that ends with the file inside of quotes: it would hold all that comes after them."""
        held: Records | None = None
        for records in batches:
            if held is not None:
                yield held
            held = records
        if held is None:
            return
        if len(held) and file.quotes % 2 and self.escape is None:
            last = held.columns[self.names[-1]][len(held) - 1].as_py()
            if last is not None and "\n" in last:
                texts = [held.columns[name][len(held) - 1].as_py() for name in self.names]
                row = None if held.rows is None else int(held.rows[-1])
                record = self.delimiter.join(text or "" for text in texts)
                reject = Reject("a quote is opened and never closed", self.names[-1], last, record, row)
                columns = {name: column[:-1] for name, column in held.columns.items()}
                held = Records(columns, None if held.rows is None else held.rows[:-1], [*held.broken, reject], held.marked)
        yield held

    def _header(self) -> list[str]:
        with Decoded(self.path, self.options.get("encoding", "utf-8"), self.quote) as file:
            text = file.read(_LONGEST_HEADER) or b""
        lines = io.StringIO(text.decode("utf-8", "replace"), newline="")
        rows = csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote, escapechar=self.escape)
        try:
            names = next((row for row in rows if row), [])
            second: list[str] = next((row for row in rows if row), [])
        except csv.Error as error:
            raise PipelineError(f"{self.path}, line 1: {error}") from error
        if not names:
            raise PipelineError(
                f"{self.path} is empty: a CSV file starts with a line of column names\n"
                "--option header=false is for files without one"
            )
        self._check_delimiter(names, second)
        for i, name in enumerate(names):
            if not name:
                raise PipelineError(
                    f"{self.path}, line 1: column {i + 1} has no name\n--option header=false is for files without names"
                )
        return names

    def _check_delimiter(self, names: list[str], second: list[str]) -> None:
        """One column whose name and value both hold the same number of another usual delimiter is no column."""
        if len(names) > 1 or "delimiter" in self.options:
            return
        for rival in _RIVALS:
            found = names[0].count(rival)
            if rival != self.delimiter and found and (not second or (len(second) == 1 and second[0].count(rival) == found)):
                raise PipelineError(
                    f'{self.path} has one column, "{names[0][:60]}"\n'
                    f"its fields seem to be separated by {rival!r}: try --option delimiter={_shell(rival)}; "
                    f"if it is one column, --option delimiter={_shell(self.delimiter)}"
                )

    def _complaint(self, reason: str) -> PipelineError:
        if "straddl" in reason or "sync" in reason:
            return PipelineError(
                f"{self.path}: a row is longer than {_BLOCK_BYTES >> 20} MB\n"
                'most likely a quote is opened and never closed; --option quote=... says what surrounds fields, if not "'
            )
        return PipelineError(f"{self.path} is not a well-formed CSV file: {reason}")


class _Nothing:
    """A reader of no rows, for an empty file without a header."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def __enter__(self) -> Iterator[pa.RecordBatch]:
        return iter(())

    def __exit__(self, *_: object) -> None:
        return None


def _fields(expected: int, actual: int) -> str:
    return f"{actual} field{'s' if actual != 1 else ''} instead of {expected}"


def _one(option: str, text: str) -> str:
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text.encode()) != 1 or text in "\r\n":
        raise PipelineError(f"--option {option} takes one character, not {text!r}")
    return text


def _truth(option: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise PipelineError(f"--option {option} takes true or false, not {text!r}")
    return text.lower() == "true"


def _shell(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else f"'{delimiter}'"
