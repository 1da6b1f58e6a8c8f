"""What to tell the reader of a dataset's statistics: when they were made, and how to make those that are missing."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path

from experiments.data_view.shown import safe
from optimizer.catalog.statistics import stored_statistics
from optimizer.catalog.table import Table


def notes(table: Table, data: str, measured: Collection[str] = ()) -> list[str]:
    """Lines about one table of the dataset that the user called `data`; `measured`: tables that were ever analyzed."""
    if table.stats.analyzed:
        return [f"analyzed {safe(table.stats.analyzed)}"]
    if not table.files:
        return []
    what = "analyzed before its files changed" if table.name in measured else "not analyzed"
    return [
        f"{what}: distinct counts, common values and histograms may be missing",
        f"planscope data analyze {shlex.quote(safe(data))} measures them",
    ]


def measured_tables(folder: Path) -> Collection[str]:
    """The tables of a dataset folder that have stored figures, of whatever age. Raises CatalogError when these are damaged."""
    found = stored_statistics(folder)
    return () if found is None else found.tables.keys()
