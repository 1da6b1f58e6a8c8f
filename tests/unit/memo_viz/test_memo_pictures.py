"""The memo as graph, DOT, SVG, text and JSON: complete, marked as it should be, and proof against hostile texts."""

import copy
import functools
import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from experiments.workloads.queries import resolve_sql
from memo_viz.dot import COMPLETE, memo_dot
from memo_viz.export import memo_json
from memo_viz.graph import input_groups, members, memo_graph
from memo_viz.listing import memo_listing
from memo_viz.style import stacked
from memo_viz.svg import inline_svg, render_svg
from optimizer.trace.state import BestState, GoalState, GroupState, MemoState, MExprState
from planscope import PlanscopeError, Replay, Session

HOSTILE = (
    "<script>alert(1)</script>",
    "'\"&<>]]>-->",
    "\\N \\G \\l \\\\ \\",
    "a\x00b\x1b[31mc\x7f\ud800\ufffe",
    "]; rankdir=LR; x [label=<<b>pwned</b>>",
    "&lt;not an entity&gt; &#60;",
    "日本 ☃ 🦊 \u202e",
)


@functools.cache
def explained(query: str, dataset: str) -> MemoState:
    return Session(dataset, {"enumeration": "rules"}).explain(query).memo.state


def join_memo(query: str = "tpch/q05", dataset: str = "tpch:0.01") -> MemoState:
    """A memo that may be changed: joins made by rules, so that all of them are groups, and a sort at the root."""
    return copy.deepcopy(explained(query, dataset))


def texts(svg: str) -> str:
    """All character data of an SVG document; it must be well-formed."""
    return "\n".join(ET.fromstring(svg.encode()).itertext())


def tips(svg: str) -> list[str]:
    link = "{http://www.w3.org/1999/xlink}"
    return [e.get(f"{link}title", "") for e in ET.fromstring(svg.encode()).iter() if e.get(f"{link}title")]


def test_graph_links_groups_members_and_inputs():
    graph = memo_graph(join_memo())
    root = next(n for n, d in graph.nodes(data=True) if d.get("root"))
    assert input_groups(graph, root) == {"G10"}
    assert all(graph.nodes[m]["kind"] in ("mexpr", "enforcer") for m in members(graph, root))
    for node, data in graph.nodes(data=True):
        if data["kind"] == "mexpr":
            assert {f"G{i}" for i in data["inputs"]} == set(graph.successors(node))
            assert [graph.nodes[g]["kind"] for g in graph.predecessors(node)] == ["group"]


def test_chosen_marks_exactly_the_winning_plan():
    state = join_memo()
    graph = memo_graph(state)
    expected = {f"m{b.mexpr}" if (b := state.goals[g].best).mexpr is not None else f"e{g}" for g in state.winners()}
    assert {n for n, d in graph.nodes(data=True) if d["chosen"] and d["kind"] != "group"} == expected
    for a, b, data in graph.edges(data=True):
        assert not data.get("chosen") or (graph.nodes[a]["chosen"] and graph.nodes[b]["chosen"])


def test_a_member_that_wins_several_goals_has_the_total_of_the_one_in_the_plan():
    query = "select n_name, r_name from nation, region where n_regionkey = r_regionkey order by n_name"
    state = Session("tpch:0.01", preset="textbook").explain(query).memo.state
    best = state.goals[state.root].best
    won = [goal.best.cost for goal in state.goals.values() if goal.best is not None and goal.best.mexpr == best.mexpr]
    assert best.cost > min(won), "its group has a cheaper plan that is not sorted"
    assert memo_graph(state).nodes[f"m{best.mexpr}"]["total"] == best.cost
    assert f"[own {best.local_cost:,.0f}, total {best.cost:,.0f}]" in memo_listing(state)


def test_winners_focus_and_depth_select_parts():
    state = join_memo()
    winners = memo_graph(state, winners=True)
    assert all(chosen for _, chosen in winners.nodes(data="chosen"))
    assert sum(1 for _, kind in winners.nodes(data="kind") if kind == "group") == 12  # 6 scans, 5 joins, the aggregate
    focus = memo_graph(state, focus=10, depth=0)
    assert [n for n, kind in focus.nodes(data="kind") if kind == "group"] == ["G10"]
    below = memo_graph(state, focus=10, depth=1)
    assert set(focus) < set(below) < set(memo_graph(state, focus=10)) < set(memo_graph(state))
    assert "G11" in memo_graph(state, depth=1)
    with pytest.raises(PlanscopeError, match="no group G99; it has G0 to G36"):
        memo_graph(state, focus=99)
    losing = next(g.id for g in state.groups.values() if not memo_graph(state).nodes[f"G{g.id}"]["chosen"])
    with pytest.raises(PlanscopeError, match=f"G{losing} is not part of the best plan"):
        memo_graph(state, focus=losing, winners=True)


def test_merged_groups_are_one():
    state = MemoState(groups={i: GroupState(i, ["a#1"], 1.0, 0.0) for i in (1, 2, 3)})
    state.groups[2].merged_into = 1
    state.mexprs = {1: MExprState(1, 2, "scan", "t", [], True), 2: MExprState(2, 3, "join", "inner", [1, 2], True)}
    state.mexprs[3] = MExprState(3, 1, "table_scan", "t", [], False)  # a merge forgets what it costs
    state.goals = {0: GoalState(0, 1, "any", best=BestState(3, "table_scan", "t", [], "any", 5.0, 5.0))}
    graph = memo_graph(state)
    assert "G2" not in graph
    assert members(graph, "G1") == ["m1", "m3"] and graph.nodes["m3"]["own"] == 5.0
    assert graph.edges["m2", "G1"]["positions"] == (0, 1)
    assert set(memo_graph(state, focus=2)) == {"G1", "m1", "m3"}
    assert memo_json(state)["merged"] == {"2": 1}
    render_svg(memo_dot(graph))


@pytest.mark.parametrize("events", ["nothing", "no goals", "no best"])
def test_unfinished_memos_are_drawn_too(events):
    state = MemoState()
    if events != "nothing":
        state = join_memo()
        for goal in state.goals.values():
            goal.best = None
    if events == "no goals":
        state.goals, state.root = {}, None
    svg = render_svg(memo_dot(memo_graph(state), title=events))
    assert ET.fromstring(svg.encode()).tag.endswith("svg")
    assert memo_listing(state).count("★") == 0
    assert list(memo_graph(state, winners=True).nodes) == []


def test_svg_shows_groups_rows_costs_and_the_winner():
    state = join_memo()
    svg = render_svg(memo_dot(memo_graph(state), title="tpch/q05"))
    seen = texts(svg)
    for group in state.groups:
        assert f"G{group} ·" in seen
    assert "{supplier, nation, region}" in seen and "lineitem" in seen, "groups are called by what they are"
    assert "rows 60,175 · lower 6,518" in seen
    assert "more" in seen, "a memo of this size hides some losing members"
    assert seen.count("★ m") == 12 and "★ best plan of the query" in seen, "before the end, too, when none is chosen"
    assert any("made by join_to_hash_join from m" in tip for tip in tips(svg))
    assert any("no plan costs less than" in tip for tip in tips(svg))
    assert "xlink:href" not in svg
    assert inline_svg(svg).startswith("<svg ")


def test_sets_of_relations_are_named_by_their_tables():
    explanation = Session("joingraph", {"region": "tasks"}).explain(resolve_sql("star/5"))
    memo, state = explanation.memo, explanation.memo.state
    assert min(state.groups) < 0 and min(state.mexprs) < 0
    listing = memo_listing(state)
    assert "\n{r0, r1}  rows 6,900,000, lower" in listing
    assert "  ★ split hash_join r0 r1  [own" in listing
    assert "  ★ split hash_join {r0, r1, r2, r3} r4  [own" in listing, "the whole region is a group, its best join is none"
    for svg in (
        memo.svg(),
        memo.svg(winners=True),
        memo.svg(focus=5, depth=1),
        render_svg(memo_dot(memo_graph(state), COMPLETE)),
    ):
        assert "{r0, r1, r2, r3}" in texts(svg) and "★ split" in texts(svg)
        assert "split: hash_join" in "".join(tips(svg))
        assert not re.search(r"[Gm]-\d", texts(svg) + "".join(tips(svg))), "no id below zero is shown"
    json.dumps(memo_json(state), allow_nan=False)
    with pytest.raises(PlanscopeError, match="no group G99; it has G0 to G6"):
        memo_graph(state, focus=99)
    replay = Replay(explanation.trace.events)
    for position in range(0, len(replay), 25):  # at any moment of the search
        memo_dot(memo_graph(replay.seek(position)))


def test_lines_of_a_heading_keep_a_distance():
    cell = stacked("one", "two", "three")
    svg = render_svg(f"digraph {{ n [shape=plain, fontsize=10, label=<<TABLE><TR><TD>{cell}</TD></TR></TABLE>>] }}")
    heights = [float(y) for y in re.findall(r'y="([-\d.]+)"[^>]*>(?:one|two|three)<', svg)]
    assert len(heights) == 3 and all(below - above >= 13 for above, below in pairwise(heights))


def test_complete_layout_hides_nothing():
    state = join_memo()
    seen = texts(render_svg(memo_dot(memo_graph(state), COMPLETE)))
    assert " more" not in seen
    for mexpr in state.mexprs:
        assert f"m{mexpr}" in seen


def test_a_large_memo_is_drawn_as_an_overview_with_counts():
    state = join_memo("star/8", "joingraph")
    assert len(state.groups) > 130
    svg = render_svg(memo_dot(memo_graph(state)))
    seen = texts(svg)
    assert f"{len(state.groups)} groups by the number of relations joined" in seen
    chosen = sum(1 for _, data in memo_graph(state).nodes(data=True) if data["kind"] == "group" and data["chosen"])
    assert seen.count("★\n") == 1 + chosen, "a head and a square for each group of the chosen plan"
    planned = {goal.group for goal in state.goals.values() if goal.best is not None}
    assert len(planned) < len(state.groups) and seen.count("☆\n") == 1 + len(planned) - chosen
    assert any(tip.startswith("{r0, r3} G") for tip in tips(svg)), "squares say what they are"


def test_groups_without_an_edge_do_not_make_a_picture_wide():
    """A clique's sets that were never planned once lay in one row beside the root, 13,000 points wide."""
    session = Session("joingraph", {"region": "tasks"})
    for query, named in (("clique/6", True), ("clique/8", False)):
        svg = session.explain(query).memo.svg()
        found = re.search(r'<svg width="(\d+)pt" height="(\d+)pt"', svg)
        assert found and int(found[1]) < 1500 and int(found[2]) < 2500, query
        assert ("{r1, r4} ≥ " in texts(svg)) == named, "few sets without a plan are named, many are squares"
        assert ("256 groups by the number of relations" in texts(svg)) != named


def test_json_export_is_complete_and_standard():
    state = join_memo()
    state.goals[0].limit = float("inf")
    values = json.loads(json.dumps(memo_json(state), allow_nan=False))
    assert values["goals"]["0"]["limit"] is None
    assert len(values["groups"]) == len(state.groups)
    assert len(values["mexprs"]) == len(state.mexprs)
    assert values["winners"] == state.winners()
    assert values["mexprs"]["1"]["op"] == "scan"


def test_listing_names_every_member_and_marks_the_plan():
    state = join_memo()
    text = memo_listing(state)
    assert text.count("★") == 13
    assert all(f" m{i} " in text for i in state.mexprs)
    assert "γ n_name  G11  rows 24, lower 12,215, root" in text


def test_a_number_stands_once():
    """Also where the name of a group has it, as several join the same relations."""
    state = join_memo("tpch/q02")
    numbered = re.findall(r"^\S.*\(G\d+\)  .*$", memo_listing(state), re.MULTILINE)
    assert numbered and not [line for line in numbered if re.search(r"\((G\d+)\).*\b\1\b", line)]


def test_nothing_is_printed_while_laying_out(capfd):
    render_svg("digraph { a -> b }")
    with pytest.raises(ValueError, match="could not lay the graph out"):
        render_svg("digraph { a -> ")
    assert capfd.readouterr() == ("", "")
