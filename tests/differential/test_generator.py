"""The random queries are worth running: DuckDB takes them, most have rows, and every form of SQL occurs."""

import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from hypothesis import Phase
from hypothesis import strategies as st

from tests.differential.datasets import POOL, dataset
from tests.differential.queries import Query, queries
from tests.examples import try_examples

COUNT = 500
FORMS = (
    "NATURAL", "USING", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "VALUES", "WITH", "WHERE", "GROUP BY",
    "HAVING", "FILTER", "COUNT(DISTINCT", "SUM(", "AVG(", "MIN(", "MAX(", "SELECT DISTINCT", "SELECT *", "ORDER BY",
    "NULLS FIRST", "NULLS LAST", "DESC", "LIMIT", "OFFSET", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "CASE", "COALESCE",
    "NULLIF", "EXTRACT", "SUBSTRING", "INTERVAL", "BETWEEN", "IN (", "NOT IN (", "LIKE", "IS NULL", "IS NOT DISTINCT FROM",
    "CAST", "DISTINCT ON", "LAST_DAY", "CONCAT_WS",
    "||", "//", "%", " / ", "(SELECT", "TRUE", "NOT",
)  # fmt: skip


@pytest.mark.slow  # it tells of the generator alone
def test_queries_are_valid_varied_and_mostly_not_empty(tmp_path: Path) -> None:
    connections = [dataset(tmp_path, i).connect() for i in range(POOL)]
    seen: Counter[str] = Counter()
    errors: list[str] = []

    def look_at(query: Query, index: int) -> None:
        seen["queries"] += 1
        seen.update(form for form in FORMS if form in query.sql)
        seen["self join"] += bool(re.search(r"\b(r|q|t|u)\b.* JOIN \1\b", query.sql))
        seen["ordered aggregate"] += bool(re.search(r"\b(FIRST|LAST|ANY_VALUE)\(", query.sql))
        seen["statistic"] += bool(re.search(r"_(POP|SAMP|SXY)\(|MEDIAN\(", query.sql))
        seen["comma"] += bool(re.search(r"FROM \w+( AS)? \w+, ", query.sql))
        try:
            seen["with rows"] += bool(connections[index].execute(query.sql).fetchall())
        except duckdb.Error as error:
            errors.append(f"{query.sql}\n{error}")

    try_examples(look_at, 1, COUNT, queries(), st.integers(0, POOL - 1), phases=[Phase.generate])
    assert seen["queries"] >= COUNT * 0.9
    assert len(errors) <= seen["queries"] * 0.03, errors[0]
    assert seen["with rows"] >= seen["queries"] * 0.5
    missing = [form for form in (*FORMS, "self join", "comma", "ordered aggregate", "statistic") if not seen[form]]
    assert not missing
