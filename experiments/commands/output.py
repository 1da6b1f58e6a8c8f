"""Where results go: a file that appears whole or not at all, or standard output."""

from __future__ import annotations

import codecs
import io
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import click

from memo_viz.text import clean, clean_lines
from optimizer.errors import OutputError


def text_width() -> int:
    """Columns to write for, 40 to 200: those that COLUMNS says, else those of the terminal, else 100."""
    return min(200, max(40, shutil.get_terminal_size((100, 40)).columns))


@contextmanager
def sink(output: str | None) -> Iterator[BinaryIO]:
    """A binary file for `output`; None and "-" are standard output. Raises OutputError."""
    from executor.atomic import atomic_output

    if output in (None, "-"):
        if sys.stdout is None:
            raise OutputError("standard output is closed: name a file with -o")
        sys.stdout.flush()
        yield cast(BinaryIO, _Terminal()) if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_output(output) as file:
        yield file


class _Terminal(io.BufferedIOBase):
    """Standard output that is a terminal: what it would obey becomes U+FFFD."""

    def __init__(self) -> None:
        self._text = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, content: Any) -> int:
        sys.stdout.buffer.write(clean_lines(self._text.decode(bytes(content))).encode())
        return len(content)

    def writable(self) -> bool:
        return True


def say(text: str, output: str | None = None) -> None:
    """What people read, to a file or standard output, in lines that fit."""
    write_text(fitted(text), output)


_TABLE = re.compile(r"^─[─ ]*$", re.MULTILINE)  # the line below its heads


def fitted(text: str) -> str:
    """`text` with lines longer than `text_width` broken at blanks; rows of tables stay whole."""
    width = text_width()
    return "\n\n".join(
        block if _TABLE.search(block) else "\n".join(part for line in block.split("\n") for part in _broken(line, width))
        for block in clean_lines(text).split("\n\n")
    )


def _broken(line: str, width: int) -> list[str]:
    """`line` in lines of `width` characters, as far as it has blanks; in a tree, those below stand under its branches."""
    if len(line) <= width:
        return [line]
    branches = re.match("[ │├└─]*", line)[0].translate(str.maketrans("├└─", "│  "))  # type: ignore[index]
    below = branches[: width // 2] + "    "
    return textwrap.wrap(line, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False)


def write_text(text: str, output: str | None) -> None:
    """`text` and a newline to a file (UTF-8) or standard output (its encoding), with nothing in it that a terminal obeys."""
    text = clean_lines(text)
    if output in (None, "-"):
        if sys.stdout is None:
            raise OutputError("standard output is closed: name a file with -o")
        click.echo(text)
        return
    with sink(output) as file:
        file.write((text + "\n").encode("utf-8", "replace"))


def write_json(value: Any, output: str | None = None, indent: int = 2) -> None:
    write_text(json.dumps(value, indent=indent, allow_nan=False), output)


def format_of(output: str | None, chosen: str | None, known: tuple[str, ...]) -> str:
    """The format asked for, else the one that the file name's ending says; without one, and for .txt where it is no picture, the
    first of `known`."""
    if chosen is not None:
        return chosen
    ending = Path(output).suffix[1:].lower() if output and not output.startswith("/dev/") else ""
    if ending in known:
        return ending
    texts = "" if known[0] == "svg" else " or .txt"
    if not ending or (ending == "txt" and texts):
        return known[0]
    raise click.UsageError(f"no format goes by .{ending}: end the name in .{', .'.join(known)}{texts}, or give --format")


_FIGURE = re.compile(r"[-+]?[\d,.]*(e[-+]?\d+)?( ?%)?|∞|-")


def table_text(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table that fits `text_width`: aligned columns, else a record a row."""
    width = text_width()
    text = aligned_text(head, rows, width)
    return text if max(map(len, text.split("\n"))) <= width else _records(head, [tuple(map(clean, row)) for row in rows], width)


def aligned_text(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], width: int) -> str:
    """Aligned columns under underlined heads, figures to the right. To fit `width`, as far as that goes, heads are broken at
    blanks, and the last column into lines, below the others where little room is left beside them."""
    cells = [tuple(map(clean, row)) for row in rows]
    right = [all(_FIGURE.fullmatch(row[i]) for row in cells) for i in range(len(head))]
    last = max((len(row[-1]) for row in cells), default=0)
    sizes = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(head)]
    broken = sum(sizes[:-1]) + 2 * len(head) + (last if right[-1] else 40) > width
    heads = [name.split() if broken and i < len(head) - (not right[-1]) else [name] for i, name in enumerate(map(clean, head))]
    sizes = [max(map(len, [*words, *(row[i] for row in cells)])) for i, words in enumerate(heads)]
    beside = sum(sizes[:-1]) + 2 * len(sizes[:-1])

    def line(row: Sequence[str]) -> str:
        aligned = (c.rjust(n) if number else c.ljust(n) for c, n, number in zip(row, sizes, right, strict=False))
        return "  ".join(aligned)

    high = max(map(len, heads))
    lines = [line([name[at - high] if at >= high - len(name) else "" for name in heads]).rstrip() for at in range(high)]
    lines.append("  ".join("─" * size for size in [*sizes[:-1], sizes[-1] if right[-1] else len(head[-1])]))
    if not right[-1] and beside + len(head[-1]) > width:  # the last head stands below the others, as its column does
        lines[-2:] = [lines[-2][: beside - 2].rstrip(), f"    {head[-1]}", "  ".join("─" * size for size in sizes[:-1])]
    for row in cells:
        if beside + len(row[-1]) <= width or right[-1]:
            lines.append(line(row).rstrip())
            continue
        below = width - beside < 40
        parts = textwrap.wrap(row[-1], width - 4 if below else width - beside, break_on_hyphens=False) or [""]  # of blanks
        if below:
            lines += [line(row[:-1]).rstrip(), *(f"    {part}" for part in parts)]
        else:
            lines += [f"{line(row[:-1])}  {parts[0]}", *(" " * beside + part for part in parts[1:])]
    return "\n".join(lines)


def _records(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Each row as lines of a name and its value, with an empty line after it."""
    margin = max(map(len, head)) + 2
    if margin > width // 2:
        margin = 4

    def lines(name: str, value: str) -> list[str]:
        return textwrap.wrap(f"{name:{margin - 2}}  {value}", width, subsequent_indent=" " * margin, break_on_hyphens=False)

    return "\n\n".join("\n".join(part for pair in zip(head, row, strict=True) for part in lines(*pair)) for row in rows)


list_format = click.option("--format", "format", type=click.Choice(("text", "json")), default="text", show_default=True)


def write_list(head: tuple[str, ...], rows: Sequence[tuple[Any, ...]], format: str) -> None:
    """Rows as a table as wide as the terminal, or as JSON objects with the heads as names."""
    if format == "json":
        write_json([dict(zip(head, row, strict=True)) for row in rows])
    else:
        say(table_text(head, rows))
