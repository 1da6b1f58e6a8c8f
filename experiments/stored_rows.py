"""The rows of a table, as a `pyarrow.dataset.Dataset` of its files, and whether they are sorted. `as_declared` gives columns
their canonical types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from optimizer.algebra.field_texts import from_texts
from optimizer.catalog.csv_files import convert_options, parse_options, read_options
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    import pyarrow.dataset as ds


def open_source(table: Table) -> ds.Dataset:
    """Rows come in stored order when a scan keeps the order of files and batches. Nothing is read yet.

    Raises CatalogError for a table without rows at hand (statistics only).
    """
    if not table.files:
        raise CatalogError(f'table "{table.name}" has statistics only, no rows: queries on it can be planned but not run')
    import pyarrow.dataset as ds  # loads pandas, if there is one, which takes longer than to plan a query

    return ds.dataset([str(file) for file in table.files], schema=table.read_schema, format=_format(table))


def as_declared(table: Table, names: Iterable[str]) -> dict[str, ds.Expression]:
    """Columns to be read of such a dataset, or of its fragments."""
    import pyarrow.dataset as ds

    known = {column.name: column for column in table.columns}
    return {n: from_texts(ds.field(n), known[n].type) if known[n].as_texts else ds.field(n) for n in names}


def _format(table: Table) -> str | ds.FileFormat:
    import pyarrow.dataset as ds

    if table.format == "arrow":
        return "ipc"
    if table.format == "parquet":  # pages that have checksums are verified
        checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        read = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")  # nanoseconds would not reach far enough
        return ds.ParquetFileFormat(read, default_fragment_scan_options=checked)
    types = {field.name: field.type for field in table.read_schema}
    scan = ds.CsvFragmentScanOptions(convert_options=convert_options(types), read_options=read_options())
    return ds.CsvFileFormat(parse_options(len(types)), default_fragment_scan_options=scan)


def rows_ascend(table: Table, order: Sequence[str], strictly: bool = False) -> bool:
    """Whether the stored rows are sorted ascending by `order`, NULLs last; `strictly`: and no two of them are equal there.

    Reads those columns once, batch by batch. Always False for floating-point columns, whose NaN sorts differently elsewhere.
    """
    if any(kinds.is_floating(table.schema.field(name).type) for name in order):
        return False
    last: pa.RecordBatch | None = None
    for batch in open_source(table).to_batches(columns=as_declared(table, order)):
        if not batch.num_rows:
            continue
        seams = [] if last is None else [[pa.concat_arrays([a, b[:1]]) for a, b in zip(last, batch, strict=True)]]
        if not all(_ascends(columns, strictly) for columns in [*seams, batch.columns]):
            return False
        last = batch.slice(batch.num_rows - 1)
    return True


def _ascends(columns: Sequence[pa.Array], strictly: bool) -> bool:
    """Whether no row is greater than the next one (`strictly`: nor equal to it), comparing column by column."""
    tied = pa.scalar(True)  # rows equal to the next one in all columns so far
    for column in columns:
        here, after = column[:-1], column[1:]
        here_null, after_null = pc.is_null(here), pc.is_null(after)
        greater = pc.or_(pc.fill_null(pc.greater(here, after), False), pc.and_(here_null, pc.invert(after_null)))
        if pc.any(pc.and_(tied, greater)).as_py():
            return False
        tied = pc.and_(tied, pc.or_(pc.fill_null(pc.equal(here, after), False), pc.and_(here_null, after_null)))
    return not (strictly and pc.any(tied).as_py())
