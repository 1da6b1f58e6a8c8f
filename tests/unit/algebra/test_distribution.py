"""Distributions on three nodes: every claim is checked on rows that are really placed there.

Two rows refute a clustering, so all tables of two rows that are as they should be, in all places they may have, decide whether
a claim is true (as in test_traits). Joins are run node by node, on random rows with NULLs, and compared with one whole join.
"""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

from optimizer.algebra.columns import column_ids, column_set
from optimizer.algebra.distribution import (
    ANYWHERE,
    BROADCAST,
    RANDOM,
    SINGLETON,
    Distribution,
    Kind,
    Required,
    Scheme,
    colocated,
    hashed,
    joined,
    may_broadcast,
    projected,
    ranged,
    satisfies,
)
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import SortKey
from tests.unit.algebra.test_traits import NULL, random_props, tables_with

NODES = 3
ONE, OTHER = Scheme("murmur", NODES), Scheme("boundaries", NODES)
Row = tuple[Any, ...]


def distributions() -> list[Distribution]:
    found = [SINGLETON, BROADCAST, RANDOM]
    for columns in ((0,), (2,), (0, 1), (1, 2), (0, 1, 2)):
        found += [
            hashed(columns, ONE),
            hashed(columns, ONE)._replace(nulls_anywhere=True),
            ranged(tuple(map(SortKey, columns)), OTHER),
        ]
    return found


def places(delivered: Distribution, first: Row, second: Row) -> list[tuple[set[int], set[int]]]:
    """All nodes that two rows may be on; a hash or range may be any function of the placing columns."""
    nodes = range(NODES)
    match delivered.kind:
        case Kind.SINGLETON:
            return [({n}, {n}) for n in nodes]
        case Kind.BROADCAST:
            return [(set(nodes), set(nodes))]
        case Kind.RANDOM:
            return [({a}, {b}) for a in nodes for b in nodes]
    ids = list(column_ids(delivered.columns))
    one, two = ([row[c] for c in ids] for row in (first, second))
    if one == two and not (delivered.nulls_anywhere and NULL in one):
        return [({n}, {n}) for n in nodes]
    return [({a}, {b}) for a in nodes for b in nodes]


@pytest.mark.few(2)
@pytest.mark.parametrize("part", range(4))
def test_a_clustering_is_satisfied_if_and_only_if_no_two_rows_refute_it(part: int) -> None:
    for seed in range(12 * part, 12 * part + 12):
        props = random_props(Random(seed))
        tables = [(tuple(a), tuple(b)) for a, b in tables_with(props, 2, 4)]
        for delivered in distributions():
            apart = {
                column_set(c for c in range(3) if a[c] == b[c])
                for a, b in tables
                if any(len(x | y) > 1 for x, y in places(delivered, a, b))
            }  # what two rows agree on that may be on different nodes
            for columns in range(8):
                truth = delivered.kind is Kind.SINGLETON or not any(not columns & ~same for same in apart)
                if delivered.kind is Kind.BROADCAST:
                    truth = False  # a group is whole on its node, but on every node
                claim = satisfies(delivered, Required(clustered=columns), props)
                assert claim == truth, f"seed {seed}: {delivered.show(str)} clusters {columns:b}: {truth}, not {claim}"


def test_exact_distributions() -> None:
    plain = LogicalProps(0b111)
    equal = LogicalProps(0b111, equivalences=(0b110,))
    assert all(satisfies(d, ANYWHERE, plain) for d in distributions())
    for d in distributions():
        assert satisfies(d, Required(d), plain)
        assert satisfies(d, Required(SINGLETON), plain) == (d is SINGLETON)
        assert satisfies(d, Required(BROADCAST), plain) == (d is BROADCAST)
    assert satisfies(hashed((0, 1), ONE), Required(hashed((0, 2), ONE)), equal)
    assert not satisfies(hashed((0, 1), ONE), Required(hashed((0, 2), ONE)), plain)
    assert not satisfies(hashed((0, 1), ONE), Required(hashed((1, 0), ONE)), plain)  # another function of the two
    assert not satisfies(hashed((0,), ONE), Required(hashed((0,), ONE._replace(partitions=4))), plain)
    assert not satisfies(hashed((0,), ONE), Required(hashed((0, 1), ONE)), plain)
    loose = hashed((0,), ONE)._replace(nulls_anywhere=True)
    assert not satisfies(loose, Required(hashed((0,), ONE)), plain)
    assert satisfies(loose, Required(hashed((0,), ONE)), LogicalProps(0b111, not_null=1))
    falling = ranged((SortKey(0, True),), OTHER)
    assert not satisfies(falling, Required(ranged((SortKey(0),), OTHER)), plain)
    first = ranged((SortKey(0, False, True),), OTHER)
    assert not satisfies(first, Required(ranged((SortKey(0),), OTHER)), plain)
    assert satisfies(first, Required(ranged((SortKey(0),), OTHER)), LogicalProps(0b111, not_null=1))


# --- joins, node by node: left rows are (a, b, number), columns 0 to 2; right rows (c, d, number), columns 3 to 5

LEFT, RIGHT = LogicalProps(0b111), LogicalProps(0b111000)
KEPT = {JoinKind.LEFT: (True, False), JoinKind.RIGHT: (False, True), JoinKind.FULL: (True, True)}


def place(rows: list[Row], delivered: Distribution, first: int, random: Random, seed: int) -> list[list[Row]]:
    """The rows of each node."""
    nodes: list[list[Row]] = [[] for _ in range(NODES)]
    for row in rows:
        key = tuple(row[k.column - first] for k in delivered.keys)
        if delivered.kind is Kind.BROADCAST:
            for node in nodes:
                node.append(row)
        elif delivered.kind is Kind.SINGLETON:
            nodes[1].append(row)
        elif delivered.kind is Kind.RANDOM or (delivered.nulls_anywhere and None in key):
            random.choice(nodes).append(row)
        elif delivered.kind is Kind.HASH:
            nodes[Random(f"{seed} {key}").randrange(NODES)].append(row)
        else:
            nodes[min(sum(9 if v is None else v for v in key[:1]), 5) // 2].append(row)
    return nodes


def join(kind: JoinKind, left: list[Row], right: list[Row], pairs: list[tuple[int, int]]) -> list[Row]:
    def match(x: Row, y: Row) -> bool:
        return all(x[a] is not None and x[a] == y[b - 3] for a, b in pairs)

    if kind.left_only:
        return [x for x in left if any(match(x, y) for y in right) is (kind is JoinKind.SEMI)]
    keep_left, keep_right = KEPT.get(kind, (False, False))
    found = [x + y for x in left for y in right if match(x, y)]
    found += [(*x, None, None, None) for x in left if keep_left and not any(match(x, y) for y in right)]
    found += [(None, None, None, *y) for y in right if keep_right and not any(match(x, y) for x in left)]
    return found


def shown(rows: list[Row]) -> list[str]:
    return sorted(map(repr, rows))


def random_rows(random: Random) -> list[Row]:
    return [(random.choice([None, 0, 1, 2, 4, 5]), random.choice([None, 0, 1, 3]), i) for i in range(random.randrange(14))]


LEFTS = [SINGLETON, RANDOM, BROADCAST, hashed((0,), ONE), hashed((0, 1), ONE), hashed((1, 0), ONE), ranged((SortKey(0),), OTHER)]
RIGHTS = [SINGLETON, RANDOM, BROADCAST, hashed((3,), ONE), hashed((3, 4), ONE), hashed((4,), ONE), ranged((SortKey(3),), OTHER)]
RIGHTS += [hashed((3,), ONE._replace(function="other")), hashed((3,), ONE)._replace(nulls_anywhere=True)]
INNER_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI)


def joins_on_each_node(kind: JoinKind, left: Distribution, right: Distribution, pairs: list[tuple[int, int]]) -> bool:
    """Whether joining what each node has, and taking all results, is said to be right."""
    left_whole, right_whole = (d.kind is Kind.BROADCAST for d in (left, right))
    if left_whole or right_whole:
        may_left, may_right = may_broadcast(kind)
        return (left_whole and not right_whole and may_left) or (right_whole and not left_whole and may_right)
    return colocated(left, right, pairs, (LEFT, RIGHT))


@pytest.mark.parametrize("kind", INNER_KINDS, ids=str)
def test_joins_on_each_node_give_the_whole_join(kind: JoinKind) -> None:
    allowed = refuted = 0
    for left, right in product(LEFTS, RIGHTS):
        for pairs in ([(0, 3)], [(0, 3), (1, 4)], [(1, 3)]):
            claim = joins_on_each_node(kind, left, right, pairs)
            wrong = False
            for seed in range(12 if claim else 150):
                random = Random(f"{seed} {pairs}")
                a, b = random_rows(random), random_rows(random)
                at_left, at_right = (
                    place(a, left, 0, random, seed),
                    place(b, right, 3, random, seed if right.scheme == ONE else seed + 1),
                )
                if right.scheme is not None and right.scheme.function == "other":
                    at_right = place(b, right, 3, random, seed + 1000)
                results = [join(kind, x, y, pairs) for x, y in zip(at_left, at_right, strict=True)]
                right_result = shown([row for node in results for row in node]) == shown(join(kind, a, b, pairs))
                if claim:
                    assert right_result, f"{kind} of {left.show(str)} and {right.show(str)} on {pairs}"
                    assert_lie_as(results, joined(kind, left, right), kind, pairs)
                wrong = not right_result
                if wrong:
                    break
            allowed += claim
            refuted += not claim and wrong
            # a semi join finds all partners of a left row on one node if the right side is placed by them
            by_chance = kind is JoinKind.SEMI and left.kind is Kind.BROADCAST
            assert claim or wrong or by_chance, (
                f"{kind} of {left.show(str)} and {right.show(str)} on {pairs} is right, and refused"
            )
    assert refuted
    assert allowed >= 4 or kind is JoinKind.FULL


def assert_lie_as(
    results: list[list[Row]], claims: tuple[Distribution, ...], kind: JoinKind, pairs: list[tuple[int, int]]
) -> None:
    """Every result row is where the claimed distributions say."""
    for claim in claims:
        where: dict[Row, set[int]] = {}
        for node, rows in enumerate(results):
            for row in rows:
                key = tuple(row[k.column] for k in claim.keys)
                if claim.kind is Kind.SINGLETON:
                    assert node == 1
                elif claim.kind in (Kind.HASH, Kind.RANGE) and not (claim.nulls_anywhere and None in key):
                    where.setdefault(key, set()).add(node)
        apart = {key for key, nodes in where.items() if len(nodes) > 1}
        assert not apart, f"{kind} on {pairs}: rows {apart} of {claim.show(str)} are on several nodes"


def test_null_safe_pairs_need_nulls_in_their_place() -> None:
    loose = hashed((3,), ONE)._replace(nulls_anywhere=True)
    assert colocated(hashed((0,), ONE), loose, [(0, 3)], (LEFT, RIGHT))
    assert not colocated(hashed((0,), ONE), loose, [(0, 3)], (LEFT, RIGHT), null_safe=True)


def test_a_left_join_leaves_its_right_columns_clustered_but_for_null() -> None:
    ours, theirs = joined(JoinKind.LEFT, hashed((0,), ONE), hashed((3,), ONE))
    props = LogicalProps(0b111111)
    assert satisfies(ours, Required(clustered=0b1), props)
    assert not satisfies(theirs, Required(clustered=0b1000), props)
    assert satisfies(theirs, Required(clustered=0b1000), LogicalProps(0b111111, not_null=0b1000))


def test_projections_keep_what_they_can_still_say() -> None:
    below = LogicalProps(0b111, equivalences=(0b011,))
    assert projected(hashed((0, 2), ONE), {7: 1, 8: 2}, below) == hashed((7, 8), ONE)
    assert projected(hashed((0, 2), ONE), {7: 1}, below) == RANDOM
    assert projected(SINGLETON, {}, below) == SINGLETON
    assert projected(BROADCAST, {}, below) == BROADCAST


def test_distributions_are_shown_by_name() -> None:
    assert [d.show(str) for d in (SINGLETON, RANDOM, hashed((1, 0), ONE), ranged((SortKey(1, True),), OTHER))] == [
        "singleton", "random", "hash(1, 0)", "range(1 desc)",
    ]  # fmt: skip
    assert hashed((1,), ONE)._replace(nulls_anywhere=True).show(str) == "hash(1) but NULL"
    assert [r.show(str) for r in (ANYWHERE, Required(SINGLETON), Required(clustered=0b101))] == [
        "any",
        "singleton",
        "clustered(0, 2)",
    ]
