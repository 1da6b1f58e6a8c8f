"""Where results go: a file that appears whole or not at all, or standard output."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from optimizer.errors import OutputError


def text_width() -> int:
    """Columns to write for: those of the terminal between 80 and 160, otherwise 100."""
    if not sys.stdout.isatty():
        return 100
    return min(160, max(80, shutil.get_terminal_size((100, 40)).columns))


@contextmanager
def sink(output: str | None) -> Iterator[BinaryIO]:
    """A binary file for `output`; None and "-" are standard output. Raises OutputError."""
    from executor.atomic import atomic_output

    if output in (None, "-"):
        if sys.stdout is None:
            raise OutputError("standard output is closed: name a file with -o")
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_output(output) as file:
        yield file


def write_text(text: str, output: str | None) -> None:
    """`text` and a newline to a file (UTF-8) or standard output (its encoding)."""
    if output in (None, "-"):
        if sys.stdout is None:
            raise OutputError("standard output is closed: name a file with -o")
        click.echo(text)
        return
    with sink(output) as file:
        file.write((text + "\n").encode("utf-8", "replace"))


def format_of(output: str | None, chosen: str | None, known: tuple[str, ...]) -> str:
    """The format asked for, else the one that the file name's ending says; the first of `known` for .txt or no ending."""
    if chosen is not None:
        return chosen
    ending = Path(output).suffix[1:].lower() if output and not output.startswith("/dev/") else ""
    if ending in known:
        return ending
    if ending in ("", "txt"):
        return known[0]
    raise click.UsageError(f"no format goes by .{ending}: end the name in .{', .'.join(known)} or .txt, or give --format")


def table_text(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Aligned columns under underlined heads; the last column is left as long as it is."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths[:-1]) + "  " + "─" * len(head[-1]), *lines[1:]])
