"""Which enumerator a graph gets."""

from math import prod

import pytest

from optimizer.joins.csg import count_connected_sets
from optimizer.joins.graph import JoinGraph
from optimizer.joins.policy import Enumeration, choose
from tests.joins.shapes import chain, clique, cycle, star

EXACT, LINEARIZED, GOO_DP = Enumeration


def side_by_side(*graphs: JoinGraph) -> JoinGraph:
    edges = []
    first = 0
    for graph in graphs:
        edges += [(first + u, first + v) for u, v in graph.edges()]
        first += graph.n
    return JoinGraph(first, edges)


def spider(*arms: int) -> JoinGraph:
    """Relation 0 with chains of these lengths."""
    edges = []
    n = 1
    for length in arms:
        edges += [(0 if i == 0 else n + i - 1, n + i) for i in range(length)]
        n += length
    return JoinGraph(n, edges)


TEN_THOUSAND = side_by_side(star(14), star(11), star(10), chain(21), chain(3), chain(2))  # 8205 + 1034 + 521 + 231 + 6 + 3
ONE_MORE = side_by_side(TEN_THOUSAND, JoinGraph(1))


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (JoinGraph(1), EXACT),
        (clique(13), EXACT),
        (clique(14), LINEARIZED),
        (star(13), EXACT),
        (star(14), EXACT),  # 8,205 connected sets
        (star(15), LINEARIZED),  # 16,398
        (chain(100), EXACT),  # 5,050
        (chain(140), EXACT),  # 9,870: few enough, however many relations
        (chain(141), GOO_DP),  # 10,011
        (cycle(100), EXACT),  # 9,901
        (cycle(101), GOO_DP),  # 10,101
        (TEN_THOUSAND, EXACT),
        (ONE_MORE, LINEARIZED),
        (star(100), LINEARIZED),
        (star(101), GOO_DP),
        (clique(100), LINEARIZED),
        (clique(101), GOO_DP),
    ],
)
def test_table(graph: JoinGraph, expected: Enumeration) -> None:
    found = choose(graph)
    assert found.enumeration is expected, found.why


def test_thresholds_are_parameters() -> None:
    assert choose(clique(5), exact_below=5, csgs=31).enumeration is EXACT
    assert choose(clique(5), exact_below=6, csgs=0).enumeration is EXACT
    assert choose(clique(5), exact_below=5, csgs=30).enumeration is LINEARIZED
    assert choose(clique(5), exact_below=5, csgs=30, linearized_up_to=5).enumeration is LINEARIZED
    assert choose(clique(5), exact_below=5, csgs=30, linearized_up_to=4).enumeration is GOO_DP


def test_the_count_is_exact_at_the_threshold() -> None:
    """A spider has Π (length + 1) connected sets with its centre, and those of its arms."""
    arms = (5, 4, 4, 3, 2, 1)
    number = prod(a + 1 for a in arms) + sum(a * (a + 1) // 2 for a in arms)
    assert count_connected_sets(spider(*arms)) == number
    assert choose(spider(*arms), csgs=number).enumeration is EXACT
    assert choose(spider(*arms), csgs=number - 1).enumeration is LINEARIZED
    assert f"{number:,}" in choose(spider(*arms), csgs=number).why
