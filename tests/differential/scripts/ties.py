"""What ORDER BY and LIMIT leave open: rows that are equal in all sort keys come in any order, and any of them are kept.

The query is run again in DuckDB without its LIMIT, with the sort keys as further columns. Its rows fall into runs of equal keys;
the rows to be judged have to fill their places with rows of the same runs.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from tests.differential.scripts.database import ScriptDatabase
from tests.reference.compare import Row, assert_contained, assert_same_bag, rows_of, same_row


class Ordered(NamedTuple):
    """`sql`: all rows in order; the last `keys` columns, and those at `positions` (None: all), are what they are sorted by. The
    rows of the query itself begin at `offset`."""

    sql: str
    keys: int
    positions: tuple[int, ...] | None
    offset: int


def assert_same_but_ties(sql: str, wanted: Sequence[Row], rows: Sequence[Row], database: ScriptDatabase) -> None:
    """Raises AssertionError unless `rows` is a result of the query, of which `wanted` is DuckDB's."""
    if len(rows) == len(wanted) and all(map(same_row, wanted, rows)):
        return
    ordered = with_keys(sql)
    try:
        everything = rows_of(database.arrow(ordered.sql)) if ordered is not None else []
    except duckdb.Error:  # as where the keys cannot be named a second time
        ordered = None
    if ordered is None:
        assert_same_bag(wanted, rows)
        return
    assert_fills(everything, ordered, wanted)  # otherwise the query has no such result, and nothing follows from it
    assert len(rows) == len(wanted), f"expected {len(wanted)} rows, got {len(rows)}"
    assert_fills(everything, ordered, rows)


def with_keys(sql: str) -> Ordered | None:
    """None when the query has neither ORDER BY nor LIMIT at its end."""
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except SqlglotError:
        return None
    order, limit, offset = (tree.args.pop(name, None) for name in ("order", "limit", "offset"))
    if order is None and limit is None and offset is None:
        return None
    terms = [term.this for term in order.expressions] if order is not None else []
    by_all = any(isinstance(term, exp.Var | exp.Star) for term in terms)
    keys = [] if by_all else [term for term in terms if not isinstance(term, exp.Literal)]
    positions = tuple(int(term.name) - 1 for term in terms if isinstance(term, exp.Literal) and not term.is_string)
    if not isinstance(tree, exp.Select):
        tree = sqlglot.parse_one(f"SELECT * FROM ({_text(tree)}) AS everything", read="duckdb")
    for number, key in enumerate(keys):
        tree = tree.select(exp.alias_(key.copy(), f"sort_key_{number}"), copy=False)
    tree.set("order", order)
    return Ordered(_text(tree), len(keys), None if by_all else positions, _number(offset))


def _text(tree: exp.Expression) -> str:
    return tree.sql("duckdb", unsupported_level=ErrorLevel.IGNORE)


def _number(offset: exp.Expression | None) -> int:
    return int(offset.expression.name) if offset is not None and isinstance(offset.expression, exp.Literal) else 0


def assert_fills(everything: Sequence[Row], ordered: Ordered, rows: Sequence[Row]) -> None:
    """Each row stands at a place in a run that has such a row, and no more often."""
    for start, end in runs(everything, ordered):
        first, last = max(start - ordered.offset, 0), min(end - ordered.offset, len(rows))
        if first < last:
            possible = [row[: len(row) - ordered.keys] for row in everything[start:end]]
            assert_contained(possible, rows[first:last], last - first)


def runs(everything: Sequence[Row], ordered: Ordered) -> Iterator[tuple[int, int]]:
    start = 0
    if ordered.positions is None:
        keys = list(everything)
    else:
        keys = [(*row[len(row) - ordered.keys :], *(row[i] for i in ordered.positions)) for row in everything]
    for end in range(1, len(everything) + 1):
        if end == len(everything) or not same_row(keys[start], keys[end]):
            yield start, end
            start = end
