"""What to tell the reader of a dataset's statistics: when they were made, and how to make those that are missing."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from memo_viz.text import clean
from optimizer.catalog.findings import read_findings
from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.statistics import stored_statistics
from optimizer.catalog.table import Catalog, Table


def notes(table: Table, data: str, measured: Collection[str] = (), untrue: Mapping[str, Sequence[str]] = {}) -> list[str]:
    """Lines about one table of the dataset that the user called `data`. `measured`: tables that were ever analyzed; `untrue`: by
    table, what an analysis found against its declarations."""
    lines = [f"not relied on: {clean(words)}" for words in untrue.get(table.name, ())]
    if table.stats.analyzed:
        return [f"analyzed {clean(table.stats.analyzed)}", *lines]
    if not table.files:
        return lines
    after = ", once the declarations are true" if lines else ""
    what = "analyzed before its files changed" if table.name in measured else "not analyzed"
    return [
        *lines,
        f"{what}: distinct counts, common values and histograms may be missing",
        f"planscope data analyze {shlex.quote(clean(data))} measures them{after}",
    ]


def measured_tables(folder: Path) -> Collection[str]:
    """The tables of a dataset folder that have stored figures, of whatever age. Raises CatalogError when these are damaged."""
    found = stored_statistics(folder)
    return () if found is None else found.tables.keys()


def contradictions(folder: Path, catalog: Catalog) -> dict[str, list[str]]:
    """By table, the declared keys and foreign keys that its rows do not keep, in words. Raises CatalogError."""
    findings, found = read_findings(folder), dict[str, list[str]]()
    if findings.is_empty:
        return found
    files = {name: file_identities(table.files) for name, table in catalog.tables.items()}
    for constraint, words in findings.contradicted(files).items():
        found.setdefault(constraint.table, []).append(words)
    return found
