"""Each kind of instruction does what `instructions` says: what fires, in which order, how often."""

import pytest

from optimizer.algebra import Filter, Join, Limit, Tree
from optimizer.prepass.functions import rewrite
from optimizer.prepass.instructions import Batch, MatchOrder, Subprogram, rules_of, without
from optimizer.prepass.program import PROGRAM
from optimizer.prepass.report import Stop
from optimizer.rules.interface import ANY, RuleContext, node
from optimizer.settings import Settings
from tests.unit.prepass.small_trees import count, cross, limit, notes, run, scan, steps, turn, where

PAIR = cross(limit(9, scan(0)), limit(9, scan(1)))


@rewrite(node(Limit, ANY))
def lower(tree: Tree, context: RuleContext) -> Tree | None:
    """One row less, down to three."""
    return limit(tree.op.count - 1, tree.inputs[0]) if tree.op.count > 3 else None


@rewrite(node(Limit, node(Limit, ANY)))
def follow(tree: Tree, context: RuleContext) -> Tree | None:
    """A limit becomes the one below it."""
    below = tree.inputs[0]
    return limit(count(below), below) if count(tree) != count(below) else None


@rewrite(node(Filter, node(Join, ANY, ANY)))
def spread(tree: Tree, context: RuleContext) -> Tree | None:
    """A filter goes above the left input of the join: work below a firing."""
    left, right = tree.inputs[0].inputs
    return Tree(tree.inputs[0].op, (Tree(tree.op, (left,)), right))


@rewrite(node(Filter, node(Limit, ANY)))
def drop(tree: Tree, context: RuleContext) -> Tree | None:
    """The filter above a limit goes."""
    return tree.inputs[0]


@rewrite(node(Limit, node(Join, ANY, ANY)))
def note(tree: Tree, context: RuleContext) -> Tree | None:
    """A limit above a join tells by its count how many limits of 2 are below."""
    lows = sum(count(each) == 2 for each in tree.inputs[0].inputs)
    return limit(3 + lows, tree.inputs[0]) if count(tree) != 3 + lows else None


TOWER = limit(1, limit(2, limit(3, scan(0))))
# left a tower whose top changes again when what is below has changed, right one firing
TWO = cross(TOWER, limit(8, limit(9, scan(1))))
LOW_PAIR = limit(3, cross(limit(1, scan(0)), limit(1, scan(1))))
AGAIN = ["follow 1>2", "follow 2>3", "follow 2>3"]
FIRED = {
    "a rule alone fires until it applies nowhere": (limit(5, limit(4, scan(0))), lower, ["lower 5>4", "lower 4>3", "lower 4>3"]),
    "once does not return to what a firing made possible": (TOWER, Batch("b", (follow,), fixpoint=False), AGAIN[:2]),
    "a fixpoint does": (TOWER, Batch("b", (follow,)), AGAIN),  # in a second pass
    "depth first does at once": (TOWER, Batch("b", (follow,), order=MatchOrder.DEPTH_FIRST), AGAIN),
    "top down does from the root": (TOWER, Batch("b", (follow,), order=MatchOrder.TOP_DOWN), AGAIN),
    "from below takes a firing less": (TOWER, Batch("b", (follow,), order=MatchOrder.BOTTOM_UP), ["follow 2>3", "follow 1>3"]),
    "from below once": (TOWER, Batch("b", (follow,), False, MatchOrder.BOTTOM_UP), ["follow 2>3", "follow 1>3"]),
    "two inputs in any order": (TWO, Batch("b", (follow,)), [*AGAIN[:2], "follow 8>9", AGAIN[2]]),
    "two inputs, depth first": (TWO, Batch("b", (follow,), order=MatchOrder.DEPTH_FIRST), [*AGAIN, "follow 8>9"]),
    "two inputs, top down": (TWO, Batch("b", (follow,), order=MatchOrder.TOP_DOWN), [*AGAIN, "follow 8>9"]),
    "two inputs, from below": (
        TWO, Batch("b", (follow,), order=MatchOrder.BOTTOM_UP), ["follow 2>3", "follow 1>3", "follow 8>9"],
    ),
    "top down, what a rule below makes possible above fires before anything else below": (
        LOW_PAIR, Batch("b", (note, turn(1, 2)), order=MatchOrder.TOP_DOWN), ["1_to_2 1>2", "note 3>4", "1_to_2 1>2", "note 4>5"],
    ),
    "in any order it fires last": (LOW_PAIR, Batch("b", (note, turn(1, 2))), ["1_to_2 1>2", "1_to_2 1>2", "note 3>5"]),
}  # fmt: skip


@pytest.mark.parametrize("claim", FIRED)
def test_what_fires_in_which_order(claim: str) -> None:
    tree, program, expected = FIRED[claim]
    result = run(tree, program)
    assert steps(result) == expected and result.converged
    assert [batch.stopped for batch in result.batches] == [None]


def test_only_an_arbitrary_order_takes_a_third_pass() -> None:
    passes = {order: run(TOWER, Batch("b", (follow,), order=order)).batches[0].passes for order in MatchOrder}
    assert passes == {MatchOrder.ARBITRARY: 3, MatchOrder.DEPTH_FIRST: 2, MatchOrder.TOP_DOWN: 2, MatchOrder.BOTTOM_UP: 2}


def test_instructions_are_carried_out_in_order() -> None:
    result = run(limit(1, scan(0)), turn(2, 3), turn(1, 2), Batch("more", (turn(3, 4), turn(2, 3))))
    assert steps(result) == ["1_to_2 1>2", "2_to_3 2>3", "3_to_4 3>4"]
    assert [(b.batch, b.start, b.stop) for b in result.batches] == [("2_to_3", 0, 0), ("1_to_2", 0, 1), ("more", 1, 3)]


def test_bottom_up_visits_what_a_firing_put_below() -> None:
    tree = where(0, 7, cross(limit(5, scan(0)), scan(1)))
    result = run(tree, Batch("b", (spread, drop, lower), order=MatchOrder.BOTTOM_UP))
    assert [f.rule for f in result.firings] == ["lower", "lower", "spread", "drop"]
    assert count(result.tree.inputs[0]) == 3


def test_a_match_limit_holds_for_its_batch_alone() -> None:
    result = run(PAIR, Batch("some", (lower,), match_limit=2), Batch("others", (lower,), match_limit=3))
    assert steps(result) == ["lower 9>8", "lower 8>7", "lower 7>6", "lower 6>5", "lower 5>4"]
    assert [b.stopped for b in result.batches] == [Stop.MATCH_LIMIT] * 2 and not result.converged
    assert notes(result)[0] == "batch some: stopped at its match limit of 2 firings; last fired lower ×2"


@pytest.mark.parametrize("order", list(MatchOrder))
def test_a_match_limit_holds_in_every_order(order: MatchOrder) -> None:
    assert len(run(PAIR, Batch("b", (lower,), order=order, match_limit=4)).firings) == 4
    assert len(run(PAIR, Batch("b", (lower,), order=order, match_limit=4, one_firing=True)).firings) == 4


def test_one_firing_of_a_rule_in_a_pass() -> None:
    rules = (turn(9, 8), turn(8, 7))
    result = run(PAIR, Batch("b", rules, one_firing=True))
    assert steps(result) == ["9_to_8 9>8", "8_to_7 8>7"] * 2
    assert result.batches[0].passes == 3
    once = run(PAIR, Batch("b", (lower,), fixpoint=False, one_firing=True))
    assert steps(once) == ["lower 9>8"] and count(once.tree.inputs[0]) == 8
    tower = limit(5, limit(4, scan(0)))
    assert steps(run(tower, Batch("b", (lower,), False, MatchOrder.BOTTOM_UP, one_firing=True))) == ["lower 4>3"]


def test_a_subprogram_goes_round_until_a_round_changes_nothing() -> None:
    inner = (Batch("a", (turn(1, 2), turn(3, 4))), Batch("b", (turn(2, 3),)))
    result = run(limit(1, scan(0)), Subprogram("rounds", inner))
    assert steps(result) == ["1_to_2 1>2", "2_to_3 2>3", "3_to_4 3>4"]
    assert [b.batch for b in result.batches] == ["rounds/a", "rounds/b"] * 3 and result.converged
    once = run(limit(1, scan(0)), Subprogram("rounds", inner, fixpoint=False))
    assert steps(once) == ["1_to_2 1>2", "2_to_3 2>3"] and once.converged


def test_subprograms_nest_and_have_a_maximum_of_rounds() -> None:
    inner = Subprogram("inner", (Batch("a", (lower,), match_limit=1),), passes=2)
    result = run(limit(9, scan(0)), Subprogram("outer", (inner,), passes=2))
    assert count(result.tree) == 5 and not result.converged
    assert [(b.batch, b.passes) for b in result.batches if b.stopped is Stop.PASSES] == [
        ("outer/inner", 2),
        ("outer/inner", 2),
        ("outer", 2),
    ]


def test_a_fixpoint_within_a_maximum_of_passes() -> None:
    tower = limit(1, limit(2, limit(3, limit(4, scan(0)))))
    result = run(tower, Batch("b", (follow,), passes=2))
    assert not result.converged
    assert notes(result) == ["batch b: no fixpoint within 2 passes; in the last one fired follow ×2"]
    assert run(tower, Batch("b", (follow,), passes=4)).converged


@pytest.mark.parametrize("order", list(MatchOrder))
@pytest.mark.parametrize("one_firing", [False, True])
def test_disabled_rules_do_not_fire_in_any_instruction(order: MatchOrder, one_firing: bool) -> None:
    program = (lower, Batch("b", (lower, turn(9, 10)), order=order, one_firing=one_firing), Subprogram("s", (lower,)))
    result = run(PAIR, *program, settings=Settings(disable=("lower",)))
    assert {f.rule for f in result.firings} == {"9_to_10"} and len(result.firings) == 2


@pytest.mark.parametrize("order", list(MatchOrder))
def test_prepass_limit_stops_the_whole_program(order: MatchOrder) -> None:
    program = (Batch("a", (lower,), order=order), Subprogram("s", (lower, turn(3, 2))))
    result = run(PAIR, *program, settings=Settings(prepass_limit=5))
    assert len(result.firings) == 5 and not result.converged
    assert [(b.batch, b.stopped) for b in result.batches] == [("a", Stop.PREPASS_LIMIT)]
    assert "batch a: stopped at the setting prepass_limit" in notes(result)[0]


@pytest.mark.parametrize(("order", "depth"), [(o, 400 if o is MatchOrder.TOP_DOWN else 5_000) for o in MatchOrder])
def test_every_order_reaches_the_same_fixpoint_on_deep_trees(order: MatchOrder, depth: int) -> None:
    """Nothing recurses."""
    tree = scan(0)
    for _ in range(depth):
        tree = limit(4, tree)
    result = run(tree, Batch("b", (lower,), order=order))
    assert result.converged and len(result.firings) == depth
    left = result.tree
    while left.inputs:
        assert count(left) == 3
        left = left.inputs[0]


def test_a_rule_that_makes_what_was_there_has_not_fired() -> None:
    @rewrite(node(Limit, ANY))
    def again(tree: Tree, context: RuleContext) -> Tree:
        return limit(count(tree), tree.inputs[0])

    for order in MatchOrder:
        result = run(PAIR, Batch("b", (again,), order=order))
        assert result.firings == () and result.converged and result.tree is PAIR


def test_programs_can_be_listed_and_cut() -> None:
    program = (lower, Batch("b", (follow, lower)), Subprogram("s", (drop, Batch("c", (spread, follow)))))
    assert rules_of(program) == (lower, follow, drop, spread)
    cut = without(program, {"follow", "drop", "lower"})
    assert cut == (Batch("b", ()), Subprogram("s", (Batch("c", (spread,)),)))
    assert run(PAIR, *cut).tree is PAIR
    assert len({rule.name for rule in rules_of(PROGRAM)}) == len(rules_of(PROGRAM))
