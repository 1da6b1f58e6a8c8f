"""Files of queries, `*.cases`: one query a line, below the title of what they show.

    ==== D7: a scalar subquery over no row is NULL
    select r.a, (select k.a from k where k.id = r.a) from r
    # comments stand above the query they are about
    raises: select (select q.a from q)
    naive(DuckDB refuses it): select a query that is longer than a line
        goes on in lines that are indented
    = select the same, written in another way

A mark before a query says how it is judged: the test that reads a file names its marks, and the file says what they mean. `=` or
`<>` starts a second query, which is compared with the one above it. `pytest -k D7` runs the queries below a title.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

MARK = re.compile(r"(\w+)(?:\((.*?)\))?:\s+")
OTHER = re.compile(r"\n(=|<>) ")


class Case(NamedTuple):
    """`marks`: by their names, what stands in their parentheses; the second query by `=` or `<>`. `place`: file and line."""

    title: str
    sql: str
    marks: dict[str, str]
    place: str


def read(path: Path, *marks: str) -> list[Case]:
    """The cases of a file that may have `marks`. Raises ValueError with file, line and title for another one."""
    found: list[list[str]] = []
    title = ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("==== "):
            title = line.removeprefix("==== ")
        elif found and (not line or line.startswith((" ", "= ", "<> "))):
            found[-1][-1] += f"\n{line}"
        elif line and not line.startswith("#"):
            found.append([f"{path.name}:{number}", title, line])
    return [_case(*each, marks) for each in found]


def _case(place: str, title: str, text: str, known: tuple[str, ...]) -> Case:
    marks = {}
    while mark := MARK.match(text):
        if mark[1] not in known:
            raise ValueError(f"{place}: {title}: unknown mark {mark[1]}, there are {', '.join(known) or 'none'}")
        marks[mark[1]] = mark[2] or ""
        text = text[mark.end() :]
    sql, *other = OTHER.split(text.rstrip())
    if other:
        marks[other[0]] = other[1].rstrip()
    return Case(title, sql.rstrip(), marks, place)


def params(cases: list[Case]) -> list[object]:
    """Parameters of a test, named by file, line and title."""
    return [pytest.param(case, id=f"{case.place} {case.title}") for case in cases]


def numbered(cases: list[Case]) -> list[object]:
    """As `params`, each case after its number in the list."""
    return [pytest.param(number, case, id=f"{case.place} {case.title}") for number, case in enumerate(cases)]
