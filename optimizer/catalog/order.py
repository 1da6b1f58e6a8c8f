"""In which order a table's rows are stored: checked by reading them, remembered in `_planscope/order.json`.

    {"version": 1, "tables": {"orders": {"order": ["o_orderkey"], "files": {"orders.parquet": "FINGERPRINT TIME"}}}}

A remembered order counts only while the table's files are the ones it was checked on: same contents as far as the
fingerprint can tell, same time of change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.folder import METADATA_FOLDER, replace_file
from optimizer.catalog.source import as_declared, open_source
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError


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


def remember_orders(folder: Path, orders: Mapping[str, Sequence[str]], tables: Mapping[str, Table]) -> None:
    """Write checked orders by table name, with their files, into the dataset's metadata folder. Raises OSError."""
    entries = {
        name: {"order": list(order), "files": file_identities(tables[name].files)} for name, order in sorted(orders.items())
    }
    target = folder / METADATA_FOLDER / "order.json"
    target.parent.mkdir(exist_ok=True)
    replace_file(target, json.dumps({"version": 1, "tables": entries}, indent=1) + "\n")


def remembered_order(folder: Path, table: str, files: Sequence[Path], columns: Iterable[str]) -> tuple[str, ...]:
    """The order checked earlier for a table with exactly these files; () when there is none or its files have changed."""
    path = folder / METADATA_FOLDER / "order.json"
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        entry = content["tables"].get(table) if content["version"] == 1 else None
        order = () if entry is None or entry["files"] != file_identities(files) else tuple(entry["order"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CatalogError(f"cannot read {path}; delete it, it only remembers how rows are sorted") from error
    return order if set(order) <= set(columns) else ()
