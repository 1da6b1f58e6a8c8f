"""Tables of experiments: for the terminal, in Markdown, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import NamedTuple


class Section(NamedTuple):
    """A table of results: title, heads, cells, and how many of the first columns are text."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int = 1


def markdown(section: Section) -> str:
    """A table in Markdown under its title."""
    lines = [f"**{section.title}**", "", "| " + " | ".join(section.head) + " |"]
    lines.append("|" + " --- |" * section.texts + " ---: |" * (len(section.head) - section.texts))
    lines += ["| " + " | ".join(row) + " |" for row in section.rows]
    return "\n".join(lines) + "\n"


def csv_text(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def figure(number: float) -> str:
    """Three digits or so: 1.05, 23.4, 1,230, 4.5e+09."""
    if number >= 1e7:
        return f"{number:.2g}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
