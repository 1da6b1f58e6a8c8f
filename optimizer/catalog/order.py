"""In which order a table's rows are stored, as somebody has checked it by reading them: remembered in `_planscope/order.json`.

    {"version": 1, "tables": {"orders": {"order": ["o_orderkey"], "files": {"orders.parquet": "FINGERPRINT TIME"}}}}

A remembered order counts only while the table's files are the ones it was checked on: same contents as far as the
fingerprint can tell, same time of change.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.folder import METADATA_FOLDER, replace_file
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError


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
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CatalogError(f"cannot read {path}; delete it, it only remembers how rows are sorted") from error
    return order if set(order) <= set(columns) else ()
