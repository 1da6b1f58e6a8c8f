"""planscope bench enumeration: tables, files, and exact enumerators that have to agree."""

import pyarrow.csv as pacsv
import pytest

from experiments.bench import enumeration
from optimizer.joins.costing import Ordered
from tests.e2e.conftest import rows_of

HERE = ("-q",)
pytestmark = pytest.mark.usefixtures("measured_here")


def test_every_enumerator_has_a_row(planscope, tmp_path):
    done = planscope(
        "bench", "enumeration", "clique/6", "grid/2x3", "chain/100", "--max-work", "10000", *HERE, "-o", str(tmp_path)
    )
    assert done.code == 0
    assert "Left out, with more steps than" in done.out
    records = rows_of(tmp_path)
    assert len(records) == 3 * len(enumeration.ENUMERATORS)
    ran = [record for record in records if not record["left_out"]]
    exact = [record for record in ran if record["kind"] == "exact"]
    assert {record["query"] for record in exact} == {"clique/6", "grid/2x3"}
    assert all(record["ratio"] == pytest.approx(1) and record["us_per_pair"] > 0 for record in exact)
    for graph, sets, pairs, sub, size in (("clique/6", 63, 301, 602, 1_171), ("grid/2x3", 40, 114, 456, None)):
        of = {record["enumerator"]: record for record in ran if record["query"] == graph}
        assert of["dp_sub"]["inner"] == sub and of["dp_sub"]["connected_sets"] == sets
        assert size is None or of["dp_size"]["inner"] == size
        assert {of[name]["joins_costed"] for name in ("dp_ccp", "top_down_branch", "dp_vectorized")} == {2 * pairs}
        assert of["pairs_branch"]["joins_costed"] is None and of["pairs_branch"]["pairs"] == pairs
        assert all(of[name]["ratio"] >= 1 - 1e-9 for name in ("dp_left_deep", "ikkbz", "linearized", "greedy", "goo_dp"))
    heuristics = pacsv.read_csv(tmp_path / "tables" / "heuristics.csv").to_pylist()
    assert {row["enumerator"]: row["cases"] for row in heuristics}["greedy"] == 2, "of chain/100 there is no optimum"
    by_name = {record["enumerator"] for record in ran if record["query"] == "chain/100"}
    assert "greedy" in by_name and not by_name & {"dp_sub", "dp_ccp", "pairs_naive", "linearized"}


def test_the_seed_decides_costs_and_nothing_else():
    first, again, other = (enumeration.measure({"query": "cycle/6", "seed": seed, "max_work": 10_000}) for seed in (1, 1, 2))

    def figures(rows, name):
        return [(row["enumerator"], row.get(name)) for row in rows]

    assert figures(first, "cost") == figures(again, "cost") != figures(other, "cost")
    assert figures(first, "inner") == figures(other, "inner")


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_an_enumerator_that_is_wrong_is_a_bug(planscope, monkeypatch, tmp_path, factor):
    """A cost that its tree does not have; the replay case goes where such cases go."""
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    one = next(one for one in enumeration.ENUMERATORS if one.name == "dp_hyp")

    def wrong(graph, costing):
        found = one.run(graph, costing)
        return Ordered(found.cost * factor, found.tree, found.pairs)

    replaced = tuple(one._replace(run=wrong) if other is one else other for other in enumeration.ENUMERATORS)
    monkeypatch.setattr(enumeration, "ENUMERATORS", replaced)
    done = planscope("bench", "enumeration", "star/5", *HERE)
    assert done.code == 1
    assert "dp_hyp says that its order ((" in done.err and "costs" in done.err


def test_an_exact_enumerator_that_misses_the_optimum_is_a_bug(planscope, monkeypatch, tmp_path):
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    worst = next(one for one in enumeration.ENUMERATORS if one.name == "ikkbz")
    replaced = (*enumeration.ENUMERATORS, worst._replace(name="best_of_all", kind="exact"))
    monkeypatch.setattr(enumeration, "ENUMERATORS", replaced)
    done = planscope("bench", "enumeration", "random/10/1", *HERE)
    assert done.code == 1
    assert "the cheapest order of random/10/1, seed 0, should cost" in done.err and "best_of_all" in done.err


PLUGIN = """
from planscope.plugin import enumerator

@enumerator
def zigzag(graph, relations):
    ones = [1 << i for i in range(graph.n) if relations >> i & 1 and graph.connected(relations ^ 1 << i)]
    return [one if one & -relations & relations else relations ^ one for one in ones if one != relations]
"""


def test_an_enumerator_of_a_plugin_stands_beside_ours(planscope, tmp_path):
    """One relation on a side of each join: under C_out that is the cheapest left-deep order."""
    (tmp_path / "mine.py").write_text(PLUGIN)
    done = planscope(
        "bench", "enumeration", "clique/6", "chain/7", "--plugin", str(tmp_path / "mine.py"), *HERE, "-o", str(tmp_path / "out")
    )
    assert done.code == 0, done.err
    costs = {(row["query"], row["enumerator"]): row["cost"] for row in rows_of(tmp_path / "out")}
    for graph in ("clique/6", "chain/7"):
        assert costs[graph, "zigzag"] == pytest.approx(costs[graph, "dp_left_deep"])


def test_an_enumerator_of_a_plugin_that_leaves_no_order_is_named(planscope, tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN.replace("return [one", "return [] and [one"))
    done = planscope("bench", "enumeration", "star/5", "--plugin", str(tmp_path / "mine.py"), *HERE)
    assert done.code == 2 and "no order of the 5 relations is left by zigzag" in " ".join(done.out.split())
