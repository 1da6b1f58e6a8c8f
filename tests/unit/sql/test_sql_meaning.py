"""What bound queries mean: the naive evaluation of the bound tree and the plan give DuckDB's rows, types aside.

The data has NULLs, duplicates, an empty table, zeros, negative numbers, month ends. All engines may also refuse alike.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import Case, params, read
from tests.unit.sql.world import World, assert_means_the_same

HERE = Path(__file__).parent
QUERIES = read(HERE / "queries.cases")


@pytest.mark.parametrize("case", params(read(HERE / "expressions.cases")))
def test_expressions(case: Case, world: World) -> None:
    assert_means_the_same(world, f"select {case.sql} as r from t")


@pytest.mark.parametrize("case", params(QUERIES))
def test_queries(case: Case, world: World) -> None:
    assert_means_the_same(world, case.sql)


@pytest.mark.parametrize("case", params([case for case in QUERIES if " order by " not in case.sql][::3]))
def test_queries_in_a_derived_table(case: Case, world: World) -> None:
    assert_means_the_same(world, f"select count(*) from ({case.sql}) q")
    assert_means_the_same(world, f"with c as ({case.sql}) select * from c union all select * from c")
