"""CD-C against the closure of the initial tree, and against its weaker relatives CD-A and CD-B."""

from collections.abc import Sequence
from random import Random

import pytest

from optimizer.algebra import Join, JoinKind, Node, Tree, compare
from optimizer.joins.conflicts import Edge, Rule, TreeOperator, conflicts, detect, settle
from optimizer.joins.graph import Relations, subsets
from optimizer.joins.operator_tree import operators_of
from tests.conftest import quick_and_slow
from tests.joins.bags import (
    ANTI,
    FULL,
    INNER,
    LEFT,
    RIGHT,
    SEMI,
    SIMPLE,
    WIDE,
    Style,
    absent,
    call,
    coalesced,
    equal,
    join,
    random_tree,
    scan,
    x,
)  # fmt: skip
from tests.joins.closure import Joined, OperatorTree, closure, joined


def applicable(edge: Edge, a: Relations, b: Relations) -> bool:
    """Whether the operator may join a plan of `a`, on its left, with a plan of `b`.

    Inner: the TES has met here, whichever relations are on which side. Full joins are tried both ways by the caller.
    """
    if edge.operator.kind is JoinKind.INNER:
        met = not edge.tes & ~(a | b) and edge.tes & a and edge.tes & b
    else:
        met = not edge.tes_left & ~a and not edge.tes_right & ~b
    return bool(met) and all(rule.allows(a | b) for rule in edge.rules)


def initial(tree: Tree) -> tuple[OperatorTree, list[TreeOperator]]:
    """A tree whose joins have one operator each, as a canonical operator tree."""
    collected = operators_of(tree)
    operators = [o.operator for o in collected.operators]
    leaves = {id(leaf): 1 << i for i, leaf in enumerate(collected.leaves)}
    count = iter(range(len(operators)))

    def convert(node: Node) -> OperatorTree:
        if id(node) in leaves:
            return leaves[id(node)]
        left, right = map(convert, node.inputs)
        if isinstance(node, Tree) and isinstance(node.op, Join) and node.op.kind is RIGHT:
            left, right = right, left
        return joined(operators, next(count), left, right)

    converted = convert(tree)
    assert next(count, None) is None, "a join has several conjuncts"
    return converted, operators


def plans(edges: Sequence[Edge], n: int) -> set[OperatorTree]:
    """All join trees in which every operator is applicable, by brute force over splits."""
    operators = [edge.operator for edge in edges]
    found: dict[Relations, set[OperatorTree]] = {1 << i: {1 << i} for i in range(n)}
    for s in range(1, 1 << n):
        if s & s - 1:
            found[s] = {
                joined(operators, k, left, right)
                for a in subsets(s)
                if a != s
                for k, edge in enumerate(edges)
                if found[a] and found[s ^ a] and applicable(edge, a, s ^ a)
                for left in found[a]
                for right in found[s ^ a]
            }
    return found[(1 << n) - 1]


def cd_a(operators: Sequence[TreeOperator]) -> list[Edge]:
    """Conflicts become part of the TES."""
    edges = []
    for b in operators:
        tes = b.ses
        for conflict in conflicts(b, operators):
            tes |= conflict.then
        edges.append(Edge(b, tes, ()))
    return edges


def cd_b(operators: Sequence[TreeOperator]) -> list[Edge]:
    """Conflict rules ask for the whole other side."""
    return [settle(b, {Rule(c.when, c.then): None for c in conflicts(b, operators)}) for b in operators]


STYLES = {"pairs": SIMPLE, "wide": WIDE, "outer": Style(kinds=(INNER, LEFT, LEFT, FULL))}
MANY = ((style, range(1000, 6000), 10_000) for style in STYLES)


@pytest.mark.parametrize(
    ("style", "seeds", "least"), quick_and_slow([("pairs", range(250), 600), ("wide", range(250), 600)], MANY), ids=str
)
def test_plans_are_the_closure(style: str, seeds: range, least: int) -> None:
    total = 0
    for seed in seeds:
        random = Random(seed)
        n = random.choice([3, 4, 5, 6, 6])
        tree, operators = initial(random_tree(random, n, STYLES[style]))
        expected = closure(operators, tree)
        assert plans(detect(operators), n) == expected, f"tree {seed} of style {style}: {tree}"
        total += len(expected)
    assert total > least


def test_weaker_detectors_are_sound_and_miss_plans() -> None:
    """The shares depend on how many predicates reject NULLs: measured here 60 % and 89 % at n = 5."""
    core = by_a = by_b = 0
    for seed in range(200):
        tree, operators = initial(random_tree(Random(seed), 5))
        expected = closure(operators, tree)
        a, b = plans(cd_a(operators), 5), plans(cd_b(operators), 5)
        assert a <= b <= expected == plans(detect(operators), 5)
        core, by_a, by_b = core + len(expected), by_a + len(a), by_b + len(b)
    assert 0.5 < by_a / core < 0.8 < by_b / core < 0.97


def test_inner_joins_have_no_conflicts() -> None:
    operators = initial(random_tree(Random(1), 6, Style(kinds=(INNER,))))[1]
    assert all(edge.tes == edge.operator.references and not edge.rules for edge in detect(operators))


def edges_of(tree: Tree) -> list[Edge]:
    return detect(initial(tree)[1])


def test_left_below_inner() -> None:
    """(A ⟕ B) ⋈(B, C) C: associativity fails, so A must be there whenever B is."""
    edges = edges_of(join(INNER, join(LEFT, scan(0), scan(1), equal(0, 1)), scan(2), equal(1, 2)))
    assert [edge.tes for edge in edges] == [0b011, 0b111]


def test_rules_stay_where_the_tes_does_not_decide_them() -> None:
    """(A ⟗ B) ⟕ C on p(A, C) that does not reject NULLs on A: neither property holds, so A and B need each other below C.
    D joins C: where A is below that join, so must be B, and the other way round."""
    late = call("or", equal(0, 2), absent(0))
    tree = join(LEFT, join(FULL, scan(0), scan(1), equal(0, 1)), scan(2), late)
    edges = edges_of(tree)
    assert (edges[1].tes, edges[1].rules) == (0b111, ())
    edges = edges_of(join(LEFT, tree, scan(3), equal(2, 3)))
    assert edges[2].tes == 0b1100
    assert plans(edges, 4) == closure(*reversed(initial(join(LEFT, tree, scan(3), equal(2, 3)))))


def test_rule_allows() -> None:
    rule = Rule(0b001, 0b110)
    assert rule.allows(0b1000) and rule.allows(0b111) and not rule.allows(0b011)


def test_right_side_of_a_semi_join_is_whole() -> None:
    for kind in (SEMI, ANTI):
        right = join(INNER, join(INNER, scan(1), scan(2), equal(1, 2)), scan(3), equal(2, 3))
        edge = edges_of(join(kind, scan(0), right, equal(0, 1)))[-1]
        assert (edge.tes_left, edge.tes_right, edge.rules) == (0b0001, 0b1110, ())


def test_chain_of_left_joins_is_free_however_long() -> None:
    """Each predicate rejects NULLs on the relation before, so a pair far apart may change places through those between."""
    tree = scan(0)
    for i in range(1, 7):
        tree = join(LEFT, tree, scan(i), equal(i - 1, i))
    edges = edges_of(tree)
    assert all(edge.tes.bit_count() == 2 and not edge.rules for edge in edges)
    assert len(plans(edges, 7)) == 132  # the Catalan number of 6 joins


def test_relations_that_are_null_together() -> None:
    """A ⟕ (B ⋈ C), then ⟕ D on coalesce(B.x, C.x) = D.x: no single relation's NULLs are rejected, those of both are."""
    below = join(LEFT, scan(0), join(INNER, scan(1), scan(2), equal(1, 2)), equal(0, 1))
    top = edges_of(join(LEFT, below, scan(3), compare("=", coalesced(1, 2), x(3))))[-1]
    assert top.operator.rejects == (0b0110, 0b1000)
    assert (top.tes, top.rules) == (0b1110, ())


def test_closure_of_three_inner_joins() -> None:
    tree = join(INNER, join(INNER, join(INNER, scan(0), scan(1), equal(0, 1)), scan(2), equal(1, 2)), scan(3), equal(2, 3))
    found = closure(*reversed(initial(tree)))
    assert len(found) == 5
    assert all(isinstance(t, Joined) and t.relations == 0b1111 for t in found)
