"""Joins of groupings in an order: an order may begin in a grouping, whose own sort may cost less than one of the joins."""

import pytest

from optimizer.catalog.table import Catalog
from planscope import Optimizer, Settings
from tests.search.planning import planned_alike
from tests.search.stored_tables import catalog, table

NAMES = "abcdefgh"
TABLES = catalog(table("u", 400, {"id": 400, "x": 300}), *(table(name, 1500, {"k": 390, "v": 2}) for name in NAMES))
SORTED = catalog(  # a grouping that comes by its key is cheaper than any sort
    table("u", 90_000, {"id": 90_000, "x": 300}), *(table(name, 150_000, {"k": 80_000, "v": 2}, order="k") for name in NAMES)
)
PLAIN, CONSTANT = "k, max(v) v, count(*) n from {0} group by k", "k, v, count(*) n from {0} where v = 1 group by k, v"


def joined(groupings: int, end: str, by: str) -> str:
    names = NAMES[:groupings]
    joins = " ".join(f"join (select {by.format(name)}) {name} on {name}.k = u.id" for name in names)
    counted = ", ".join(f"{name}.n, {name}.v" for name in names) if "group" not in end else "sum(a.n + a.v)"
    return f"select u.id, {counted} from u {joins} {end}"


ENDS = ["order by u.id", "order by u.id desc", "order by a.n", "order by b.k, u.x", "group by u.id"]


@pytest.mark.parametrize("tables", [TABLES, SORTED], ids=["as they come", "sorted"])
@pytest.mark.parametrize("by", [PLAIN, CONSTANT], ids=["all of it", "with a constant"])
@pytest.mark.parametrize("end", [*ENDS, "and u.x = a.v order by b.k, u.x", "and u.x = b.v group by u.id"])
def test_the_table_finds_what_the_exhaustive_search_finds(end: str, by: str, tables: Catalog) -> None:
    planned_alike(tables, [joined(3, end, by)], [{"region": "table"}, {"region": "tasks", "pruning": "none"}], expand_joins=0)


@pytest.mark.parametrize("by", [PLAIN, CONSTANT], ids=["all of it", "with a constant"])
@pytest.mark.parametrize(
    ("end", "most"), [("order by u.id", 2), ("order by u.id desc", 2), ("order by a.n", 2), ("group by u.id", 20)]
)
def test_an_order_costs_few_of_the_splits(end: str, most: int, by: str) -> None:
    """Of 9,330; each costs some seven tasks. A constant that no join reads changes nothing."""
    plain, ordered = (Optimizer(TABLES, Settings(expand_joins=0)).optimize(joined(8, each, by)) for each in ("", end))
    assert ordered.search.proven
    assert ordered.search.tasks < most * plain.search.tasks
