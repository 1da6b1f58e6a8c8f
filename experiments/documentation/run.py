"""A page of docs/ is carried out: what its blocks show, and the pictures that they make."""

import ast
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import click

from experiments.cli import cli, main
from experiments.documentation.blocks import Block, Picture, is_shown, parts
from optimizer.errors import PlanscopeError

WIDTH = "100"  # of what commands print


class PageError(Exception):
    """What a page says is not what happens; the message says where."""


class Shown(NamedTuple):
    """What a page should be: its text with the outputs as they are, and its pictures by the target of their links."""

    text: str
    pictures: dict[str, str]


def carry_out(page: Path, folder: Path) -> Shown:
    """Runs the blocks of `page` in order; files that they write are in `folder`. Raises PageError."""
    text = page.read_text("utf-8")
    with chdir(folder), _surroundings(str(folder)):
        return _Run(page.name, text, folder).whole()


class _Run:
    """The page as far as it was carried out: the names of its Python, what was shown last, and the text to come."""

    def __init__(self, name: str, text: str, folder: Path) -> None:
        self.name, self.text, self.folder = name, text, folder
        self.python: dict[str, Any] = {"__name__": "__main__"}
        self.value: Any = None
        self.printed = ""
        self.steps: Iterator[str] = iter(())

    def whole(self) -> Shown:
        pieces, at = [], 0
        pictures = {}
        found = list(parts(self.text))
        for part in found:
            if isinstance(part, Block) and (name := part.file):
                file = self.folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a", encoding="utf-8") as out:
                    out.write(f"\n\n{part.text}" if out.tell() else part.text)
        for i, part in enumerate(found):
            if isinstance(part, Picture):
                if (made := self._picture(part)) is not None:
                    pictures[part.target] = made
                continue
            later = [other for other in found[i + 1 :] if isinstance(other, Block)]
            pieces += [self.text[at : part.start], self._block(part, later)]
            at = part.end
        return Shown("".join((*pieces, self.text[at:])), pictures)

    def _block(self, block: Block, later: list[Block]) -> str:
        """What the block should be."""
        if block.kind == "output":
            return block.text if is_shown(self.printed, block.text) else self.printed.strip("\n") + "\n"
        if block.kind == "console":
            return self._console(block, later)
        if block.kind == "sh":
            self.printed = "".join(self._command(line, block) for line in block.text.replace("\\\n", "").splitlines())
        elif not block.file:
            (self._python if block.kind == "python" else self._parse)(block)
        return block.text

    def _python(self, block: Block) -> None:
        where = f"{self.name}:{block.line}"
        tree = ast.parse(block.text, where)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        out = io.StringIO()
        try:
            with redirect_stdout(out):
                exec(compile(tree, where, "exec"), self.python)
                self.value = (
                    eval(compile(ast.Expression(last.value), where, "eval"), self.python) if isinstance(last, ast.Expr) else None
                )
        except Exception as error:
            raise PageError(f"{where}: {type(error).__name__}: {error}") from error
        self.printed = out.getvalue() + ("" if self.value is None else f"{self.value!r}\n")

    def _command(self, line: str, block: Block) -> str:
        words = shlex.split(line, comments=True)
        if not words:
            return ""
        if words[0] != "planscope":
            raise PageError(f"{self.name}:{block.line}: only planscope is run, not {words[0]}")
        printed, err = io.BytesIO(), io.StringIO()
        out = io.TextIOWrapper(printed, "utf-8", newline="")
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words[1:])
        out.flush()
        if code:
            raise PageError(f"{self.name}:{block.line}: {line}\nexit code {code}: {err.getvalue()}")
        return printed.getvalue().decode("utf-8")

    def _parse(self, block: Block) -> None:
        """Commands that are only shown, since they take long or need what a page does not have: they are parsed."""
        for line in block.text.splitlines():
            if line.startswith("planscope "):
                try:
                    parse(shlex.split(re.split(r" {2,}", line.split(" > ")[0])[0])[1:])
                except (click.ClickException, PlanscopeError) as error:
                    raise PageError(f"{self.name}:{block.line}: {line}\n{error}") from error

    def _console(self, block: Block, later: list[Block]) -> str:
        """A session of the stepper may go on in later blocks, up to the next `$ `."""
        commands = _commands(block.text)
        lines = []
        for i, (command, page) in enumerate(commands):
            following = (each for other in later if other.kind == "console" for each in _commands(other.text))
            if command.startswith("$ planscope step"):
                self.steps = self._stepped(command, [*commands[i + 1 :], *following], block)
            stepped = command.startswith(("» ", "$ planscope step"))
            printed = next(self.steps) if stepped else self._command(command[2:], block)
            shown = page if is_shown(printed, page) else "\n".join(line.rstrip() for line in printed.rstrip("\n").split("\n"))
            lines += [command, shown.strip("\n")] + [""] * (i + 1 < len(commands))
        return "\n".join([*lines, ""])

    def _stepped(self, command: str, following: list[tuple[str, str]], block: Block) -> Iterator[str]:
        script = []
        for other, _ in following:
            if other.startswith("$ "):
                break
            script.append(other[2:])
        (self.folder / "script.txt").write_text("\n".join(["", *script]), "utf-8")
        printed = self._command(f"{command[2:]} -q -x script.txt", block)
        shown = re.split(r"\n\n» .*\n", printed.rstrip("\n"))
        if len(shown) != len(script) + 1:
            raise PageError(f"{self.name}:{block.line}: {command} shows {len(shown)} things for {len(script)} commands")
        return iter(shown)

    def _picture(self, picture: Picture) -> str | None:
        """The text of what a link points to, where the page made it: a file, or the value of the block before."""
        made = self.folder / Path(picture.target).name
        if made.exists():
            return made.read_text("utf-8")
        shown = getattr(self.value, "html" if picture.target.endswith(".html") else "_repr_svg_", None)
        return None if shown is None else str(shown() if callable(shown) else shown)


def parse(arguments: list[str]) -> None:
    """Checks a command line without carrying it out. Raises ClickException, PlanscopeError."""
    command: click.Command = cli
    name: str | None = "planscope"
    context: click.Context | None = None
    while True:
        context = command.make_context(name, arguments, context)
        if not isinstance(command, click.Group):
            return
        name, below, arguments = command.resolve_command(context, [*context._protected_args, *context.args])
        if below is None:
            raise click.UsageError(f"there is no command {name}", context)
        command = below


def _commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the lines below it; what comes before the first goes to nobody."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        if line.startswith(("$ ", "» ")):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in found]


@contextmanager
def _surroundings(folder: str) -> Iterator[None]:
    """The width of a terminal, and a folder from which the page's own files are imported, as in a Python started there."""
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(folder):
                del sys.modules[name]
        os.environ.pop("COLUMNS")
        if width is not None:
            os.environ["COLUMNS"] = width
