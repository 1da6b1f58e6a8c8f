"""Every event that is emitted is in the vocabulary with all its fields, and every event has a sentence."""

import ast
import string
from collections import defaultdict
from pathlib import Path

import pytest

from memo_viz.words import Names, figure, sentence
from optimizer.trace.state import BestState, GoalState, GroupState, MemoState
from optimizer.trace.vocabulary import Kind, complaint, vocabulary
from planscope import Replay, Trace
from tests.search.graphs import graph_query
from tests.search.planning import plan

OPTIMIZER = Path(__file__).parent.parent.parent.parent / "optimizer"
CHOSEN = {"pass_through", "derive"}  # the kinds of the one call that is given its kind


def emitted() -> dict[str, set[str]]:
    """Every kind that some call of `emit` names, with the fields that calls name; those of a call without a name for CHOSEN."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in OPTIMIZER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "emit":
                kinds = [node.args[0].value] if isinstance(node.args[0], ast.Constant) else CHOSEN
                for kind in kinds:
                    found[kind] |= {keyword.arg for keyword in node.keywords if keyword.arg is not None}
    return found


def test_every_emitted_kind_and_field_is_in_the_vocabulary() -> None:
    calls = emitted()
    kinds = vocabulary().kinds
    assert set(calls) | {"dropped"} == set(kinds)  # `dropped` is put at the end without a call
    for name, fields in calls.items():
        assert fields <= set(kinds[name].fields), name


@pytest.mark.parametrize("kind", vocabulary().kinds.values(), ids=lambda kind: kind.name)
def test_templates_name_what_there_is(kind: Kind) -> None:
    """Fields, facts, parts and types; every field has a type; the last case of a part has no condition."""
    known = vocabulary()
    names = {*kind.fields, *known.facts, *kind.parts}
    cases = [case for part in kind.parts.values() for case in part]
    templates = [kind.sentence, *(text for _, text in cases), *(text for said in kind.values.values() for text in said.values())]
    for template in templates:
        for _, name, type, _ in string.Formatter().parse(template):
            assert name is None or name in names, f"{kind.name}: {template}"
            assert not type or type in known.types, f"{kind.name}: {template}"
    assert all(name in names for conditions, _ in cases for name in conditions)
    assert all(part[-1][0] == [] for part in kind.parts.values())
    assert all(field.type in known.types and field.meaning for field in kind.fields.values())
    assert set(kind.values) == {field.name for field in kind.fields.values() if field.type == "choice"}


@pytest.mark.parametrize(
    "settings",
    [
        {"region": "tasks"}, {"region": "table"}, {"enumeration": "rules"}, {"driver": "iterative"},
        {"exploration": "interleaved", "enumeration": "rules"}, {"enumeration": "rules", "budget_tasks": 60},
        {"enumeration": "rules", "budget_mexprs": 12},
    ],
    ids=str,
)  # fmt: skip
def test_events_of_real_searches_fit_and_have_sentences(settings: dict[str, object]) -> None:
    trace = Trace()
    trace.header("select '\x1b[2J', '‮'", {}, "digest")
    plan(graph_query("cycle", 4, 5), trace, **settings)
    trace.finish()
    replay = Replay(trace.events)
    names = Names(replay.final(), {event["id"]: event["text"] for event in trace.events if event["kind"] == "task_push"})
    for i, event in enumerate(trace.events):
        kind = vocabulary().kinds[event["kind"]]
        assert complaint(event) is None
        assert set(event) <= {*vocabulary().common, *kind.fields}
        for text in (sentence(event, names), sentence(event, names, replay.seek(i + 1))):
            assert text.isprintable() and text and "{0" not in text and "None" not in text, text


def cut(local: float, lower: float, **more: object) -> dict[str, object]:
    event = {"kind": "prune", "goal": 1, "mexpr": None, "mechanism": "group_bound", "limit": 40.0, "sources": [2]}
    return {**event, "local": local, "spent": local, "lower": lower, **more}


def test_a_prune_says_both_numbers_and_where_they_came_from() -> None:
    state = MemoState(groups={0: GroupState(0, ["a#1"], 5, 30.0, lower_event=3)})
    state.goals = {
        1: GoalState(1, 0, "order(a#1)", limit=40.0, limit_event=7, limit_goal=2),
        2: GoalState(2, 0, "any", lower=30.0, lower_event=9),
    }
    assert sentence(cut(20.0, 50.0, mechanism="predicted"), Names(state, {}), state) == (
        "The enforcer is cut for G0 ordered by a: a plan through it costs at least 50 (20 itself; G0 at least 30 (event 9)), "
        "but a plan for more than 40 is of no use to G0 (event 7). Its inputs were not searched for it."
    )


@pytest.mark.parametrize(
    ("local", "lower", "said"),
    [
        (20.0, 50.0, "(20 itself; G0 at least 30 (event 9))"),
        (0.0, 50.0, "(20 itself; G0 at least 30 (event 9))"),  # it was not costed
        (20.0, 45.0, "(20 itself; G0 at least 30 (event 9); by now 50 in all)"),  # the input cost 25 when the bound was made
    ],
)
def test_what_a_prune_says_adds_up(local: float, lower: float, said: str) -> None:
    state = MemoState(groups={0: GroupState(0, ["a#1"], 5, 30.0)})
    state.goals = {1: GoalState(1, 0, "order(a#1)"), 2: GoalState(2, 0, "any", lower=30.0, lower_event=9)}
    found = sentence(cut(local, lower), Names(state, {}), state)
    assert f"a plan through it costs at least {figure(lower)} {said}, but" in found


@pytest.mark.parametrize(
    ("best", "more", "why"),
    [
        (40.0, {}, "it has to beat the best plan so far, which costs 40 (event 5)"),
        (
            40.0,
            {"lower": 36.0},
            "that is only 4 less than the best plan so far, which costs 40 (event 5): near enough, by the gap",
        ),
        (
            40.0,
            {"lower": 36.0, "spent": 41.0},
            "with the plans that its inputs have it costs 41, and the best plan so far costs 40",
        ),
        (41.0, {}, "a plan for more than 40 is of no use."),  # than that of a plan that is not added up yet
    ],
)
def test_why_a_way_is_cut(best: float, more: dict[str, float], why: str) -> None:
    state = MemoState(groups={0: GroupState(0, ["a#1"], 5, 30.0)})
    plan = BestState(None, "sort", "", [2], "order(a#1)", 10.0, best, event=5)
    state.goals = {1: GoalState(1, 0, "order(a#1)", best=plan), 2: GoalState(2, 0, "any", lower=30.0)}
    assert f", but {why}" in sentence({**cut(20.0, 50.0), **more}, Names(state, {}), state)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"kind": "limit", "old": 40.0, "new": 50.0}, "may cost rises by 10 to 50, by what"),
        ({"kind": "limit", "old": 50.0, "new": 40.0}, "may cost falls from 50 to 40, by what"),
        ({"kind": "limit", "old": 50.001, "new": 50.0}, "may cost falls by 0.001 to 50, by what"),
        ({"kind": "best", "old": 50.001, "cost": 50.0}, "it costs 50, 0.001 less than the best before."),
        ({"kind": "best", "old": float("inf"), "cost": 50.0}, "it costs 50, the best before ∞."),
        ({"kind": "goal_close", "result": "abandoned", "cost": float("inf")}, "the budget is spent; it has no plan yet."),
        ({"kind": "goal_close", "result": "abandoned", "cost": 5.0}, "the budget is spent; its best plan costs 5."),
        ({"kind": "explored", "group": 0, "cut": True}, "G0 is explored as far as the budget goes."),
        ({"kind": "explored", "group": 0}, "G0 is explored: no rule has more"),
    ],
)
def test_figures_that_change_and_budgets(event: dict[str, object], said: str) -> None:
    shared = {"goal": 1, "source": 1, "mexpr": None, "op": "sort", "inputs": []}
    assert said in sentence({**shared, **event}, Names(MemoState(), {}))


def test_a_split_that_a_table_cuts_is_named_by_its_relations() -> None:
    state = MemoState(groups={i: GroupState(i, [f"c{i}#{i}"], 5, 1.0) for i in range(4)})
    state.goals = {1: GoalState(1, 3, "order(c1#1)")}
    event = cut(0.0, 50.0, sources=[], split=[3, 4], left=[0, 1], right=[2])
    assert sentence(event, Names(state, {}), state) == (
        "The join of {G0, G1} with G2 is cut for G3 ordered by c1: a plan through it costs at least 50, but a plan for more "
        "than 40 is of no use. That bound was enough to cut it."
    )


def test_a_merge_tells_the_two_groups_apart() -> None:
    state = MemoState(groups={3: GroupState(3, ["a#1"], 5, 0.0), 7: GroupState(7, ["a#1"], 5, 0.0, merged_into=3)})
    said = sentence({"kind": "merge", "gone": 7, "into": 3, "because": "insert"}, Names(state, {}), state)
    assert said.startswith("G7 and G3 turn out to compute the same, G3 (insert)")


def test_figures_tell_bounds_apart() -> None:
    assert [figure(v) for v in (0.0, 554.0, 10589.078, 10589.213, "inf", 1e12, 0.00125)] == [
        "0", "554", "10,589.08", "10,589.21", "∞", "1e+12", "0.00125",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"kind": "root", "seq": 1, "t": 2, "task": None, "goal": 3}, None),
        ({"kind": "root", "seq": 1, "t": 2, "task": None, "goal": "3"}, "the field goal of root"),
        ({"kind": "root", "seq": 1, "t": 2, "task": None, "goal": True}, "the field goal of root"),
        ({"kind": "root", "seq": 1, "t": 2, "task": None}, "the field goal of root"),
        ({"kind": "budget", "seq": 1, "t": 2, "task": None, "tasks": -1, "left": 0}, "the field tasks of budget"),
        ({"kind": 5, "seq": 1, "t": 2}, "an event has a kind"),
        ({"kind": "of the future", "seq": 1, "t": 2, "some": "field"}, None),
    ],
)
def test_what_is_no_event_is_said_so(event: dict[str, object], problem: str | None) -> None:
    found = complaint(event)
    assert found is None if problem is None else found is not None and found.startswith(problem)
