"""planscope data show: what a dataset holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.commands.inputs import DATA_HELP, progress
from experiments.commands.output import format_of, say, text_width, write_text

if TYPE_CHECKING:
    from optimizer.catalog.table import Catalog

FORMATS = ("text", "json", "svg")


@click.command("show", help=f"Show the tables of a dataset, their keys and statistics.\n\nDATA: {DATA_HELP}")
@click.argument("data")
@click.option("--table", metavar="TABLE", help="This table only.")
@click.option("--column", metavar="COLUMN", help="Columns of this name only, with every bucket and common value.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what the ending of FILE says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_obj
def command(
    facts: dict[str, Any], data: str, table: str | None, column: str | None, format: str | None, output: str | None, quiet: bool
) -> None:
    facts["data"] = data
    format = format_of(output, format, FORMATS)
    from experiments.data_view.selection import select
    from experiments.pipeline.intake.sources import kind_of
    from experiments.workloads.data import dataset_folder, open_data

    said = progress(quiet)
    catalog = open_data(data, said)
    if said is not None:
        for name, reason in catalog.unread.items():
            said(f'table "{name}" cannot be read: {reason}')
    folder = dataset_folder(data) if any(found.files for found in catalog.tables.values()) else None
    if said is not None and folder is not None:
        for file in sorted(folder.iterdir()):
            if kind_of(file.name, None) in ("json", "orc"):
                said(f"{file.name} is not read: planscope data import makes Parquet of it")
    write = say if format == "text" else write_text
    write(_written(select(catalog, table, column), format, data, folder, column is not None), output)


def _written(catalog: Catalog, format: str, data: str, folder: Path | None, in_full: bool) -> str:
    """`folder`: of the dataset, if it has files; `in_full`: text shows each column at length."""
    if format == "json":
        from experiments.data_view.as_json import json_text

        return json_text(catalog)
    if format == "svg":
        from experiments.data_view.as_svg import svg_text

        return svg_text(catalog)
    from experiments.data_view.as_chart import column_text
    from experiments.data_view.as_text import table_text
    from experiments.data_view.notes import contradictions, measured_tables, notes

    width = text_width()
    known = ((), {}) if folder is None else (measured_tables(folder), contradictions(folder, catalog))
    if in_full:
        columns = [(table, column) for table in catalog.tables.values() for column in table.columns]
        return "\n\n".join(column_text(table, column, width, notes(table, data, *known)) for table, column in columns)
    return "\n\n".join(table_text(table, width, notes(table, data, *known)) for table in catalog.tables.values())
