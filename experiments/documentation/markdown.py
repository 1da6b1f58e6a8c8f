"""Text as Markdown."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import dedent


def plain(text: str) -> str:
    """Text that is shown as it is, but for what is in backticks."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([\\*_<>\[\]{}~$])", r"\\\1", piece) for piece in pieces)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


_LABEL = re.compile(r"^([A-Z]\w+) {2,}(?=\S)", re.MULTILINE)


def docstring(text: str) -> Iterator[str]:
    """A docstring as Markdown: indented parts and lists stay as they are, labelled answers (`NULLs   safe`) become a list."""
    labelled = _LABEL.search(text)
    top, answers = (text, "") if labelled is None else (text[: labelled.start()], text[labelled.start() :])
    for paragraph in re.split(r"\n\s*\n", top.strip("\n")):
        for indented, lines in groupby(paragraph.split("\n"), lambda line: line.startswith("    ")):
            shown = "\n".join(lines)
            if indented:
                yield f"```text\n{dedent(shown)}\n```\n"
            else:
                yield plain(shown) + "\n"
    parts = _LABEL.split(answers)[1:]
    for label, answer in zip(parts[::2], parts[1::2], strict=True):
        yield f"- **{label}**: {plain(' '.join(answer.split()))}"
