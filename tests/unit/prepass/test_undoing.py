"""Rules that undo each other are found and named, in every order; the tree stays one of those it was."""

import pytest

from optimizer.algebra import ColumnRef, Limit, Project, ProjectItem, Tree
from optimizer.prepass.functions import rewrite
from optimizer.prepass.instructions import Batch, MatchOrder, Subprogram
from optimizer.prepass.report import Rewritten, Stop
from optimizer.rules.interface import ANY, RuleContext, Sweep, node
from optimizer.settings import Settings
from tests.unit.prepass.small_trees import BIG, columns_of, count, cross, limit, notes, run, scan, turn

ORDERS = pytest.mark.parametrize("order", list(MatchOrder))
FORMS = pytest.mark.parametrize(("order", "one_firing"), [(o, f) for o in MatchOrder for f in (False, True)])


def came_back(result: Rewritten, *rules: str) -> None:
    stopped = [b for b in result.batches if b.stopped is Stop.CAME_BACK]
    assert stopped and not result.converged
    assert {name for name, _ in stopped[0].rules} == set(rules)
    assert all(rule in notes(result)[0] for rule in rules)
    assert len(result.firings) < 200


@rewrite(node(Limit, node(Limit, ANY)))
def raise_below(tree: Tree, context: RuleContext) -> Tree | None:
    below = tree.inputs[0]
    return limit(count(tree), limit(6, below.inputs[0])) if count(below) == 5 else None


@rewrite(node(Limit, ANY))
def rename(tree: Tree, context: RuleContext) -> Tree:
    fresh = context.columns.new("y", BIG, True).id
    return Tree(Project((ProjectItem(fresh, ColumnRef(0, BIG)),)), (tree.inputs[0],))


@rewrite(node(Project, ANY))
def back(tree: Tree, context: RuleContext) -> Tree:
    return limit(5 if tree.op.items[0].id % 2 else 4, tree.inputs[0])


FIVE, UP, DOWN = limit(5, scan(0)), turn(5, 6), turn(6, 5)
CIRCLES = {
    "a pair at one vertex": (FIVE, (UP, DOWN)),
    "a ring of three": (FIVE, (UP, turn(6, 7), turn(7, 5))),
    "a rule at the parent undoes one at the input": (limit(1, FIVE), (raise_below, DOWN)),
    # no state is equal to an earlier one, but some differ in nothing but the ids of their new columns
    "a pair that makes a fresh column each time": (FIVE, (rename, back)),
    **{
        f"a pair of sweeps {sweep.value}": (
            FIVE,
            tuple(rewrite(r.pattern, sweep=sweep, name=r.name)(r.apply) for r in (UP, DOWN)),
        )
        for sweep in Sweep
    },
}


@FORMS
@pytest.mark.parametrize("claim", CIRCLES)
def test_rules_that_undo_each_other_are_named(claim: str, order: MatchOrder, one_firing: bool) -> None:
    tree, rules = CIRCLES[claim]
    result = run(tree, Batch("b", rules, order=order, one_firing=one_firing), columns=columns_of(1))
    came_back(result, *(rule.name for rule in rules))


@FORMS
def test_a_pair_beside_another_rule_leaves_a_tree_that_was_there(order: MatchOrder, one_firing: bool) -> None:
    result = run(
        cross(limit(9, scan(0)), limit(5, scan(1))), Batch("b", (UP, DOWN, turn(9, 8)), order=order, one_firing=one_firing)
    )
    came_back(result, "5_to_6", "6_to_5", *(["9_to_8"] if len(result.batches[0].rules) > 2 else []))
    assert count(result.tree.inputs[1]) in (5, 6)


def test_the_note_names_the_batch_and_the_rules() -> None:
    result = run(limit(5, scan(0)), Batch("loops", (turn(5, 6), turn(6, 5))))
    assert notes(result)[0].startswith("batch loops: a state came back, so it was stopped: ")
    assert notes(result)[0].endswith(" undo each other")
    assert "5_to_6" in notes(result)[0] and "6_to_5" in notes(result)[0]


@ORDERS
def test_the_program_goes_on_after_a_batch_that_was_stopped(order: MatchOrder) -> None:
    tree = cross(limit(9, scan(0)), limit(5, scan(1)))
    result = run(tree, Batch("loops", (turn(5, 6), turn(6, 5)), order=order), Batch("next", (turn(9, 8),)))
    came_back(result, "5_to_6", "6_to_5")
    assert count(result.tree.inputs[0]) == 8 and result.batches[1].stopped is None


@ORDERS
def test_while_other_rules_still_make_progress(order: MatchOrder) -> None:
    """The pair toggles on the left, a long descent goes on at the right: the pair is named all the same."""
    steps = tuple(turn(i, i - 1) for i in range(100, 70, -1))
    tree = cross(limit(5, scan(0)), limit(100, scan(1)))
    result = run(tree, Batch("b", (turn(5, 6), turn(6, 5), *steps), order=order))
    assert {"5_to_6", "6_to_5"} <= {name for name, _ in result.batches[0].rules}
    assert result.batches[0].stopped is Stop.CAME_BACK


def test_batches_that_undo_each_other_in_a_subprogram() -> None:
    program = Subprogram("rounds", (Batch("a", (turn(5, 6),)), Batch("b", (turn(6, 5),))))
    result = run(limit(5, scan(0)), program)
    came_back(result, "5_to_6", "6_to_5")
    assert result.batches[-1].batch == "rounds" and result.batches[-1].stopped is Stop.CAME_BACK
    longer = Subprogram("rounds", (Batch("a", (turn(5, 6),)), Batch("b", (turn(6, 7),)), Batch("c", (turn(7, 5),))))
    came_back(run(limit(5, scan(0)), longer), "5_to_6", "6_to_7", "7_to_5")


@rewrite(node(Limit, ANY))
def wrap(tree: Tree, context: RuleContext) -> Tree | None:
    """A limit of one row goes below another operator for ever."""
    return limit(2, tree) if count(tree) == 1 else None


@pytest.mark.parametrize("order", [MatchOrder.ARBITRARY, MatchOrder.DEPTH_FIRST, MatchOrder.BOTTOM_UP])
def test_a_rule_that_applies_again_to_what_it_made(order: MatchOrder) -> None:
    result = run(limit(1, scan(0)), Batch("b", (wrap,), order=order))
    came_back(result, "wrap")
    assert len(result.firings) <= 2
    assert "undoes itself or applies again to what it makes" in notes(result)[0]


@pytest.mark.parametrize("one_firing", [False, True])
def test_endless_growth_ends_at_the_limit_and_is_named(one_firing: bool) -> None:
    settings = Settings(prepass_limit=50)
    batch = Batch("b", (wrap, turn(9, 8)), order=MatchOrder.TOP_DOWN, one_firing=one_firing)
    result = run(limit(1, scan(0)), batch, settings=settings)
    assert len(result.firings) == 50 and result.batches[0].stopped is Stop.PREPASS_LIMIT
    assert "wrap" in notes(result)[0]


def test_a_long_way_that_ends_is_no_loop() -> None:
    """2,000 firings at one place, each with a fresh column, and none of them undone."""
    columns = columns_of(1)

    @rewrite(node(Limit, ANY))
    def lower(tree: Tree, context: RuleContext) -> Tree | None:
        context.columns.new("y", BIG, True)
        return limit(count(tree) - 1, tree.inputs[0]) if count(tree) else None

    for order in MatchOrder:
        result = run(limit(2_000, scan(0)), Batch("b", (lower,), order=order), columns=columns)
        assert result.converged and len(result.firings) == 2_000


def test_equal_neighbours_that_change_places_are_no_loop() -> None:
    """Sorting joins of the same table by their columns: each exchange leaves a tree of the same shape."""

    @rewrite()
    def exchange(tree: Tree, context: RuleContext) -> Tree | None:
        context.columns.new("y", BIG, True)
        match tree.inputs:
            case (Tree(_, (a, b)), c) if _first(c) < _first(b):
                return cross(cross(a, c), b)
        return None

    leaves = [Tree(scan(0).op.__class__("t", "t", (scan(i).op.columns[0],))) for i in range(24)]
    tree = cross(leaves[0], leaves[23])
    for leaf in leaves[22:0:-1]:
        tree = cross(tree, leaf)
    for order in MatchOrder:
        result = run(tree, Batch("b", (exchange,), order=order), columns=columns_of(24))
        assert result.converged and len(result.firings) == 22 * 23 // 2


def _first(tree: Tree) -> int:
    return tree.op.columns[0].id
