"""What a page of docs/ is made of: fenced blocks, pictures and links, and the text between them.

A block's first words say what it is:

    python              runs in the one Python of the page; with the comment `# mine.py` on top it is saved under that name, and
                        with `# mine.py, continued` added to it
    csv shop/cities.csv, sql, toml ...       saved under the name that follows
    sh                  commands, one a line; a backslash at the end goes on
    console             commands after `$ `, of the stepper after `» `, each with what it prints
    output              what the block before it showed
    text, or another    to be read, not to be run

Files are saved before anything runs. Commands in a block that is only read are parsed, so that a misspelled option is noticed.
A line of output that is `…` stands for any number of lines.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

LEFT_OUT = "…"
NAMED = re.compile(r"\A# (\w+\.py)(, continued)?\n")
_PART = re.compile(
    r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$|^!?\[[^\]\n]*\]\((?P<target>[^)\s#:]+\.(?:svg|html))\)", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """A fenced block; `line` of its first line of text, from 1; `start` and `end` of that text in the page."""

    kind: str
    name: str
    text: str
    line: int
    start: int
    end: int

    @property
    def file(self) -> str:
        """Under which the block is saved; "" for one that is run, or read."""
        named = NAMED.match(self.text) if self.kind == "python" else None
        return named[1] if named else "" if self.kind == "python" else self.name


class Picture(NamedTuple):
    """A line that begins with a link to a picture or a page that the code before it may have made."""

    target: str
    line: int


def parts(page: str) -> Iterator[Block | Picture]:
    """The blocks and pictures of a page, in order."""
    for found in _PART.finditer(page):
        line = page.count("\n", 0, found.start()) + 1
        if found["target"]:
            yield Picture(found["target"], line)
        else:
            kind, _, name = found["info"].strip().partition(" ")
            yield Block(kind, name.strip(), found["body"], line + 1, found.start("body"), found.end("body"))


def blocks(page: str) -> list[Block]:
    return [part for part in parts(page) if isinstance(part, Block)]


def is_shown(printed: str, page: str) -> bool:
    """Whether a page shows what was printed, but for what it leaves out."""
    lines = _lines(page)
    pattern = "".join(r"(?:.*\n)*?" if line == LEFT_OUT else re.escape(line) + "\n" for line in lines)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(printed))) is not None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")]
