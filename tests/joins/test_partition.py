"""Partitioners: exactly the pairs of the definition, none twice, without work in vain."""

import sys
from collections.abc import Callable
from random import Random

import pytest

from experiments.enumerators.naive import naive
from optimizer.joins.graph import JoinGraph, Relations
from optimizer.joins.partition import PARTITIONERS
from optimizer.joins.partition.blocks import blocks_of
from optimizer.joins.partition.hypergraph import connected, hypergraph
from optimizer.joins.partition.min_cut_branch import MAX_DEPTH, branch, min_cut_branch
from optimizer.joins.partition.min_cut_conservative import conservative, min_cut_conservative
from tests.joins.by_definition import Definition, connected_graphs, grid, random_graph, random_hypergraph
from tests.joins.shapes import chain, clique, cycle, star

Split = Callable[[JoinGraph, Relations], list[Relations]]

ALL: dict[str, Split] = {
    "naive": naive, "branch, by blocks": min_cut_branch, "conservative, by blocks": min_cut_conservative,
    "branch": lambda graph, s: branch(graph.adjacency, s), "conservative": lambda graph, s: conservative(graph.adjacency, s),
}  # fmt: skip


def check(graph: JoinGraph, sets: list[Relations] | None = None) -> int:
    """Compare every partitioner with the definition; how many pairs there are."""
    definition = Definition(graph)
    blocks_of(graph)
    total = 0
    for s in sets or sorted(definition.connected):
        wanted = definition.pairs(s)
        total += len(wanted)
        for name, split in ALL.items():
            found = split(graph, s)
            assert sorted(found) == wanted, f"{name}: {s:b} in {graph.edges()}"
    return total


@pytest.mark.parametrize(("n", "graphs"), [(1, 1), (2, 1), (3, 4), (4, 38), (5, 728)])
def test_all_connected_graphs_and_their_connected_sets(n, graphs):
    assert sum(1 for graph in connected_graphs(n) if check(graph) >= n - 1) == graphs


@pytest.mark.slow
def test_all_connected_graphs_of_six_relations():
    assert sum(1 for graph in connected_graphs(6) if check(graph, [graph.all])) == 26_704


@pytest.mark.parametrize("n", [6, 7, 8])
def test_random_graphs(n):
    for seed in range(8):
        check(random_graph(n, seed % 2 + seed, seed))


def test_blocks_that_hang_on_one_another():
    """A triangle, a square, a bridge, a clique of four and a leaf, in a row, numbered at random."""
    edges = [
        (0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (5, 2), (4, 6), (6, 7), (6, 8), (6, 9), (7, 8), (7, 9), (8, 9), (9, 10),
    ]  # fmt: skip
    for seed in range(4):
        numbers = Random(seed).sample(range(11), 11)
        graph = JoinGraph(11, [(numbers[u], numbers[v]) for u, v in edges])
        check(graph, [graph.all])
        assert graph.blocks is not None
        bridges, complete, others = graph.blocks
        assert (len(bridges), sorted(map(len, complete)), len(others)) == (2, [3, 4], 1)


@pytest.mark.parametrize("split", [min_cut_branch, min_cut_conservative, hypergraph])
def test_answers_do_not_depend_on_what_was_asked_before(split):
    """Also in their order: graphs are kept from query to query, and a trace shows the order."""
    for make in (lambda: grid(2, 3), lambda: JoinGraph(4, [(0, 1), (1, 2), (2, 3), (1, 3)])):
        asked_first, asked_last = make(), make()
        first = split(asked_first, asked_first.all)
        split(asked_last, 0b11)
        assert split(asked_last, asked_last.all) == split(asked_first, asked_first.all) == first


def test_sets_of_a_graph_that_is_not_connected():
    graph = JoinGraph(7, [(0, 2), (2, 4), (0, 4), (1, 3), (3, 5)])
    for split in (naive, min_cut_branch, min_cut_conservative, hypergraph):
        assert sorted(split(graph, 0b10101)) == [0b00001, 0b00101, 0b10001]
        assert sorted(split(graph, 0b101010)) == [0b000010, 0b001010]
        assert split(graph, 1 << 6) == []


@pytest.mark.few(2)
@pytest.mark.parametrize("split", [min_cut_branch, min_cut_conservative], ids=["branch", "conservative"])
def test_many_relations_need_no_recursion(split):
    """Whole graphs and parts of them, far beyond the recursion limit."""
    for graph in (chain(1100), star(1100)):
        assert len(split(graph, graph.all)) == 1099
        assert len(split(graph, (1 << 1050) - 1)) == 1049
    ring = cycle(2 * MAX_DEPTH)
    assert len(split(ring, ring.all)) == MAX_DEPTH * (2 * MAX_DEPTH - 1)


@pytest.mark.parametrize(
    ("graph", "calls"), [(star(20), 20), (chain(20), 20), (star(10), 10), (cycle(10), 46), (clique(10), 512)]
)
def test_no_set_is_tried_in_vain(graph, calls):
    """Generate-and-test grows half a million sets on the star of 20; branching calls itself once for each pair."""
    counted = 0

    def count(frame, event, argument):
        nonlocal counted
        counted += event == "call" and frame.f_code.co_name == "_grow"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        branch(graph.adjacency, graph.all)
    finally:
        sys.setprofile(before)
    assert counted == calls


def test_partitioners_by_name():
    graph = cycle(6)
    for name, split in PARTITIONERS.items():
        assert sorted(split(graph, graph.all)) == sorted(naive(graph, graph.all)), name


def test_hypergraphs():
    """Connected sets and their pairs on random hypergraphs; what hangs together only by hyperedges included."""
    random = Random(7)
    pairs = by_hyperedge = 0
    for _ in range(500):
        graph = random_hypergraph(random.randint(2, 7), random)
        definition = Definition(graph)
        for s in range(1, 1 << graph.n):
            assert connected(graph, s) == (s in definition.connected), f"{s:b} in {graph.edges()} {graph.hyperedges}"
        for s in sorted(definition.connected):
            found = hypergraph(graph, s)
            assert sorted(found) == definition.pairs(s) == naive(graph, s), f"{s:b} in {graph.edges()} {graph.hyperedges}"
            pairs += len(found)
            by_hyperedge += not graph.connected(s)
    assert pairs > 5_000 and by_hyperedge > 200
