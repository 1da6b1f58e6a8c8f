"""planscope bench search: figures, counts that do not depend on the machine. No test here looks at a time."""

import pytest

from experiments.bench import search
from experiments.bench.search import disagreement
from tests.e2e.conftest import rows_of
from tests.joins.shapes import PAIRS


@pytest.mark.slow
def test_every_part_has_a_table_and_its_figures(planscope, tmp_path):
    done = planscope("bench", "search", "--quick", "--timeout", "0", "-o", str(tmp_path))
    assert done.code == 0, done.err
    for title in ("Rates", "Join graphs", "Join graphs by commute and associate", "Memory", "Tracing"):
        assert f"\n{title}\n" in f"\n{done.out}", title
    assert "disable=join_to_merge_join" in done.out
    rows = rows_of(tmp_path)
    assert {(row["part"], row["figure"]) for row in rows} >= {
        ("rates", "costed join alternative"), ("rates", "task"), ("rates", "insertion"),
        ("memory", "logical multi-expression"), ("memory", "physical multi-expression"),
        ("memory", "relation set"), ("memory", "goal"), ("memory", "way"), ("memory", "peak"),
        ("tracing", "search without a trace"), ("tracing", "search with a trace"),
    }  # fmt: skip
    graphs = [row for row in rows if row["part"] == "graphs"]
    assert {(row["query"], row["search"]) for row in graphs} == {
        (f"{shape}/{n}", name) for shape in PAIRS for n in (4, 6) for name in ("default", "exhaustive", "table", "rules")
    }
    for row in graphs:
        every = PAIRS[row["query"].split("/")[0]](row["relations"])
        assert row["proven"] is True
        assert row["pairs"] == every or row["search"] == "default", row
        if row["search"] in ("exhaustive", "table"):
            assert row["costed"] >= 2 * every and row["regions"] == ("tasks" if row["search"] == "exhaustive" else "table")
        assert row["search"] != "rules" or row["regions"] == ""
    both = {s: {r["query"]: (r["pairs"], r["costed"]) for r in graphs if r["search"] == s} for s in ("exhaustive", "table")}
    assert both["exhaustive"] == both["table"]


@pytest.mark.parametrize(
    ("name", "cost", "relations", "proven", "merge_joins_matter", "agree"),
    [
        ("exhaustive", 100.0, 8, True, False, True),
        ("exhaustive", 100.1, 8, True, False, False),
        ("exhaustive", 100.1, 8, True, True, True),  # it has no merge joins
        ("exhaustive", 99.9, 8, True, True, False),
        ("table", 100.1, 8, True, False, False),
        ("rules", 100.1, 8, True, True, False),
        ("rules", 100.1, 4, True, True, True),  # it pushes no aggregates into joins
        ("rules", 99.9, 4, True, True, False),
        ("rules", 200.0, 8, False, True, True),
    ],
)
def test_searches_that_disagree_are_a_bug(name, cost, relations, proven, merge_joins_matter, agree):
    row = {"query": f"chain/{relations}", "relations": relations}
    rows = {"default": {**row, "cost": 100.0, "proven": True}, name: {**row, "cost": cost, "proven": proven}}
    found = disagreement(rows, merge_joins_matter)
    assert found is None if agree else f"the search {name} finds a plan of cost" in found


def test_items_are_the_same_graphs_smaller_when_quick():
    quick, whole = (search.items(search.Options(quick=quick)) for quick in (True, False))
    assert {item["part"] for item in quick} == {item["part"] for item in whole} == set(search.PARTS)
    assert max(int(item["query"].partition("/")[2]) for item in quick) == 8 < 20
