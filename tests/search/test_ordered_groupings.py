"""Joins of groupings in an order: an order may begin in a grouping, whose own sort may cost less than one of the joins."""

from __future__ import annotations

import pytest

from optimizer.catalog.table import Catalog
from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.settings import Settings
from tests.search.stored_tables import catalog, table

NAMES = "abcdefgh"
TABLES = catalog(table("u", 400, {"id": 400, "x": 300}), *(table(name, 1500, {"k": 390}) for name in NAMES))
SORTED = catalog(  # a grouping that comes by its key is cheaper than any sort
    table("u", 90_000, {"id": 90_000, "x": 300}), *(table(name, 150_000, {"k": 80_000}, order="k") for name in NAMES)
)


def planned(groupings: int, end: str, columns: str = "u.id", tables: Catalog = TABLES, **changes: object) -> OptimizedQuery:
    names = NAMES[:groupings]
    joins = " ".join(f"join (select k, count(*) n from {name} group by k) {name} on {name}.k = u.id" for name in names)
    counted = ", ".join(f"{name}.n" for name in names) if "group" not in end else "sum(a.n)"
    sql = f"select {columns}, {counted} from u {joins} {end}"
    return Optimizer(tables, Settings.from_mapping({"expand_joins": 0, **changes})).optimize(sql)


ENDS = ["order by u.id", "order by u.id desc", "order by a.n", "order by b.k, u.x", "group by u.id"]


@pytest.mark.parametrize("tables", [TABLES, SORTED], ids=["as they come", "sorted"])
@pytest.mark.parametrize("end", ENDS)
def test_the_table_finds_what_the_exhaustive_search_finds(end: str, tables: Catalog) -> None:
    table = planned(3, end, tables=tables, region="table")
    every = planned(3, end, tables=tables, region="tasks", pruning="none")
    assert table.search.proven
    assert table.cost == pytest.approx(every.cost, rel=1e-12)


@pytest.mark.parametrize(
    ("end", "most"), [("order by u.id", 2), ("order by u.id desc", 2), ("order by a.n", 2), ("group by u.id", 20)]
)
def test_an_order_costs_few_of_the_splits(end: str, most: int) -> None:
    """Of 9,330; each costs some seven tasks."""
    plain, ordered = planned(8, ""), planned(8, end)
    assert ordered.search.proven
    assert ordered.search.tasks < most * plain.search.tasks
