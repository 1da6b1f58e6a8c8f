"""The reference of file formats: what the modules say that read and write them."""

from importlib import import_module

from experiments.documentation.markdown import docstring, plain, table
from experiments.pipeline.sweep.columns import COLUMNS

_FORMATS = {  # heading -> the module whose docstring describes the format
    "A dataset": "optimizer.catalog.folder",
    "Declarations, schema.sql": "optimizer.sql.schema",
    "Statistics": "optimizer.catalog.statistics",
    "Results of queries": "executor.formats",
    "Bundles": "experiments.bundles",
    "Injected row counts": "optimizer.stats.injected",
    "Programs of the pre-pass": "optimizer.prepass.program_text",
    "Coefficients of a cost model": "optimizer.cost.coefficients_file",
}
_HEAD = """# File formats

Written by `python -m experiments.documentation` from the modules that read and write these files; do not edit.

Traces have [a page of their own](../traces.md), and so has the file of a [pipeline](../pipeline.md). Settings files are TOML,
a line for each [setting](settings.md).
"""


def page() -> str:
    """docs/reference/formats.md."""
    lines = [_HEAD]
    for heading, name in _FORMATS.items():
        text = (import_module(name).__doc__ or "").strip()
        lines += [f"## {heading}\n", *docstring(text), f"Module: `{name}`.\n"]
    rows = ((f"`{column.name}`", plain(column.doc)) for column in COLUMNS)
    lines += [
        "## Results of sweeps\n",
        "Parquet, a row for each item, whatever became of it.\n",
        *table(("column", "meaning"), rows),
        "",
    ]
    return "\n".join(lines)
