"""planscope data show: what a dataset holds."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from experiments.commands.inputs import DATA_HELP, progress
from experiments.commands.output import table_text, write_text

if TYPE_CHECKING:
    from optimizer.catalog.table import Catalog, Table


@click.command("show", help=f"Show the tables of a dataset, their keys and statistics.\n\nDATA: {DATA_HELP}")
@click.argument("data")
@click.option("--format", "format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@click.pass_obj
def command(facts: dict[str, Any], data: str, format: str, output: str | None, quiet: bool) -> None:
    facts["data"] = data
    from experiments.workloads.data import open_data

    catalog = open_data(data, progress(quiet))
    if format == "json":
        write_text(json.dumps(catalog_json(catalog), indent=1, allow_nan=False), output)
    else:
        write_text("\n\n".join(_table_text(table) for table in catalog.tables.values()), output)


def catalog_json(catalog: Catalog) -> dict[str, Any]:
    """All figures of a catalog; unknown ones are null. Dates are ISO text, a decimal is a number where that is exact."""
    return {"tables": {name: _table_json(table) for name, table in catalog.tables.items()}}


def _table_json(table: Table) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for column in table.columns:
        stats = table.stats.columns.get(column.name)
        columns[column.name] = {
            "type": str(column.type),
            "nulls": None if stats is None else stats.nulls,
            "min": None if stats is None else _value(stats.min),
            "max": None if stats is None else _value(stats.max),
            "ndv": None if stats is None else stats.ndv,
            "avg_width": None if stats is None else stats.avg_width,
            "mcv": [[_value(value), share] for value, share in stats.mcv] if stats is not None and stats.mcv else None,
            "histogram": None,
        }
    return {
        "rows": table.stats.rows,
        "bytes": table.stats.bytes,
        "keys": [list(key) for key in table.keys],
        "columns": columns,
    }


def _value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else format(value, "f")
    return str(value)


def _table_text(table: Table) -> str:
    head = f"{table.name}  {table.stats.rows:,} rows, "
    head += _size(table.stats.bytes) if table.files else "statistics only"
    if table.format:
        head += f", {table.format}" + (f" in {len(table.files)} files" if len(table.files) > 1 else "")
    lines = [head]
    lines += [f"  key {', '.join(key)}" for key in table.keys]
    lines += [f"  {', '.join(k.columns)} references {k.table} ({', '.join(k.referenced)})" for k in table.foreign_keys]
    if table.order:
        lines.append(f"  stored by {', '.join(table.order)}")
    rows = []
    for column in table.columns:
        stats = table.stats.columns.get(column.name)
        figures = (None, None, None, None) if stats is None else (stats.nulls, stats.ndv, stats.min, stats.max)
        nulls, ndv, low, high = figures
        type = str(column.type) + ("" if column.nullable else " not null")
        rows.append((column.name, type, _count(nulls), _count(ndv), _bound(low), _bound(high)))
    text = table_text(("column", "type", "nulls", "distinct", "min", "max"), rows)
    lines += ["  " + line for line in text.splitlines()]
    lines += [f"  {name} cannot be read: {reason}" for name, reason in table.unsupported.items()]
    return "\n".join(lines)


def _size(bytes: int) -> str:
    return f"{bytes / 1e6:,.1f} MB" if bytes >= 1e5 else f"{bytes / 1e3:,.1f} kB"


def _count(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}"


def _bound(value: Any) -> str:
    from memo_viz.text import clean, shorten

    return "?" if value is None else shorten(clean(str(value)), 24)
