"""Regions of joins of any kind: every split gives the same rows, nothing raises that did not, and the initial tree is there."""

import itertools
from collections.abc import Mapping
from random import Random

import pytest

from optimizer.algebra import Call, Filter, Join, JoinKind, Literal, Node, Scalar, Scan, Tree, column_ids, compare, postorder
from optimizer.joins import reorderability
from optimizer.joins.graph import Relations, subsets, union_over
from optimizer.joins.region import JoinRegion, RegionJoin
from optimizer.joins.reorderability import Condition, Rejects
from tests.conftest import quick_and_slow
from tests.joins.bags import (
    ANTI,
    FULL,
    INNER,
    INNER_ONLY,
    INT,
    LEFT,
    RIGHT,
    SEMI,
    SIMPLE,
    WIDE,
    WILD,
    Bag,
    Evaluator,
    Style,
    call,
    coalesced,
    equal,
    join,
    random_tree,
    random_values,
    scan,
    x,
)  # fmt: skip
from tests.joins.shapes import EDGES, PAIRS, SETS

Splits = Mapping[Relations, list[tuple[Relations, Relations]]]


def valid_splits(region: JoinRegion) -> dict[Relations, list[tuple[Relations, Relations]]]:
    """Ordered splits of every set into two parts that have plans, by brute force over all subsets."""
    splits: dict[Relations, list[tuple[Relations, Relations]]] = {}
    for s in range(1, region.graph.all + 1):
        if s & s - 1:
            found = [(a, s ^ a) for a in subsets(s) if a != s and all(not p & p - 1 or splits[p] for p in (a, s ^ a))]
            splits[s] = [(a, b) for a, b in found if region.joins(a, b) is not None]
    return splits


def used(region: JoinRegion, splits: Splits) -> list[Relations]:
    """The sets that some plan of the whole region joins, small ones first."""
    found: set[Relations] = set()
    stack = [region.graph.all]
    while stack:
        s = stack.pop()
        if s & s - 1 and s not in found:
            found.add(s)
            stack.extend(part for split in splits[s] for part in split)
    return sorted(found)


def the_join(region: JoinRegion, a: Relations, b: Relations) -> RegionJoin:
    made = region.joins(a, b)
    assert made is not None, region.refusal(a, b)
    return made


def check_partitions(region: JoinRegion, splits: Splits, plain: Splits) -> None:
    """The graph and `buildable` agree with brute force. `plain`: the splits without cross products; a set that has some has no
    others, of parts that have some."""
    for s, found in splits.items():
        assert region.buildable(s) == bool(found)
        if plain[s]:
            found = [(a, b) for a, b in found if all(not part & (part - 1) or plain[part] for part in (a, b))]
        assert found or not splits[s]
        assert sorted(region.partitions(s)) == sorted({a if a & s & -s else b for a, b in found})


def check_rows(tree: Tree, region: JoinRegion, splits: Splits, random: Random, databases: int) -> int:
    """Every split of every set gives the rows of the set's other splits; the whole gives the tree's, and tests conjuncts that
    may raise on no others than the tree does."""
    relations = sorted(column_ids(tree.columns | _all_columns(tree)))[-1] // 2 + 1
    count = 0
    for _ in range(databases):
        data = [Evaluator(relations).relation(i, random_values(random)) for i in range(relations)]
        as_written, evaluator = Evaluator(relations), Evaluator(relations)
        expected = as_written.run(tree, data)
        results: dict[Relations, Bag] = {1 << i: evaluator.run(leaf, data) for i, leaf in enumerate(region.leaves)}
        for s in used(region, splits):
            for a, b in splits[s]:
                made = the_join(region, a, b)
                rows = evaluator.join(made.join.kind, made.join.predicate, results[a], results[b])
                rows = evaluator.filter(made.filter, rows)
                assert results.setdefault(s, rows) == rows, f"{a:b} | {b:b} of\n" + "\n".join(map(str, region.edges))
                count += 1
        assert results[region.graph.all] == expected
        for conjunct, slots in evaluator.seen.items():
            assert slots <= as_written.seen.get(conjunct, set()), f"{conjunct} is tested on other rows than before"
    return count


def _all_columns(tree: Tree) -> int:
    columns = 0
    for node in postorder(tree):
        if isinstance(node, Tree) and isinstance(node.op, Scan):
            columns |= node.columns
    return columns


def check_written_order(tree: Tree, region: JoinRegion) -> None:
    """The initial tree is one of the plans, but for cross products that can be avoided."""
    sets: dict[int, Relations] = {id(leaf): 1 << i for i, leaf in enumerate(region.leaves)}
    crosses = 0
    for node in postorder(tree):
        if id(node) in sets or not node.inputs or not all(id(child) in sets for child in node.inputs):
            continue  # inside a leaf
        left, right = (sets[id(child)] for child in node.inputs)
        sets[id(node)] = left | right
        if region.joins(left, right) is None:
            one, other = (child.columns for child in node.inputs)
            assert isinstance(node, Tree) and isinstance(node.op, Join) and node.op.kind is INNER
            assert not any(s.columns & one and s.columns & other for s in node.op.predicate), region.refusal(left, right)
            crosses += 1
    assert sets[id(tree)] == region.graph.all
    if crosses:
        assert region.buildable(region.graph.all)


def check(seed: int, style: Style, databases: int) -> int:
    random = Random(seed)
    tree = random_tree(random, random.choice([2, 3, 4, 5, 6]), style)
    region = JoinRegion(tree)
    splits = valid_splits(region)
    check_partitions(region, splits, valid_splits(JoinRegion(tree, None)))
    check_written_order(tree, region)
    assert region.visible(region.graph.all) == tree.columns
    return check_rows(tree, region, splits, random, databases)


STYLES = {"pairs": SIMPLE, "wide": WIDE, "wild": WILD, "inner": INNER_ONLY}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("seeds", "databases", "least"), quick_and_slow([(range(250), 3, 3000)], [(range(1000, 4000), 6, 100_000)]), ids=str
)
def test_every_split_gives_the_same_rows(style: str, seeds: range, databases: int, least: int) -> None:
    assert sum(check(seed, STYLES[style], databases) for seed in seeds) > least


WRONG: list[tuple[str, JoinKind, JoinKind, Condition]] = [
    ("ASSOC", LEFT, LEFT, ()), ("ASSOC", LEFT, INNER, ()), ("ASSOC", FULL, LEFT, ()), ("ASSOC", FULL, FULL, (Rejects("a", 2),)),
    ("ASSOC", INNER, FULL, ()), ("L_ASSCOM", FULL, INNER, ()), ("L_ASSCOM", FULL, LEFT, ()), ("L_ASSCOM", LEFT, FULL, ()),
    ("L_ASSCOM", SEMI, FULL, ()), ("R_ASSCOM", INNER, LEFT, ()), ("R_ASSCOM", LEFT, INNER, ()),
    ("R_ASSCOM", FULL, FULL, (Rejects("a", 3),)),
]  # fmt: skip


@pytest.mark.parametrize(("table", "a", "b", "condition"), WRONG, ids=lambda v: v if isinstance(v, str) else None)
def test_a_wrong_entry_is_noticed(
    table: str, a: JoinKind, b: JoinKind, condition: Condition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reorderability, table, {**getattr(reorderability, table), (a, b): condition})
    style = Style(kinds=(a, b))
    with pytest.raises(AssertionError):
        sum(check(seed, style, 3) for seed in range(2000))


# -- counts ---------------------------------------------------------------------------------------------------------------


def inner_tree(n: int, edges: list[tuple[int, int]]) -> Tree:
    """A left-deep tree of inner joins, each conjunct at the lowest join that has its columns."""
    tree = scan(0)
    for i in range(1, n):
        tree = join(INNER, tree, scan(i), *(equal(u, v) for u, v in edges if v == i))
    return tree


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_inner_regions_have_the_counts_of_their_shape(n: int) -> None:
    for name, edges in EDGES.items():
        region = JoinRegion(inner_tree(n, edges(n)))
        assert region.inner_only and not region.graph.hyperedges
        counted = [region.partitions(s) for s in range(1, region.graph.all + 1) if s & s - 1 and region.buildable(s)]
        assert (len(counted) + n, sum(map(len, counted))) == (SETS[name](n), PAIRS[name](n)), name


def test_left_joins_from_one_relation_are_as_free_as_a_star() -> None:
    tree = scan(0)
    for i in range(1, 7):
        tree = join(LEFT, tree, scan(i), equal(0, i))
    region = JoinRegion(tree)
    assert not region.inner_only
    assert sum(len(region.partitions(s)) for s in range(1, 128) if s & s - 1 and region.buildable(s)) == 6 * 2**5


# -- shapes of joins ------------------------------------------------------------------------------------------------------


def test_right_join_is_a_left_join_with_its_inputs_exchanged() -> None:
    region = JoinRegion(join(RIGHT, scan(0), scan(1), equal(0, 1)))
    assert region.joins(0b01, 0b10) == RegionJoin(Join(RIGHT, (equal(0, 1),)), ())
    assert region.joins(0b10, 0b01) == RegionJoin(Join(LEFT, (equal(0, 1),)), ())


def test_semi_join_has_no_mirror_image_and_hides_its_right_side() -> None:
    region = JoinRegion(join(SEMI, scan(0), scan(1), equal(0, 1)))
    assert region.joins(0b01, 0b10) == RegionJoin(Join(SEMI, (equal(0, 1),)), ())
    assert region.joins(0b10, 0b01) is None
    assert region.refusal(0b10, 0b01) == "a semi join has no mirror image"
    assert (region.visible(0b11), region.visible(0b10)) == (0b0011, 0b1100)


def test_conjunct_above_an_outer_join_becomes_a_filter() -> None:
    """(A ⟕ B) ⋈ C on q(A, C) and p(B, C), p not rejecting NULLs: A and C may join first, p is tested when B is there."""
    late = compare("=", coalesced(1, 2), x(2))
    tree = join(INNER, join(LEFT, scan(0), scan(1), equal(0, 1)), scan(2), equal(0, 2), late)
    region = JoinRegion(tree)
    assert region.joins(0b101, 0b010) == RegionJoin(Join(LEFT, (equal(0, 1),)), (late,))
    assert region.joins(0b010, 0b101) == RegionJoin(Join(RIGHT, (equal(0, 1),)), (late,))
    assert region.joins(0b100, 0b010) is None
    built = the_join(region, 0b101, 0b010).over(scan(0), scan(1))
    assert isinstance(built.op, Filter) and isinstance(built.inputs[0], Tree)
    check_rows(tree, region, valid_splits(region), Random(0), 30)


def test_conjuncts_of_an_inner_join_meet_in_one_join() -> None:
    region = JoinRegion(inner_tree(3, [(0, 1), (1, 2), (0, 2)]))
    assert {s.text for s in the_join(region, 0b011, 0b100).join.predicate} == {equal(1, 2).text, equal(0, 2).text}
    assert the_join(region, 0b001, 0b010).join is the_join(region, 0b010, 0b001).join


def test_cross_product_only_where_nothing_connects() -> None:
    # A × B, then C with a conjunct to each: A × B is not needed
    region = JoinRegion(join(INNER, join(INNER, scan(0), scan(1)), scan(2), equal(0, 2), equal(1, 2)))
    assert region.joins(0b001, 0b010) is None and region.partitions(0b111) == [0b001, 0b101]
    # C's conjunct needs A and B together
    region = JoinRegion(join(INNER, join(INNER, scan(0), scan(1)), scan(2), compare("=", coalesced(0, 1), x(2))))
    assert region.joins(0b001, 0b010) == RegionJoin(Join(INNER, ()), ())
    # two parts: any two relations of them
    tree = join(INNER, join(INNER, scan(0), scan(1), equal(0, 1)), join(INNER, scan(2), scan(3), equal(2, 3)))
    assert JoinRegion(tree).graph.edges() == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_products_do_not_depend_on_the_order_they_are_written_in() -> None:
    """Nor does an outer join or a semi-join above them change which there are."""
    for kind in (LEFT, SEMI):
        found = []
        for a, b, c in itertools.permutations(range(3)):
            products = join(INNER, join(INNER, scan(a), scan(b)), scan(c))
            region = JoinRegion(join(kind, products, scan(3), equal(0, 3)))
            found.append({union_over(s, region.columns) for s in range(1, 16) if region.buildable(s)})
        assert len(found[0]) == 12 and all(sets == found[0] for sets in found)


def test_all_cross_products() -> None:
    tree = join(LEFT, join(INNER, join(INNER, scan(0), scan(1), equal(0, 1)), scan(2), equal(1, 2)), scan(3), equal(1, 3))
    assert not JoinRegion(tree).buildable(0b101) and JoinRegion(tree, cross=True).buildable(0b101)
    assert not JoinRegion(tree, cross=True).buildable(0b1101), "the left join needs what it reads"
    check_rows(tree, JoinRegion(tree, cross=True), valid_splits(JoinRegion(tree, cross=True)), Random(5), 20)


def test_a_conjunct_that_waits_connects_nothing() -> None:
    """(A × B) ⋈ (C ⟗ D) on p(A, B) and q(A, B, C): p is of one input, and is tested when the other is there."""
    wide = compare("=", coalesced(0, 1), x(2))
    tree = join(INNER, join(INNER, scan(0), scan(1)), join(FULL, scan(2), scan(3), equal(2, 3)), equal(0, 1), wide)
    region = JoinRegion(tree)
    assert region.joins(0b0001, 0b0010) == RegionJoin(Join(INNER, ()), ())
    assert region.partitions(0b1111) == [0b0001, 0b0011, 0b1101]
    check_rows(tree, region, valid_splits(region), Random(3), 20)


def test_cross_product_below_a_left_join_stays_there() -> None:
    tree = join(LEFT, scan(0), join(INNER, scan(1), scan(2)), equal(0, 1))
    region = JoinRegion(tree)
    assert region.partitions(0b111) == [0b001] and region.partitions(0b110) == [0b010]
    check_rows(tree, region, valid_splits(region), Random(1), 20)


@pytest.mark.parametrize("kind", [SEMI, ANTI, LEFT, FULL])
def test_predicate_over_one_input_keeps_the_other_whole(kind: JoinKind) -> None:
    tree = join(
        kind, join(INNER, scan(0), scan(1), equal(0, 1)), join(INNER, scan(2), scan(3), equal(2, 3)), call("is_null", x(2))
    )
    region = JoinRegion(tree)
    assert region.partitions(0b1111) == [0b0011]
    check_rows(tree, region, valid_splits(region), Random(2), 20)


# -- barriers -------------------------------------------------------------------------------------------------------------


def raising(i: int, j: int) -> Scalar:
    return compare("=", Call("+", (x(i), x(j)), INT), Literal(2, INT))


def volatile(i: int) -> Scalar:
    return compare("<", x(i), Call("random", (), INT))


def test_join_with_a_volatile_conjunct_is_a_leaf() -> None:
    low = join(INNER, join(INNER, scan(0), scan(1), equal(0, 1)), scan(2), equal(1, 2), volatile(2))
    region = JoinRegion(join(INNER, low, scan(3), equal(2, 3)))
    assert region.leaves[0] is low and len(region.leaves) == 2
    whole = JoinRegion(low)
    assert len(whole.leaves) == 2 and the_join(whole, 0b01, 0b10).join == low.op


@pytest.mark.parametrize("kind", [SEMI, ANTI, LEFT, FULL])
def test_join_that_may_raise_is_a_leaf_if_it_is_not_inner(kind: JoinKind) -> None:
    low = join(kind, scan(0), scan(1), raising(0, 1))
    assert JoinRegion(join(INNER, low, scan(2), equal(0, 2))).leaves[0] is low


def test_one_inner_join_may_raise_and_waits_for_what_was_below_it() -> None:
    """((A ⋈ B) ⋈[r(A, C)] C) ⋈ D: r waits for A, B and C, so C joins A only with B there."""
    low = join(INNER, scan(0), scan(1), equal(0, 1))
    tree = join(INNER, join(INNER, low, scan(2), equal(1, 2), raising(0, 2)), scan(3), equal(0, 3))
    region = JoinRegion(tree)
    assert len(region.leaves) == 4
    assert the_join(region, 0b010, 0b100).join.predicate == (equal(1, 2),)
    assert raising(0, 2) in the_join(region, 0b001, 0b110).join.predicate
    assert raising(0, 2) not in the_join(region, 0b001, 0b1000).join.predicate
    check_rows(tree, region, valid_splits(region), Random(3), 20)


def test_second_join_that_may_raise_is_a_leaf() -> None:
    low = join(INNER, scan(0), scan(1), raising(0, 1))
    region = JoinRegion(join(INNER, low, scan(2), equal(1, 2), raising(1, 2)))
    assert region.leaves[0] is low and len(region.leaves) == 2


def test_what_is_no_join_is_a_leaf() -> None:
    low: Node = Tree(Filter((call("is_null", x(1)),)), (join(LEFT, scan(0), scan(1), equal(0, 1)),))
    region = JoinRegion(Tree(Join(INNER, (equal(0, 2),)), (low, scan(2))))
    assert region.leaves[0] is low


# -- size and words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [INNER, LEFT, FULL])
def test_hundreds_of_relations(kind: JoinKind) -> None:
    tree = scan(0)
    for i in range(1, 400):
        tree = join(kind, tree, scan(i), equal(i - 1, i))
    region = JoinRegion(tree)
    assert region.buildable(region.graph.all) and len(region.operators) == 399
    assert region.joins((1 << 200) - 1, 1 << 200) is not None


def test_description_and_reasons() -> None:
    tree = join(INNER, join(LEFT, scan(0), scan(1), equal(0, 1)), scan(2), equal(1, 2))
    region = JoinRegion(tree)
    needs = [(edge.operator.ses, edge.tes_left, edge.tes_right, edge.rules) for edge in region.edges]
    assert needs == [(0b011, 0b001, 0b010, ()), (0b110, 0b011, 0b100, ())]
    assert region.refusal(0b011, 0b100) is None
    assert region.refusal(0b010, 0b100) == "the inner join needs {0, 1} on one side and {2} on the other"
    assert region.refusal(0b101, 0b010) is None or not region.buildable(0b101)
    left = join(LEFT, scan(0), join(INNER, scan(1), scan(2), equal(1, 2)), equal(0, 1))
    assert "needs" in str(JoinRegion(left).refusal(0b011, 0b100))
