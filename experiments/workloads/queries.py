"""SQL text by name: the SQL argument of every command."""

from __future__ import annotations

import csv
import difflib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from experiments.workloads.join_graphs import FAMILIES, graph_sql, is_graph_name, join_graph
from optimizer.catalog.folder import FORMATS
from optimizer.errors import SqlError

_HERE = Path(__file__).parent
_QUERY_NAME = re.compile(r"[A-Za-z_]\w*/[\w.-]+")
_DATA = {"job": "job", "job_light": "job", "job_m": "job", "stats": "stats"}  # workload -> its only dataset


class BuiltInQuery(NamedTuple):
    """`name` as the command line takes it (`tpch/q05`); `title` says in a few words what it is good for."""

    name: str
    title: str


@cache
def built_in_queries() -> tuple[BuiltInQuery, ...]:
    """The built-in queries that have a file, by workload and in its order; join graphs (`FAMILIES`) come on top."""
    queries = list[BuiltInQuery]()
    for index in sorted(_HERE.glob("*/index.csv")):
        with index.open(encoding="utf-8", newline="") as file:
            queries += [BuiltInQuery(f"{index.parent.name}/{row['query']}", row["title"]) for row in csv.DictReader(file)]
    return tuple(queries)


def workloads() -> list[str]:
    """The names of the built-in workloads, families of join graphs among them."""
    names = [query.name for query in built_in_queries()]
    return sorted({name.split("/")[0] for name in (*names, *FAMILIES)})


def resolve_sql(text: str) -> str:
    """The SQL that `text` stands for: itself, `@FILE` (the @ is not needed for a file that ends in .sql and is there), `-`
    (standard input) or a built-in query such as `tpch/q05`.

    Raises SqlError: no such file or query (with similar names), not UTF-8, nothing in it.
    """
    _check_text(text)
    if text == "-":
        sql = _decode(sys.stdin.buffer.read(), "standard input")
    elif text.startswith("@"):
        if text == "@":
            raise SqlError("no file is named after @", hint="write @query.sql")
        sql = _read_file(Path(os.path.expanduser(text[1:])))
    elif _is_file(text):
        sql = _read_file(Path(text))
    elif re.fullmatch(r"[^\s'\"]+\.sql", text) and not _QUERY_NAME.fullmatch(text):
        sql = _read_file(Path(text))  # it is not there: say so
    elif is_graph_name(text):
        sql = graph_sql(join_graph(text))
    elif _QUERY_NAME.fullmatch(text):
        sql = _built_in(text)
    elif os.path.isfile(text):
        raise _no_sql(text)
    elif re.fullmatch(r"[\w./-]+\.[A-Za-z]\w*", text):
        sql = _read_file(Path(text))  # slow.sq, one word with an ending: there is no such file either
    elif re.fullmatch(r"(?!(select|with|values|from)$)[A-Za-z_][\w-]*", text, re.IGNORECASE):
        sql = _built_in(text)  # one word is no SQL: say what there is
    else:  # an argument of a command; what the locale does not know of it are surrogates
        sql = text if text.isprintable() or not re.search("[\udc80-\udcff]", text) else _decode(os.fsencode(text), "the query")
    if not sql.strip():
        raise SqlError("there is no SQL to run: it is empty", hint="give SQL text, @file.sql, - or a name such as tpch/q05")
    return sql


def check_queries(named: Iterable[str]) -> None:
    """Raises SqlError for a name of no built-in query or file, before anything is measured in other processes."""
    for text in named:
        if text == "-":
            raise SqlError("standard input can be read by one process only", hint="write the query into a file: @query.sql")
        resolve_sql(text)


def named_sql(text: str) -> str:
    """The text of a built-in query, and any other text as it is: for SQL from a program, which names no files.

    Raises SqlError for a name like that of a built-in query that there is not, and for what is no text."""
    _check_text(text)
    if re.fullmatch(r"@\S+|[^\s'\"/]+\.sql", text):
        raise SqlError(f"{text} is the name of a file", hint=f'give its text: Path("{text.lstrip("@")}").read_text()')
    return resolve_sql(text) if is_graph_name(text) or _QUERY_NAME.fullmatch(text) else text


def default_data(text: str) -> str | None:
    """The dataset that a built-in query is about, where there is only one: `job` for job/1a, `joingraph` for clique/8. Raises
    SqlError for what is no text."""
    _check_text(text)
    if is_graph_name(text):
        return "joingraph"
    return _DATA.get(text.split("/")[0]) if _QUERY_NAME.fullmatch(text) else None


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        hint = "give its text: path.read_text()" if isinstance(text, os.PathLike) else None
        raise SqlError(f"SQL is a text, not {type(text).__name__}", hint=hint)


def _built_in(name: str) -> str:
    names = [query.name for query in built_in_queries()]
    if name not in names:
        if os.path.isfile(name):
            raise _no_sql(name)
        near = _near(name, names)
        hint = (
            f"did you mean {near}?" if near else f"workloads: {', '.join(workloads())}; planscope workloads lists their queries"
        )
        raise SqlError(f'there is no built-in query "{name}"', hint=hint)
    workload, _, query = name.partition("/")
    if workload == "tpcds":
        from experiments.workloads.tpcds_queries import tpcds_query

        return tpcds_query(query)
    return (_HERE / f"{name}.sql").read_text(encoding="utf-8")


def _no_sql(file: str) -> SqlError:
    """A file given for a query."""
    path = Path(file)
    if path.suffix in FORMATS:
        return SqlError(f"{file} is a file of data", hint=f'for its rows: "select * from {path.stem}" -d {path.parent}')
    return SqlError(f"{file} is a file", hint=f"for the SQL in it write @{file}; traces end in .jsonl")


def query_name(text: str) -> str:
    """What `text` is called in tables of several queries: `stats/001` itself, the stem of a file; "" for SQL text."""
    if text.startswith("@") or _is_file(text):
        return Path(text.removeprefix("@")).stem
    return text if is_graph_name(text) or _QUERY_NAME.fullmatch(text) else ""


def _is_file(text: str) -> bool:
    """Whether `text` is the name of a file of SQL that is there; no SQL is a name like that."""
    return text.endswith(".sql") and os.path.isfile(text)  # False of what can be no name, of which Path says so by an exception


def _read_file(path: Path) -> str:
    try:
        return _decode(path.read_bytes(), str(path))
    except FileNotFoundError:
        files = [file.name for file in path.parent.glob("*.sql")] if path.parent.is_dir() else []
        near = _near(path.name, files)
        hint = f"did you mean @{path.parent / near}?" if near else f"it was looked for in {path.parent.absolute()}"
        raise SqlError(f"there is no file {path}", hint=hint) from None
    except IsADirectoryError:
        raise SqlError(f"{path} is a folder, not a file of SQL", hint=f"name a file in it: @{path / 'query.sql'}") from None
    except OSError as error:
        raise SqlError(f"cannot read {path}: {error.strerror}") from error


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SqlError(f"{source} is not UTF-8 text") from error


def _near(name: str, names: Sequence[str]) -> str:
    """The name most like `name`, "" if none is; `tpch/Q5` is most like `tpch/q05`."""

    def plain(text: str) -> str:
        return re.sub(r"(?<!\d)0+(?=\d)", "", text.lower())

    name = name[:200]  # no name is as long
    wanted = plain(name)
    same = [other for other in names if plain(other) == wanted]
    return same[0] if same else next(iter(difflib.get_close_matches(name, sorted(names), n=1)), "")
