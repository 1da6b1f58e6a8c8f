"""Rules written as functions: what they are called, where they fire, up and down."""

import pytest

from optimizer.algebra import Filter, Limit, Tree, conjunction
from optimizer.errors import InternalError, SqlError
from optimizer.prepass.functions import rewrite
from optimizer.prepass.instructions import Batch, MatchOrder
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, Sweep, node
from optimizer.settings import Settings
from tests.unit.prepass.small_trees import count, cross, limit, run, scan, steps, turn, where


@rewrite(node(Filter, node(Filter, ANY)))
def filters_to_one(tree: Tree, context: RuleContext) -> Tree | None:
    """σp(σq(A)) ≡ σ(p ∧ q)(A)

    The rest says why.
    """
    match tree:
        case Tree(Filter(p), (Tree(Filter(q), (below,)),)):
            return Tree(Filter(conjunction((*p, *q))), (below,))
    return None


def test_a_function_is_a_rule_like_any_other() -> None:
    assert isinstance(filters_to_one, RewriteRule)
    assert filters_to_one.name == "filters_to_one" and filters_to_one.sweep is None
    assert filters_to_one.summary() == "σp(σq(A)) ≡ σ(p ∧ q)(A)"
    tree = where(0, 1, where(0, 2, where(0, 3, scan(0))))
    result = run(tree, filters_to_one)
    assert [f.rule for f in result.firings] == ["filters_to_one"] * 2
    assert len(result.tree.op.predicate) == 3 and result.tree.inputs[0].inputs == ()
    assert run(tree, filters_to_one, settings=Settings(disable=("filters_to_one",))).firings == ()


def test_functions_do_not_share_names() -> None:
    assert type(turn(1, 2)) is not type(turn(2, 3)) and turn(1, 2).name == "1_to_2"
    named = rewrite(name="other")(lambda tree, context: None)
    assert named.name == "other" and named.summary() == ""


def join_limits(sweep: Sweep | None) -> RewriteRule:
    """Two limits that stand on each other become their sum."""

    @rewrite(node(Limit, node(Limit, ANY)), sweep=sweep)
    def add(tree: Tree, context: RuleContext) -> Tree:
        return limit(count(tree) + count(tree.inputs[0]), tree.inputs[0].inputs[0])

    return add


TOWER = limit(1, limit(2, limit(4, limit(8, scan(0)))))


def test_up_and_down() -> None:
    """Down, a result is not asked again but its inputs are; up, an operator sees its rewritten input."""
    once = {sweep: run(TOWER, Batch("b", (join_limits(sweep),), fixpoint=False)) for sweep in (Sweep.UP, Sweep.DOWN)}
    assert steps(once[Sweep.DOWN]) == ["add 1>3", "add 4>12"]
    assert steps(once[Sweep.UP]) == ["add 4>12", "add 2>14", "add 1>15"]
    for sweep in (None, *Sweep):
        result = run(TOWER, Batch("b", (join_limits(sweep),)))
        assert count(result.tree) == 15 and result.converged


def test_a_sweep_can_be_given_as_text() -> None:
    assert rewrite(sweep="up")(lambda tree, context: None).sweep is Sweep.UP
    with pytest.raises(ValueError, match="sideways"):
        rewrite(sweep="sideways")


def test_sweeps_and_other_rules_in_one_batch_take_turns() -> None:
    """A pass: the rules before the sweep together, then the sweep, then those after it."""

    @rewrite(node(Limit, ANY), sweep="down")
    def double(tree: Tree, context: RuleContext) -> Tree | None:
        return limit(2 * count(tree), tree.inputs[0]) if count(tree) < 20 else None

    rules = (turn(9, 8), turn(8, 7), double, turn(14, 13))
    result = run(cross(limit(9, scan(0)), limit(8, scan(1))), Batch("b", rules))
    left = ["9_to_8 9>8", "8_to_7 8>7"]
    assert steps(result) == [
        *left, "8_to_7 8>7", "double 7>14", "double 7>14", "14_to_13 14>13", "14_to_13 14>13", "double 13>26", "double 13>26",
    ]  # fmt: skip


@pytest.mark.parametrize("order", list(MatchOrder))
def test_a_sweep_keeps_its_direction_in_a_batch_of_single_firings(order: MatchOrder) -> None:
    for sweep, first in ((Sweep.UP, "add 4>12"), (Sweep.DOWN, "add 1>3")):
        result = run(TOWER, Batch("b", (join_limits(sweep),), order=order, one_firing=True, fixpoint=False))
        assert steps(result) == [first]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (KeyError("x"), InternalError("rule broken failed in the pre-pass: KeyError: 'x'")),
        (SqlError("no good"), SqlError("no good")),
    ],
)
def test_a_failing_function_is_named_unless_the_error_is_ours(error: Exception, raised: Exception) -> None:
    @rewrite(sweep="up")
    def broken(tree: Tree, context: RuleContext) -> Tree | None:
        raise error

    with pytest.raises(type(raised), match=f"^{raised}"):
        run(TOWER, broken)
