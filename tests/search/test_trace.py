"""A trace tells everything: the replayer rebuilds the memo from events alone, and tracing changes nothing."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest

from optimizer.errors import CatalogError
from optimizer.search.extract import extract
from optimizer.trace.recorder import Trace, json_lines, write_jsonl
from optimizer.trace.replay import Replay
from tests.search.graphs import SHAPES, graph_query
from tests.search.planning import plan
from tests.search.snapshot import snapshot


@pytest.mark.parametrize("mode", ["none", "upper", "lower", "both"])
@pytest.mark.parametrize("shape", SHAPES)
def test_replay_rebuilds_the_memo(shape: str, mode: str, tmp_path: Path) -> None:
    trace = Trace()
    trace.header("a join graph", {"pruning": mode}, "digest")
    search, _ = plan(graph_query(shape, 5, 7), trace, pruning=mode)
    live = snapshot(search)
    write_jsonl(trace, tmp_path / "trace.jsonl")
    replayed = Replay.load(tmp_path / "trace.jsonl").final()
    assert replayed.groups == live.groups
    assert replayed.mexprs == live.mexprs
    assert replayed.goals == live.goals
    assert replayed == live
    assert replayed.stack == []


def test_replay_goes_both_ways() -> None:
    """Any position reached by stepping back is the state that stepping forward gave."""
    trace = Trace()
    trace.header("a join graph", {}, "digest")
    plan(graph_query("cycle", 4, 2), trace)
    replay = Replay(trace.events)
    positions = range(0, len(trace.events), 37)
    forward = {at: deepcopy(replay.seek(at)) for at in positions}
    for at in reversed(positions):
        assert replay.seek(at) == forward[at]


def test_bounds_hold_at_every_event() -> None:
    """lower <= best for every goal at every moment, and a goal's best only falls (S13, design §5)."""
    trace = Trace()
    trace.header("a join graph", {}, "digest")
    plan(graph_query("clique", 5, 4), trace)
    best: dict[int, float] = {}
    lower: dict[int, float] = {}
    for event in trace.events:
        if event["kind"] == "best":
            assert event["cost"] < best.get(event["goal"], float("inf"))
            best[event["goal"]] = event["cost"]
            assert lower.get(event["goal"], 0.0) <= event["cost"] * (1 + 1e-9)
        if event["kind"] == "goal_close":
            assert event["lower"] >= lower.get(event["goal"], 0.0)
            lower[event["goal"]] = event["lower"]
            assert event["lower"] <= best.get(event["goal"], float("inf")) * (1 + 1e-9)
        if event["kind"] == "prune":
            assert event["lower"] > event["limit"] or event["lower"] >= best.get(event["goal"], float("inf"))


def test_tracing_changes_no_plan_and_repeats_exactly() -> None:
    query = graph_query("star", 5, 3)
    traces = []
    for _ in range(2):
        trace = Trace()
        trace.header("a join graph", {}, "digest")
        search, goal = plan(query, trace)
        traces.append([{k: v for k, v in event.items() if k != "t"} for event in trace.events])
    silent, silent_goal = plan(query)
    forgetful, cheap_goal = plan(query)
    assert traces[0] == traces[1]
    assert silent_goal.best_cost == cheap_goal.best_cost == goal.best_cost
    assert snapshot(silent) == snapshot(search)
    plans = [[(node.op, node.cost) for node in extract(*way).walk()] for way in ((forgetful, cheap_goal), (silent, silent_goal))]
    assert plans[0] == plans[1]


def test_a_bounded_trace_says_what_it_dropped() -> None:
    trace = Trace(max_events=50)
    trace.header("a join graph", {}, "digest")
    plan(graph_query("chain", 4, 1), trace)
    trace.finish()
    assert len(trace.events) == 51
    assert trace.events[-1]["kind"] == "dropped"
    assert trace.events[-1]["count"] == trace.dropped > 0


def test_every_line_is_strict_json() -> None:
    trace = Trace()
    trace.header("select '</script>'", {}, "digest")
    plan(graph_query("chain", 3, 1), trace, pruning="none")
    for line in json_lines(trace):
        json.loads(line, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a planscope trace"),
        ("not json\n", "line 1: not a trace event"),
        ("[1]\n", "line 1: not a trace event"),
        ('{"kind": "header", "format": "something"}\n', "is not a planscope trace"),
        ('{"kind": "header", "format": "planscope-trace", "version": 99}\n', "version 99"),
    ],
)
def test_what_is_no_trace_is_said_so(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(CatalogError, match=message):
        Replay.load(path)
