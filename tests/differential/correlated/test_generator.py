"""The random correlated queries are worth running: DuckDB takes them, most have rows, and every form occurs."""

from collections import Counter
from pathlib import Path

import duckdb
import pytest
from hypothesis import Phase
from hypothesis import strategies as st

from tests.differential.correlated.generator import Query, correlated_queries
from tests.differential.correlated.tables import DATASETS, dataset
from tests.examples import try_examples

COUNT = 400
SEEDS = (1, 2, 3)
FORMS = (
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


@pytest.mark.slow  # it tells of the generator alone
def test_queries_are_valid_varied_and_mostly_not_empty(tmp_path: Path) -> None:
    connections = [dataset(tmp_path, i).connect() for i in range(DATASETS)]
    seen: Counter[str] = Counter()

    def look_at(query: Query, index: int) -> None:
        seen["queries"] += 1
        seen.update(query.used)
        try:
            seen["with rows"] += bool(connections[index].execute(query.sql).fetchall())
            seen["accepted"] += 1
        except duckdb.Error:
            pass

    for number in SEEDS:
        try_examples(look_at, number, COUNT, correlated_queries(), st.integers(0, DATASETS - 1), phases=[Phase.generate])
    assert seen["queries"] >= len(SEEDS) * COUNT * 0.9
    assert seen["accepted"] >= seen["queries"] * 0.85
    assert seen["with rows"] >= seen["queries"] * 0.45
    assert seen["outer column"] >= seen["queries"] * 0.5
    missing = [form for form in FORMS if seen[form] < 3]
    assert not missing
