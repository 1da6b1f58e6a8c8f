"""How many connected sets, pairs and trees the shapes have: closed forms and tables against the generators."""

from collections.abc import Callable
from functools import cache
from math import comb, factorial

import pytest

from experiments.enumerators.dp_ccp import pairs
from experiments.enumerators.dp_hyp import hyper_pairs
from experiments.enumerators.dp_size import inner_of_dp_size
from experiments.enumerators.dp_sub import inner_of_dp_sub
from optimizer.joins.csg import connected_sets, count_connected_sets
from optimizer.joins.graph import JoinGraph, Relations
from optimizer.joins.partition.min_cut_branch import min_cut_branch
from optimizer.joins.partition.min_cut_conservative import min_cut_conservative
from tests.joins.by_definition import grid
from tests.joins.shapes import PAIRS, SETS, SHAPES, chain, clique, star

SIZES: dict[str, Callable[[int], list[int]]] = {  # connected sets by size, from 0
    "chain": lambda n: [0, *(n - k + 1 for k in range(1, n + 1))],
    "cycle": lambda n: [0, *(n for _ in range(1, n)), 1],
    "star": lambda n: [0, n, *(comb(n - 1, k - 1) for k in range(2, n + 1))],
    "clique": lambda n: [0, *(comb(n, k) for k in range(1, n + 1))],
}
ENUMERABLE = 5_000_000  # pairs that the tests enumerate at most

TABLE = {  # (connected sets, pairs, inner counter of DPsub, of DPsize)
    ("chain", 5): (15, 20, 84, 73),
    ("chain", 10): (55, 165, 3_962, 1_135),
    ("chain", 15): (120, 560, 130_798, 5_628),
    ("chain", 20): (210, 1_330, 4_193_840, 17_545),
    ("cycle", 5): (21, 40, 140, 120),
    ("cycle", 10): (91, 405, 11_062, 2_225),
    ("cycle", 15): (211, 1_470, 523_836, 11_760),
    ("cycle", 20): (381, 3_610, 22_019_294, 37_900),
    ("star", 5): (20, 32, 130, 110),
    ("star", 10): (521, 2_304, 38_342, 57_888),
    ("star", 15): (16_398, 114_688, 9_533_170, 57_305_929),
    ("star", 20): (524_307, 4_980_736, 2_323_474_358, 59_892_991_338),
    ("clique", 5): (31, 90, 180, 280),
    ("clique", 10): (1_023, 28_501, 57_002, 306_991),
    ("clique", 15): (32_767, 7_141_686, 14_283_372, 307_173_877),
    ("clique", 20): (1_048_575, 1_742_343_625, 3_484_687_250, 309_338_182_241),
}


def sizes_of_connected_sets(graph: JoinGraph) -> list[int]:
    """At index k the number of connected sets of k relations; at 0, 0."""
    sizes = [0] * (graph.n + 1)
    for s in connected_sets(graph):
        sizes[s.bit_count()] += 1
    return sizes


def pairs_by(split: Callable[[JoinGraph, Relations], list[Relations]], graph: JoinGraph) -> int:
    return sum(len(split(graph, s)) for s in connected_sets(graph))


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "n"), TABLE)
def test_the_table(name, n):
    sets, number, sub, size = TABLE[name, n]
    assert (SETS[name](n), PAIRS[name](n)) == (sets, number)
    assert sum(SIZES[name](n)) == sets
    assert inner_of_dp_sub(SIZES[name](n)) == sub
    assert inner_of_dp_size(SIZES[name](n)) == size
    assert count_connected_sets(SHAPES[name](n)) == sets
    if number <= ENUMERABLE:
        assert pairs_by(min_cut_branch, SHAPES[name](n)) == number


@pytest.mark.parametrize("name", SHAPES)
def test_closed_forms(name):
    """Up to 20 relations, as far as the pairs can be enumerated in a moment; those of `test_millions_of_pairs` take longer."""
    for n in range(3, 21):
        graph = SHAPES[name](n)
        if PAIRS[name](n) > 300_000:
            break
        assert sizes_of_connected_sets(graph) == SIZES[name](n)
        assert count_connected_sets(graph) == SETS[name](n)
        assert pairs_by(min_cut_branch, graph) == PAIRS[name](n)
        if PAIRS[name](n) <= 60_000:
            assert pairs_by(min_cut_conservative, graph) == PAIRS[name](n)
            assert sum(1 for _ in pairs(graph)) == PAIRS[name](n)
        if PAIRS[name](n) <= 10_000:
            assert sum(1 for _ in hyper_pairs(graph)) == PAIRS[name](n)
    assert n >= {"star": 17, "clique": 13}.get(name, 20)


@pytest.mark.parametrize("name", SHAPES)
def test_counters_of_the_oracles_in_closed_form(name):
    for n in range(3, 21):
        wanted = {
            "chain": 2 ** (n + 2) - n * n - 3 * n - 4, "cycle": n * 2**n + 2**n - 2 * n * n - 2, "star": 2 * 3 ** (n - 1) - 2**n,
            "clique": 3**n - 2 ** (n + 1) + 1,
        }  # fmt: skip
        assert inner_of_dp_sub(SIZES[name](n)) == wanted[name]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n"), [("star", 18), ("star", 19), ("star", 20), ("clique", 13), ("clique", 14)])
def test_millions_of_pairs(name, n):
    graph = SHAPES[name](n)
    assert sum(1 for _ in pairs(graph)) == pairs_by(min_cut_branch, graph) == PAIRS[name](n)


@pytest.mark.parametrize(("rows", "columns", "sets", "number"), [(2, 3, 40, 114), (3, 3, 218, 1_381)])
def test_grids(rows, columns, sets, number):
    graph = grid(rows, columns)
    assert count_connected_sets(graph) == sets
    assert sum(1 for _ in pairs(graph)) == pairs_by(min_cut_branch, graph) == pairs_by(min_cut_conservative, graph) == number


def test_connected_sets_come_once_and_after_their_parts():
    for graph in (grid(3, 3), clique(6), star(8)):
        found = list(connected_sets(graph))
        assert sorted(found) == [s for s in range(1, graph.all + 1) if graph.connected(s)]
        seen: set[Relations] = set()
        for s in found:
            assert all(t in seen for t in found if t != s and t & s == t and t & -t == s & -s)
            seen.add(s)


@pytest.mark.parametrize("graph", [chain(100), star(100), clique(60), grid(20, 20)], ids=["chain", "star", "clique", "grid"])
def test_counting_stops_at_the_budget(graph):
    """A chain of 100 has 5,050 connected sets; the others have more than could be counted."""
    for budget in (0, 1, 100, 5_049, 5_050, 10_000):
        exact = graph.n == 100 and graph.hyperedges == () and len(graph.edges()) == 99 and graph.adjacency[0].bit_count() == 1
        assert count_connected_sets(graph, budget) == (min(5_050, budget + 1) if exact else budget + 1)


def test_counting_in_hypergraphs():
    graph = JoinGraph(6, [(0, 1), (1, 2), (3, 4), (4, 5)], [(0b000111, 0b111000)])
    assert count_connected_sets(graph) == 6 + 6 + 1
    assert [count_connected_sets(graph, budget) for budget in (12, 13, 14)] == [13, 13, 13]
    hub = JoinGraph(61, [], [(1, 6 << 2 * i) for i in range(30)])  # nothing is connected: no end of two relations ever is
    assert count_connected_sets(hub, 1_000) == 1_001


def catalan(k: int) -> int:
    return comb(2 * k, k) // (k + 1)


def test_trees():
    """Bushy trees and left-deep ones, inputs in both orders, counted along the pairs."""
    cycles = {3: 12, 4: 80, 5: 560, 6: 4_032, 7: 29_568}
    for n in range(3, 8):
        wanted = {
            "chain": (2 ** (n - 1) * catalan(n - 1), 2 ** (n - 1)),
            "cycle": (cycles[n], n * 2 ** (n - 2)),
            "star": (2 ** (n - 1) * factorial(n - 1), 2 * factorial(n - 1)),
            "clique": (factorial(n) * catalan(n - 1), factorial(n)),
        }
        for name, counts in wanted.items():
            assert _trees(SHAPES[name](n)) == counts, f"{name} of {n}"


def _trees(graph: JoinGraph) -> tuple[int, int]:
    @cache
    def bushy(s: Relations) -> int:
        return sum(2 * bushy(a) * bushy(s ^ a) for a in min_cut_branch(graph, s)) or 1

    @cache
    def left_deep(s: Relations) -> int:
        sides = [(x, s ^ x) for a in min_cut_branch(graph, s) for x in (a, s ^ a)]
        return sum(left_deep(x) for x, single in sides if single & (single - 1) == 0) or 1

    return bushy(graph.all), left_deep(graph.all)
