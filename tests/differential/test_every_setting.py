"""Fixed queries under every value of every setting that changes plans: DuckDB's rows, and a plan whatever the budget.

The queries have what a join search may lose on its way: conjuncts over one input of a join, conjuncts that may raise, over
three relations, and joins of several kinds in one region.
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from executor import Session
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from tests import once
from tests.cases import read
from tests.conftest import duckdb_tables, quick_and_slow
from tests.reference.compare import Row, assert_same_bag, rows_of

TABLES = {
    "a": "select * from (values (1, 5), (2, 6), (3, null), (null, 7)) t(x, v)",
    "b": "select * from (values (1, 10, '5'), (2, 20, '6'), (9, 30, '7'), (2, null, '8')) t(x, y, s)",
    "c": "select * from (values (10, 1), (20, 2), (30, 3), (null, 4)) t(y, z)",
    "d": "select * from (values (1, 5), (2, 5), (3, 6), (3, 6)) t(z, v)",
}

QUERIES = {case.title: case.sql for case in read(Path(__file__).parent / "every_setting.cases")}

BUDGETS: tuple[dict[str, Any], ...] = tuple(
    {name: value} for name in ("budget_mexprs", "budget_groups", "budget_tasks") for value in (1, 7)
)
SPACES: tuple[dict[str, Any], ...] = (
    {"enumeration": "adaptive"}, {"enumeration": "partition"}, {"enumeration": "left_deep"}, {"enumeration": "rules"},
    {"enumeration": "rules_b0"}, {"enumeration": "duplicate_free_rules", "cross_products": True},
    {"enumeration": "partition", "partitioner": "conservative", "cross_products": True}, {"exact_below": 2, "exact_sets": 1},
    {"exact_below": 2, "exact_sets": 1, "linearized_up_to": 1}, {"exact_mixed_below": 2, "exact_mixed_sets": 1},
    {"expand_joins": 0}, {"expand_joins": 8},
)  # fmt: skip
WAYS: tuple[dict[str, Any], ...] = (
    {"pruning": "none"}, {"pruning": "upper", "seed": "none"}, {"pruning": "lower", "exploration": "on_demand"},
    {"exploration": "on_demand", "seed": "greedy"}, {"driver": "iterative"}, {"prepass": False},
    {"prepass": False, "driver": "iterative"}, {"prepass": False, "exploration": "on_demand", "disable": ("join_to_hash_join",)},
    {"gap": 0.5}, {"gap": 0.5, "exploration": "on_demand"}, {"gap": 0.5, "pruning": "upper"}, {"epsilon": 0.5},
    {"cost_model": "c_out"}, {"ctes": "spool"}, {"ctes": "inline"}, {"semi_joins": "always"}, {"semi_joins": "cost"},
    {"common_parts": "always"}, {"common_parts": "cost", "semi_joins": "cost"}, {"rule_order": 3},
    {"disable": ("join_to_hash_join", "join_to_merge_join")},
)  # fmt: skip


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, dict[str, list[Row]]]:
    """The tables, and DuckDB's rows by the names of the queries."""
    folder = tmp_path_factory.mktemp("settings")
    with duckdb_tables(folder, TABLES) as connection:
        return open_dataset(folder), {name: rows_of(connection.execute(sql).to_arrow_table()) for name, sql in QUERIES.items()}


@pytest.mark.few(2)
@pytest.mark.parametrize("i", range(len(WAYS)), ids=lambda i: str(WAYS[i]))
@pytest.mark.parametrize("among", quick_and_slow(["one space"], ["every space"]))
def test_rows_do_not_depend_on_settings(i: int, among: str, expected: tuple[Catalog, dict[str, list[Row]]]) -> None:
    """Every way with one of the spaces, every space with some of the ways; and any two of them."""
    spaces = SPACES if among == "every space" else [SPACES[i % len(SPACES)]]
    _try_queries(expected, [{**space, **WAYS[i]} for space in spaces])


@pytest.mark.few(4)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_budget_leaves_a_plan(budget: dict[str, Any], expected: tuple[Catalog, dict[str, list[Row]]]) -> None:
    ways = ({}, {"exploration": "on_demand"}, {"driver": "iterative"}, {"enumeration": "rules"}, {"expand_joins": 0})
    _try_queries(expected, [{**budget, **way} for way in ways])


def _try_queries(expected: tuple[Catalog, dict[str, list[Row]]], variants: list[dict[str, Any]]) -> None:
    catalog, rows = expected
    sessions = [Session(catalog, variant) for variant in variants]
    for (name, sql), (variant, session) in product(QUERIES.items(), zip(variants, sessions, strict=True)):
        try:
            assert_same_bag(rows[name], rows_of(once.rows(session, sql)))
        except Exception as error:
            raise AssertionError(f"{name}, {variant}: {type(error).__name__}: {error}\n{sql}") from error
