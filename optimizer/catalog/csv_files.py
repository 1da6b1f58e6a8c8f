"""What CSV files hold: types inferred or declared, the rest by reading them once.

Files start with a line of column names, are separated by commas and encoded as UTF-8. A field is NULL when it is empty,
quoted or not, as in DuckDB. A column gets the first of these types that all its values have: integer, boolean, date,
timestamp, floating point, string; times that all have a zone become timestamps in UTC. A type that would not keep all of a
text is not the right one: a column with codes such as 00501 or +49 among numbers is a string, as in DuckDB, and so is one with
0 or 1 beside true; whole numbers beyond BIGINT are DECIMAL(38,0), or strings where other numbers are among them.
"""

from __future__ import annotations

import csv
import math
import mmap
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from optimizer.algebra.columns import DataType
from optimizer.algebra.field_texts import from_texts
from optimizer.algebra.types import ARROW_TRUTH, MAX_PRECISION, arrow_truth, is_decimal, is_float, is_integer, type_name
from optimizer.catalog.delimiters import name_of, rival
from optimizer.catalog.facts import FileFacts
from optimizer.catalog.fingerprint import file_fingerprint
from optimizer.catalog.measure import measure
from optimizer.catalog.table import TableColumn
from optimizer.errors import CatalogError, many

# to be read as timestamps in microseconds: zeros may follow these, and all may have a zone
_TIMES = tuple(pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("us", "ns"))
_INFERRED = (pa.null(), pa.int64(), pa.bool_(), pa.date32(), *_TIMES, pa.float64(), pa.string())
_MOMENT = r"^\d{4}-\d\d-\d\d([ T]\d\d(:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$"
_BLOCK_BYTES = 4 << 20  # a row has to fit into one block
_NAMES_BYTES = 1 << 16  # of names in a line
_LOST = {pa.int64(): r"^\s*-?0[0-9xX]", pa.float64(): r"^\s*(\+|-?0[0-9xX]|-?[0-9]{17})"}  # texts that these would not keep
_CODE_SOMEWHERE = re.compile(rb'[,\r\n][" \t-]*(?:\+|0[0-9xX])')
_LONG = 1e16  # from where on a DOUBLE may be a number of 17 digits
_WHOLE = r"^\s*-?(0|[1-9][0-9]{0,37})\s*$"
_WORDS = arrow_truth(["true"], ["false"])
_BAD_VALUE = re.compile(r"In CSV column #(\d+): ")
# quotes after which a field goes on, be it one that they did not begin; two of them inside a value are passed over
_BEHIND_QUOTE = re.compile(rb'"(?:(?<=[,\r\n]")"(?:"")*|(?<![,\r\n"]")(?:"")*)(?=[^",\r\n])')
# a field that starts with a quote, or any other; each match goes on where the last one ended
_QUOTED = re.compile(
    rb'(?:"(?P<inside>[^"]*(?:""[^"]*)*)(?P<end>"?)(?P<after>[^,\r\n]*)|(?P<plain>[^,\r\n]*))(?:,|\r\n|\r|\n|\Z)'
)


def parse_options(columns: int) -> pacsv.ParseOptions:
    """How rows are told apart; with one column an empty line is a NULL, with more it is nothing."""
    return pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=columns > 1)


def convert_options(types: Mapping[str, DataType], words: bool = False) -> pacsv.ConvertOptions:
    """`words`: only true and false are BOOLEANs."""
    truth = _WORDS if words else ARROW_TRUTH
    return pacsv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True, **truth)


def read_options() -> pacsv.ReadOptions:
    return pacsv.ReadOptions(block_size=_BLOCK_BYTES)


def csv_input(path: Path) -> Path | pa.BufferReader:
    """What Arrow is to read: it takes a line of names that no line break follows for no line. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(_NAMES_BYTES)
    if len(start) == _NAMES_BYTES or not start or b"\n" in start or b"\r" in start:
        return path
    return pa.BufferReader(start + b"\n")


def csv_facts(paths: Sequence[Path], declared: Mapping[str, DataType]) -> list[FileFacts]:
    """The part files of one table, which get one type per column; `declared`: types by lower-case column name.

    Raises CatalogError: no header, repeated or missing names, a row of another length (file and line), a value that is
    not of its column's declared type (file, line and column), text that is not UTF-8.
    """
    names = {path: _header(path) for path in paths}
    types = {name: declared.get(name.lower()) or guess for name, guess in _guess_types(paths[0], names[paths[0]]).items()}
    # declared columns of which Arrow does not read all values as we do, as decimals that it lets overflow
    texts = {n for n, t in types.items() if n.lower() in declared and is_decimal(t) and t.precision + t.scale > MAX_PRECISION}
    words, looked = pa.bool_() not in declared.values(), False
    while True:
        try:
            facts = [_read(path, names[path], types, texts, words) for path in paths]
            codes = {name for path in paths if _has_codes(path) for name in names[path]}
            better = _better(facts, names, {name: type for name, type in types.items() if name.lower() not in declared}, codes)
            loose = {name for name in codes - texts if is_integer(declared.get(name.lower(), pa.null()))}  # 0x10 is none
            if not better and not loose:
                return facts
            types |= better
            texts |= loose
        except _Unfit as unfit:
            name = unfit.column
            if unfit.value is None or name in texts:
                raise unfit.error(types.get(name, pa.string())) from unfit
            type = types[name]
            if not looked:
                _look_everywhere(names, types, {n for n in types if n.lower() in declared}, texts, words)
                looked = True
            if name.lower() in declared:
                texts.add(name)
            elif types[name] == type:
                types[name] = _INFERRED[_INFERRED.index(type) + 1]


def _guess_types(path: Path, names: list[str]) -> dict[str, DataType]:
    """The types that the first block of a file suggests: none comes after the right one in `_INFERRED`."""
    try:
        with pacsv.open_csv(
            csv_input(path), read_options(), parse_options(len(names)), convert_options({}, words=True)
        ) as reader:
            return _guessed(names, next(iter(reader), None) or reader.schema.empty_table())
    except pa.ArrowException as error:
        raise _explain(path, names, str(error)) from error


def _guessed(names: Sequence[str], rows: pa.Table | pa.RecordBatch) -> dict[str, DataType]:
    """The types that Arrow has given columns, as ones of `_INFERRED`."""
    guessed = [pa.timestamp("us", type.tz) if pa.types.is_timestamp(type) else type for type in rows.schema.types]
    for i, type in enumerate(guessed):  # Arrow takes fractions for nanoseconds, and what those do not reach for texts
        if len(rows) and pa.types.is_string(type) and pc.all(pc.match_substring_regex(rows[i], _MOMENT)).as_py():
            guessed[i] = _TIMES[0]
    return {name: type if type in _INFERRED else pa.string() for name, type in zip(names, guessed, strict=True)}


def _look_everywhere(
    files: Mapping[Path, list[str]], types: dict[str, DataType], declared: Collection[str], texts: set[str], words: bool
) -> None:
    """Moves inferred `types` on to what all blocks of the files suggest, and adds columns to `texts` whose declared type Arrow
    does not read everywhere: once for all columns, where the first block has not told of one. `files`: their names by path."""
    for path, names in files.items():
        as_texts = convert_options(dict.fromkeys(names, pa.string()))
        as_texts.check_utf8 = False
        with (
            suppress(pa.ArrowException),  # which is told when the types are tried
            pacsv.open_csv(csv_input(path), read_options(), parse_options(len(names)), as_texts) as reader,
        ):
            for batch in reader:
                block = pa.BufferOutputStream()
                pacsv.write_csv(batch, block)
                for name, type in _guessed(names, _read_block(block.getvalue(), names, types, declared, texts, words)).items():
                    if name in types and name not in declared:
                        types[name] = _either(types[name], type)


def _read_block(
    block: pa.Buffer, names: list[str], types: Mapping[str, DataType], declared: Collection[str], texts: set[str], words: bool
) -> pa.Table:
    while True:
        known = {name: types[name] for name in names if name in declared and name not in texts}
        options = (pacsv.ReadOptions(block_size=block.size), parse_options(len(names)), convert_options(known, words))
        try:
            return pacsv.read_csv(pa.BufferReader(block), *options)
        except pa.ArrowInvalid as error:
            if (found := _BAD_VALUE.search(str(error))) is None:
                raise
            texts.add(names[int(found[1])])


def _either(one: DataType, other: DataType) -> DataType:
    """The first type of `_INFERRED` that may have the values of both."""
    for alike in ((pa.null(), one), (pa.null(), other), (pa.int64(), pa.float64()), (pa.date32(), *_TIMES[:2]), _TIMES[2:]):
        if one in alike and other in alike:
            return max(one, other, key=_INFERRED.index)
    return one if one == other else pa.string()


class _Unfit(Exception):
    """A value that does not have its column's type: inference goes on with the next type, a declaration is an error."""

    def __init__(self, path: Path, position: int, column: str, value: str | None = "") -> None:
        """`value`: None for bytes that are no text."""
        self.path, self.position, self.column, self.value = path, position, column, value

    def error(self, type: DataType) -> CatalogError:
        if self.value is None:
            return CatalogError(f'{self.path}: column "{self.column}" is not UTF-8 text; convert the file to UTF-8')
        row = _find_row(self.path, lambda fields: len(fields) > self.position and fields[self.position] == self.value)
        line = f", {row[0]}" if row else ""
        return CatalogError(
            f'{self.path}{line}, column "{self.column}": {self.value!r} is not of the declared type {type_name(type)}\n'
            "correct the value, or the type in schema.sql"
        )


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            quoted = file.read(1) == '"'
            file.seek(0)
            lines = csv.reader(file)
            names = next(filter(None, lines), [])
    except UnicodeDecodeError as error:
        raise CatalogError(f"{path} is not UTF-8 text; convert it to UTF-8") from error
    except OSError as error:
        raise CatalogError(f"cannot read {path}: {error.strerror}") from error
    except csv.Error as error:
        raise CatalogError(f"{path}, line 1: {error}") from error
    if not names:
        raise CatalogError(f"{path} is empty: a CSV file starts with a line of column names")
    if len(names) == 1 and lines.line_num > names[0].count("\n") + 1:  # where it would be a NULL among the rows
        raise CatalogError(f"{path} begins with an empty line, before its line of column names\ntake that line out")
    for name in names:
        if not name:
            index = "\npandas writes its index without one: df.to_csv(..., index=False)" if name is names[0] else ""
            raise CatalogError(f"{path}, line 1: a column has no name{index}")
        if names.count(name) > 1:
            raise CatalogError(f'{path}, line 1: column "{name}" is there twice')
    if len(names) == 1 and not quoted:
        _, first = _find_row(path, bool) or (0, [])
        if (other := rival(",", names[0], first[0] if len(first) == 1 else None)) is not None:
            raise CatalogError(
                f'{path} has one column, "{names[0][:60]}", but its fields seem to be separated by {other!r}\n'
                f"planscope data import {quote(str(path))} --option delimiter={name_of(other)} -o DIR makes Parquet of it; "
                "if it is one column, put its name in quotes"
            )
    return names


def _read(path: Path, names: list[str], types: Mapping[str, DataType], texts: Collection[str], words: bool) -> FileFacts:
    # a column of nothing but NULLs is a string
    became = {pa.null(): pa.string(), **dict.fromkeys(_TIMES, _TIMES[0])}
    read_as = {name: types.get(name, pa.string()) for name in names}
    columns = [TableColumn(n, became.get(t, t), as_texts=n in texts or t in _TIMES[1:]) for n, t in read_as.items()]
    convert = convert_options({n: pa.string() if n in texts else t for n, t in read_as.items()}, words)
    options = (read_options(), parse_options(len(names)), convert)
    try:
        with pacsv.open_csv(csv_input(path), *options) as reader:
            rows, stats = measure(path, (_read_texts(path, batch, columns) for batch in reader), columns)
    except pa.ArrowException as error:
        raise _explain(path, names, str(error)) from error
    except OSError as error:
        raise CatalogError(f"cannot read {path}: {error.strerror or error}") from error
    _check_quotes(path, rows)
    for i, column in enumerate(columns):
        if is_float(column.type) and {math.inf, -math.inf} & {stats[column.name].min, stats[column.name].max}:
            _check_sizes(path, i, column)
    return FileFacts(path, tuple(columns), rows, path.stat().st_size, stats, file_fingerprint(path))


def _read_texts(path: Path, batch: pa.RecordBatch, columns: Sequence[TableColumn]) -> pa.RecordBatch:
    """The batch with values in place of texts that stand for them. Raises _Unfit."""
    for i, column in enumerate(columns):
        stored = batch.column(i)
        texts = column.as_texts and pa.types.is_string(stored.type)
        try:
            if is_decimal(stored.type):
                stored.validate(full=True)
            if stored.type != column.type and not pa.types.is_null(stored.type):
                values = from_texts(stored, column.type) if texts else stored.cast(column.type)
                batch = batch.set_column(i, column.name, values)
        except pa.ArrowInvalid as error:
            raise _Unfit(path, i, column.name, _first_unfit(stored, column.type) if texts else "") from error
    return batch


def _first_unfit(texts: pa.Array, type: DataType) -> str:
    """The first of the texts, of which one is no `type`, that is none."""
    while len(texts) > 1:
        half = len(texts) // 2
        try:
            from_texts(texts[:half], type)
            texts = texts[half:]
        except pa.ArrowInvalid:
            texts = texts[:half]
    return str(texts[0])


def _has_codes(path: Path) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return _CODE_SOMEWHERE.search(content) is not None


def _better(
    facts: Sequence[FileFacts], files: Mapping[Path, list[str]], types: Mapping[str, DataType], codes: Collection[str]
) -> dict[str, DataType]:
    """Other types for those columns with texts that the inferred `types` would not keep; `files`: their names by path; `codes`:
    those of files that seem to have such texts."""
    reals = [(name, stats) for file in facts for name, stats in file.stats.items() if types.get(name) == pa.float64()]
    suspects = {name for name, stats in reals if stats.max is not None and max(-stats.min, stats.max) >= _LONG}
    suspects |= {name for name in codes if types.get(name) in _LOST}
    lost, other = set[str](), set[str]()
    for path, names in files.items():
        if wanted := [name for name in names if name in suspects]:
            convert = convert_options(dict.fromkeys(wanted, pa.string()))
            convert.include_columns = wanted
            with pacsv.open_csv(csv_input(path), read_options(), parse_options(len(names)), convert) as reader:
                for batch in reader:
                    lost |= {n for n in wanted if pc.any(pc.match_substring_regex(batch[n], _LOST[types[n]])).as_py()}
                    other |= {n for n in wanted if pc.any(pc.invert(pc.match_substring_regex(batch[n], _WHOLE))).as_py()}
    return {name: pa.string() if name in other else pa.decimal128(38, 0) for name in lost}


def _check_sizes(path: Path, position: int, column: TableColumn) -> None:
    """Raises _Unfit for a number that Arrow takes for infinity, as 1e400."""

    def too_large(fields: list[str]) -> bool:
        text = fields[position] if position < len(fields) else ""
        return text.strip()[-1:] in set("0123456789.") and math.isinf(pa.scalar(float(text), column.type).as_py())

    if (row := _find_row(path, too_large)) is not None:
        raise _Unfit(path, position, column.name, row[1][position])


def _check_quotes(path: Path, rows: int) -> None:
    """Raises CatalogError for a quote that is never closed, or closed far away: Arrow takes all between for one value. And for a
    text behind a closed quote: Arrow takes those quotes away.

    Only a file with more lines than rows can have the first, or its last line, and only those, and files with what looks like the
    second, are looked at field by field.
    """
    with path.open("rb") as file:
        breaks = sum(map(_breaks, iter(lambda: file.read(1 << 20), b"")))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        line = content.rfind(b"\n", 0, len(content) - 2)
        line = max(line, content.rfind(b"\r", max(line, 0), len(content) - 2))
        everywhere = breaks > rows + 1 or _BEHIND_QUOTE.search(content, 1) is not None
        for field in _QUOTED.finditer(content, 0 if everywhere else line + 1):
            if field["end"] == b"" or field["after"]:
                what = "there is more in a field than quotes and what is between them\ndouble the quotes inside the value"
                if field["end"] == b"" or _breaks(field["inside"]):
                    what = "a quote is opened there, and not closed before a comma or the end of a line\n"
                    what += "close it, or double the quotes inside the value"
                raise CatalogError(f"{path}, line {_breaks(content[: field.start('inside')]) + 1}: {what}")


def _breaks(text: bytes) -> int:
    """Line breaks, whichever they are."""
    return max(text.count(b"\n"), text.count(b"\r"))


def _explain(path: Path, names: list[str], reason: str) -> Exception:
    """What a parser's complaint means to the owner of the file."""
    if found := _BAD_VALUE.search(reason):
        return _Unfit(path, int(found[1]), names[int(found[1])], None if "UTF8" in reason else "")
    row = _find_row(path, lambda fields: len(fields) != len(names) and (bool(fields) or len(names) == 1))
    if row is not None:
        return CatalogError(
            f"{path}, {row[0]}: {many(len(row[1]), 'field')}, but the first line names {many(len(names), 'column')}\n"
            "correct that line; a comma inside a value needs quotes around the value"
        )
    return CatalogError(f"{path} is not a well-formed CSV file: {reason}")


def _find_row(path: Path, test: Callable[[list[str]], bool]) -> tuple[str, list[str]] | None:
    """The first data row that passes the test, and where it is: its last line in the file, and its number, by which imports name
    it."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file)
        one = len(next(rows, ())) == 1  # column: an empty line is a row
        try:
            numbered = enumerate((row for row in rows if row or one), 1)
            return next(((f"line {rows.line_num} (row {number})", row) for number, row in numbered if test(row)), None)
        except csv.Error:  # a field beyond the reader's size limit
            return None
