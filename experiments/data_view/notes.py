"""What to tell the reader of a dataset's statistics: when they were made, and how to make those that are missing."""

from __future__ import annotations

from optimizer.catalog.table import Table


def notes(table: Table, data: str) -> list[str]:
    """Lines about one table of the dataset that the user called `data`."""
    if table.stats.analyzed:
        return [f"analyzed {table.stats.analyzed}"]
    if not table.files:
        return []
    return [f"not analyzed: distinct counts, common values and histograms may be missing; planscope data analyze {data} measures"]
