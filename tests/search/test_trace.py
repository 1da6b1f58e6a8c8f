"""A trace tells everything: the replayer rebuilds the memo from events alone, and tracing changes nothing."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memo_viz.words import facts
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError
from optimizer.trace.recorder import Trace, json_lines
from optimizer.trace.replay import BLOCK, Replay
from optimizer.trace.state import GroupState, MemoState
from tests.search.graphs import SHAPES, graph_query
from tests.search.planning import plan, trace_of, traced
from tests.search.snapshot import snapshot

ITERATIVE = {"driver": "iterative"}
WAYS = [
    *({"pruning": mode} for mode in ("none", "dominance", "upper", "lower", "both")),
    *({"region": "table", "pruning": mode} for mode in ("none", "both")),
    *(ITERATIVE | more for more in ({}, {"enumeration": "rules"}, {"budget_tasks": 40}, {"budget_mexprs": 20})),
]


@pytest.mark.few(5)
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_replay_rebuilds_the_memo(shape: str, way: dict[str, object], tmp_path: Path) -> None:
    query = graph_query(shape, 4 if "driver" in way else 5, 7)
    search, trace = traced(query, **way)
    live = snapshot(search)
    (tmp_path / "trace.jsonl").write_text("".join(f"{line}\n" for line in json_lines(trace)), "utf-8")
    replayed = Replay.load(tmp_path / "trace.jsonl").final()
    assert replayed.groups == live.groups
    assert replayed.mexprs == live.mexprs
    assert replayed.goals == live.goals
    assert replayed == live
    assert replayed.stack == []
    silent = plan(query, **way)[0]
    assert snapshot(silent) == live and vars(silent.counters) == vars(search.counters), "tracing changes nothing"


def recorded(shape: str, n: int, **settings: object) -> list[dict[str, object]]:
    return traced(graph_query(shape, n, 2), **settings)[1].events


SEARCHES = {
    "tasks": recorded("cycle", 5),
    "several blocks": recorded("clique", 4, enumeration="rules", pruning="none"),
    "rules and goals at once": recorded("cycle", 4, enumeration="rules", exploration="interleaved"),
    "a budget": recorded("clique", 4, enumeration="rules", budget_tasks=300),
    "the other driver": recorded("chain", 4, driver="iterative"),
}


@pytest.mark.parametrize("events", SEARCHES.values(), ids=SEARCHES)
@given(
    walk=st.lists(st.one_of(st.sampled_from([-1, 1, -7, 50, -BLOCK, BLOCK]), st.integers(-3000, 3000)), min_size=1, max_size=8)
)
@settings(max_examples=12, deadline=None)
def test_any_walk_gives_the_state_of_a_fresh_replay(events: list[dict[str, object]], walk: list[int]) -> None:
    replay = Replay(events)
    for step in walk:
        walked = replay.seek(replay.position + step)
        fresh = Replay(events).seek(replay.position)
        assert walked == fresh
        assert walked.as_json() == fresh.as_json()


def test_states_kept_for_later_are_not_written_to() -> None:
    """Records are shared between blocks: going on must not change what an earlier position had."""
    events = SEARCHES["several blocks"]
    assert len(events) > 2 * BLOCK
    replay = Replay(events)
    positions = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, len(events)]
    first = {at: json.dumps(replay.seek(at).as_json()) for at in positions}
    for at in [*reversed(positions), *positions]:
        assert json.dumps(replay.seek(at).as_json()) == first[at]


def test_where_figures_came_from() -> None:
    """Events named beside a figure are those that gave it."""
    events = SEARCHES["tasks"]
    state = Replay(events).final()
    for goal in state.goals.values():
        assert goal.lower_event is not None and events[goal.lower_event]["lower"] == goal.lower
        if goal.best is not None:
            assert goal.best.event is not None and events[goal.best.event]["cost"] == goal.best.cost
        if goal.limit_event is not None:
            limit = events[goal.limit_event]
            assert (limit["goal"], limit["source"], limit["new"]) == (goal.id, goal.limit_goal, goal.limit)
    assert any(goal.limit_event is not None for goal in state.goals.values())


@pytest.mark.parametrize("region", ["tasks", "table"])
def test_sets_have_the_rows_that_the_plan_says(tpch: Catalog, region: str) -> None:
    """A cost model takes less than a row as one; an estimate is what it is."""
    query = """select * from region, nation, supplier
        where r_regionkey = n_regionkey and n_nationkey = s_nationkey and s_name = 'x' and n_name = 'y'"""
    state = Replay(trace_of(query, tpch, region=region).events).final()
    assert state.plan is not None
    joined = [(state.goals[node["goal"]].group, node["rows"]) for node in state.plan if "join" in node["op"]]
    assert [state.groups[group].rows for group, _ in joined] == [rows for _, rows in joined]
    assert min(group for group, _ in joined) < 0 and max(rows for _, rows in joined) < 1


def test_limits_rise_from_what_they_were_and_are_cited_with_their_own_figures() -> None:
    replay, rises = Replay(SEARCHES["rules and goals at once"]), 0
    for i, event in enumerate(replay.events):
        if event["kind"] == "limit" and event["source"] != event["goal"]:
            assert event["old"] == replay.seek(i).goals[event["goal"]].limit
            rises += event["new"] > event["old"]
        cited = facts(event, replay.seek(i + 1)) if event["kind"] == "prune" else {}
        for name, figure in (("plan_event", "cost"), ("limit_event", "new")):
            assert name not in cited or replay.events[int(cited[name])][figure] == event["limit"]
    assert rises > 0


@pytest.mark.parametrize(
    ("settings", "kind", "field", "before", "after"),
    [
        ({"enumeration": "rules", "budget_mexprs": 12}, "explored", "cut", {False}, {True}),
        ({"budget_tasks": 20}, "goal_open", "because", set(), {"first", "budget"}),
    ],
)
def test_what_a_budget_cuts_is_said_so(
    settings: dict[str, object], kind: str, field: str, before: set[object], after: set[object]
) -> None:
    events = recorded("clique", 4, **settings)
    spent = next(i for i, event in enumerate(events) if event["kind"] == "budget")
    told = [{event[field] for event in part if event["kind"] == kind} for part in (events[:spent], events[spent:])]
    assert told == [before, after]


def test_the_bound_of_an_expression_is_its_own_cost_and_what_its_inputs_cost() -> None:
    """All three numbers of a prune are told, also of an expression that was never costed."""
    replay, seen = Replay(SEARCHES["rules and goals at once"]), 0
    for i, event in enumerate(replay.events):
        if event["kind"] == "prune" and event["mechanism"] == "group_bound" and event["mexpr"] is not None:
            state = replay.seek(i + 1)
            inputs = sum(state.groups[group].lower for group in event["sources"])
            assert event["local"] > 0 and event["local"] + inputs == pytest.approx(event["lower"])
            seen += 1
    assert seen > 0


def test_a_state_is_json_without_infinite_numbers() -> None:
    state = MemoState(groups={3: GroupState(3, ["a"], 1.0, float("inf")), 1: GroupState(1, [], 1.0, 0.0)})
    value = json.loads(json.dumps(state.as_json(), allow_nan=False))
    assert [group["id"] for group in value["groups"]] == [1, 3]
    assert value["groups"][1]["lower"] == "inf"


@pytest.mark.parametrize("driver", ["top_down", "iterative"])
def test_bounds_hold_at_every_event(driver: str) -> None:
    """lower <= best for every goal at every moment, and a goal's best only falls (S13, design §5)."""
    _, trace = traced(graph_query("clique", 5, 4), driver=driver)
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


def test_a_trace_repeats_exactly() -> None:
    query = graph_query("star", 5, 3)
    one, other = ([{k: v for k, v in event.items() if k != "t"} for event in traced(query)[1].events] for _ in range(2))
    assert one == other


def test_a_bounded_trace_says_what_it_dropped(tmp_path: Path) -> None:
    trace = Trace(max_events=50)
    trace.header("a join graph", {}, "digest")
    plan(graph_query("chain", 4, 1), trace)
    trace.finish()
    assert len(trace.events) == 51
    assert trace.events[-1]["kind"] == "dropped"
    assert trace.events[-1]["count"] == trace.dropped > 0
    (tmp_path / "cut.jsonl").write_text("".join(f"{line}\n" for line in json_lines(trace)), "utf-8")
    read = Replay.load(tmp_path / "cut.jsonl")
    assert (len(read.events), read.damage) == (51, None)


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
        ("[" * 100_000, "line 1: not a trace event"),
        ('{"kind": "header", "format": "something"}\n', "is not a planscope trace"),
        ('{"kind": "header", "format": "planscope-trace", "version": 99}\n', "version 99"),
    ],
)
def test_what_is_no_trace_is_said_so(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(CatalogError, match=message):
        Replay.load(path)


def written(path: Path, lines: list[str | bytes]) -> Path:
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


SET = {"seq": 20, "t": 1, "kind": "goal", "task": None, "goal": 9, "group": -1, "traits": "any", "lower": 0, "rows": 1}
MEXPR = {
    "seq": 20, "t": 1, "kind": "mexpr", "task": None, "id": 99, "group": 0, "duplicate": False, "op": "join", "detail": "",
    "logical": True, "rule": None, "source": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (lambda line: line[:-5], "not a trace event"),
        (lambda line: b"\xff\xfe", "not UTF-8 text"),
        (lambda line: line.replace('"t": ', '"t": NaN, "other": '), "NaN is no number of JSON"),
        (lambda line: "", "not a trace event"),
        (lambda line: line + "," + line, "Extra data"),
        (lambda line: "[]", "it is not an object"),
        (lambda line: "[" * 100_000, "nested too deep"),
        (lambda line: '{"seq": 5, "t": 1, "kind": "explored", "task": null, "group": 5}', "event 20 was expected, not 5"),
        (lambda line: '{"seq": 20, "t": 1, "kind": "explored", "task": null}', "the field group of explored"),
        (lambda line: '{"seq": 20, "t": 1, "kind": "explored", "task": null, "group": 99}', "cannot follow those before it"),
        (lambda line: '{"seq": 20, "t": 1, "kind": "root", "task": null, "goal": 99}', "root cannot follow those before it"),
        (lambda line: json.dumps({**SET, "relations": [99]}), "goal cannot follow those before it"),
        (lambda line: json.dumps({**SET, "relations": [], "rows": None}), "a set of relations has rows"),
        (lambda line: json.dumps({**MEXPR, "inputs": [99]}), "mexpr cannot follow those before it"),
        (lambda line: '{"seq": 20, "t": 1, "kind": "task_start", "task": null, "id": 99}', "another task is on top of the stack"),
    ],
)
def test_a_damaged_trace_is_read_up_to_the_damage(damaged, message: str, tmp_path: Path) -> None:
    _, trace = traced(graph_query("chain", 3, 1))
    lines: list[str | bytes] = list(json_lines(trace))
    whole = Replay.load(written(tmp_path / "whole.jsonl", lines))
    assert whole.damage is None and len(whole) == len(trace.events)
    replay = Replay.load(written(tmp_path / "t.jsonl", [*lines[:20], damaged(lines[20]), *lines[21:]]))
    assert replay.damage is not None
    assert replay.damage.startswith("line 21: ") and message in replay.damage
    assert len(replay) == 20
    assert replay.final() == Replay(replay.events).final()


def test_damage_in_a_later_block_is_found(tmp_path: Path) -> None:
    trace = Trace()
    trace.events = SEARCHES["several blocks"]
    lines: list[str | bytes] = [*json_lines(trace)][: BLOCK + 700]
    bad = {"seq": BLOCK + 500, "t": 1, "kind": "goal_close", "task": None, "goal": 10**6, "result": "win", "cost": 1, "lower": 1}
    lines[BLOCK + 500] = json.dumps({**bad, "limit": 1})
    replay = Replay.load(written(tmp_path / "t.jsonl", lines))
    assert replay.damage is not None and replay.damage.startswith(f"line {BLOCK + 501}: the event goal_close cannot follow")
    assert replay.final() == Replay(trace.events).seek(BLOCK + 500)


def test_fields_of_events_that_are_read(tmp_path: Path) -> None:
    head = {"kind": "header", "format": "planscope-trace", "version": 2, "sql": "inf", "settings": {}, "catalog_digest": ""}
    goal = {"kind": "goal", "goal": 0, "group": 0, "traits": "order(x)", "lower": 0}
    best = {
        "kind": "best", "goal": 0, "mexpr": None, "op": "sort", "detail": "", "local": 1, "cost": 1, "old": "inf", "inputs": [],
    }  # fmt: skip
    group = {"kind": "group", "id": 0, "columns": [], "rows": 1, "lower": 0}
    events = [head, group, goal, {**best, "delivered": "order(x)", "split": False}]
    lines: list[str | bytes] = [json.dumps({"seq": i, "t": 0, "task": None, **event}) for i, event in enumerate(events)]
    replay = Replay.load(written(tmp_path / "t.jsonl", lines))
    assert replay.damage is not None and "an enforcer has one input" in replay.damage
    assert replay.events[0]["sql"] == "inf" and len(replay) == 3
    with pytest.raises(CatalogError, match="the field settings of header is names and values"):
        Replay.load(written(tmp_path / "t.jsonl", [str(lines[0]).replace("{}", "3")]))
