"""The random queries are worth running: DuckDB takes them, most have rows, and every form of SQL occurs."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import Phase
from hypothesis import strategies as st

from tests.differential import datasets as plain
from tests.differential.correlated import tables
from tests.differential.correlated.generator import correlated_queries
from tests.differential.queries import Query, queries
from tests.examples import try_examples

FORMS = (
    "NATURAL", "USING", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "VALUES", "WITH", "WHERE", "GROUP BY",
    "HAVING", "FILTER", "COUNT(DISTINCT", "SUM(", "AVG(", "MIN(", "MAX(", "SELECT DISTINCT", "SELECT *", "ORDER BY",
    "NULLS FIRST", "NULLS LAST", "DESC", "LIMIT", "OFFSET", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "CASE", "COALESCE",
    "NULLIF", "EXTRACT", "SUBSTRING", "INTERVAL", "BETWEEN", "IN (", "NOT IN (", "LIKE", "IS NULL", "IS NOT DISTINCT FROM",
    "CAST", "DISTINCT ON", "LAST_DAY", "CONCAT_WS",
    "||", "//", "%", " / ", "(SELECT", "TRUE", "NOT",
)  # fmt: skip
PATTERNS = {
    "self join": r"\b(r|q|t|u)\b.* JOIN \1\b", "comma": r"FROM \w+( AS)? \w+, ",
    "ordered aggregate": r"\b(FIRST|LAST|ANY_VALUE)\(", "statistic": r"_(POP|SAMP|SXY)\(|MEDIAN\(",
}  # fmt: skip
CORRELATED_FORMS = (
    "EXISTS", "NOT EXISTS", "IN", "NOT IN", "row IN", "scalar aggregate", "scalar key lookup", "scalar LIMIT 1",
    "scalar of any number of rows", *(f"{op} {word}" for op in ("=", "<>", "<", "<=", ">", ">=") for word in ("ANY", "ALL")),
    "LATERAL", "LEFT JOIN LATERAL", "LATERAL VALUES", "derived table", "CTE", "outer column", "level skipped",
    "correlated expression", "IS NOT DISTINCT FROM", "under NOT", "under OR", "two under OR", "IS NULL of a subquery", "CASE",
    "scalar in the select list", "truth value in the select list", "ORDER BY a subquery", "subquery in ON",
    "subquery in ON of an outer join", "outer column in ON", "outer column in ON of an outer join",
    "outer column in an aggregate", "aggregate of an outer block", "subquery in an aggregate", "outer column as grouping key",
    "GROUP BY", "grouping sets", "aggregate without GROUP BY", "HAVING", "FILTER", "COUNT(DISTINCT", "window", "DISTINCT",
    "LIMIT", "OFFSET", "UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL", "JOIN", "LEFT JOIN",
    "RIGHT JOIN", "FULL JOIN",
)  # fmt: skip


def forms_in(query: Query) -> list[str]:
    written = [form for form in FORMS if form in query.sql]
    return written + [name for name, pattern in PATTERNS.items() if re.search(pattern, query.sql)]


@pytest.mark.slow  # it tells of the generators alone
@pytest.mark.parametrize(
    ("drawn", "dataset", "datasets", "used", "forms", "accepted", "with_rows"),
    [
        (queries(), plain.dataset, plain.POOL, forms_in, (*FORMS, *PATTERNS), 0.97, 0.5),
        (correlated_queries(), tables.dataset, tables.DATASETS, lambda query: query.used, CORRELATED_FORMS, 0.85, 0.45),
    ],
    ids=["plain", "correlated"],
)
def test_queries_are_valid_varied_and_mostly_not_empty(
    drawn: st.SearchStrategy[Any], dataset: Callable[[Path, int], plain.Dataset], datasets: int,
    used: Callable[[Any], Iterable[str]], forms: Collection[str], accepted: float, with_rows: float, tmp_path: Path,
) -> None:  # fmt: skip
    connections = [dataset(tmp_path, i).connect() for i in range(datasets)]
    seen: Counter[str] = Counter()
    errors: list[str] = []

    def look_at(query: Any, index: int) -> None:
        seen["queries"] += 1
        seen.update(used(query))
        try:
            seen["with rows"] += bool(connections[index].execute(query.sql).fetchall())
        except duckdb.Error as error:
            errors.append(f"{query.sql}\n{error}")

    for number in (1, 2, 3):
        try_examples(look_at, number, 400, drawn, st.integers(0, datasets - 1), phases=[Phase.generate])
    assert seen["queries"] >= 1200 * 0.9
    assert len(errors) <= seen["queries"] * (1 - accepted), errors[0]
    assert seen["with rows"] >= seen["queries"] * with_rows
    assert "outer column" not in forms or seen["outer column"] >= seen["queries"] * 0.5
    assert not [form for form in forms if seen[form] < 3]
