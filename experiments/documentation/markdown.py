"""Text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def plain(text: str) -> str:
    """Text that is shown as it is, but for what is in backticks."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([\\*_<>\[\]{}~$])", r"\\\1", piece) for piece in pieces)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
