"""Results as text tables, CSV, JSON and Parquet.

- table: NULL is NULL, and a string of that spelling is 'NULL'; the first `max_rows` rows, then how many there are.
- csv: NULL is an empty field, the empty string is "". Decimals with all digits. Lists, structs and maps as JSON, also in tables.
  Read as a table, both are NULL, as DuckDB reads them.
- json: one array of records, one record a line. Decimals are numbers with all their digits: read them as decimals, not as
  doubles, to keep them. NaN and the infinities, which JSON numbers lack, are "NaN", "Infinity" and "-Infinity".
- parquet: types as they are.

The dates and timestamps that DuckDB stores for infinity are `infinity` and `-infinity`.

Where two columns have one name, table and csv keep it, json and parquet call the second `a` `a_1`. All formats but table
are written as the rows come.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.cells import cell_len, set_cell_size

from optimizer.algebra.types import is_opaque, type_name
from optimizer.errors import ExecutionError, many

FORMATS = ("table", "csv", "json", "parquet")
MAX_CELL, LEAST_CELL = 60, 8  # characters of a text table's cell, of one that was cut to make the table fit
ROW_GROUP = 120_000  # rows of a Parquet row group, at least

Rows: TypeAlias = pa.Table | pa.RecordBatchReader


def write_rows(rows: Rows, format: str, sink: BinaryIO, max_rows: int | None = None, width: int | None = None) -> int:
    """Write `rows` as one of FORMATS (text in UTF-8); how many there were. `max_rows`, `width`: see `show_table`."""
    if format == "table":
        table = rows if isinstance(rows, pa.Table) else rows.read_all()
        sink.write((show_table(table, max_rows, width) + "\n").encode("utf-8", "replace"))
        return table.num_rows
    return {"csv": _write_csv, "json": _write_json, "parquet": _write_parquet}[format](rows, sink)


def show_table(table: pa.Table, max_rows: int | None = None, width: int | None = None) -> str:
    """Aligned text: numbers to the right, NULL in words, one line a row, and the number of rows below. Texts are cut so that a
    line takes `width` terminal cells, though to no less than LEAST_CELL; wider rows become a line a value."""
    shown = table if max_rows is None else table.slice(0, max_rows)
    texts = [_table_cells(shown.column(i)) for i in range(shown.num_columns)]
    right = [_is_number(field.type) for field in shown.schema]
    names = [_one_line(name) for name in shown.column_names]
    widths = [max([cell_len(name), *map(cell_len, column)]) for name, column in zip(names, texts, strict=True)]
    longest = MAX_CELL
    while width is not None and sum(widths) + 3 * (len(widths) - 1) > width and longest > LEAST_CELL:
        longest -= 1
        widths = [size if number else min(size, longest) for size, number in zip(widths, right, strict=True)]
    if width is not None and sum(widths) + 3 * (len(widths) - 1) > width and shown.num_rows:
        lines = _records(names, list(zip(*texts, strict=True)), width)
    else:
        lines = [_line(names, widths, right), "─┼─".join("─" * width for width in widths)]
        lines += [_line(row, widths, right) for row in zip(*texts, strict=True)]
    if table.num_rows > shown.num_rows:
        lines.append(f"({many(table.num_rows, 'row')}, the first {shown.num_rows:,} shown)")
    else:
        lines.append(f"({many(table.num_rows, 'row')})")
    return "\n".join(lines)


def _records(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows as lines of a name and its value, below a line with the number of each."""
    left = min(max(map(cell_len, names)), width // 3)
    sizes = [left, max(LEAST_CELL, width - left - 3)]
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"─ row {number:,} ".ljust(left + 1, "─") + "┬" + "─" * (sizes[1] + 1))
        for pair in zip(names, row, strict=True):
            lines.append(_line(pair, [left, min(sizes[1], cell_len(pair[1]))], (False, False)))
    return lines


def unique_names(names: Sequence[str]) -> list[str]:
    """`names` with the second `a` as `a_1`, and so on, avoiding names that are taken."""
    taken = set(names)
    seen: set[str] = set()
    result = []
    for name in names:
        new, number = name, 0
        while new in seen or (number and new in taken):
            number += 1
            new = f"{name}_{number}"
        seen.add(new)
        result.append(new)
    return result


def cell_texts(column: pa.ChunkedArray | pa.Array) -> list[str | None]:
    """Each value as text without loss; None for NULL."""
    type = column.type
    if pa.types.is_float64(type):
        return [None if v is None else repr(v) for v in column.to_pylist()]
    if pa.types.is_floating(type):
        return [None if v is None else str(np.dtype(type.to_pandas_dtype()).type(v)) for v in column.to_pylist()]
    if pa.types.is_boolean(type):
        return [None if v is None else "true" if v else "false" for v in column.to_pylist()]
    try:  # Python has no nanoseconds
        values = (column if type != pa.timestamp("ns") else column.cast(pa.string())).to_pylist()
    except OverflowError:  # Python has the years 1 to 9999 only
        if pa.types.is_nested(type):
            raise ExecutionError(f"a {type_name(type)} has a date beyond the years 1 to 9999, which cannot be written") from None
        values = _far_texts(column)
    empty = "{}" if pa.types.is_map(type) else "[]"
    return [None if v is None else empty if v == [] else _plain(v) for v in values]


def _far_texts(column: pa.ChunkedArray | pa.Array) -> list[str | None]:
    """Of dates or timestamps of any year; infinity is what DuckDB stores for it. Raises ExecutionError for others without a
    text."""
    bits, texts = column.type.bit_width, column.cast(pa.string()).to_pylist()
    for row, number in enumerate(column.cast(pa.int32() if bits == 32 else pa.int64()).to_pylist()):
        if number is not None and texts[row].startswith("<"):
            if abs(number) != 2 ** (bits - 1) - 1:
                raise ExecutionError(f"a {type_name(column.type)} is out of range (years -32767 to 32767): {number:,}")
            texts[row] = "infinity" if number > 0 else "-infinity"
    return texts


def _plain(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, pa.MonthDayNano):
        return f"{value.months} months {value.days} days {value.nanoseconds // 1000} microseconds"
    if isinstance(value, list | dict):
        return _json_text(value)
    return value if isinstance(value, str) else str(value)


def _json_text(value: Any) -> str:
    """A list, a struct, or a map, which is a list of pairs, or a value inside one, as JSON."""
    match value:
        case None | bool() | int():
            return json.dumps(value)
        case float():
            return _json_float(repr(value))
        case Decimal():
            return _plain(value)
        case [(_, _), *_] if all(type(pair) is tuple for pair in value):
            return _json_text({_plain(key): of for key, of in value})
        case list():
            return f"[{', '.join(map(_json_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{_json_string(name)}: {_json_text(of)}' for name, of in value.items())}}}"
    return _json_string(_plain(value))


def _table_cells(column: pa.ChunkedArray) -> list[str]:
    texts = cell_texts(column)
    if not (pa.types.is_string(column.type) or is_opaque(column.type)):
        return ["NULL" if text is None else text for text in texts]
    return ["NULL" if text is None else f"'{text}'" if text in ("NULL", "'NULL'") else _one_line(text) for text in texts]


def _one_line(text: str) -> str:
    """`text` without anything that could move a terminal's cursor, cut to a cell's length."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [
        " " * (width - cell_len(cell)) + cell
        if to_right
        else set_cell_size(cell, width)
        if cell_len(cell) <= width
        else set_cell_size(cell, width - 1) + "…"
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    ]
    return " │ ".join(padded).rstrip()


def _is_number(type: pa.DataType) -> bool:
    return pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type)


def _batches(rows: Rows) -> Iterator[pa.RecordBatch]:
    yield from rows.to_batches() if isinstance(rows, pa.Table) else rows


def _write_csv(rows: Rows, sink: BinaryIO) -> int:
    import pyarrow.csv

    names, count = rows.schema.names, 0
    pyarrow.csv.write_csv(pa.table([pa.nulls(0)] * len(names), names), sink)
    for batch in _batches(rows):
        columns = [each if _csv_writes(each) else pa.array(cell_texts(each), pa.string()) for each in batch.columns]
        pyarrow.csv.write_csv(pa.record_batch(columns, names), sink, pyarrow.csv.WriteOptions(include_header=False))
        count += batch.num_rows
    return count


def _csv_writes(column: pa.Array) -> bool:
    """Whether Arrow's CSV writer prints the values as wanted; it would print decimals of small scale as 1E-7."""
    t, type = pa.types, column.type
    if t.is_date(type) or t.is_timestamp(type):
        return not pc.any(pc.starts_with(column.cast(pa.string()), "<")).as_py()  # <value out of range>
    if is_opaque(type):
        return False
    if t.is_decimal(type):
        return 0 <= type.scale <= 6
    return t.is_boolean(type) or t.is_integer(type) or t.is_floating(type) or t.is_string(type) or t.is_temporal(type)


def _write_json(rows: Rows, sink: BinaryIO) -> int:
    names = [_json_string(name) for name in unique_names(rows.schema.names)]
    count = 0
    for batch in _batches(rows):
        columns = [_json_cells(column) for column in batch.columns]
        lines = []
        for row in zip(*columns, strict=True):
            start = "[\n" if count == 0 else ",\n"
            lines.append(start + "{" + ", ".join(f"{name}: {cell}" for name, cell in zip(names, row, strict=True)) + "}")
            count += 1
        sink.write("".join(lines).encode("utf-8", "replace"))
    sink.write(b"[]\n" if count == 0 else b"\n]\n")
    return count


def _json_cells(column: pa.Array) -> Iterable[str]:
    type = column.type
    if pa.types.is_floating(type):
        return ["null" if text is None else _json_float(text) for text in cell_texts(column)]
    if _is_number(type) or pa.types.is_boolean(type) or pa.types.is_nested(type):
        return ["null" if text is None else text for text in cell_texts(column)]
    return ["null" if text is None else _json_string(text) for text in cell_texts(column)]


def _json_string(text: str) -> str:
    """As JSON, with escapes for what a terminal obeys: JSON has them for the controls below the blank only."""
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _json_float(text: str) -> str:
    value = float(text)
    if math.isfinite(value):
        return text
    return '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"'


def _write_parquet(rows: Rows, sink: BinaryIO) -> int:
    import pyarrow.parquet

    schema = pa.schema([f.with_name(name) for f, name in zip(rows.schema, unique_names(rows.schema.names), strict=True)])
    count = 0
    waiting: list[pa.RecordBatch] = []
    try:
        opened = pyarrow.parquet.ParquetWriter(sink, schema, write_page_checksum=True)
    except pa.ArrowNotImplementedError as error:
        raise ExecutionError(f"Parquet has no such type: {error}\nleave the column out, or write csv or json") from error
    with opened as writer:
        for batch in _batches(rows):
            waiting.append(pa.record_batch(batch.columns, schema=schema))
            count += batch.num_rows
            if sum(b.num_rows for b in waiting) >= ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting, schema))
                waiting = []
        writer.write_table(pa.Table.from_batches(waiting, schema))
    return count
