"""What a Parquet file says about itself: columns, rows and statistics, from its footer alone."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from optimizer.algebra.columns import DataType
from optimizer.algebra.types import is_opaque
from optimizer.catalog.facts import FileFacts, check_names, combine, reading
from optimizer.catalog.fingerprint import file_fingerprint
from optimizer.catalog.table import ColumnStats, TableColumn
from optimizer.catalog.types import canonical_type, fixed_width, is_nanoseconds


def parquet_facts(path: Path) -> FileFacts:
    """Raises CatalogError when the file is cut off, damaged, not Parquet or not readable."""
    with reading(path, "a Parquet file", "write it again"), pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        return _facts(path, file.metadata, file.schema_arrow)


def _facts(path: Path, footer: Any, schema: pa.Schema) -> FileFacts:
    check_names(path, schema)
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    columns: list[TableColumn] = []
    stats: dict[str, ColumnStats] = {}
    leaves: dict[int, str] = {}  # position among the stored (leaf) columns -> column
    leaf = 0
    for stored in schema:
        type = canonical_type(stored.type)
        if is_nanoseconds(stored.type) and not all(_has_micros(group.column(leaf)) for group in groups):
            type = pa.timestamp("ns")
        columns.append(TableColumn(stored.name, type, stored.nullable))
        if is_opaque(type):
            stats[stored.name] = ColumnStats()
        else:
            parts = [(group.num_rows, _chunk_stats(group.column(leaf), type)) for group in groups]
            stats[stored.name] = combine(parts, fixed_width(type))
            leaves[leaf] = stored.name
        leaf += _leaf_count(stored.type)
    facts = FileFacts(path, tuple(columns), footer.num_rows, path.stat().st_size, stats, file_fingerprint(path))
    facts.order = _declared_order(groups, leaves, {c.name: c.type for c in columns}, stats)
    return facts


def _leaf_count(type: DataType) -> int:
    """How many columns a Parquet file stores for a column of this Arrow type."""
    if isinstance(type, pa.BaseExtensionType):
        type = type.storage_type
    return sum(_leaf_count(type.field(i).type) for i in range(type.num_fields)) or 1


def _chunk_stats(chunk: Any, type: DataType) -> ColumnStats:
    """Statistics of one column chunk (a column in a row group); its bounds as values of the canonical type."""
    found = chunk.statistics
    if found is None:
        return ColumnStats()
    low = high = None
    if found.has_min_max:
        try:
            low, high = found.min, found.max
            low, high = pa.scalar(low, type).as_py(), pa.scalar(high, type).as_py()
        except (ValueError, OverflowError, TypeError):  # cut-off UTF-8, or nanoseconds that no microsecond equals
            low = high = None
        if low != low or high != high:  # NaN bounds nothing
            low = high = None
    nulls = found.null_count if found.has_null_count else None
    ndv = float(found.distinct_count) if found.has_distinct_count else None
    return ColumnStats(nulls, low, high, ndv)


def _has_micros(chunk: Any) -> bool:
    """Whether microseconds are enough for the bounds of a chunk of nanoseconds."""
    found = chunk.statistics
    return found is None or not found.has_min_max or not (found.min_raw % 1000 or found.max_raw % 1000)


def _declared_order(
    groups: list[Any], leaves: dict[int, str], types: dict[str, DataType], stats: dict[str, ColumnStats]
) -> tuple[str, ...]:
    """The ascending, NULLs-last order that the footer declares for every row group, as far as it holds across them.

    `sorting_columns` speaks of one row group only; that each group starts where the one before it ended is read off the
    bounds of the first column. Floating-point columns end the order, since nothing says where NaN is.
    """
    groups = [group for group in groups if group.num_rows]
    declared = [group.sorting_columns for group in groups]
    if not groups or any(other != declared[0] for other in declared):
        return ()
    order: list[tuple[int, str]] = []
    for key in declared[0]:
        name = leaves.get(key.column_index)
        if name is None or key.descending or kinds.is_floating(types[name]) or (key.nulls_first and stats[name].nulls != 0):
            break
        order.append((key.column_index, name))
    if not order or len(groups) == 1:
        return tuple(name for _, name in order)
    leaf, first = order[0]
    bounds = [_chunk_stats(group.column(leaf), types[first]) for group in groups]
    shared = False  # whether a value of the first column may lie in two groups
    for before, after in pairwise(bounds):
        if before.nulls != 0 or before.max is None or after.min is None or before.max > after.min:
            return ()
        shared = shared or not before.max < after.min
    return (first,) if shared else tuple(name for _, name in order)
