"""The plan as a graph: equal trees are one vertex, on which rules fire once; what was left behind is gone."""

import gc

import pytest

from optimizer.algebra import Apply, JoinKind, Node, SetOpKind, Tree, postorder
from optimizer.algebra.logical import Choice, Limit, LogicalOperator, SetOp
from optimizer.prepass.compiled import compiled
from optimizer.prepass.dag import Dag, inputs_first, parents_first
from optimizer.prepass.functions import rewrite
from optimizer.prepass.hep import run_batch
from optimizer.prepass.instructions import Batch, MatchOrder
from optimizer.prepass.run import FEW, Run
from optimizer.rules.interface import ANY, RuleContext, Sweep, node
from optimizer.settings import DEFAULTS
from tests.unit.prepass.small_trees import columns_of, count, cross, limit, run, scan, steps, turn, where

ORDERS = pytest.mark.parametrize("order", list(MatchOrder))


def twice(make) -> Tree:
    """UNION ALL of two equal trees, made apart."""
    return Tree(SetOp(SetOpKind.UNION, True, (9,), ((0,), (0,))), (make(), make()))


def test_equal_trees_become_one_vertex() -> None:
    dag = Dag(interning=True)
    one, other = limit(5, where(0, 1, scan(0))), limit(5, where(0, 1, scan(0)))
    assert dag.intern(one) is one and dag.intern(other) is one and len(dag) == 3
    assert dag.intern(limit(6, other.inputs[0])).inputs[0] is one.inputs[0]
    both = dag.intern(twice(lambda: limit(5, where(0, 1, scan(0)))))
    assert both.inputs[0] is both.inputs[1] is one and len(dag) == 5


def test_interning_begins_only_when_leaves_are_equal() -> None:
    dag, tree = Dag(), cross(limit(5, scan(0)), limit(5, scan(1)))
    assert dag.begin_pass(tree) is tree and not dag.interning and len(dag) == 0
    both = dag.begin_pass(twice(lambda: limit(5, scan(0))))
    assert dag.interning and both.inputs[0] is both.inputs[1]


def test_replacing_a_vertex_reaches_every_parent_and_nothing_else() -> None:
    dag = Dag(interning=True)
    shared, apart = limit(5, scan(0)), limit(5, scan(1))
    root = dag.intern(cross(limit(7, shared), cross(limit(8, shared), apart)))
    after = dag.replaced(root, shared, dag.intern(limit(6, scan(0))))
    left, right = after.inputs
    assert left.inputs[0] is right.inputs[0].inputs[0] and count(left.inputs[0]) == 6
    assert right.inputs[1] is apart


def test_orders_of_a_graph() -> None:
    """A vertex comes after all of its parents, or after all of its inputs, and once."""
    shared = limit(5, scan(0))
    deep = limit(6, shared)
    root = cross(shared, cross(deep, scan(1)))
    for order in (parents_first(root), inputs_first(root)[::-1]):
        place = {id(tree): i for i, tree in enumerate(order)}
        assert len(order) == len(place) == 6
        for tree in order:
            assert all(place[id(below)] > place[id(tree)] for below in tree.inputs)
    tree = cross(limit(1, scan(0)), limit(2, scan(1)))
    assert [each.op.name for each in parents_first(tree)] == ["join", "limit", "scan", "limit", "scan"]


@ORDERS
@pytest.mark.parametrize("fixpoint", [False, True])
def test_a_rule_fires_once_on_a_common_subexpression_and_all_parents_see_it(order: MatchOrder, fixpoint: bool) -> None:
    asked = []

    @rewrite(node(Limit, ANY))
    def lower(tree: Tree, context: RuleContext) -> Tree | None:
        asked.append(tree)
        return limit(count(tree) - 1, tree.inputs[0]) if count(tree) > 3 else None

    batches = (Batch(name, (lower,), fixpoint, order) for name in ("first", "again"))
    result = run(twice(lambda: limit(5, where(0, 1, limit(4, scan(0))))), *batches)
    assert sorted(steps(result)) == ["lower 4>3", "lower 4>3", "lower 5>4"]
    left, right = result.tree.inputs
    assert left is right and count(left) == 3
    assert len(asked) == len({id(tree) for tree in asked})


@pytest.mark.parametrize("sweep", list(Sweep))
def test_a_sweep_visits_a_common_subexpression_once(sweep: Sweep) -> None:
    @rewrite(node(Limit, ANY), sweep=sweep)
    def lower(tree: Tree, context: RuleContext) -> Tree:
        return limit(count(tree) - 1, tree.inputs[0])

    result = run(twice(lambda: limit(5, scan(0))), Batch("b", (lower,), fixpoint=False))
    assert steps(result) == ["lower 5>4"] and result.tree.inputs[0] is result.tree.inputs[1]


@ORDERS
def test_what_a_rule_makes_twice_is_one_vertex(order: MatchOrder) -> None:
    """The second batch fires once on what the first has doubled; in orders that return to places, the first does too."""

    @rewrite(node(Limit, ANY))
    def double(tree: Tree, context: RuleContext) -> Tree | None:
        return twice(lambda: limit(5, tree.inputs[0])) if count(tree) == 1 else None

    tree = limit(1, scan(0))
    result = run(tree, Batch("double", (double,), order=order), Batch("lower", (turn(5, 4),), order=order))
    assert [f.rule for f in result.firings] == ["double", "5_to_4"]
    if order is not MatchOrder.ARBITRARY:
        together = run(tree, Batch("both", (double, turn(5, 4)), order=order))
        assert [f.rule for f in together.firings] == ["double", "5_to_4"]
        assert together.tree.inputs[0] is together.tree.inputs[1]


@ORDERS
def test_rules_fire_inside_applies_and_choices(order: MatchOrder) -> None:
    tree = Tree(Apply(JoinKind.SEMI, ()), (scan(0), limit(5, scan(1))))
    assert steps(run(tree, Batch("b", (turn(5, 4),), order=order))) == ["5_to_4 5>4"]
    tree = Tree(Choice(1), (limit(5, scan(0)), limit(5, where(0, 1, scan(0)))))
    assert steps(run(tree, Batch("b", (turn(5, 4),), order=order))) == ["5_to_4 5>4"] * 2


class Counted(Tree):
    """A tree that can be seen to be gone."""

    __slots__ = ()
    alive = 0

    def __init__(self, op: LogicalOperator, inputs: tuple[Node, ...] = ()) -> None:
        super().__init__(op, inputs)
        Counted.alive += 1

    def __del__(self) -> None:
        Counted.alive -= 1


def test_what_was_replaced_is_neither_kept_nor_fired_on() -> None:
    """Each vertex that a firing leaves behind would let `seen` fire; it is asked about live ones alone. Of 4,000 vertices left
    behind, no more than some are still there when the program goes on."""
    seen: list[int | None] = []

    @rewrite(node(Limit, ANY))
    def lower(tree: Tree, context: RuleContext) -> Tree | None:
        return Counted(Limit((), 0, tree.op.count - 1), tree.inputs) if tree.op.count > 1 else None

    @rewrite(node(Limit, ANY))
    def look(tree: Tree, context: RuleContext) -> None:
        seen.append(count(tree))

    run_of, tree = Run(RuleContext(columns_of(1), DEFAULTS)), limit(4_000, scan(0))
    program = compiled((Batch("lower", (lower,), order=MatchOrder.TOP_DOWN, match_limit=100), Batch("look", (look,))), ())
    most = 0
    gc.freeze()  # what all other tests left behind is not looked through forty times
    for _ in range(40):
        for step in program:
            tree = run_batch(run_of, step, tree, step.batch.name)
        run_of.firings.clear()  # the report keeps what it tells of
        run_of.clear_away([tree])
        gc.collect()
        most = max(most, Counted.alive)
    assert count(tree) == 1 and seen == [4_000 - 100 * i for i in range(1, 40)] + [1]
    assert 100 < most < 2 * FEW + 200
    run_of.dag.keep([tree])
    gc.collect()
    gc.unfreeze()
    assert len(run_of.dag) == 2 and Counted.alive < 10


def test_shared_vertices_stay_shared_through_the_program() -> None:
    shared = where(0, 1, scan(0))
    tree = cross(limit(5, shared), limit(4, shared))
    result = run(tree, Batch("b", (turn(5, 4), turn(4, 3))))
    scans = [each for each in postorder(result.tree) if not each.inputs]
    assert len(scans) == 1 and result.tree.inputs[0] is result.tree.inputs[1]
