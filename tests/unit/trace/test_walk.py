"""Walking through a trace, recorded or live, to where something happens."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from experiments.live_search import LiveSearch
from optimizer.errors import NoPlan, PlanscopeError
from optimizer.trace.conditions import condition
from optimizer.trace.state import MemoState
from optimizer.trace.walk import KINDS, Stop, Walk
from planscope import Replay, Trace
from tests.search.graphs import graph_query
from tests.search.planning import plan


def search(trace: Trace) -> None:
    trace.header("a join graph", {}, "digest")
    plan(graph_query("cycle", 4, 2), trace, enumeration="rules")


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    trace = Trace()
    search(trace)
    return trace.events


WHERE = [
    *KINDS, "best", "skip", "root", "group 3", "goal 5", "rule join_commute",
    'kind == "prune" and root_cost > 0', "stack > 9 and kind != 'cost'",
]  # fmt: skip


@pytest.mark.parametrize("where", WHERE)
def test_forward_and_backward_find_the_same_events(events: list[dict[str, Any]], where: str) -> None:
    walk = Walk(Replay(events))
    stop, there = walk.stop(where), []
    while walk.forward(stop) is not None:
        there.append(walk.replay.position)
    assert walk.replay.position == len(events)
    back = [len(events)] if there[-1:] == [len(events)] else []
    while walk.backward(stop):
        back.append(walk.replay.position)
    assert walk.replay.position == 0
    assert back == there[::-1]
    kind = KINDS.get(where, where)
    if " " not in where and where != "best":
        assert there == [i + 1 for i, event in enumerate(events) if event["kind"] == kind]
    assert there or where in ("merge", "stage", "rewrite", "derive")


def test_a_group_that_was_merged_is_the_one_it_went_into() -> None:
    told = [{"kind": "group", "id": id, "columns": [], "rows": 1, "lower": 0} for id in (0, 1, 2)]
    told += [{"kind": "merge", "gone": 1, "into": 0, "because": "insert"}, *({"kind": "explored", "group": id} for id in (2, 0))]
    walk, there = Walk(Replay([{"seq": i, "t": 0, "task": None, **event} for i, event in enumerate(told)])), []
    while walk.forward(walk.stop("group 1")) is not None:
        there.append(walk.replay.position)
    assert there == [2, 4, 6]


def test_best_is_of_the_whole_query(events: list[dict[str, Any]]) -> None:
    walk, costs = Walk(Replay(events)), []
    while walk.forward(walk.stop("best")) is not None:
        state = walk.replay.state
        assert state.root is not None and state.goals[state.root].best is not None
        costs.append(state.goals[state.root].best.cost)
    assert costs and costs == sorted(costs, reverse=True)


def ancestors(events: list[dict[str, Any]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for event in events:
        if event["kind"] == "task_push":
            parent = event["parent"]
            found[event["id"]] = [*found[parent], parent] if parent is not None else []
    return found


def test_over_passes_what_a_task_asked_for_and_out_ends_its_parent(events: list[dict[str, Any]]) -> None:
    above = ancestors(events)
    starts = [i for i, event in enumerate(events) if event["kind"] == "task_start"]
    for at in starts[:: len(starts) // 40]:
        task = events[at]["id"]
        parent = (above[task] or [None])[-1]
        walk = Walk(Replay(events))
        walk.replay.seek(at + 1)
        over = walk.forward(walk.over()) and walk.replay.position - 1
        walk.replay.seek(at + 1)
        out = walk.forward(walk.out()) and walk.replay.position - 1
        passed = [events[i]["id"] for i in starts if at < i < (over or len(events))]
        assert all(task in above[each] for each in passed)
        assert over is None or task not in above[events[over]["id"]]
        assert out is None or parent not in above[events[out]["id"]]
        if over is not None:
            walk.replay.seek(over + 1)
            assert walk.backward(walk.over())
            assert len(above[events[walk.replay.position - 1]["id"]]) <= len(above[events[over]["id"]])


def test_a_live_search_stops_at_the_event_that_was_asked_for(events: list[dict[str, Any]]) -> None:
    live = LiveSearch(search)
    replay = live.start()
    walk = Walk(replay)
    assert len(replay.events) == 2
    assert walk.forward(walk.stop("fire")) is not None
    assert len(replay.events) == replay.position == 1 + next(i for i, event in enumerate(events) if event["kind"] == "fire")
    assert walk.forward(walk.stop("root_cost > 0")) is not None
    assert len(replay.events) == replay.position < len(events)
    assert replay.state == Replay(events).seek(replay.position)
    walk.backward(walk.stop("task"))
    assert replay.final() == Replay(events).final()
    assert [{**event, "t": 0} for event in replay.events] == [{**event, "t": 0} for event in events]
    live.close()


def test_a_live_search_can_be_given_up() -> None:
    live = LiveSearch(search)
    live.start().seek(100)
    live.close()
    assert len(live.replay.events) == 100
    assert not any(thread.name == "search" for thread in threading.enumerate())


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, whatever other tests of this process had it do."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_stops_a_live_search_where_it_is(events: list[dict[str, Any]], ctrl_c: None) -> None:
    live = LiveSearch(search)
    replay = live.start()
    walk = Walk(replay)

    def press(event: dict[str, Any], state: MemoState) -> bool:
        """Ctrl-C at event 200, and no further event before it arrived."""
        if event["seq"] == 200:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            while live._wanted:
                os.sched_yield()
        return False

    with pytest.raises(KeyboardInterrupt):
        walk.forward(Stop("press", press))
    assert replay.position == 201 and len(replay.events) == 202  # the search stops at its next event
    assert replay.state == Replay(events).seek(201)
    assert walk.forward(walk.stop("best")) is not None
    live.close()


def test_what_ends_a_live_search_is_said() -> None:
    def no_plan(trace: Trace) -> None:
        search(trace)
        raise NoPlan("no way")

    live = LiveSearch(no_plan)
    live.start().final()
    assert isinstance(live.error, NoPlan)

    def wrong_query(trace: Trace) -> None:
        trace.header("selec", {}, "digest")
        raise PlanscopeError("not SQL")

    with pytest.raises(PlanscopeError, match="not SQL"):
        LiveSearch(wrong_query).start()

    def bug(trace: Trace) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        LiveSearch(bug).start()


EVENT = {"kind": "prune", "goal": 3, "lower": 50.0, "limit": "inf", "mexpr": None, "sources": [1, 2]}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("kind == 'prune'", True), ("kind != 'prune'", False), ("lower > 40 and not goal == 4", True), ("40 < lower <= 50", True),
        ("goal in [1, 3]", True), ("1 in sources", True), ("7 in sources", False), ("mexpr == None", True), ("mexpr > 3", False),
        ("cost > 1", False), ("lower * 2 - 10 == 90", True), ("-lower < 0", True), ("lower / 0 > 1", False), ("stack == 0", True),
        ("'r' in kind", True), ("rows(9) > 1", False), ("status(3) == None", True), ("1e999 > lower", True),
        ("limit == inf", True), ("limit == 'inf'", True), ("limit > lower", True), ("lower == inf", False),
        ("root_cost == None", True),
    ],
)  # fmt: skip
def test_conditions(text: str, holds: bool) -> None:
    assert condition(text).holds(EVENT, MemoState()) is holds
    assert condition(text).by_state == any(word in text for word in ("stack", "root_cost", "rows(", "status(", "cost("))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lowr > 1", 'no event has a field "lowr"'), ("kind ==", "is no condition"), ("", "is no condition"),
        ("__import__('os')", 'no function "__import__"'), ("kind.__class__", 'cannot have "kind.__class__"'),
        ("(lambda: 1)()", "cannot have"), ("[x for x in kind]", "cannot have"), ("f'{kind}'", "cannot have"),
        ("kind < 5", "kind is a text, and 5 a number: they are never alike"), ("cost(kind) > 1", "takes a number, not kind"),
        ("1 + kind == 'prune'", ".* is a number, and 'prune' a text"), ("sources != 3", "sources is a list, and 3 a number"),
        ("kind[0]", "cannot have"), ("9 ** 9 ** 9", "cannot have"), ("rows(1, 2)", "cannot have"), ("rows(*kind)", "cannot have"),
        ("(" * 400 + "1" + ")" * 400, "is no condition|nested too deep"), ("-" * 900 + "1", "nested too deep"),
        ("1 +" * 400 + "1", "1,000 are allowed"), ("\0", "condition"),
    ],
)  # fmt: skip
def test_what_is_no_condition_is_said_so(text: str, message: str) -> None:
    with pytest.raises(PlanscopeError, match="(?s)" + message.replace("(", r"\(").replace("[", r"\[")):
        condition(text)


@pytest.mark.parametrize("where", ["group x", "goal 1.5", "nonsense", "rule a b"])
def test_what_is_nowhere_is_said_so(where: str) -> None:
    with pytest.raises(PlanscopeError):
        Walk(Replay([])).stop(where)
