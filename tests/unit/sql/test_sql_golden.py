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

import pytest

from tests.golden.files import read_cases

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.golden"))
CASES = [pytest.param(*case, id=f"{path.stem}: {title}") for path in FILES for title, *case in read_cases(path)[1]]


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_golden(sql: str, expected: str, shown: Callable[[str], str]) -> None:
    assert shown(sql) == expected


@pytest.mark.rewrites
def test_rewrite(shown: Callable[[str], str]) -> None:
    for path in FILES:
        head, cases = read_cases(path)
        path.write_text(head + "\n".join(f"==== {title}\n{sql}\n----\n{shown(sql)}\n" for title, sql, _ in cases), "utf-8")


def test_titles_are_different() -> None:
    titles = [(path.stem, title) for path in FILES for title, _, _ in read_cases(path)[1]]
    assert len(set(titles)) == len(titles)
