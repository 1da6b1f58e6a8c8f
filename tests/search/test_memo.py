"""Inserting, interning and merging in the memo (M1 to M5, M10), and binding with members that arrive late (S18, S19)."""

import random
from collections.abc import Sequence
from itertools import permutations

import pyarrow as pa
import pytest

from optimizer.algebra import Apply, Columns, HashJoin, Join, JoinKind, Tree, UnionAll, compare, conjunction
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import Choice, Filter, Limit, Values
from optimizer.algebra.scalars import Call, ColumnRef, Literal, OuterRef
from optimizer.catalog.table import Catalog
from optimizer.cost.arrow import ArrowCost
from optimizer.figures import Figures
from optimizer.memo.binding import bindings
from optimizer.memo.bounds import lower_bounds_fall, lower_bounds_rise
from optimizer.memo.memo import Memo
from optimizer.memo.region_groups import RegionGroups, RegionKey
from optimizer.rules.catalog import IMPLEMENTATIONS, TRANSFORMATIONS, rule_set
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node
from optimizer.search.search import Search
from planscope import Estimator, Replay, Settings, Trace
from tests.search.snapshot import snapshot

INT = pa.int64()


class Bench:
    """A memo over small VALUES tables, with the search that works on it."""

    def __init__(self, rules: Sequence[TransformationRule] = TRANSFORMATIONS, trace: Trace | None = None) -> None:
        self.columns = Columns()
        cost = ArrowCost()
        memo = Memo(Figures(Estimator(Catalog("none", []), self.columns), cost), trace, self.columns.label)
        settings = Settings()
        self.search = Search(memo, rule_set(settings, rules, IMPLEMENTATIONS), RuleContext(self.columns, settings), cost, trace)
        self.memo = memo

    def values(self, rows: int = 3) -> tuple[Tree, ColumnRef]:
        column = self.columns.new("v", INT, False)
        lines = tuple((Literal(i, INT),) for i in range(rows))
        return Tree(Values((column.id,), (INT,), lines)), ColumnRef(column.id, INT)


def join(a: Tree, b: Tree, *conjuncts: Call) -> Tree:
    return Tree(Join(JoinKind.INNER, conjunction(conjuncts)), (a, b))


def test_the_same_expression_is_kept_once() -> None:
    bench = Bench()
    a, x = bench.values()
    tree = Tree(Filter((compare("<", x, Literal(2, INT)),)), (a,))
    first, new = bench.memo.insert(tree)
    again, nothing = bench.memo.insert(Tree(Filter((compare("<", x, Literal(2, INT)),)), (a,)))
    assert first == again
    assert (len(new), nothing) == (2, [])


def test_bounds_rise_where_no_expression_is_to_come() -> None:
    """Of a join alone the bound is what its cheapest algorithm costs in that order; with a graph over more relations, whose
    region may make the join in the other order, it stays what any order costs at least."""
    bench = Bench()
    (a, x), (b, y), (c, z) = bench.values(3), bench.values(2000), bench.values(3)
    gid, _ = bench.memo.insert(join(a, b, compare("=", x, y)))
    leaves = tuple(bench.memo.binding_leaf(bench.memo.insert(each)[0]) for each in (a, b, c))
    _, (graph,) = bench.memo.insert(Tree(JoinGraph(conjunction((compare("=", x, y), compare("=", y, z)))), leaves))
    group = bench.memo.group(gid)
    before = group.lower
    assert lower_bounds_rise(bench.memo, gid, bench.search.least) == []
    graph.applied = 1  # a rule has made all its joins
    assert lower_bounds_rise(bench.memo, gid, bench.search.least) == [group]
    assert before < group.lower <= bench.search.optimize(gid).best_cost


def test_bounds_fall_above_groups_that_became_one() -> None:
    """What reads a group that turns out to be a cheaper one costs less at least, and so does what reads that."""
    bench = Bench()
    memo, (a, x) = bench.memo, bench.values(2000)
    cheap, _ = memo.insert(a)
    dear, _ = memo.insert(Tree(Filter((compare("<", x, Literal(2, INT)),)), (a,)))
    below, _ = memo.insert(Tree(Limit((), 0, 5), (memo.binding_leaf(dear),)))
    above, _ = memo.insert(Tree(Limit((), 1, 2), (memo.binding_leaf(below),)))
    assert lower_bounds_fall(memo, bench.search.least) == []
    before = [memo.group(gid).lower for gid in (below, above)]
    saved = memo.group(dear).lower - memo.group(cheap).lower
    memo.merge(cheap, dear, "test")
    assert {group.id for group in lower_bounds_fall(memo, bench.search.least)} == {below, above}
    fallen = [known - memo.group(gid).lower for known, gid in zip(before, (below, above), strict=True)]
    assert fallen == pytest.approx([saved, saved]) and saved > 0


def test_a_subquery_is_one_group_below_each_left_input() -> None:
    """Also where one tree is shared: what stands below an Apply is not what stands elsewhere."""
    bench = Bench()
    (a, x), (b, y) = bench.values(3), bench.values(5)
    subquery = Tree(Filter((compare("=", y, OuterRef(x.id, INT)),)), (b,))

    def applied(left: Tree) -> Tree:
        return Tree(Apply(JoinKind.LEFT, ()), (left, subquery))

    few = Tree(Filter((compare("=", x, Literal(1, INT)),)), (a,))
    all_rows = applied(a)
    filtered = Tree(Filter((compare("<", y, Literal(9, INT)),)), (all_rows,))
    bench.memo.insert(Tree(Choice(all_rows.columns), (filtered, all_rows)))
    assert len(bench.memo.groups) == 5  # two tables, the subquery, the Apply and the filter
    bench.memo.insert(applied(few))
    more, fewer = (bench.memo.runs(group) for group in bench.memo.groups if group.outer)
    assert more > fewer == 1.0
    assert len(bench.memo.groups) == 8 and bench.memo.insert(applied(few))[1] == []


class DropTrueFilter(TransformationRule):
    """σTRUE(A) ≡ A: shows a group to be the same as its own input (M2)."""

    name = "drop_true_filter"
    pattern = node(Filter, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        return (Tree(Limit((), 0, None), bound.inputs),) if bound.op == Filter(()) else ()


class DropLimit(TransformationRule):
    """A limit that takes all rows gives its input: the rule returns an expression of another group."""

    name = "drop_limit"
    pattern = node(Limit, node(Values))

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        below = bound.inputs[0]
        return (below,) if bound.op == Limit((), 0, None) and isinstance(below, Tree) else ()


def test_groups_shown_to_be_one_are_merged_with_their_parents() -> None:
    """M1, M3, M4, M6: σTRUE(A) and A become one group; their parents turn out equal, and merge in turn."""
    trace = Trace()
    trace.header("merging", {}, "")
    bench = Bench((*TRANSFORMATIONS, DropTrueFilter(), DropLimit()), trace)
    (a, x), (b, y) = bench.values(), bench.values()
    plain = join(a, b, compare("=", x, y))
    filtered = join(Tree(Filter(()), (a,)), b, compare("=", x, y))
    above = Tree(Filter((compare("<", x, Literal(2, INT)),)), (plain,))
    above_too = Tree(Filter((compare("<", x, Literal(2, INT)),)), (filtered,))
    first, _ = bench.memo.insert(above)
    second, _ = bench.memo.insert(above_too)
    assert first != second
    both = Tree(Join(JoinKind.SEMI, ()), (above_too, Tree(Values((), (), ((),)))))
    goal = bench.search.run(both)
    memo = bench.memo
    assert memo.find(first) == memo.find(second)
    assert memo.merges >= 3
    assert goal.way is not None
    keys = [(e.op, tuple(map(memo.find, e.inputs))) for g in memo.live_groups() for e in g.logical]
    assert len(keys) == len(set(keys)), "an expression is kept twice after merging"
    for group in memo.live_groups():
        for mexpr in group.logical:
            assert memo.find(mexpr.group) == group.id
            for gid in mexpr.inputs:
                assert mexpr in memo.group(gid).parents
    assert Replay(trace.events).final() == snapshot(bench.search)


def test_a_merge_looks_at_regions_over_the_group_that_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each table there are two groups, which are shown to be one. Then a region is found by the leaves that are left."""
    bench, draw = Bench(), random.Random(1)
    memo, looked_at = bench.memo, []
    tables = [bench.values() for _ in range(5)]
    leaves = [[memo.binding_leaf(memo.insert(each)[0]) for each in (a, Tree(Filter(()), (a,)))] for a, _ in tables]
    over: dict[int, set[int]] = {}  # groups of joins by leaf
    for chosen in permutations(range(5), 3):
        (a, x), (b, y), (c, z) = ((draw.choice(leaves[n]), tables[n][1]) for n in chosen)
        two = Tree(Join(JoinKind.INNER, (compare("=", x, y),)), (a, b))
        three = Tree(Join(JoinKind.INNER, (compare("=", y, z),)), (two, c))
        for tree, within in ((two, (a, b)), (three, (a, b, c))):
            gid = memo.insert(tree)[0]
            for leaf in within:
                over.setdefault(leaf.gid, set()).add(gid)
    add = RegionGroups.add
    monkeypatch.setattr(RegionGroups, "add", lambda table, group: (looked_at.append(group.id), add(table, group)))
    for kept, gone in draw.sample(leaves, len(leaves)):
        looked_at.clear()
        memo.merge(kept.gid, gone.gid, "test")
        assert looked_at and set(looked_at) <= over[gone.gid]
        oldest: dict[RegionKey, int] = {}
        for group in memo.live_groups():
            if group.region is not None:
                assert group.region.leaves == tuple(sorted(map(memo.find, group.region.leaves)))
                oldest.setdefault((group.region.leaves, group.region.predicate, ()), group.id)
        assert all(memo._regions.group(key) == gid for key, gid in oldest.items())


def test_a_late_member_reaches_rules_that_were_applied_before() -> None:
    """S18, S19: after (A ⋈ B) ⋈ C was bound, an expression that arrives in its input's group gives exactly the new binding."""
    bench = Bench()
    (a, x), (b, y), (c, z) = bench.values(), bench.values(), bench.values()
    root, _ = bench.memo.insert(join(join(a, b, compare("=", x, y)), c, compare("=", y, z)))
    top = bench.memo.group(root).logical[0]
    associate = next(rule for rule in TRANSFORMATIONS if rule.name == "join_associate")
    assert len(list(bindings(bench.memo, top, associate.pattern))) == 1
    _, (late,) = bench.memo.insert(join(b, a, compare("=", x, y)))
    assert len(list(bindings(bench.memo, top, associate.pattern))) == 2
    (fresh,) = bindings(bench.memo, top, associate.pattern, late)
    assert [leaf.gid for leaf in fresh.inputs[0].inputs] == list(late.inputs)


class Watch(TransformationRule):
    """Produces nothing; remembers the joins it saw two levels down."""

    name = "watch"
    pattern = node(Filter, node(Limit, node(Join, ANY, ANY)))
    seen: list[tuple[int, ...]]

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        self.seen.append(tuple(leaf.gid for leaf in bound.inputs[0].inputs[0].inputs))
        return ()


def test_a_late_member_reaches_patterns_that_look_deeper() -> None:
    """A pattern of three levels is bound anew, once, when a member arrives two levels below its root."""
    watch = Watch()
    watch.seen = []
    bench = Bench((watch,))
    (a, x), (b, y) = bench.values(), bench.values()
    below = join(a, b, compare("=", x, y))
    bench.search.explore(Tree(Filter((compare("<", x, Literal(2, INT)),)), (Tree(Limit((), 0, 2), (below,)),)))
    assert len(watch.seen) == 1
    _, new = bench.memo.insert(join(b, a, compare("=", x, y)))
    bench.search.arrived(new)
    bench.search.drain()
    assert watch.seen == [watch.seen[0], watch.seen[0][::-1]]


def test_a_pattern_cannot_name_a_physical_operator() -> None:
    """M10: a logical rule that binds a physical operator is refused when it is written, not when it crashes."""
    with pytest.raises(AssertionError, match="can only name a logical operator, not HashJoin: write Join"):
        node(HashJoin, ANY, ANY)
    with pytest.raises(AssertionError, match=r"not UnionAll: write SetOp, whose kind is SetOpKind\.UNION"):
        node(UnionAll)


def test_insertion_does_not_recurse() -> None:
    """S24: a tree far deeper than Python's stack goes in and is explored."""
    bench = Bench()
    tree, x = bench.values()
    for i in range(3000):
        tree = Tree(Filter((compare("<", x, Literal(i, INT)),)), (tree,))
    goal = bench.search.run(tree)
    assert goal.way is not None
