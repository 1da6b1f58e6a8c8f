"""docs/stepping.md shows what the commands print: every console block of the page is carried out and compared."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "stepping.md"
LEFT_OUT = "…"


class Session(NamedTuple):
    """A `$ planscope ...` of the page: its arguments, and its commands, each with the lines shown. The first is no command: what
    is shown at the start."""

    arguments: list[str]
    shown: list[tuple[str, list[str]]]


def sessions() -> list[Session]:
    """Those of the page; a block that does not begin with one goes on with the last."""
    found: list[Session] = []
    for block in re.findall(r"```console\n(.*?)\n```", PAGE.read_text("utf-8"), re.DOTALL):
        for line in block.split("\n"):
            if line.startswith("$ "):
                found.append(Session(shlex.split(line[2:])[1:], [("", [])]))
            elif line.startswith("» "):
                found[-1].shown.append((line[2:], []))
            else:
                found[-1].shown[-1][1].append(line)
    return found


def is_shown(lines: list[str], page: list[str]) -> bool:
    """Whether a page shows lines that were printed, but for those that it leaves out."""
    pattern = "".join(r"(?:.*\n)*?" if line == LEFT_OUT else re.escape(line) + "\n" for line in page)
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


@pytest.mark.parametrize("session", sessions(), ids=lambda session: session.arguments[1][:20])
def test_the_page_shows_what_is_printed(session: Session, planscope, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    script = tmp_path / "script.txt"
    script.write_text("\n".join(command for command, _ in session.shown), "utf-8")
    done = planscope(*session.arguments, "-q", "-x", str(script))
    assert done.code == 0, done.err
    printed = re.split(r"\n\n» .*\n", done.out.rstrip("\n"))
    assert len(printed) == len(session.shown)
    for (command, page), text in zip(session.shown, printed, strict=True):
        while page and page[-1] == "":
            page.pop()
        assert is_shown([line.rstrip() for line in text.split("\n")], page), (
            f"» {command} prints\n{text}\nthe page shows\n" + "\n".join(page)
        )


def test_other_pages_name_the_event_of_the_prune() -> None:
    prune = re.search(r"^event (\d+)  prune$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert prune is not None
    root = PAGE.parent.parent
    for page, named in (("README.md", r"-o q05.html` writes, at event (\d+)"), ("docs/stepping.md", r"q5.jsonl --at (\d+)"),
                        ("docs/pictures.md", r"q5.jsonl --at (\d+)")):  # fmt: skip
        assert re.findall(named, (root / page).read_text("utf-8")) == [prune[1]], page
