"""Every kind of picture of a search: what it shows, at which event, in which format, and that hostile texts stay texts."""

import copy
import itertools
import json
import re
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import networkx as nx
import pygraphviz
import pytest
from test_memo_pictures import HOSTILE, texts, tips

from experiments.workloads.queries import resolve_sql
from memo_viz import style
from memo_viz.graph import memo_graph
from memo_viz.growth import _bests, growth_svg
from memo_viz.join_graph import conjuncts, join_graphs
from memo_viz.listing import memo_listing
from memo_viz.names import called, group_names, groups_called
from memo_viz.pictures import (
    Picture,
    find_group,
    joins_picture,
    memo_picture,
    memo_shown,
    plan_picture,
    rules_picture,
    steps_picture,
    traits_picture,
)  # fmt: skip
from memo_viz.relation_sets import sizes_table, state_of
from memo_viz.rewrite_steps import changed_lines
from memo_viz.svg import render, render_svg
from memo_viz.text import without_middle
from optimizer.catalog.table import Catalog
from planscope import PlanscopeError, Replay, Session
from tests.search.planning import trace_of

Events = list[dict[str, Any]]
KINDS: dict[str, Callable[..., Picture]] = {
    "memo": memo_picture, "plan": plan_picture, "joins": joins_picture, "steps": steps_picture, "rules": rules_picture,
    "traits": traits_picture,
}  # fmt: skip


def recorded(query: str, catalog: Catalog, **settings: object) -> Events:
    return trace_of(query, catalog, **settings).events


@pytest.fixture(scope="module")
def q5(tpch: Catalog) -> Events:
    return recorded("tpch/q05", tpch)


@pytest.fixture(scope="module")
def q17(tpch: Catalog) -> Events:
    """It has a correlated subquery."""
    return recorded("tpch/q17", tpch)


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_in_every_format(kind: str, q17: Events) -> None:
    picture = KINDS[kind](q17, title="Q17")
    json.dumps(picture.json, allow_nan=False)
    assert render(picture.dot, "dot").decode() == picture.dot
    svg = render(picture.dot, "svg").decode()
    assert "Q17" in texts(svg) and "xlink:href" not in svg
    assert render(picture.dot, "png").startswith(b"\x89PNG")
    outer, drawn = (render(f'digraph {{ a [label="a {sign} b"] }}', "png") for sign in ("⟕", "=⋈"))
    assert outer == drawn, "fonts lack the sign of an outer join"
    assert render(picture.dot, "pdf").startswith(b"%PDF")


def test_a_memo_at_an_event_and_what_changed_since(q5: Events) -> None:
    first_best = next(e["seq"] for e in q5 if e["kind"] == "best")
    early = memo_shown(q5, at=first_best)
    assert sum(bool(data.get("best_for")) for _, data in early.nodes(data=True)) == 1
    graph = memo_shown(q5, since=first_best)
    final = memo_shown(q5)
    changes = {node: data["change"] for node, data in graph.nodes(data=True)}
    assert set(changes) == set(final), "nothing goes in this search"
    assert {node for node, change in changes.items() if change == "new"} == set(final) - set(early)
    assert "changed" in changes.values() and "" in changes.values()
    seen = texts(render_svg(memo_picture(q5, since=first_best).dot))
    assert "+ new" in seen and "+★ split" in seen and "~ {nation, region}" not in seen
    with pytest.raises(PlanscopeError, match="event 20 is not before event 10"):
        memo_shown(q5, at=10, since=20)
    with pytest.raises(PlanscopeError, match="no event 99999; the trace has events 0 to"):
        memo_shown(q5, at=99999)


def test_a_set_of_relations_that_becomes_a_group_has_not_gone(q5: Events) -> None:
    placed = [e for e in q5 if e["kind"] == "place"]
    assert placed
    graph = memo_shown(q5, at=placed[0]["seq"] + 1, since=placed[0]["seq"] - 2)
    gone = [data["relations"] for _, data in graph.nodes(data=True) if data["kind"] == "group" and data["change"] == "gone"]
    assert not gone


def test_what_only_the_earlier_memo_has_is_struck_out(q5: Events) -> None:
    before, after = (copy.deepcopy(memo_shown(q5)) for _ in range(2))
    from memo_viz.difference import memo_difference
    from memo_viz.dot import memo_dot

    after.remove_node("m7")
    graph = memo_difference(before, after)
    assert graph.nodes["m7"]["change"] == "gone" and graph.nodes["G7"]["change"] == "changed"
    assert "text-decoration" in render_svg(memo_dot(graph)) and "−" in texts(render_svg(memo_dot(graph)))


def test_changes_are_marked_in_an_overview_too(q5: Events) -> None:
    last = next(e["seq"] for e in q5 if e["kind"] == "plan")
    seen = texts(render_svg(memo_picture(q5, at=last, since=last // 4, overview=True).dot))
    assert "+ new, − gone, ~ changed" in seen and "~\n" in seen and "+\n" in seen
    assert "− gone" not in texts(render_svg(memo_picture(q5, overview=True).dot))


def test_groups_are_found_by_name(q5: Events) -> None:
    state = Replay(q5).final()
    assert (
        find_group(state, "G3") == find_group(state, "3") == find_group(state, "supplier") == find_group(state, "{supplier}") == 3
    )
    assert find_group(state, "{region, nation}") == find_group(state, "{nation,region}")
    with pytest.raises(PlanscopeError, match='no group is called "nosuch"; groups are customer, orders'):
        find_group(state, "nosuch")
    graph = memo_graph(state)
    for node, name in graph.nodes(data="name"):  # also as tooltips have it, with all relations of a long set
        if graph.nodes[node]["kind"] == "group":
            assert {find_group(state, name), find_group(state, graph.nodes[node]["whole"])} == {graph.nodes[node]["id"]}
    assert memo_shown(q5, focus="{region, nation}", depth=1).nodes["G4"]["name"] == "nation"


def test_a_set_with_a_name_that_is_cut_is_found_by_all_its_relations(tpch: Catalog) -> None:
    names = [f"nation_of_a_long_name_{i}" for i in range(4)]
    links = " and ".join(f"{a}.n_regionkey = {b}.n_regionkey" for a, b in itertools.pairwise(names))
    state = Replay(
        recorded(f"select {names[0]}.n_name from {', '.join(f'nation {name}' for name in names)} where {links}", tpch)
    ).final()
    found = find_group(state, "{" + ", ".join(reversed(names)) + "}")
    assert "…" in group_names(state)[found] and called(state)[found].whole == "{" + ", ".join(names) + "}"
    assert find_group(state, group_names(state)[found]) == found


@pytest.mark.parametrize(("query", "settings"), [
    ("tpch/q02", {"region": "tasks"}), ("tpch/q17", {"region": "tasks"}), ("tpch/q21", {"region": "tasks"}),
    ("tpch/q21", {"region": "tasks", "budget_tasks": 60}),
    ("select 1 from nation x join nation y on x.n_regionkey = y.n_regionkey left join nation z on y.n_nationkey = z.n_regionkey "
     "join nation w on w.n_regionkey = x.n_regionkey", {"enumeration": "rules"}),
])  # fmt: skip
def test_every_name_that_is_printed_finds_its_group(tpch: Catalog, query: str, settings: dict[str, Any]) -> None:
    state = Replay(recorded(query, tpch, **settings)).final()
    listing = memo_listing(state)
    for id, found in called(state).items():
        if state.groups[id].merged_into is None:
            assert groups_called(state, found.name) == groups_called(state, found.whole) == {id}, found
            assert f"{found.whole}  " in listing and f"\n{found.whole}" in f"\n{listing}"
            turned = "{" + ", ".join(called(state)[each].name for each in reversed(found.relations)) + "}"
            assert groups_called(state, turned), turned


def test_long_names_that_are_alike_are_told_apart() -> None:
    names = {without_middle("a_table_with_a_long_name_" * 3 + end, 40) for end in ("x", "y")}
    assert len(names) == 2 and {len(name) for name in names} == {40} and without_middle("t", 40) == "t"


def test_a_set_without_a_plan_is_drawn_when_it_is_looked_at(q5: Events) -> None:
    goal = next(e for e in q5 if e["kind"] == "goal" and len(e.get("relations") or ()) > 1)
    names = group_names(Replay(q5).final())
    focus = "{" + ", ".join(names[id] for id in goal["relations"]) + "}"
    picture = memo_picture(q5, at=goal["seq"], focus=focus)
    seen = texts(render_svg(picture.dot))
    assert all(names[id] in seen for id in goal["relations"]) and picture.note == f"{focus} has no plan at event {goal['seq']:,}"
    assert memo_picture(q5, focus="{nation, region}").note == memo_picture(q5).note == ""
    final = Replay(q5).final()
    left = next(names[goal.group] for goal in final.goals.values() if goal.best is None and goal.group < 0)
    assert memo_picture(q5, focus=left).note == f"{left} has no plan: the search never needed one"


def test_goals_that_a_budget_ended_are_not_called_too_dear(tpch: Catalog) -> None:
    events = recorded("tpch/q05", tpch, budget_tasks=60)
    given_up = [event.get("result") == "abandoned" for event in events]
    graph = memo_graph(Replay(events).seek(given_up.index(False, given_up.index(True))))
    states = {state_of(graph, node) for node, kind in graph.nodes(data="kind") if kind == "group"}
    assert "abandoned" in states and "dear" not in states and "given up with the budget" in sizes_table(graph)


def test_the_memo_graph_is_one_for_networkx(q5: Events) -> None:
    value = json.loads(json.dumps(memo_picture(q5).json, allow_nan=False))
    graph = nx.node_link_graph(value, edges="edges")
    assert set(graph) == set(memo_graph(Replay(q5).final()))
    assert nx.is_directed_acyclic_graph(graph.subgraph(n for n, d in graph.nodes(data=True) if d["kind"] != "enforcer"))


def test_relations_of_joins_are_those_below_them(q17: Events) -> None:
    state = Replay(q17).final()
    leaves = {id: each.relations for id, each in called(state).items()}
    for mexpr in state.mexprs.values():
        if mexpr.op in ("hash_join", "merge_join") and mexpr.detail.startswith("inner"):
            assert set(leaves[mexpr.group]) == {leaf for i in mexpr.inputs for leaf in leaves[i]}


def test_plan(q5: Events) -> None:
    boxes = plan_picture(q5).json
    chosen = memo_shown(q5, winners=True)
    assert len(boxes) == sum(1 for _, kind in chosen.nodes(data="kind") if kind != "group")
    assert boxes[0]["op"] == "sort" and "l_orderkey = o_orderkey" in str(boxes)
    assert plan_picture(q5, at=0).json == [] and "no plan yet" in plan_picture(q5, at=0).dot
    before = next(e["seq"] for e in q5 if e["kind"] == "plan") - 1
    assert [b["op"] for b in plan_picture(q5, at=before).json] == [b["op"] for b in boxes], "told at the end as it stood before"
    assert [b["inputs"] for b in plan_picture(q5, at=before).json] and "{nation, region}" in str(plan_picture(q5, at=before).json)


def test_join_graphs(q5: Events, tpch: Catalog) -> None:
    (graph,) = join_graphs(Replay(q5).final())
    names = nx.get_node_attributes(graph, "name")
    edges = {frozenset((names[a], names[b])): data["texts"] for a, b, data in graph.edges(data=True)}
    assert edges[frozenset(("nation", "region"))] == ["n_regionkey = r_regionkey"]
    assert len(edges) == 7 and len(names) == 6  # six of the text, and customer with nation
    (graph,) = join_graphs(Replay(recorded("tpch/q21", tpch)).final())
    kinds = {frozenset((graph.nodes[a]["name"], graph.nodes[b]["name"])): d["join"] for a, b, d in graph.edges(data=True)}
    assert kinds[frozenset(("l1", "l2"))] == "semi" and kinds[frozenset(("l1", "l3"))] == "anti"
    sql = "select 1 as one from nation n, region r, supplier s where n_nationkey + s_nationkey = r_regionkey"
    (graph,) = join_graphs(Replay(recorded(sql, tpch)).final())
    (wide,) = (d["text"] for _, d in graph.nodes(data=True) if d["kind"] == "predicate")
    assert wide == "r_regionkey = (n_nationkey + s_nationkey)" and len(graph) == 4
    several = join_graphs(Replay(recorded("tpch/q17", tpch, decorrelate="cost")).final())  # forms of one subquery in one group
    assert {frozenset(graph.edges[edge]["texts"]) for graph in several for edge in graph.edges} >= {
        frozenset({"l_partkey#1 = p_partkey#5"}), frozenset({"l_partkey#10 = p_partkey#18"})
    }  # fmt: skip
    with pytest.raises(PlanscopeError, match="the query joins nothing, so it has no join graph"):
        joins_picture(recorded("select 1 as one from nation", tpch))
    for draw in (joins_picture, steps_picture):
        with pytest.raises(PlanscopeError, match="the trace ends before"):
            draw(q5[:6])


def test_edges_of_a_flat_join_graph_do_not_cross_and_tables_are_named_once(q5: Events) -> None:
    picture = joins_picture(q5)
    seen = texts(render_svg(picture.dot))
    assert "region [" not in seen and "[(r_name = 'ASIA')]" in seen
    drawn = pygraphviz.AGraph(string=picture.dot)
    drawn.layout(prog="neato")
    place = {node: complex(*map(float, node.attr["pos"].split(","))) for node in drawn.nodes()}
    for (a, b), (c, d) in itertools.combinations(drawn.edges(), 2):
        sides = [((q - p).conjugate() * (r - p)).imag for p, q, r in
                 (map(place.__getitem__, each) for each in ((a, b, c), (a, b, d), (c, d, a), (c, d, b)))]  # fmt: skip
        assert len({a, b, c, d}) < 4 or sides[0] * sides[1] > 0 or sides[2] * sides[3] > 0, (a, b, c, d)


def test_conjuncts_are_told_from_names_and_texts() -> None:
    labels = ["a#1", "b#2", "x AND y; z#3", "a#1 = b#2#4", "it's#5"]
    found = list(conjuncts("inner on (a#1 = b#2) AND (x AND y; z#3 = 'a#1 AND (; '); anti on (a#1 = b#2#4 <> it's#5)", labels))
    assert [(kind, read) for kind, _, read in found] == [
        ("inner", ["a#1", "b#2"]), ("inner", ["x AND y; z#3"]), ("anti", ["a#1 = b#2#4", "it's#5"])
    ]  # fmt: skip
    assert [text for _, text, _ in found] == ["(a#1 = b#2)", "(x AND y; z#3 = 'a#1 AND (; ')", "(a#1 = b#2#4 <> it's#5)"]
    assert list(conjuncts("on (a#1 = b#12)", ["a#1", "b#1"])) == [("inner", "(a#1 = b#12)", ["a#1"])]


def test_rewrites_before_the_search(q17: Events, q5: Events) -> None:
    steps = steps_picture(q17).json
    assert steps[0]["stage"] == "subqueries" and any(s["stage"] == "decorrelate" for s in steps)
    seen = texts(render_svg(steps_picture(q17).dot))
    assert "remove_scalar_subquery" in seen.replace(" ", "_") and "over 3 operators as before" in seen
    prepass = steps_picture(q5, stages=("prepass",))
    assert {s["stage"] for s in prepass.json} == {"prepass"}
    seen = texts(render_svg(prepass.dot)).replace("\xa0", " ")
    assert "what it changed is not in the text of the tree" in seen, "arithmetic_within_bounds"
    assert "l_extendedprice, l_discount)" in seen, "what changed is shown to its end"
    with pytest.raises(PlanscopeError, match="no subquery, so nothing was decorrelated; its stages are bind, prepass"):
        steps_picture(q5)
    with pytest.raises(PlanscopeError, match="no stage nosuch"):
        steps_picture(q5, stages=("prepass", "nosuch"))


def test_changed_lines() -> None:
    before = [[0, "filter", "p"], [1, "join", "c"], [2, "scan", "a"], [2, "scan", "b"]]
    after = [[0, "project", "x"], [1, "join", "c"], [2, "scan", "a"], [2, "filter", "p"], [3, "scan", "b"]]
    gone, new = changed_lines(before, after)
    assert [(line.sign, line.text) for line in gone] == [("", "filter  p"), ("", "join  c"), ("", "scan  a"), ("", "scan  b")]
    assert [line.sign for line in new] == ["+", "", "", "", ""]
    gone, new = changed_lines(before, [[0, "limit", "1"], *([d + 1, op, text] for d, op, text in before[1:])])
    assert [(line.sign, line.below) for line in gone] == [("−", 0), ("", 2)]
    assert [(line.sign, line.below, line.depth) for line in new] == [("+", 0, 0), ("", 2, 2)]
    chain = [[depth, "filter", str(depth)] for depth in range(1_000)]
    tracemalloc.start()
    gone, new = changed_lines(chain, [*chain[:-1], [999, "scan", "a"]])
    assert [line.sign for line in (*gone, *new)] == [*([""] * 999), "−", *([""] * 999), "+"]
    assert tracemalloc.get_traced_memory()[1] < 5_000_000  # by a subtree in full for each operator it was 45 MB
    tracemalloc.stop()


def test_rules_count_firings(q17: Events) -> None:
    graph = nx.node_link_graph(rules_picture(q17).json, edges="edges")
    fired = [e for e in q17 if e["kind"] == "fire"]
    assert sum(data["fired"] for _, data in graph.nodes(data=True)) == len(fired)
    assert sum(data["fired"] for *_, data in graph.edges(data=True)) == len(fired)
    assert all(data["duplicates"] >= 0 for _, data in graph.nodes(data=True))
    assert graph.nodes["scan_to_table_scan"]["chosen"] > 0


def test_a_rule_that_stands_for_splits_has_its_box(q5: Events) -> None:
    seen = texts(render_svg(rules_picture(q5).dot))
    assert "partition joins\n" in seen and "searched set by set" in seen
    nodes = {node["id"]: node["chosen"] for node in rules_picture(q5).json["nodes"]}
    joins = [box["op"] for box in plan_picture(q5).json if box["op"].endswith("_join")]
    assert nodes["join_to_hash_join"] == joins.count("hash_join") > 0


def test_trait_ledger(q5: Events) -> None:
    entries = {(e["group"], e["traits"]): e for e in traits_picture(q5).json}
    root = entries["γ n_name", "order(revenue desc)"]
    assert root["chosen"] and root["met_by"] == "sort over any" and root["cost"] > root["plain"]
    assert "+0 %" not in texts(render_svg(traits_picture(q5).dot)), "the sort costs something"
    assert sum(e["chosen"] for e in entries.values()) == 1
    assert "not explored" not in str(entries) and all(e["traits"] != "any" for e in entries.values())


def test_legends_use_the_words_of_what_they_explain(q5: Events) -> None:
    ledger = texts(render_svg(traits_picture(q5).dot)).splitlines()
    statuses = {e["status"] for e in traits_picture(q5).json}
    assert len(statuses) > 1 and all(any(line.strip().partition(": ")[0].endswith(f" {s}") for line in ledger) for s in statuses)
    assert not any("bounded" in line for line in ledger if "bounded" not in statuses)
    rules = texts(render_svg(rules_picture(q5).dot))
    assert "★ operators of the chosen plan" in rules and "★ 6 of the chosen plan" in rules


@pytest.mark.parametrize("ink", [style.INK, style.FAINT])
def test_ink_can_be_read_on_every_ground(ink: str) -> None:
    """WCAG's contrast, (lighter + 0.05) / (darker + 0.05), is at least 4.5."""

    def light(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for ground in ("#ffffff", style.CHOSEN_ROW, style.LOGICAL_ROW, style.OTHER_TITLE, style.BEST_ROW):
        assert (light(ground) + 0.05) / (light(ink) + 0.05) >= 4.5, ground


def test_a_memo_grows_in_an_svg_without_a_script(q5: Events) -> None:
    svg = growth_svg(q5, 12, "Q5")
    tree = ET.fromstring(svg.encode())
    assert "script" not in {e.tag.rpartition("}")[2] for e in tree.iter()} and "href" not in svg.replace("xlink:title", "")
    classes = {e.get("class", "").split()[-1] for e in tree.iter() if re.search(r"\ba\d+$", e.get("class", ""))}
    assert len(classes) > 40 and all(f"@keyframes {name}{{" in svg for name in classes)
    assert "prefers-reduced-motion" in svg and f"event 0 of {len(q5) - 1:,}" not in texts(svg)
    last = [text for text in texts(svg).split("\n") if "best plan " in text]
    assert last and "12,3" in last[-1]
    with pytest.raises(PlanscopeError, match="the whole memo is animated"):
        memo_picture(q5, animate=5, winners=True)


def test_in_a_growing_memo_plans_end_that_a_merge_forgets(tpch: Catalog) -> None:
    """What is a best plan of some goal at the end, by what grew, is that of the replayed trace."""
    events = recorded(resolve_sql("tpch/q18"), tpch, driver="iterative")
    assert "recost" in {event["kind"] for event in events}
    shown = {member: best for _, member, best in _bests(events)}
    goals = Replay(events).final().goals.values()
    chosen = {(f"e{goal.id}" if goal.best.mexpr is None else f"m{goal.best.mexpr}") for goal in goals if goal.best is not None}
    assert {member for member, best in shown.items() if best} == chosen
    assert "best plan " in texts(growth_svg(events, 12, "Q18"))


MORE = ('x" onload="alert(1)" href="javascript:alert(1)', "</svg><script>alert(1)</script>")


@pytest.mark.parametrize("text", [*HOSTILE[:1], *HOSTILE[2:4], "".join(HOSTILE), *MORE], ids=range(6))
def test_hostile_names_are_inert_in_every_picture(text: str, q17: Events) -> None:
    _inert(q17, text)
    spoiled = [_spoiled(event, text) for event in q17]
    svg = render_svg(memo_picture(spoiled).dot)
    if text == HOSTILE[0]:
        assert text in texts(svg)
    if text == HOSTILE[2]:
        assert any(text.strip() in tip for tip in tips(svg)), "backslashes are shown, not interpreted"
    assert all(line.isprintable() for line in memo_listing(Replay(spoiled).final()).split("\n"))


def test_names_of_ten_thousand_characters_are_cut(tpch: Catalog) -> None:
    sql = "select n_name from nation where n_nationkey > (select min(s_acctbal) from supplier where s_nationkey = n_nationkey)"
    _inert(recorded(sql, tpch), "é<" * 5_000)


def _inert(events: Events, text: str) -> None:
    """Every picture of `events` has the same elements and attributes when `text` stands in them everywhere."""
    spoiled = [_spoiled(event, text) for event in events]
    for kind, draw in KINDS.items():
        picture = draw(spoiled, title=text)
        svg = render_svg(picture.dot)
        plain = ET.fromstring(render_svg(draw(events).dot).encode())
        tree = ET.fromstring(svg.encode())
        assert {e.tag for e in tree.iter()} <= {e.tag for e in plain.iter()}, kind
        assert {name for e in tree.iter() for name in e.attrib} <= {name for e in plain.iter() for name in e.attrib}, kind
        assert all(len(tip) < 3000 for tip in tips(svg)), kind
        json.dumps(picture.json, allow_nan=False)
    assert render(plan_picture(spoiled, title=text).dot, "png").startswith(b"\x89PNG")
    ET.fromstring(growth_svg(spoiled, 5, text).encode())


def _spoiled(event: dict[str, Any], text: str) -> dict[str, Any]:
    """The event with `text` wherever the query's own names and values could stand."""
    spoiled = dict(event)
    if "detail" in event:
        spoiled["detail"] = f"{text} {event['detail']} {text}"
    if "columns" in event:
        spoiled["columns"] = [f"{text}{column}" for column in event["columns"]]
    if event.get("traits", "any") != "any":
        spoiled["traits"] = f"order({text})"
    for name in ("before", "after", "tree"):
        if name in event:
            spoiled[name] = [[depth, op, f"{text} {detail}"] for depth, op, detail in event[name]]
    if event["kind"] == "rewrite":
        spoiled["note"] = text
    if event["kind"] == "plan":
        spoiled["nodes"] = [{**node, "detail": text, "delivered": f"order({text})"} for node in event["nodes"]]
    return spoiled


def test_a_session_gives_the_memo_as_a_graph_and_as_a_picture_that_fits_a_notebook(tpch: Catalog) -> None:
    import memo_viz

    memo = Session(tpch).explain("select n_name from nation, region where n_regionkey = r_regionkey").memo
    assert set(memo.graph()) == set(memo_viz.memo_graph(memo.state))
    assert memo._repr_svg_().startswith('<svg style="max-width:100%;height:auto" ')
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        memo_viz.nosuch  # noqa: B018
