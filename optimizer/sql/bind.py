"""The way in: SQL text and a catalog to a bound query."""

import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from time import perf_counter
from typing import Any, TypeVar

from optimizer.algebra.query import BoundQuery
from optimizer.catalog.table import Catalog
from optimizer.errors import SqlError
from optimizer.sql.context import Context
from optimizer.sql.ctes import with_definitions
from optimizer.sql.opaque import refuse_uses
from optimizer.sql.parse import parse, without_parents
from optimizer.sql.query import bind_query

T = TypeVar("T")


def bind(sql: str, catalog: Catalog, ms: dict[str, float] | None = None) -> BoundQuery:
    """The bound tree of one SELECT: every name resolved to a column id, every type explicit.

    `ms` receives the milliseconds spent on parsing, as "parse". Raises SqlError (what is wrong, where, what exists) and
    Unsupported (the form); nothing else, whatever the text.
    """
    try:
        return with_deep_stack(lambda: _bind(sql, catalog, ms))
    except RecursionError:
        raise SqlError("the query is nested too deeply", hint="name inner queries with WITH, or split the query") from None


def _bind(sql: str, catalog: Catalog, ms: dict[str, float] | None) -> BoundQuery:
    start = perf_counter()
    try:
        tree, source = parse(sql)
    except SqlError as error:
        error.hint = _quoted(sql, catalog) or error.hint
        raise
    if ms is not None:
        ms["parse"] = 1000 * (perf_counter() - start)
    if (words := source.words()) is not None:
        with suppress(SqlError):  # raised below, with a message that names columns which the text does not
            return _bound(tree, Context(source, catalog, words))
        tree, source = parse(sql)
    return _bound(tree, Context(source, catalog, None))


def _bound(tree: Any, context: Context) -> BoundQuery:
    bound = bind_query(context, tree, None)
    query = BoundQuery(with_definitions(context, bound.tree), context.columns, bound.outputs, bound.order)
    refuse_uses(context.source, tree, query)
    without_parents(tree)
    return query


def _quoted(sql: str, catalog: Catalog) -> str:
    """What to write where a text that cannot be read has the name of a table that has to be quoted; else empty."""
    for name in catalog.tables:
        if not name.isidentifier() and re.search(rf"(?i)(\bfrom\b|\bjoin\b|,)\s*{re.escape(name)}(?!\w)", sql):
            return f'write "{name}" in double quotes'
    return ""


_STACK_BYTES = 512 << 20  # address space, touched only as far as the recursion goes
_FRAMES = 20_000
_lock = threading.Lock()  # the recursion limit belongs to the whole interpreter


def with_deep_stack(work: Callable[[], T]) -> T:
    """`work()`; when that raises RecursionError, `work()` anew in a thread with room for about 20,000 frames: parser and binder
    recurse over nested parentheses and derived tables, of which some hundred exceed Python's default limit of 1000 frames.

    Raises whatever `work` raises, RecursionError included when even that is not enough.
    """
    try:
        return work()
    except RecursionError:
        pass
    with _lock:
        limit, stack = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
        try:
            sys.setrecursionlimit(max(limit, _FRAMES))
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(copy_context().run, work).result()
        finally:
            sys.setrecursionlimit(limit)
            threading.stack_size(stack)
