"""The stepper in a terminal: what its commands do and show, over a recorded trace and over a search that runs."""

import contextlib
import json
import re
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from experiments.commands.inputs import TO_WATCH, Inputs
from experiments.live_query import LiveQuery
from experiments.workloads.queries import named_sql
from memo_viz.names import groups_called
from memo_viz.terminal.commands import ALIASES, VERBS, Stepper
from memo_viz.terminal.prompt import converse, follow
from optimizer.trace.walk import KINDS
from planscope import PlanscopeError, Replay, Session, Trace
from tests.search.graphs import graph_query
from tests.search.planning import traced

SQL = (
    "select n_name, count(*) as n from supplier, nation, region where s_nationkey = n_nationkey and n_regionkey = r_regionkey "
    "and r_name = 'ASIA' group by n_name order by n desc"
)


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("tpch:0.01", dict(TO_WATCH))


@pytest.fixture(scope="module")
def events(session: Session) -> list[dict[str, object]]:
    trace = Trace()
    session.optimize(SQL, trace)
    return trace.events


@pytest.fixture
def stepper(events: list[dict[str, object]]) -> Stepper:
    return Stepper(Replay(events), width=100)


@pytest.fixture
def live(session: Session):
    query = LiveQuery(Inputs(SQL, "tpch:0.01", (), (), None, None, True), session, SQL)
    yield query
    query.close()


def at(stepper: Stepper) -> int:
    return stepper.replay.position - 1


def test_walking(stepper: Stepper, events: list[dict[str, object]]) -> None:
    assert at(stepper) == 0 and "the query is: select n_name" in stepper.where()
    assert stepper.run("step").startswith(f"event 1 of {len(events) - 1:,}  stage")
    assert "the query is" in stepper.run("back 5") and at(stepper) == 0
    stepper.run("until prune")
    first = at(stepper)
    assert first == next(i for i, event in enumerate(events) if event["kind"] == "prune")
    stepper.run("prune")
    stepper.run("back prune")
    assert at(stepper) == first
    stepper.run("next")
    assert events[at(stepper)]["kind"] == "task_start" and at(stepper) > first
    stepper.run("goto 100")
    assert at(stepper) == 100
    stepper.run("s 7")
    assert at(stepper) == 107
    stepper.run("back 7")
    assert at(stepper) == 100
    stepper.run("step 1,0")
    stepper.run("back 1,1")
    assert at(stepper) == 99
    assert "plan is chosen" in stepper.run("end") and at(stepper) == len(events) - 1
    assert "this does not happen" in stepper.run("prune") and at(stepper) == len(events) - 1
    stepper.run("goto 3")
    assert "this does not happen" in stepper.run("back prune") and at(stepper) == 3
    assert "this does not happen" in stepper.run("until kind == 'best' and cost < 0") and at(stepper) == 3
    stepper.run("end")
    stepper.run("back until kind == 'best' and cost > 0")
    assert events[at(stepper)]["kind"] == "best"


def test_breakpoints(stepper: Stepper, events: list[dict[str, object]]) -> None:
    stepper.run("break best")
    stepper.run("b rule join_to_hash_join")
    assert stepper.run("break") == "  1  best\n  2  rule join_to_hash_join"
    assert stepper.run("run").startswith("breakpoint 2: rule join_to_hash_join\n")
    stepper.run("delete 2")
    assert stepper.run("step 100000").startswith("breakpoint 1: best\n")
    here = at(stepper)
    stepper.run("step 0")
    assert at(stepper) == here
    stepper.replay.final()
    stepper = Stepper(stepper.replay)  # that has seen no event
    stepper.run("break best")
    stepper.run("end")
    assert stepper.run("back run").startswith("breakpoint 1: best\n") and at(stepper) == here
    stepper.run("break group nation")
    assert stepper.run("back r").startswith("breakpoint 2: group nation\n") and at(stepper) < here
    assert stepper.run("delete") == "  there are no breakpoints"
    stepper.run("back run")
    assert at(stepper) == 0
    stepper.run("run")
    assert at(stepper) == len(events) - 1


def test_views_at_every_event_of_a_search_with_merges_and_restarts() -> None:
    """Every command that shows something works everywhere, in lines of the width."""
    _, trace = traced(graph_query("cycle", 4, 5), enumeration="rules", exploration="interleaved")
    stepper = Stepper(Replay(trace.events), width=80)
    while True:
        shown = [stepper.run(command) for command in ("where", "stack", "memo", "plan", "tree", "why", "events 2")]
        state = stepper.replay.state
        shown += [stepper.run(f"group G{id}") for id in list(state.groups)[-2:]]
        shown += [stepper.run(f"goal {id}") for id in list(state.goals)[-2:]]
        shown += [stepper.run(f"why m{id}") for id in list(state.mexprs)[-1:]]
        assert all(len(line) <= 80 for text in shown for line in text.split("\n"))
        if at(stepper) == len(trace.events) - 1:
            break
        stepper.run("step 61")


def test_a_set_of_relations_is_shown() -> None:
    stepper = Stepper(Replay(traced(graph_query("cycle", 5, 2), region="tasks")[1].events))
    stepper.run("end")
    goal = next(-2 - id for id in stepper.replay.state.groups if id < 0)
    assert "a set of relations that is no group" in stepper.run(f"goal g{goal}")
    assert f"g{goal} " in stepper.run("memo {t")
    last = list(stepper.replay.state.mexprs)[-1]
    assert f"G{stepper.replay.state.mexprs[last].group} " in stepper.run(f"memo m{last}")
    assert "scan  t1" in stepper.run("group t1")


def test_a_group_shows_what_sorts_it() -> None:
    trace = Trace()
    Session("tpch:0.01", {**TO_WATCH, "disable": ["join_to_hash_join"]}).optimize("tpch/q05", trace)
    stepper = Stepper(Replay(trace.events))
    stepper.run("end")
    assert re.search(r"sort of orders +[\d.,]+ +g\d+ +enforcer", stepper.run("group orders"))


def test_why_shows_the_events_that_gave_the_numbers(stepper: Stepper) -> None:
    stepper.run("prune")
    named = [int(number.replace(",", "")) for number in re.findall(r"\(event ([\d,]+)\)", " ".join(stepper.where().split()))]
    here = at(stepper)
    told = stepper.run("why")
    assert named and all(f"  event {number:,}\n" in told for number in named)
    assert at(stepper) == here


def test_a_picture(stepper: Stepper, tmp_path: Path) -> None:
    stepper.run("end")
    stepper.run(f"svg {tmp_path / 'memo.svg'}")
    stepper.run(f"svg {tmp_path / 'part.svg'} nation")
    whole, part = (ET.fromstring((tmp_path / name).read_text("utf-8")) for name in ("memo.svg", "part.svg"))
    assert len(list(whole.iter())) > len(list(part.iter()))
    stepper.run(f"svg {tmp_path / 'a b.SVG'} nation")
    assert len(list(ET.parse(tmp_path / "a b.SVG").getroot().iter())) == len(list(part.iter()))
    stepper.run(f'svg "{tmp_path / "quoted c.svg"}" nation')
    assert (tmp_path / "quoted c.svg").exists()
    with pytest.raises(PlanscopeError, match="cannot write"):
        stepper.run(f"svg {tmp_path / 'no' / 'memo.svg'}")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fly", 'no command "fly"'), ("until", "until what"), ("until nonsense", "no event has a field"),
        ("until prun", 'did you mean "prune"'), ("until cost('x') > 3", "cost(n) takes a number, not 'x', which is a text"),
        ("until relations == 'nation'", "relations is a list, and 'nation' a text"), ("until root_cost > 'x'", "never alike"),
        ("until 5", "is no condition: it holds at every event"), ("until (1, goal)", "is no condition"),
        ("break group {nation}, region", 'no group "{nation}, region"'),
        ("step two", 'step takes a number from 0 up, not "two"'),
        ("goto " + "9" * 30, "goto takes a number"),
        ("goto", "goto takes the number of an event"), ("delete 7", 'no breakpoint "7"'), ("group G99", 'no group "G99"'),
        ("group", "which group"), ("goal x", 'no goal "x"'), ("why m12345", 'no expression "m12345"'), ("svg", "svg FILE writes"),
        ("until group " + "9" * 5_000, "is not the number of a group"), ("delete " + "9" * 5_000, "no breakpoint"),
        ("svg t.jsonl", "end the name in .svg"), ("set pruning=none", "recorded trace"), ("rows a=1", "recorded trace"),
        ("again", "recorded trace"), ("fly\x1b[2J", "no command"),
    ],
)  # fmt: skip
def test_a_wrong_command_is_told_what_is_wrong(stepper: Stepper, command: str, message: str) -> None:
    with pytest.raises(PlanscopeError, match=re.escape(message)) as found:
        stepper.run(command)
    assert "\x1b" not in str(found.value)


def test_every_command_has_help(stepper: Stepper) -> None:
    listed = stepper.run("help")
    assert all(verb.usage in listed for verb in VERBS.values())
    assert all(short in VERBS or long in VERBS for short, long in ALIASES.items())
    assert "break" in stepper.run("help b")


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("un", ["until"]), ("p", ["plan", "prune"]), ("until pr", ["prune"]), ("back n", ["next"]), ("help whe", ["where"]),
        ("b rule join_to_h", ["join_to_hash_join"]), ("group G2", ["G2"]), ("step ", []),
    ],
)  # fmt: skip
def test_completion(stepper: Stepper, begun: str, offered: list[str]) -> None:
    stepper.run("end")
    assert stepper.completions(begun) == offered


def test_hostile_texts_are_inert(session: Session) -> None:
    trace = Trace()
    session.optimize("select '\x1b[2J\u202e' as x from nation where n_name <> '\x1b]0;x\x07'", trace)
    stepper = Stepper(Replay(trace.events))
    for command in ("where", "step", "tree", "step 3", "memo", "end", "events 50", "plan", "break rule == '\x1b[2J'"):
        assert all(line.isprintable() for line in stepper.run(command).split("\n")), command


VALUES = st.sampled_from(
    [
        None, True, -1, 0, 3, 10**30, 1.5, "", "x", "inf", "\x1b[2J", [], [None], [[1]], ["x"], [3], {}, {"a": 1}, [{}],
        [[0, "scan", "t"]],
    ]
)  # fmt: skip


@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_trace_with_wrong_values_is_shown_as_far_as_it_goes(events, tmp_path, data) -> None:
    """Whatever a file has in the place of a value: it is told, or what can be shown is shown."""
    changed = [dict(event) for event in events]
    telling = [event for event in changed[1:] if not event["kind"].startswith("task")]
    for _ in range(data.draw(st.integers(1, 3))):
        event = data.draw(st.sampled_from(telling))
        event[data.draw(st.sampled_from(sorted(event)))] = data.draw(VALUES)
    file = tmp_path / "trace.jsonl"
    file.write_text("\n".join(json.dumps(event) for event in changed), "utf-8")
    replay = Replay.load(file)
    stepper = Stepper(replay)
    for command in (
        "end", "where", "why", "memo", "plan", "tree", "events 9", "stack", "group G1", "goal 1", "why m1", "back prune",
    ):  # fmt: skip
        with contextlib.suppress(PlanscopeError):
            text = stepper.run(command)
            assert all(line.isprintable() for line in text.split("\n")), command


def test_plans_and_merges_that_go_round_in_circles_are_damage(tmp_path: Path) -> None:
    head = {"format": "planscope-trace", "version": 2, "sql": "", "settings": {}, "catalog_digest": ""}
    best = {"mexpr": None, "op": "sort", "detail": "", "local": 1, "cost": 2, "old": 3, "delivered": "any", "split": False}
    circles = [
        [*({"kind": "goal", "goal": g, "group": 0, "traits": "any", "lower": 0} for g in (0, 1)),
         {"kind": "best", "goal": 0, "inputs": [1], **best}, {"kind": "best", "goal": 1, "inputs": [0], **best}],
        [{"kind": "merge", "gone": 0, "into": 1, "because": "x"}, {"kind": "merge", "gone": 1, "into": 0, "because": "x"}],
    ]  # fmt: skip
    for circle in circles:
        groups = [{"kind": "group", "id": g, "columns": [], "rows": 1, "lower": 0} for g in (0, 1)]
        told = [{"kind": "header", **head}, *groups, *circle]
        file = tmp_path / "trace.jsonl"
        file.write_text("\n".join(json.dumps({"seq": i, "t": 0, "task": None, **event}) for i, event in enumerate(told)), "utf-8")
        replay = Replay.load(file)
        assert replay.damage is not None and replay.damage.startswith(f"line {len(told)}: ")


# -- a search that runs ----------------------------------------------------------------------------------------------------------


def test_a_breakpoint_stops_the_search_itself(live: LiveQuery, events: list[dict[str, object]]) -> None:
    stepper = Stepper(live.again(), live)
    stepper.run("break prune")
    text = stepper.run("run")
    assert text.startswith("breakpoint 1: prune\nevent ") and " of " not in text.split("\n")[1]
    assert not live.ended and len(stepper.replay.events) == stepper.replay.position < len(events)
    stepper.run("delete")
    stepper.run("end")
    assert live.ended and [e["kind"] for e in stepper.replay.events] == [e["kind"] for e in events]


def test_settings_and_rows_can_be_changed_and_the_search_run_again(live: LiveQuery) -> None:
    stepper = Stepper(live.again(), live)
    stepper.run("break prune")
    stepper.run("set pruning=none")
    stepper.run("rows {Supplier, nation} = 1e6")
    assert stepper.run("again").startswith("event 0")
    stepper.run("run")
    assert live.ended and not any(event["kind"] == "prune" for event in stepper.replay.events)
    state = stepper.replay.state
    names = {stepper.run(f"group G{id}").split(":")[0].strip(): group.rows for id, group in state.groups.items()}
    assert [rows for name, rows in names.items() if name.startswith("{supplier, nation}")] == [1e6]


@pytest.mark.parametrize("name", ["{region,nation}", "{supplier, nation, region}", "supplier"])
def test_a_named_group_is_stopped_at_before_and_after_it_has_a_number(live: LiveQuery, events, name: str) -> None:
    """In a trace, in a search that runs, and in one that runs again with other numbers."""

    def stops(stepper: Stepper) -> list[int]:
        stepper.run("goto 0")
        found = []
        while stepper.run("run").startswith(f"breakpoint 1: group {name}\n"):
            found.append(at(stepper))
        return found

    recorded, running = Stepper(Replay(events)), Stepper(live.again(), live)
    for stepper in (recorded, running):
        stepper.run(f"break group {name}")
    expected = stops(recorded)
    assert (
        stops(running) == [i for i in expected if events[i]["kind"] != "group"] != []
    )  # a group has a name with its first expression
    running.run("set region=table")
    running.run("again")
    again = stops(running)
    assert again and again != expected
    running.run("goto 100000")
    assert all(groups_called(running.replay.seek(i + 1), name) for i in again)


def test_out_before_the_first_task_leads_to_it(live: LiveQuery, stepper: Stepper) -> None:
    for each in (Stepper(live.again(), live), stepper):
        each.run("out")
        assert each.replay.events[at(each)]["kind"] == "task_start" and at(each) < 40


def test_rows_that_no_join_asks_for_are_told_at_the_end(live: LiveQuery) -> None:
    stepper = Stepper(live.again(), live)
    stepper.run("rows {supplier, region} = 5")
    stepper.run("rows {nation, region} = 5")
    stepper.run("again")
    assert "changed nothing" not in stepper.run("until prune")
    told = stepper.run("end")
    assert "The rows given for {region, supplier} changed nothing" in told and "{nation, region}" not in told


def test_a_setting_keeps_which_query_injected_rows_are_of(session: Session, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("query,aliases,cardinality\nq05,nation,7\nq03,orders,7\n", "utf-8")
    pairs = ("estimator=injected", f"injected={rows}")
    query = LiveQuery(Inputs("tpch/q05", "tpch:0.01", pairs, (), None, None, True), session, named_sql("tpch/q05"))
    query.set("gap=0.1")
    stepper = Stepper(query.again(), query)
    stepper.run("end")
    assert any(event.get("rows") == 7 for event in stepper.replay.events)
    query.close()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("set speed=9", "speed"),
        ("set pruning=some", "pruning"),
        ("rows {lineitem} = 5", 'no relation "lineitem"; its relations are nation, region, supplier'),
        ("rows nation", "rows are given as in"),
        ("rows nation = -1", "rows are given as in"),
        ("rows nation = inf", "rows are given as in"),
    ],
)
def test_what_cannot_be_changed_is_said(live: LiveQuery, command: str, message: str) -> None:
    stepper = Stepper(live.again(), live)
    with pytest.raises(PlanscopeError, match=message):
        stepper.run(command)
    assert "stage" in stepper.run("step")


def test_a_search_without_a_plan_says_so(live: LiveQuery) -> None:
    stepper = Stepper(live.again(), live)
    stepper.run("set disable=scan_to_table_scan")
    stepper.run("again")
    assert "The search ended: no" in stepper.run("end")


# -- asking for commands ---------------------------------------------------------------------------------------------------------


def test_a_script_shows_its_commands_and_stops_at_a_wrong_one(stepper: Stepper) -> None:
    said: list[str] = []
    follow(stepper, ["# a comment", "", "step  # one on", "break required == 'order(n#1)'", "quit", "step"], said.append)
    assert said[1] == "\n» step" and said[4] == "  1  required == 'order(n#1)'" and said[5] == "\n» quit" and len(said) == 7
    with pytest.raises(PlanscopeError, match='line 2 of the script: there is no command "fly"'):
        follow(Stepper(stepper.replay), ["step", "fly"], said.append)


def test_a_conversation_repeats_remembers_and_goes_on_after_mistakes(stepper: Stepper, tmp_path: Path) -> None:
    said: list[str] = []
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("goto 50\rstep\r\rfly\r\x03until prune\rquit\r")
        with ThreadPoolExecutor(1) as pool:  # a thread without an event loop, whatever tests ran in this one before
            pool.submit(copy_context().run, converse, stepper, said.append, tmp_path / "history").result()
    assert [text.split(" ", 2)[1] for text in said if text.startswith("event")][:4] == ["0", "50", "51", "52"]
    assert any('no command "fly"' in text for text in said)
    assert stepper.replay.events[at(stepper)]["kind"] == "prune" and stepper.done
    assert "+goto 50" in (tmp_path / "history").read_text("utf-8")
    assert set(KINDS) <= set(stepper.completions("until "))


def test_sets_of_relations_have_names_before_they_are_groups() -> None:
    """Of a trace that ended, where some are groups."""
    trace = Trace()
    Session("tpch:0.01", {**TO_WATCH, "region": "tasks"}).optimize("tpch/q05", trace)
    stepper = Stepper(Replay(trace.events), width=100)
    stepper.run("until prune")
    assert any(id < 0 for id in stepper.replay.state.groups) and "G-" not in str(stepper.run("memo"))
