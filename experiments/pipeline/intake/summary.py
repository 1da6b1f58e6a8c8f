"""An import told to its user: rows in, rows out, and what happened to the others."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.data_view.shown import cut
from experiments.pipeline.intake.sources import is_hidden
from memo_viz.text import clean
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.errors import many


def summary_text(manifest: Mapping[str, Any], folder: str) -> str:
    """The counts of an import's manifest, in a few lines for each table."""
    counts = manifest["counts"]
    lines = []
    for name, table in counts["tables"].items():
        rejected = sum(one["rows"] for one in table["rejected"])
        more = f", {rejected:,} rejected" if rejected else ""
        lines.append(f"{clean(name)}  {table['kept']:,} of {table['read']:,} rows{more}")
        lines += [f"  {line}" for line in reject_lines(table["rejected"])]
        if rejected:
            lines.append(f"  they are in {folder}/{METADATA_FOLDER}/rejected/{name}")
        lines += [f"  column {clean(column)} is not imported: it {clean(reason)}" for column, reason in table["dropped"].items()]
        lines += [f"  not declared in schema.sql: {clean(reason)}" for reason in table["left_out"]]
    for reason in counts.get("damaged", {}).values():
        first, *more = reason.splitlines()
        lines += [f"not imported: {clean(first)}", *(f"  {clean(line)}" for line in more)]
    for path in counts["skipped"]:
        why = "its name begins with . or _" if is_hidden(Path(path)) else "its kind is not known"
        lines.append(f"not imported, {why}: {clean(path)}")
    return "\n".join(lines)


def reject_lines(rejected: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each reason and column: `12 rows: day is not a DATE, first '31.12.2020' in row 7 of sales.csv`."""
    lines = []
    for one in rejected:
        what = f"{clean(one['column'])}: {one['reason']}" if one["column"] else one["reason"]
        row = f"row {one['row']:,} of " if one["row"] is not None else ""
        value = f"{cut(repr(clean(one['value'])), 60)} in " if one["value"] is not None else ""
        lines.append(f"{many(one['rows'], 'row')}: {what}, first {value}{row}{clean(one['file'])}")
    return lines
