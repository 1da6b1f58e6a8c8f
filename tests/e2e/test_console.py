"""What commands print, line by line: each `*.console` file here holds cases.

    ==== title
    $ planscope run 'select nam from people' -d shop
    ----
    what is printed: by a command that fails to the error output, by others to the standard output, and nothing to the other
    exit 2

Commands write no file, and run in a folder in which there is `shop` of conftest.py. In a line … stands for any text: the path of
that folder, times, words of other packages. `pytest tests/e2e --rewrite` writes anew what is printed otherwise; read the diff.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Outcome
from tests.golden.files import read_cases

FILES = sorted(Path(__file__).parent.glob("*.console"))
CASES = [pytest.param(*case, id=f"{path.stem}: {title}") for path in FILES for title, *case in read_cases(path)[1]]


@pytest.fixture
def printed(planscope: Callable[..., Outcome], shop: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """printed(command): the lines, the last one the exit code where that is not 0."""
    monkeypatch.chdir(shop.parent)
    monkeypatch.setenv("COLUMNS", "100")
    files = sorted(shop.parent.rglob("*"))

    def run(command: str) -> str:
        done = planscope(*shlex.split(command.removeprefix("$ planscope ")))
        text, other = (done.err, done.out) if done.code else (done.out, done.err)
        assert other == "", f"printed elsewhere: {other}"
        assert sorted(shop.parent.rglob("*")) == files, "a file was written"
        text = re.sub(r"\d+(\.\d+)? ms\b", "… ms", text.replace(str(shop.parent), "…"))
        lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
        return "\n".join([*lines, f"exit {done.code}"] if done.code else lines)

    return run


def is_shown(text: str, expected: str) -> bool:
    return re.fullmatch(re.escape(expected).replace("…", ".*"), text) is not None


@pytest.mark.parametrize(("command", "expected"), CASES)
def test_what_is_printed(command: str, expected: str, printed: Callable[[str], str]) -> None:
    text = printed(command)
    assert is_shown(text, expected), f"printed:\n{text}\n\nthe file has:\n{expected}"


@pytest.mark.rewrites
def test_rewrite(printed: Callable[[str], str]) -> None:
    for path in FILES:
        head, cases = read_cases(path)
        found = [(title, command, expected, printed(command)) for title, command, expected in cases]
        texts = [f"==== {t}\n{c}\n----\n{expected if is_shown(text, expected) else text}\n" for t, c, expected, text in found]
        path.write_text(head + "\n".join(texts), "utf-8")
