"""The queries of a sweep: names, patterns and files to SQL texts.

tpch/q05          a built-in query         chain/4..9      join graphs of 4 to 9 relations
job/1*            all that match           @five.sql       a file, beside the specification
select 1          SQL text                 @queries/*.sql  all files that match
"""

import hashlib
import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from experiments.workloads.join_graphs import is_graph_name
from experiments.workloads.queries import built_in_queries, resolve_sql
from optimizer.errors import SqlError, nearest

_RANGE = re.compile(r"(chain|star|cycle|clique)/(\d{1,4})\.\.(\d{1,4})", re.IGNORECASE)
_PATTERN = re.compile(r"[\w*?\[\]-]+/[\w.*?\[\]!-]+")


class NamedQuery(NamedTuple):
    """`name` as in results, `asked` as the command line takes it: the name of a built-in query, @FILE, or SQL."""

    name: str
    sql: str
    asked: str


def find_queries(text: str, base: Path, name: str | None = None) -> list[NamedQuery]:
    """The queries that one entry of a specification stands for, in order; files are looked up from `base`. `name` replaces the
    name of a single query. Raises SqlError when there are none, or one cannot be read."""
    found = _find(text, base)
    if name is None:
        return found
    if len(found) > 1:
        raise SqlError(f'"{text}" stands for {len(found)} queries, which cannot all be called "{name}"')
    return [found[0]._replace(name=name)]


def _find(text: str, base: Path) -> list[NamedQuery]:
    if text.strip() == "-":
        raise SqlError("a sweep cannot read a query from standard input", hint="write the SQL, or @file.sql")
    if text.startswith("@"):
        return _files(text[1:], base)
    if graphs := _RANGE.fullmatch(text):
        shape, low, high = graphs[1].lower(), int(graphs[2]), int(graphs[3])
        if low > high:
            raise SqlError(f'"{text}" is empty: {low} is more than {high}')
        resolve_sql(f"{shape}/{high}")  # too large ones would be made one by one before that is seen
        return [NamedQuery(f"{shape}/{n}", resolve_sql(f"{shape}/{n}"), f"{shape}/{n}") for n in range(low, high + 1)]
    if any(c in text for c in "*?[") and _PATTERN.fullmatch(text):
        return _matching(text)
    if re.search(r"\s", text.strip()):
        return [NamedQuery(f"sql-{hashlib.sha256(text.encode()).hexdigest()[:8]}", resolve_sql(text), text)]
    if "/" not in text:
        raise SqlError(
            f'"{text}" is neither SQL nor the name of a query', hint="names are like tpch/q05, job/1*, chain/4..9, @file.sql"
        )
    return [NamedQuery(text.lower() if is_graph_name(text) else text, resolve_sql(text), text)]


def _matching(pattern: str) -> list[NamedQuery]:
    names = [query.name for query in built_in_queries()]
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        workloads = sorted({name.split("/")[0] for name in names})
        near = nearest(pattern.split("/")[0], workloads)
        hint = f"did you mean {near}/{pattern.split('/', 1)[1]}?" if near and not pattern.startswith(f"{near}/") else None
        raise SqlError(f'no built-in query matches "{pattern}"', hint=hint or f"workloads: {', '.join(workloads)}")
    return [NamedQuery(name, resolve_sql(name), name) for name in found]


def _files(pattern: str, base: Path) -> list[NamedQuery]:
    path = Path(os.path.expanduser(pattern))
    if not any(c in pattern for c in "*?["):
        return [NamedQuery(path.stem, resolve_sql(f"@{base / path}"), f"@{pattern}")]
    folder = base / path.anchor  # the name of `base` itself is no pattern
    files = sorted(file for file in folder.glob(str(path.relative_to(path.anchor))) if file.is_file())
    if not files:
        raise SqlError(f'no file matches "{pattern}" in {base}')
    return [NamedQuery(file.stem, resolve_sql(f"@{file}"), f"@{file}") for file in files]
