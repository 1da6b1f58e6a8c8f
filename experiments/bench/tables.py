"""Tables as Parquet, CSV, Markdown and LaTeX files, and within a page of HTML."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from executor.atomic import atomic_output, write_file

_LONGEST = 120  # characters of a cell
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "…": r"\ldots{}",
    }
)


def write_table(table: pa.Table, folder: Path, name: str) -> list[Path]:
    """NAME.parquet, NAME.csv, NAME.md and NAME.tex in `folder`. Raises OutputError."""
    paths = [folder / f"{name}.{ending}" for ending in ("parquet", "csv", "md", "tex")]
    with atomic_output(paths[0]) as file:
        pq.write_table(table, file)
    with atomic_output(paths[1]) as file:
        csv.write_csv(table, file)
    write_file(paths[2], markdown(table))
    write_file(paths[3], latex(table))
    return paths


def markdown(table: pa.Table) -> str:
    """The table as Markdown: numbers to the right with four significant digits, columns without any value left out."""
    kept, numeric, rows = texts(table)
    lines = [kept, ["---:" if right else "---" for right in numeric], *([_escaped(text) for text in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex(table: pa.Table) -> str:
    """The same as a tabular, for \\input{by_variant.tex}."""
    kept, numeric, rows = texts(table)
    lines = [" & ".join(text.translate(_LATEX) for text in row) + r" \\" for row in [kept, *rows]]
    columns = "".join("r" if right else "l" for right in numeric)
    whole = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", lines[0], r"\hline", *lines[1:], r"\hline", r"\end{tabular}"]
    return "\n".join(whole) + "\n"


def html_table(table: pa.Table) -> str:
    """The same for a page of HTML, in a box to scroll where it is wider than the page."""
    kept, numeric, rows = texts(table)

    def line(tag: str, row: list[str]) -> str:
        marks = [' class="n"' if right else "" for right in numeric]
        return f"<tr>{''.join(f'<{tag}{mark}>{html.escape(text)}</{tag}>' for mark, text in zip(marks, row, strict=True))}</tr>"

    return "\n".join(['<div class="wide"><table>', line("th", kept), *(line("td", row) for row in rows), "</table></div>"]) + "\n"


def texts(table: pa.Table) -> tuple[list[str], list[bool], list[list[str]]]:
    """The columns that have a value, which of them are numbers, and the rows for people."""
    kept = [name for name in table.column_names if table.column(name).null_count < table.num_rows or not table.num_rows]
    types = [table.schema.field(name).type for name in kept]
    numeric = [pa.types.is_integer(type) or pa.types.is_floating(type) for type in types]
    return kept, numeric, [[plain(value) for value in row.values()] for row in table.select(kept).to_pylist()]


def flat(table: pa.Table) -> pa.Table:
    """The table with lists as texts."""
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            values = [None if value is None else str(value) for value in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pa.array(values, pa.string()))
    return table


def _escaped(text: str) -> str:
    """Safe within a Markdown table."""
    for character in "\\|`*_<>[]":
        text = text.replace(character, f"\\{character}")
    return text


def code(text: str) -> str:
    """In Markdown, between marks that the text does not have."""
    mark = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{mark}{plain(text)}{mark}" if len(mark) == 1 else f"{mark} {plain(text)} {mark}"


def plain(value: Any) -> str:
    """A value for people, on one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return figure(value)
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def figure(value: float) -> str:
    """Four significant digits: 0.01234, 12.34, 12,340, 1.234e+09."""
    if value == 0 or 1e-3 <= abs(value) < 1e9:
        rounded = float(f"{value:.4g}")
        return f"{rounded:,.0f}" if abs(rounded) >= 1000 or rounded == int(rounded) else f"{rounded:.4g}"
    return f"{value:.4g}"
