"""Bound trees and error messages, word for word: each `*.golden` file here holds cases.

    ==== title
    the query
    ----
    what `shown` makes of it

`pytest tests/unit/sql --rewrite` writes the files anew from the present behaviour; read the diff.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent


class Case(NamedTuple):
    title: str
    sql: str
    expected: str


def read(path: Path) -> tuple[str, list[Case]]:
    """The file's opening comment and its cases."""
    head, *parts = path.read_text("utf-8").split("==== ")
    cases = []
    for part in parts:
        title, _, rest = part.partition("\n")
        sql, _, expected = rest.partition("\n----\n")
        cases.append(Case(title, sql, expected.rstrip("\n")))
    return head, cases


FILES = sorted(HERE.glob("*.golden"))
CASES = [pytest.param(case, id=f"{path.stem}: {case.title}") for path in FILES for case in read(path)[1]]


@pytest.mark.parametrize("case", CASES)
def test_golden(case: Case, shown: Callable[[str], str]) -> None:
    assert shown(case.sql) == case.expected


@pytest.mark.rewrites
def test_rewrite(shown: Callable[[str], str]) -> None:
    for path in FILES:
        head, cases = read(path)
        path.write_text(head + "\n".join(f"==== {c.title}\n{c.sql}\n----\n{shown(c.sql)}\n" for c in cases), "utf-8")


def test_titles_are_different() -> None:
    titles = [(path.stem, case.title) for path in FILES for case in read(path)[1]]
    assert len(set(titles)) == len(titles)
