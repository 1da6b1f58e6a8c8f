"""Bundles made smaller by delta debugging: parts of the query are left out as long as a test still succeeds.

Source: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, TSE 2002 (ddmin): halves of what may be left
out are tried first, then quarters, down to single parts, until none can be left out any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from experiments.bundles.bundle import Bundle, plan, recorded
from experiments.bundles.catalog_json import catalog_json, read_catalog
from optimizer.errors import PlanscopeError, SettingsError, many
from optimizer.sql.smaller import count_parts, without


def shrink(
    bundle: Bundle, test: Callable[[Bundle], bool], plugins: tuple[str, ...] = (), progress: Callable[[str], None] | None = None
) -> Bundle:
    """A bundle for which `test` holds, none of whose parts can be left out by itself. Raises SettingsError when it does not hold
    at the start."""
    catalog = read_catalog(bundle.catalog)
    tried: dict[str, bool] = {}

    def made(sql: str) -> Bundle:
        smaller = replace(bundle, sql=sql)
        return recorded(smaller, plan(smaller, plugins))

    def holds(sql: str) -> bool:
        if sql not in tried:
            tried[sql] = test(made(sql))
        return tried[sql]

    if not holds(bundle.sql):
        raise SettingsError("the command fails on the bundle as it is, so there is nothing to keep while it shrinks")
    sql = bundle.sql
    while True:
        smaller = _pass(sql, holds, lambda text, parts: without(text, parts, catalog), lambda text: count_parts(text, catalog))
        if smaller == sql:
            break
        sql = smaller
        if progress is not None:
            progress(f"{many(len(sql), 'character')}, {many(count_parts(sql, catalog), 'part')}, after {len(tried)} trials")
    return _with_fewer_tables(made(sql), test, plugins)


def _pass(sql: str, holds: Callable[[str], bool], leave_out: Callable[[str, set[int]], str], count: Callable[[str], int]) -> str:
    """One run of ddmin over the parts of a text; starts anew with each text that is smaller."""
    pieces = 2
    while True:
        total = count(sql)
        size = max(1, -(-total // pieces))
        for start in range(0, total, size):
            candidate = leave_out(sql, set(range(start, min(start + size, total))))
            if len(candidate) < len(sql) and _fine(candidate, count) and holds(candidate):
                sql, pieces = candidate, max(2, pieces - 1)
                break
        else:
            if size == 1:
                return sql
            pieces = min(2 * pieces, max(total, 2))


def _fine(sql: str, count: Callable[[str], int]) -> bool:
    """Whether a text can be read again."""
    try:
        count(sql)
    except PlanscopeError:
        return False
    return True


def _with_fewer_tables(bundle: Bundle, test: Callable[[Bundle], bool], plugins: tuple[str, ...]) -> Bundle:
    """Without the statistics of tables that the query does not name, if the test holds still."""
    words = {word.strip('"').lower() for word in bundle.sql.replace("(", " ").replace(")", " ").replace(",", " ").split()}
    catalog = read_catalog(bundle.catalog)
    smaller = replace(bundle, catalog=catalog_json(catalog, [name for name in catalog.tables if name.lower() in words]))
    planned = recorded(smaller, plan(smaller, plugins))
    return planned if len(planned.catalog["tables"]) < len(bundle.catalog["tables"]) and test(planned) else bundle
