"""Statistics of columns by going through their values once, for formats that do not store any."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from optimizer.algebra.types import is_opaque
from optimizer.catalog.facts import combine
from optimizer.catalog.table import ColumnStats, TableColumn
from optimizer.catalog.types import fixed_width
from optimizer.errors import CatalogError


def measure(path: Path, batches: Iterable[pa.RecordBatch], columns: Sequence[TableColumn]) -> tuple[int, dict[str, ColumnStats]]:
    """Rows, and NULLs, bounds and average width by column. Batches may have further columns and other encodings.

    Raises CatalogError, naming `path`, where a value does not fit its column's canonical type; what reading the batches raises.
    """
    rows = 0
    parts: dict[str, list[tuple[int, ColumnStats]]] = {column.name: [] for column in columns}
    for batch in batches:
        if not batch.num_rows:
            continue
        rows += batch.num_rows
        for column in columns:
            stored = batch.column(batch.schema.get_field_index(column.name))
            try:
                values = stored.cast(column.type)
                values.validate(full=True)  # texts may not be UTF-8
            except pa.ArrowInvalid as error:
                raise CatalogError(
                    f'{path}: column "{column.name}" ({stored.type}) has values that {column.type} cannot hold: {error}'
                ) from error
            parts[column.name].append((batch.num_rows, _column_stats(values)))
    return rows, {column.name: combine(parts[column.name], fixed_width(column.type)) for column in columns}


def _column_stats(values: pa.Array) -> ColumnStats:
    present = len(values) - values.null_count
    if is_opaque(values.type):
        return ColumnStats(values.null_count, avg_width=values.nbytes / present if present else None)
    width = fixed_width(values.type)
    if width is None and present:
        width = pc.sum(pc.binary_length(values)).as_py() / present
    try:
        low, high = pc.min_max(values).as_py().values()
    except OverflowError:  # dates beyond the years that Python has
        low = high = None
    if low != low:  # nothing but NaN
        low = high = None
    return ColumnStats(values.null_count, low, high, None, width)
