"""Two searches compared: groups found by what they compute, what differs, and where the searches part."""

import copy
import json
from html.parser import HTMLParser

import pytest
from test_memo_pictures import HOSTILE
from test_pictures import Events, _spoiled, recorded

from experiments.workloads.queries import resolve_sql
from memo_viz.comparison import compare, comparison_json, comparison_text, cost_change, shown_counts
from memo_viz.comparison_page import comparison_page
from memo_viz.matching import match_groups, payload
from memo_viz.names import group_names
from memo_viz.page_style import PAGE_STYLE
from memo_viz.plan_graph import winner_boxes
from memo_viz.text import clean_lines
from optimizer.algebra.printing import number
from optimizer.catalog.table import Catalog
from optimizer.sql.bind import bind
from optimizer.trace.replay import Replay
from optimizer.trace.state import MemoState


@pytest.fixture(scope="module")
def searches(tpch: Catalog) -> tuple[Events, Events]:
    """TPC-H Q5 with and without hash joins."""
    return recorded("tpch/q05", tpch), recorded("tpch/q05", tpch, disable=("join_to_hash_join",))


def renumbered(state: MemoState, by: int) -> MemoState:
    """The same memo, in which groups and expressions have other numbers, and expressions another order."""
    state = copy.deepcopy(state)

    def new(id: int) -> int:
        return id if id < 0 else id + by

    for group in state.groups.values():
        group.id, group.logical = new(group.id), [new(id) for id in group.logical]
        group.physical = [new(id) for id in group.physical]
        group.relations = None if group.relations is None else [new(id) for id in reversed(group.relations)]
    for mexpr in state.mexprs.values():
        mexpr.id, mexpr.group, mexpr.inputs = new(mexpr.id), new(mexpr.group), [new(id) for id in mexpr.inputs]
    state.groups = {group.id: group for group in reversed(state.groups.values())}
    state.mexprs = {mexpr.id: mexpr for mexpr in reversed(state.mexprs.values())}
    return state


def test_groups_match_whatever_their_numbers(searches: tuple[Events, Events]) -> None:
    for events in searches:
        state = Replay(events).final()
        assert match_groups(state, renumbered(state, 100)) == {id: id if id < 0 else id + 100 for id in state.groups}


def test_groups_that_match_compute_the_same(tpch: Catalog, searches: tuple[Events, Events]) -> None:
    a, b = (Replay(events).final() for events in searches)
    pairs = match_groups(a, b)
    assert len(pairs) == len(a.groups) and len(set(pairs.values())) == len(pairs)
    names = group_names(a), group_names(b)
    assert all(names[0][x] == names[1][y] for x, y in pairs.items())
    a, b = (Replay(recorded("tpch/q05", tpch, enumeration=how)).final() for how in ("adaptive", "rules"))
    assert len(match_groups(a, b)) == sum(group.merged_into is None for group in a.groups.values())  # however they are joined
    # one table read twice under one name, and columns made by decorrelation: the columns tell
    a, b = (Replay(recorded("tpch/q17", tpch, decorrelate=method)).final() for method in ("general", "cost"))
    pairs = match_groups(a, b)
    assert len(pairs) >= 7
    first = len(bind(resolve_sql("tpch/q17"), tpch).columns)  # of those that decorrelation makes
    for x, y in pairs.items():
        if a.groups[x].relations is None and b.groups[y].relations is None:
            old, new = ([label.split("#") for label in state.groups[id].columns] for state, id in ((a, x), (b, y)))
            assert [name for name, _ in old] == [name for name, _ in new]
            assert [id for _, id in old if int(id) < first] == [id for _, id in new if int(id) < first], "of the query"


def test_a_set_of_relations_is_the_group_of_the_same_joins(tpch: Catalog) -> None:
    a, b = (recorded("tpch/q03", tpch, region="auto", pruning=mode) for mode in ("none", "both"))
    assert any(id < 0 for id in Replay(a).final().groups) != any(id < 0 for id in Replay(b).final().groups)
    for found in (compare(a, b), compare(b, a)):
        assert found.same_plan and (found.winners, found.only_a, found.only_b) == ([], [], [])


def test_payloads_are_compared_without_ids_and_order_of_conjuncts() -> None:
    assert payload("inner on (a#1 = b#2) AND (c#3 = 'x#9')") != payload("inner on (a#1 = b#2) AND (c#3 = 'x#8')")
    assert payload("(a#1 = b#2) AND (c#3 = d#4)") == payload("(c#7 = d#8) AND (a#5 = b#6)")
    assert payload("(a#1 = b#2)", exact=True) != payload("(a#5 = b#6)", exact=True)


def test_a_search_is_the_same_as_itself(searches: tuple[Events, Events]) -> None:
    later = [{**event, "t": event["t"] + 5} for event in searches[0]]
    found = compare(searches[0], later)
    assert found.parting is None and found.same_plan and not found.winners and not found.expressions
    assert not found.only_a and not found.only_b and not shown_counts(found)[0]
    text = comparison_text(found)
    assert "(the same)" in text and "plan  the same in both" in text and "events  the same, one by one" in text


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [(3.0, 3.0 + 4e-16 * 3, "the same"), (3.0, 3.3, "+10 %"), (0.0, 0.0, "the same"), (0.0, 1.0, "more"), (None, 1.0, "")],
)
def test_how_a_cost_differs(x: float | None, y: float | None, said: str) -> None:
    assert cost_change(x, y) == said


def test_what_differs_is_said(searches: tuple[Events, Events]) -> None:
    found = compare(*searches, ("with", "without"))
    assert found.settings == {"disable": ([], ["join_to_hash_join"])}
    assert found.cost[0] is not None and found.cost[1] is not None and found.cost[0] < found.cost[1]
    assert not found.same_plan and any(sign == "-" and "hash_join" in line for sign, line in found.plan)
    assert not any(sign == "+" and "hash_join" in line for sign, line in found.plan)
    assert found.counts["firings"]["join_to_hash_join"][1] == 0 < found.counts["firings"]["join_to_hash_join"][0]
    final = Replay(searches[0]).final()
    assert found.counts["memo"]["goals"][0] == len(final.goals)
    lost = [text for change in found.expressions for text in change.lost]
    assert any(text.startswith("hash_join ") for text in lost) and all("G" not in text.split()[1] for text in lost)
    assert found.winners[0].chosen and {w.group for w in found.winners} >= {"{nation, region}"}
    parting = found.parting
    assert parting is not None and searches[0][parting.event] != searches[1][parting.event] and parting.a != parting.b
    assert all(searches[0][i]["kind"] == searches[1][i]["kind"] for i in range(1, parting.event))
    costs = [f"  {number(w.cost_b)}" for w in found.winners if w.cost_b is not None]
    for width in (40, 60, 100):
        text = comparison_text(found, width)
        assert max(map(len, text.splitlines())) <= width
        assert all(line[0] in "-+ " for line in text.split("\nevents ")[1].splitlines()[1:])
        assert costs and all(any(line.endswith(cost) for line in text.splitlines()) for cost in costs)
    assert "ms" not in {*text.split()} and "disable = (none) | join_to_hash_join" in text
    value = json.loads(json.dumps(comparison_json(found), allow_nan=False))
    assert value["same_plan"] is False and value["parting"]["event"] == parting.event


def test_a_cut_trace_ends_early(searches: tuple[Events, Events]) -> None:
    found = compare(searches[0], searches[0][:300])
    assert found.parting is not None and found.parting.event == 300 and found.parting.b is None
    assert "the trace has ended" in comparison_text(found) and found.cost[1] is None
    dropped = {"seq": 300, "t": 0, "kind": "dropped", "task": None, "count": 7}
    found = compare([*searches[0][:300], dropped], [*searches[0][:300], dropped])
    assert found.parting is not None and found.parting.event == 300, "what was left out may differ"
    assert "7 more events were left out" in comparison_text(found)
    assert compare(searches[0][:1], []).cost == (None, None)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.update([tag, *(f"{tag} {name}" for name, _ in attrs)])

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "text", [*HOSTILE, "</script><img src=x onerror=alert(1)>", "javascript:alert(1)", "é<" * 5_000], ids=range(10)
)
def test_hostile_names_are_inert_in_the_page(text: str, tpch: Catalog) -> None:
    sql = "select n_name from nation, region where n_regionkey = r_regionkey and r_name = 'ASIA'"
    plain = recorded(sql, tpch), recorded(sql, tpch, disable=("join_to_hash_join",))
    spoiled = [[_spoiled(event, text) for event in events] for events in plain]
    spoiled[0][0]["sql"] = text
    pages = []
    for a, b in (plain, spoiled):
        page = _Page()
        document = comparison_page(compare(a, b, (text, text)), *(winner_boxes(Replay(events).final()) for events in (a, b)))
        page.feed(document)
        pages.append(page)
        assert clean_lines(document) == document and PAGE_STYLE in document
    assert pages[1].found <= pages[0].found, "no element and no attribute comes of a text"
    assert not pages[1].found & {"script", "img", "a href"} and not any(" on" in name for name in pages[1].found)
    text = comparison_text(compare(*spoiled, (text, text)))
    assert all(line.isprintable() and len(line) <= 100 for line in text.split("\n"))
