"""Notebooks of the course: the text and the Python of a lesson as cells, without what they show."""

import json
from typing import Any

from experiments.documentation.blocks import NAMED, Picture, parts


def notebook(name: str, page: str) -> str:
    """The notebook of the lesson `name`, whose page is `page`, as the text of an .ipynb file."""
    page = page.replace(
        f"[This lesson as a notebook]({name}.ipynb)", f"[This lesson as a page, with what the code prints]({name}.md)"
    )
    cells: list[dict[str, Any]] = []
    at = 0
    lines = page.split("\n")
    for part in parts(page):
        if isinstance(part, Picture):
            _add_text(cells, lines[at : part.line - 1])
            at = part.line
            continue
        _add_text(cells, lines[at : part.line - 2])
        at = part.line + part.text.count("\n")
        if part.kind == "python":
            text = NAMED.sub(lambda named: f"%%writefile {'-a ' if named[2] else ''}{named[1]}\n", part.text)
            cells.append(_cell("code", text, len(cells)))
        elif part.kind == "sh":
            cells.append(_cell("code", "".join(f"!{line}\n" for line in part.text.splitlines()), len(cells)))
        elif part.kind != "output":
            _add_text(cells, lines[part.line - 2 : at])
    _add_text(cells, lines[at:])
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "planscope": f"written by python -m experiments.documentation from {name}.md",
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def code_of(notebook: str) -> list[str]:
    """The code cells."""
    return ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]


def _add_text(cells: list[dict[str, Any]], lines: list[str]) -> None:
    """Adds lines of text, to the cell before where that is text too."""
    text = "\n".join(lines).strip("\n")
    if not text:
        return
    if cells and cells[-1]["cell_type"] == "markdown":
        text = "".join(cells.pop()["source"]) + "\n\n" + text
    cells.append(_cell("markdown", text, len(cells)))


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.strip("\n").splitlines(True),
    }
    return {**cell, "execution_count": None, "outputs": []} if kind == "code" else cell
