"""Greedy operator ordering and GOO-DP."""

from random import Random

import pytest

from optimizer.joins.blocks import BlockProblem
from optimizer.joins.costing import COutCosting, JoinCosting, Ordered
from optimizer.joins.cross_products import Part
from optimizer.joins.goo_dp import goo_dp
from optimizer.joins.graph import JoinGraph, Relations, bits, joins_of, subsets
from optimizer.joins.greedy import greedy
from optimizer.joins.linearized import linearized
from tests.joins.by_definition import Definition, cost_of, random_graph
from tests.joins.random_costs import FastCOut, HashJoinCosting, check_tree, random_c_out
from tests.joins.shapes import chain, clique, star


def goo_by_definition(graph: JoinGraph, costing: JoinCosting) -> list[Relations]:
    """The sets that GOO joins, in order: every pair looked at in every step. Connected graphs."""
    parts = [1 << i for i in range(graph.n)]
    made = []
    while len(parts) > 1:

        def key(pair: tuple[Relations, Relations]) -> tuple[float, float, Relations, Relations]:
            a, b = pair
            return costing.rows(a | b), costing.rows(a) + costing.rows(b), a & -a, b & -b

        a, b = min(((a, b) for a in parts for b in parts if a & -a < b & -b and graph.joined(a, b)), key=key)
        parts = [part for part in parts if part not in (a, b)] + [a | b]
        made.append(a | b)
    return made


def test_greedy_joins_the_smallest_result_first() -> None:
    random = Random(61)
    for seed in range(150):
        graph = random_graph(random.randint(1, 9), random.choice([0, 2, 30]), seed)
        costing = random_c_out(graph, random, degenerate=seed % 2 == 0)
        found = greedy(graph, costing)
        check_tree(found.tree, graph)
        assert found.cost == pytest.approx(cost_of(found.tree, costing)[0], rel=1e-12)
        assert {a | b for a, b in joins_of(found.tree)} == set(goo_by_definition(graph, costing)), f"graph {seed}"


def test_ties_go_to_smaller_inputs_then_to_lower_relations() -> None:
    alike = COutCosting([8.0] * 6, dict.fromkeys(chain(6).edges(), 1 / 8))  # every result has 8 rows, every two inputs 16
    assert greedy(chain(6), alike).tree == (((((0, 1), 2), 3), 4), 5)
    by_inputs = COutCosting([100.0, 10.0, 20.0, 50.0], {(0, 1): 0.1, (1, 2): 0.5, (2, 3): 0.1})  # 100 rows each
    assert joins_of(greedy(chain(4), by_inputs).tree)[0] == (0b0010, 0b0100)


def test_each_join_is_in_its_cheaper_orientation() -> None:
    random = Random(62)
    for seed in range(50):
        graph = random_graph(8, 3, seed)
        costing = HashJoinCosting(random_c_out(graph, random))
        for found in (greedy(graph, costing), goo_dp(graph, costing, k=3)):
            assert all(costing.join(a, b) <= costing.join(b, a) for a, b in joins_of(found.tree))


class CountingCosting:
    """How often rows of a set of several relations were asked for; joins cost nothing."""

    def __init__(self, costing: JoinCosting) -> None:
        self.costing, self.asked = costing, 0

    def rows(self, s: Relations) -> float:
        self.asked += s & (s - 1) != 0
        return self.costing.rows(s)

    def leaf(self, relation: int) -> float:
        return 0.0

    def join(self, left: Relations, right: Relations) -> float:
        return 0.0


def test_candidates_are_looked_at_once() -> None:
    """Calls of `rows`: at most n² on a clique, n²/2 on a star, 3n on a chain, beside one for each result."""
    for graph, most in ((clique(60), 3600), (star(60), 1800), (chain(60), 180)):
        counting = CountingCosting(FastCOut(random_c_out(graph, Random(63))))
        greedy(graph, counting)
        assert counting.asked <= most + graph.n


def test_goo_dp_is_never_dearer_than_goo() -> None:
    random = Random(65)
    for seed in range(60):
        graph = random_graph(random.randint(1, 12), random.choice([0, 2, 6]), seed)
        costing = HashJoinCosting(random_c_out(graph, random, degenerate=seed % 3 == 0))
        first = greedy(graph, costing).cost
        for k in (2, 3, 5):
            found = goo_dp(graph, costing, k)
            check_tree(found.tree, graph)
            assert found.cost <= first
            assert found.cost == pytest.approx(cost_of(found.tree, costing)[0], rel=1e-9)


def test_goo_dp_over_the_whole_graph_is_linearized_dp_or_goo() -> None:
    random = Random(66)
    for seed in range(60):
        graph = random_graph(random.randint(1, 8), random.choice([0, 2, 20]), seed)
        costing = HashJoinCosting(random_c_out(graph, random))
        either = min(linearized(graph, costing).cost, greedy(graph, costing).cost)
        assert goo_dp(graph, costing).cost == pytest.approx(either, rel=1e-12)


def test_goo_dp_improves_on_goo() -> None:
    """The larger the subtrees, the cheaper; on these chains GOO alone is far from the optimum."""
    totals = dict.fromkeys((2, 4, 8), 0.0)
    for seed in range(40):
        graph = chain(8)
        costing = random_c_out(graph, Random(seed))
        best = Definition(graph).best(costing)
        for k in totals:
            totals[k] += goo_dp(graph, costing, k).cost / best / 40
    assert totals[8] < 1.001
    assert totals[8] <= totals[4] < totals[2]


def test_three_leaves_are_worth_a_look() -> None:
    """GOO takes 0 ⋈ 1 for its 10 rows, though to read 1000 rows on both sides costs more than any order that begins with 2."""
    costing = HashJoinCosting(COutCosting([1000.0, 1000.0, 10.0], {(0, 1): 1e-5, (1, 2): 1.1e-3}))
    best = Definition(chain(3)).best(costing)
    assert best < greedy(chain(3), costing).cost
    assert goo_dp(chain(3), costing, 3).cost == pytest.approx(best)


def test_the_budget_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(150)
    costing = FastCOut(random_c_out(graph, Random(67)))
    first = greedy(graph, costing)
    calls: list[int] = []

    def counting(graph: JoinGraph, costing: JoinCosting) -> Ordered:
        calls.append(graph.n * (graph.n + 1) // 2)
        return linearized(graph, costing)

    monkeypatch.setattr("optimizer.joins.goo_dp.linearized", counting)
    assert goo_dp(graph, costing, k=10, budget=0).cost == first.cost
    assert not calls
    for budget in (1, 60, 200):
        calls.clear()
        goo_dp(graph, costing, k=10, budget=budget)
        assert sum(calls[:-1]) < budget <= sum(calls)
    calls.clear()
    goo_dp(graph, costing, k=10, budget=10**9)
    assert 150 // 10 <= len(calls) < 150


def test_blocks_are_relations_of_their_own() -> None:
    """0-1 as one block, 3-4 as another, 2, 5."""
    graph = JoinGraph(7, [(0, 1), (1, 2), (3, 4), (1, 3), (0, 6)])
    costing = random_c_out(graph, Random(68))
    blocks = [
        Part(0b11, 1.0, 5.0, (0, 1)), Part(0b100, 1.0, 2.0, 2), Part(0b11000, 1.0, 7.0, (4, 3)), Part(0b100000, 1.0, 0.0, 5),
    ]  # fmt: skip
    problem = BlockProblem(graph, costing, blocks)
    assert problem.graph.edges() == [(0, 1), (0, 2)]
    assert problem.leaf(2) == 7.0
    assert problem.rows(0b101) == costing.rows(0b11011)
    assert problem.expand(((2, 1), (0, 3))) == (((4, 3), 2), ((0, 1), 5))
    for s in subsets(0b1111):
        assert problem.relations(s) == sum(blocks[low.bit_length() - 1].relations for low in bits(s))
