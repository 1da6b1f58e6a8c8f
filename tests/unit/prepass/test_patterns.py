"""Patterns whose operators have to meet a condition, in the pre-pass and in the memo."""

from collections.abc import Sequence

from optimizer.algebra import Filter, Join, JoinKind, Leaf, Limit, Literal, Tree, compare
from optimizer.memo.binding import bindings
from optimizer.prepass.compiled import fits
from optimizer.prepass.functions import rewrite
from optimizer.prepass.instructions import Batch, MatchOrder
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node
from tests.search.test_memo import INT, Bench, join
from tests.unit.prepass.small_trees import cross, limit, run, scan, steps, where

SMALL = node(Limit, ANY, where=lambda op: op.count < 5)
SMALL_BELOW = node(Limit, node(Limit, where=lambda op: op.count < 5))
INNER = node(Join, ANY, ANY, where=lambda op: op.kind is JoinKind.INNER)


def test_a_condition_on_the_root_and_below_it() -> None:
    three, seven = limit(3, scan(0)), limit(7, scan(0))
    assert fits(three, SMALL) and not fits(seven, SMALL)
    assert fits(limit(9, three), SMALL_BELOW) and not fits(limit(9, seven), SMALL_BELOW)
    assert not fits(limit(9, where(0, 1, three)), SMALL_BELOW)
    assert fits(cross(three, seven), INNER) and not fits(Tree(Join(JoinKind.LEFT, ()), (three, seven)), INNER)
    assert fits(Leaf(0, scan(0).props), ANY) and not fits(Leaf(0, scan(0).props), SMALL)


def test_rewrites_fire_only_where_the_condition_holds() -> None:
    @rewrite(SMALL)
    def lower(tree: Tree, context: RuleContext) -> Tree | None:
        assert tree.op.count < 5
        return limit(tree.op.count - 1, tree.inputs[0]) if tree.op.count > 1 else None

    for order in MatchOrder:
        result = run(cross(limit(3, scan(0)), limit(7, scan(1))), Batch("b", (lower,), order=order))
        assert steps(result) == ["lower 3>2", "lower 2>1"]


class See(TransformationRule):
    """Remembers the counts of rows it was bound with."""

    name = "see"
    pattern = node(Filter, SMALL)
    seen: list[int]

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        self.seen.append(bound.inputs[0].op.count)
        return ()


def test_the_memo_binds_only_where_the_condition_holds() -> None:
    see = See()
    see.seen = []
    bench = Bench((see,))
    (a, x) = bench.values()
    above = [Tree(Filter((compare("<", x, Literal(i, INT)),)), (Tree(Limit((), 0, i), (a,)),)) for i in (3, 4, 7)]
    bench.search.explore(join(join(above[0], above[1], compare("=", x, x)), above[2], compare("=", x, x)))
    assert sorted(see.seen) == [3, 4]


def test_a_late_member_is_bound_only_if_it_meets_the_condition() -> None:
    bench = Bench()
    (a, x), (b, y) = bench.values(), bench.values()
    root, _ = bench.memo.insert(Tree(Limit((), 0, 2), (join(a, b, compare("=", x, y)),)))
    top = bench.memo.group(root).logical[0]
    same = compare("=", x, y)
    for where_, found in ((lambda op: op.predicate == (same,), 2), (lambda op: op.predicate == (), 0)):
        pattern = node(Limit, node(Join, ANY, ANY, where=where_))
        assert len(list(bindings(bench.memo, top, pattern))) == found // 2
    _, (late,) = bench.memo.insert(join(b, a, same))
    for where_, found in ((lambda op: op.predicate == (same,), 1), (lambda op: op.predicate == (), 0)):
        pattern = node(Limit, node(Join, ANY, ANY, where=where_))
        assert len(list(bindings(bench.memo, top, pattern, late))) == found
        assert len(list(bindings(bench.memo, top, pattern))) == 2 * found
