"""The stepper page in a browser: its states are the replayer's, its keys and links lead where they say, its texts stay texts."""

import json
import random

import pytest
from axe_playwright_python.sync_playwright import Axe

from experiments.workloads.data import open_data
from memo_viz.comparison import compare
from memo_viz.comparison_page import comparison_page
from memo_viz.stepper import page as stepper
from memo_viz.stepper.page import bundle, in_frame, stepper_page
from memo_viz.words import Names, sentence
from optimizer.algebra.printing import number
from optimizer.algebra.types import STRING
from optimizer.catalog.table import Catalog, Table, TableColumn, TableStats
from optimizer.trace.state import MemoState
from optimizer.trace.walk import Walk
from planscope import Optimizer, Replay, Settings, Trace
from tests.processes import wait_until
from tests.search.graphs import graph_query
from tests.search.planning import trace_of, traced

ARROWS = ("ArrowRight", "ArrowLeft", "Shift+ArrowRight", "Shift+ArrowLeft", "ArrowDown", "ArrowUp")
STEPS = (*ARROWS, "n", "N", "b", "B", "f", "F", "m", "]", "[", "End", "Home")


def became(page, condition: str) -> None:
    """Waits until something holds on a page. Asked from here: the page's own policy keeps a text from being tried there again."""
    wait_until(lambda: page.evaluate(condition), condition)


def check_state(page, replay: Replay, first: int = 0) -> int:
    """Asserts that the page's state is the replayer's at the same event. Returns the position."""
    position, text = page.evaluate("[stepper.position, JSON.stringify(stepper.json())]")
    assert "[object " not in page.locator("#app").inner_text()
    assert json.loads(text, parse_int=float) == replay.seek(first + position).as_json(), f"after {first + position} events"
    return first + position


GAPS = """[...document.querySelectorAll(".card:not(.absent)")].filter(card => card.querySelector(".sign-shape")).map(card =>
  Math.min(...[...card.querySelectorAll(".sign-shape")].map(sign => sign.getBoundingClientRect().left))
  - card.querySelector(".name").getBoundingClientRect().right)"""


def test_keys_lead_to_the_replayers_states(show, q5, q5_page):
    page, replay, random_keys = show(q5_page), Replay(q5.events), random.Random(5)
    for _ in range(10):
        page.keyboard.press(random_keys.choice(STEPS))
        check_state(page, replay)
        page.evaluate("p => stepper.seek(p)", random_keys.randrange(len(q5.events) + 1))
        check_state(page, replay)


def test_over_leads_where_the_walk_of_python_leads(show, q5, q5_page):
    page, walk = show(q5_page), Walk(Replay(q5.events))
    first = next(i for i, event in enumerate(q5.events) if event["kind"] == "task_start")
    for position in range(first + 1, len(q5.events), 83):
        page.evaluate("p => stepper.seek(p)", position)
        page.keyboard.press("Shift+ArrowRight")
        walk.replay.seek(position)
        walk.forward(walk.over())
        assert page.evaluate("stepper.position") == walk.replay.position


def test_all_buttons_are_in_a_window_as_narrow_as_a_phone(show, q5_page):
    page = show(q5_page, "#e=300&v=memo")
    page.set_viewport_size({"width": 400, "height": 900})
    became(page, "document.querySelector('#app').getBoundingClientRect().width === 400")
    right = "[...document.querySelectorAll('.top button, .bar-row button')].map(b => b.getBoundingClientRect().right)"
    assert max(page.evaluate(right)) <= 400
    widths = page.evaluate("['.search input', '.time-box', '.top h1'].map(each => document.querySelector(each).clientWidth)")
    assert widths[0] > 300 and widths[1] > 250 and widths[2] >= 100
    page.keyboard.press("/")
    page.keyboard.type("lineitem")
    assert page.locator(".found").bounding_box()["x"] >= 0
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.evaluate("document.querySelector('.help').scrollTop") == 0, "help begins with its title"
    assert page.locator(".help td").first.bounding_box()["width"] > 200


def test_the_page_fits_a_narrow_window_and_a_large_memo_is_seen_from_its_top(show, q5_page):
    page = show(q5_page, "#e=99999&v=memo")
    for width in (600, 800, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        became(page, f"document.documentElement.scrollWidth <= {width}")  # laid out anew
        centre = page.evaluate("document.querySelector('.centre').getBoundingClientRect().width")
        assert centre >= min(width, 700)
    for width, height in ((360, 640), (800, 450)):  # a phone, and a small screen at twice the size: the page scrolls
        page.set_viewport_size({"width": width, "height": height})
        became(page, "document.querySelector('.memo').clientHeight >= 200")
    page.set_viewport_size({"width": 1000, "height": 750})
    became(page, "stepper.memo.size().height < 400")  # laid out anew
    page.evaluate("stepper.memo.fit(1)")
    assert page.evaluate("document.querySelector('.centre').clientHeight") >= 0.49 * 750
    top = "Math.min(...[...document.querySelectorAll(each)].map(element => element.getBoundingClientRect().top))"
    assert page.evaluate(f"(each => {top})('.card') > (each => {top})('.memo')")


def test_a_comparison_fits_a_narrow_window(show, tpch, q5):
    other = trace_of("tpch/q05", tpch, disable=("join_to_hash_join",))
    page = show(comparison_page(compare(q5.events, other.events), (), ()), ready="table")
    page.set_viewport_size({"width": 360, "height": 800})
    became(page, "document.documentElement.scrollWidth === 360")


def test_costs_of_many_digits_are_whole(show, q5, q5_page):
    events = [{**event, "cost": 123456789.25} if event["kind"] == "best" else event for event in q5.events]
    page = show(stepper_page(events), "#e=99999&v=memo")
    for width in (360, 800, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        became(page, f"document.querySelector('#app').getBoundingClientRect().width === {width}")
        costs = page.locator(".root-now dd")
        assert len(costs.first.inner_text()) == 14
        assert all(cost["x"] + cost["width"] <= width for cost in [each.bounding_box() for each in costs.all()])


def test_signs_do_not_cover_titles_in_wide_fonts(show, q5_page):
    page = show(q5_page)
    page.evaluate("document.styleSheets[0].insertRule('.card .name { font-size: 16px !important }')")
    page.evaluate("stepper.seek(stepper.history.events.length); stepper.show('memo')")
    gaps = page.evaluate(GAPS)
    assert len(gaps) > 5 and min(gaps) > 0


@pytest.mark.slow
@pytest.mark.parametrize("query", ["q5", "clique"])
def test_200_steps_forward_and_back(show, query, request):
    trace, html = request.getfixturevalue(query), request.getfixturevalue(f"{query}_page")
    page, replay = show(html, f"#e={len(trace.events) // 2}"), Replay(trace.events)
    start = check_state(page, replay)
    for key, way in (("ArrowRight", range(start + 1, start + 201)), ("ArrowLeft", reversed(range(start, start + 200)))):
        pressed = page.evaluate(
            """key => Array.from({length: 200}, () => {
                document.dispatchEvent(new KeyboardEvent("keydown", {key}));
                return [stepper.position, JSON.stringify(stepper.json())];
            })""",
            key,
        )
        for expected, (position, text) in zip(way, pressed, strict=True):
            assert position == expected
            assert json.loads(text, parse_int=float) == replay.seek(position).as_json(), f"after {position} events"


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ("tpch/q18", {}),
        *(
            pytest.param(query, settings, marks=pytest.mark.slow)
            for query, settings in [
                ("tpch/q02", {}), ("tpch/q20", {"exploration": "interleaved"}), ("tpch/q21", {"exploration": "interleaved"}),
                ("tpch/q18", {"driver": "iterative"}), ("tpch/q21", {"enumeration": "rules"}), ("tpch/q09", {"region": "table"}),
            ]
        ),
    ],
)  # fmt: skip
def test_every_kind_of_search_is_replayed(show, tpch, query, settings):
    """Also across merges and restarts, there and back."""
    events = trace_of(query, tpch, **settings).events
    page, replay, numbers = show(stepper_page(events)), Replay(events), random.Random(7)
    turns = [i for i, event in enumerate(events) if event["kind"] in ("merge", "restart", "recost", "table", "place")][:6]
    walk = [len(events), *(i + step for i in turns for step in (0, 1, 2, 0)), *(numbers.randrange(len(events)) for _ in range(6))]
    for position in walk:
        page.evaluate("p => stepper.seek(p)", position)
        check_state(page, replay)


def said_at_every_event(page) -> list[str]:
    return page.evaluate("""stepper.history.events.map((event, i) => {
        stepper.model.seek(i + 1);
        stepper.event = event;
        return stepper.said();
    })""")


def check_sentences(page, events) -> None:
    """Asserts that the page says of every event what Python says."""
    replay, said = Replay(events), said_at_every_event(page)
    tasks = {event["id"]: event["text"] for event in events if event["kind"] == "task_push"}
    names = Names(replay.final(), tasks)
    for i, event in enumerate(events):
        assert said[i].split() == sentence(event, names, replay.seek(i + 1)).split(), event["kind"]


def test_a_rewrite_is_shown_in_the_whole_tree(show, q5, q5_page):
    page = show(q5_page)
    parts = 0
    for position, event in enumerate(q5.events):
        if event["kind"] == "rewrite":
            page.evaluate("p => stepper.seek(p)", position + 1)
            check_state(page, Replay(q5.events))
            parts += page.get_by_role("heading", name="in the whole tree").count()
    assert parts > 2


def test_sentences_are_those_of_python(show, q5, q5_page):
    check_sentences(show(q5_page), q5.events)


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ("tpch/q05", {"gap": 0.3}), ("tpch/q05", {"budget_tasks": 60}), ("tpch/q09", {}),
        ('select n_regionkey + 1 as "a, limit b", n_name as "goal 1" from nation order by 1, 2', {}),
    ],
)  # fmt: skip
def test_sentences_of_other_searches(show, tpch, query, settings):
    events = trace_of(query, tpch, **settings).events
    page = show(stepper_page(events))
    check_sentences(page, events)
    near = next((event for event in events if event["kind"] == "prune" and event["lower"] < 0.999 * event["limit"]), None)
    if near is not None:
        page.evaluate("p => stepper.seek(p)", near["seq"] + 1)
        assert page.locator("table.sum .over").inner_text().split()[-1] != "0"


def test_splits_that_the_table_cut(show):
    """They have no goals: the relations of both parts are named, and shown as what the event is about."""
    _, trace = traced(graph_query("cycle", 6, 9), region="table")
    first = next(i for i, event in enumerate(trace.events) if event["kind"] == "prune" and "left" in event)
    page = show(stepper_page(trace.events), f"#e={first}")
    assert page.locator("table.sum tr").count() == 3 and "its own cost" not in page.locator("table.sum").inner_text()
    check_sentences(page, trace.events)
    at = [event for event in trace.events if event["kind"] == "prune" and "left" in event][-1]
    page = show(stepper_page(trace.events), f"#e={at['seq']}")  # of a set that became a group later
    assert page.locator(".use").count() > 0 and "G-" not in page.locator(".use").first.inner_text()


def test_figures_are_those_of_python(show):
    """To the last digit, also in the middle between two."""
    numbers = random.Random(3)
    values = [0.0, 0.125, 0.375, 2.5e-7, 0.0099999, 1e9 - 0.005, 1e9, 2.6325e15, 2.6335e15, 1.5e300]
    values += [numbers.choice((1.0, 0.125, 1e-9, 1e6, 1e15)) * round(10 ** numbers.uniform(-3, 7), 3) for _ in range(2000)]
    shared = {"t": 0, "kind": "enforce", "task": None, "goal": 0, "op": "sort", "inputs": [1]}
    events = [{**shared, "seq": i, "local": value} for i, value in enumerate(values)]
    said = said_at_every_event(show(stepper_page(events)))
    assert said == [sentence(event, Names(MemoState(), {}), MemoState()) for event in events]
    large = [value for value in values if value >= 10]
    drawn = show(stepper_page(events)).evaluate(f"values => {{ {bundle('figures')} return values.map($figures.rounded) }}", large)
    assert [each for each, value in zip(drawn, large, strict=True) if each != number(value)] == []


def test_a_set_that_no_goal_asked_for(show, q5_page):
    page = show(q5_page)
    page.keyboard.press("/")
    page.keyboard.type("supplier customer")
    assert "{supplier, customer}" in (first := page.locator("#found-0").inner_text()) and "no goal asked for it" in first
    page.keyboard.press("Enter")
    assert page.locator(".group h2").inner_text().startswith("{customer, supplier, nation, region}")
    page.keyboard.press("/")
    page.keyboard.type("nation region")
    assert "no goal" not in page.locator("#found-0").inner_text()


def test_a_card_has_the_total_of_the_goal_in_the_plan(show, tpch):
    query = "select n_name, r_name from nation, region where n_regionkey = r_regionkey order by n_name"
    events = trace_of(query, tpch, enumeration="rules", seed="none", expand_joins=0, exploration="interleaved").events
    page = show(stepper_page(events), "#e=99999&v=memo")
    cost = number(events[-1]["nodes"][0]["cost"])
    assert cost in page.locator(".row.chosen .cost").all_text_contents()
    page.locator(".card", has_text=cost).click()
    assert "Best so far: 1,204.23 with its inputs" in page.locator(".member", has_text="hash join").first.inner_text()


def test_find_a_group_and_learn_why_it_lost(show):
    """What a student does who asks why lineitem ⋈ supplier was not joined first."""
    page = show(stepper_page(trace_of("tpch/q05", open_data("tpch:0.1")).events))
    page.keyboard.press("End")
    page.keyboard.press("/")
    page.keyboard.type("lineitem supplier")
    page.keyboard.press("Enter")
    group = page.locator(".group")
    assert group.locator("h2").inner_text().startswith("{lineitem, supplier}")
    why = group.locator(".why").inner_text()
    assert "No. It was weighed as an input twice so far, and cut each time." in why
    assert "The best plan first joins" in why and "lineitem in {" in why and "supplier in {" in why
    assert page.locator(".card.selected").count() == 1
    number = page.locator(".use .link.event").first.inner_text()
    page.locator(".use .link.event").first.click()
    assert page.locator(".where b").inner_text() == number
    assert "{lineitem, supplier}" in page.locator(".words").inner_text()
    assert page.url.endswith(f"#e={number.replace(',', '')}&g={page.evaluate('stepper.selected')}")


def test_find_rules_and_events(show, q5_page):
    page = show(q5_page)
    for text, kind in (("join_to_hash", "fire"), ("filter push join", "rewrite"), ("300", None)):
        page.keyboard.press("/")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        seq, found = page.evaluate("[stepper.event.seq, stepper.event.kind]")
        assert found == kind if kind else seq == 300
    page.keyboard.press("g")
    page.keyboard.type("no such thing")
    assert "nothing of that name" in page.locator(".found").inner_text()
    page.keyboard.press("Escape")
    assert page.evaluate("stepper.event.seq") == 300


def test_a_goal_with_a_plan_that_nobody_asked_for(show, q5_page):
    page = show(q5_page, "#e=99999&v=memo")
    group = page.evaluate("[...stepper.state.goals.values()].find((goal) => goal.status === 'new' && goal.best).group")
    page.evaluate("id => stepper.select(id)", group)
    assert "not searched, has a plan" in page.locator(".goal").first.inner_text()
    assert "never searched" not in page.locator(".why").inner_text()


def test_a_bar_has_a_colour_for_each_of_many_inputs(show, tpch):
    sql = " union all ".join(f"select n_name from nation where n_nationkey = {i}" for i in range(6))
    events = trace_of(sql, tpch).events
    page = show(stepper_page(events), f"#e={next(e['seq'] for e in events if e['kind'] == 'best' and len(e['inputs']) > 4)}")
    fills = page.evaluate("[...document.querySelectorAll('.bar rect')].map((part) => getComputedStyle(part).fill)")
    assert len(fills) == 7 and fills[4] == fills[0] and len(set(fills)) == 4


def test_sets_are_listed_in_one_order_wherever_one_came_from(show, q5, q5_page):
    placed = [i for i, event in enumerate(q5.events) if event["kind"] == "place"]
    page = show(q5_page, f"#e={placed[0] - 1}&v=memo")
    sets = "[...stepper.state.groups.values()].filter((group) => group.relations).map((group) => group.id)"
    listed = """ids => ids.map((id) => {
        stepper.select(id);
        return [...document.querySelectorAll('.larger a')].map((a) => a.textContent).join();
    })"""
    for position in placed:
        page.evaluate("here => stepper.seek(here)", position)
        ids = page.evaluate(sets)
        before = page.evaluate(listed, ids)
        page.evaluate("here => { stepper.seek(1e6); stepper.seek(here); }", position)
        assert page.evaluate(listed, ids) == before and any("},{" in text for text in before)


def test_words_on_what_did_not_happen_are_spoken_and_panels_scroll(show, q5_page):
    page = show(q5_page, "#e=300")
    page.keyboard.press("Home")
    page.keyboard.press("N")
    assert page.locator("[aria-live=polite].spoken").inner_text() == "no earlier prunes"
    page.evaluate("stepper.seek(400)")
    assert page.locator(".spoken").inner_text() == ""
    page.locator("aside.right").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("stepper.position") == 400


def test_near_fold_and_select(show, q5_page):
    page = show(q5_page)
    page.keyboard.press("End")
    page.keyboard.press("2")
    page.locator(".card .name", has_text="region").last.click()
    assert page.locator(".card.selected").count() == 1
    page.keyboard.press(".")
    assert 0 < page.locator(".card:not(.away)").count() < page.locator(".card").count()
    page.keyboard.press("x")
    assert page.locator(".card.folded").count() == page.locator(".card").count()
    page.keyboard.press("X")
    assert page.locator(".card:not(.folded)").count() == page.locator(".card.selected:not(.folded)").count() == 1
    page.keyboard.press("x")
    page.keyboard.press("Escape")
    assert page.locator(".card.selected, .card.away, .card.folded").count() == 0
    page.locator(".card .name", has_text="nation").last.dblclick()
    assert page.locator(".card.folded").count() == 1


def test_the_picture_has_its_size_whatever_keys_were_pressed_before_it_was_shown(show, q5_page):
    scales = []
    for keys in ("", "0.x.x"):
        page = show(q5_page, "#e=3")
        for key in (*keys, "2"):
            page.keyboard.press(key)
        scales.append(page.evaluate("[stepper.memo.scale, stepper.memo.left, stepper.memo.top]"))
    assert scales[0] == scales[1]


def test_the_keyboard_goes_through_the_picture(show, q5_page):
    """One stop for Tab, arrows from there; the name of a group says what a look at it tells."""
    page = show(q5_page)
    page.keyboard.press("End")
    page.keyboard.press("2")
    assert page.locator(".card[tabindex='0']").count() == 1
    page.get_by_role("button", name="Only what is next to").focus()
    position = page.evaluate("stepper.position")
    page.keyboard.press("Tab")
    been = set()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
        been.add(page.evaluate("document.activeElement.dataset.group"))
    assert len(been) > 3 and page.evaluate("stepper.position") == position
    page.keyboard.press("Enter")
    group = page.evaluate("document.activeElement.dataset.group")
    assert page.locator(".card.selected").get_attribute("data-group") == group
    said = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert said.startswith(page.locator(".group h2").evaluate("h => h.firstChild.textContent")) and " rows" in said


def test_links_point_at_steps(show, q5, q5_page):
    prune = next(event for event in q5.events if event["kind"] == "prune")
    page = show(q5_page, f"#e={prune['seq']}")
    assert page.locator(".sentence .kind").inner_text() == "prune"
    assert page.evaluate("stepper.event.seq") == prune["seq"]
    link = page.locator(".words .link.event").first
    target = link.get_attribute("href")
    link.click()
    assert page.evaluate("stepper.event.seq") == int(target.removeprefix("#e="))
    page.evaluate("location.hash = '#e=3&v=plan'")
    became(page, "stepper.event.seq === 3 && stepper.view === 'plan'")
    page.evaluate("location.hash = '#e=4'")  # as the event has it
    became(page, "stepper.event.seq === 4 && stepper.view === 'tree'")
    page.evaluate("location.hash = '#e=3&g=1'")
    became(page, "stepper.selected === 1")
    page.evaluate("location.hash = '#e=3'")
    became(page, "stepper.selected === null")
    page.evaluate("location.hash = '#e=what'")  # stays
    became(page, "location.hash.startsWith('#e=3')")
    page.evaluate("location.hash = '#e=99999999'")  # beyond the end: the last event
    became(page, f"stepper.event.seq === {q5.events[-1]['seq']}")


def test_the_time_line_seeks_and_looks_closer(show, q5, q5_page):
    page = show(q5_page)
    box = page.locator(".time-box").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.click(box["x"] + box["width"] / 2, middle)
    assert abs(page.evaluate("stepper.position") - len(q5.events) / 2) < 5
    page.mouse.move(box["x"] + box["width"] * 0.5, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, middle)
    page.mouse.up()
    low, high = page.evaluate("[stepper.timeline.from, stepper.timeline.to]")
    assert low == pytest.approx(len(q5.events) / 2, abs=5) and high == pytest.approx(len(q5.events) * 0.75, abs=5)
    page.mouse.dblclick(box["x"] + 40, middle)
    assert page.evaluate("stepper.timeline.from") == 0


def test_the_line_of_a_goal_ends_where_its_plan_is_forgotten(show, tpch):
    events = trace_of("tpch/q20", tpch, driver="iterative").events
    at = next(i for i, event in enumerate(events) if event["kind"] == "recost" and event["goals"])
    page = show(stepper_page(events), f"#e={at}&v=memo")
    best = "goal => { stepper.selectGoal(goal); return stepper.timeline.ofSelected()[0].slice(%d, %d).join(); }"
    lines = [page.evaluate(best % (at - 1, at + 1), goal) for goal in events[at]["goals"]]
    assert any(line.split(",")[0] != "NaN" for line in lines) and all(line.endswith("NaN") for line in lines)


def test_the_picture_stays_where_it_is(show, q5_page):
    """Groups have the same place at every event, and no two lie upon each other."""
    page = show(q5_page)
    places = "[...document.querySelectorAll('.card')].map(c => [c.dataset.group, c.getAttribute('transform')].join())"
    seen = set()
    for position in (30, 300, 500, 10_000):
        page.evaluate("p => { stepper.seek(p); stepper.show('memo'); }", position)
        seen.add(tuple(page.evaluate(places)))
    assert len(seen) == 1
    assert page.evaluate("document.querySelectorAll('.edge.chosen').length") > 5


def test_panels_say_what_the_state_says(show, q5, q5_page):
    replay = Replay(q5.events)
    page = show(q5_page, "#e=700")
    state = replay.seek(701)
    assert page.locator(".task:not(.gone):not(.running)").count() == len(state.stack)
    page.keyboard.press("End")
    page.keyboard.press("3")
    assert page.locator(".plan tbody tr").count() == len(replay.final().plan or [])
    page.keyboard.press("1")
    assert page.locator(".stages [aria-current]").count() == 1


def test_the_plan_shows_what_really_happened(show, q5):
    nodes = Replay(q5.events).final().plan
    actual = [{"rows": 4 * node["rows"], "ms": 1.5} for node in nodes]
    page = show(stepper_page(q5.events, actual=[None, *actual[1:]]))
    page.keyboard.press("End")
    errors = page.locator(".plan tbody td:nth-child(4)").all_inner_texts()
    assert errors == ["–", *(["×4"] * (len(nodes) - 1))]


@pytest.mark.parametrize("theme", ["light", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dark", "projector"))])
def test_accessible(show, q5_page, theme):
    page = show(q5_page, "#e=470")
    page.evaluate("name => stepper.setTheme(name)", theme)
    for key in ("2", "1", "3", "?"):
        page.keyboard.press(key)
        found = Axe().run(page).response["violations"]
        assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []


HOSTILE = [
    "</script><script>window.hacked = 1</script>", "<img src=x onerror=window.hacked=1>", "javascript:window.hacked=1",
    "\u202egnp.exe\u2066", "\"'`${window.hacked=1}", "long " * 2000,
]  # fmt: skip


def test_hostile_names_are_text(show):
    """Tables, columns, aliases, literals and titles."""
    quoted = ['"' + text.replace('"', '""') + '"' for text in HOSTILE]
    literals = ["'" + text.replace("'", "''") + "'" for text in HOSTILE]
    columns = tuple(TableColumn(text, STRING) for text in HOSTILE)
    tables = [Table(text, columns, stats=TableStats(100)) for text in HOSTILE[:3]]
    outputs = ", ".join(f"x.{name} as {name}" for name in quoted)
    conditions = " and ".join(f"x.{name} <> {literal}" for name, literal in zip(quoted, literals, strict=True))
    joins = " ".join(f"join {quoted[i]} t{i} on x.{quoted[i]} = t{i}.{quoted[i]}" for i in (1, 2))
    trace = Trace()
    sql = f"select {outputs} from {quoted[0]} x {joins} where {conditions} order by {quoted[4]}"
    Optimizer(Catalog("odd", tables), Settings(region="tasks")).optimize(sql, trace)
    page = show(stepper_page(trace.events, title="".join(HOSTILE)))
    for key in ("End", "1", "2", "3", "?", "Escape", "/", "s", "c"):
        page.keyboard.press(key)
    for position in range(0, len(trace.events), 23):
        page.evaluate("p => { stepper.seek(p); stepper.show('memo'); }", position)
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.images.length + document.querySelectorAll('a[href^=\"javascript\"]').length") == 0
    assert "<img src=x" in page.evaluate("document.body.textContent") and "\u202e" not in page.locator("body").inner_text()


def test_a_window_of_a_long_trace(show, clique, monkeypatch):
    monkeypatch.setattr(stepper, "PAGE_EVENTS", 300)
    page, replay = show(stepper_page(clique.events, start=900)), Replay(clique.events)
    assert page.locator(".part text").all_text_contents() == ["choosing plans"]
    assert "events 900 to 1,199 of" in (notice := page.locator(".partial").inner_text()) and "--from 1200" in notice
    page.keyboard.press("g")
    page.keyboard.type("1300")
    assert "no event of that number on this page" in page.locator(".found").inner_text()
    page.keyboard.press("Escape")
    for position in (300, 120, 0, 299):
        page.evaluate("p => stepper.seek(p)", position)
        assert check_state(page, replay, 900) == 900 + position
    page.evaluate("p => stepper.seek(p)", 300)
    page.evaluate("stepper.select(stepper.state.groups.keys().next().value)")
    assert "on this page so far" in page.locator(".why").inner_text()


def test_without_javascript_the_page_says_so(browser, q5_page):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1000, "height": 700})
    page = context.new_page()
    page.set_content(q5_page)
    assert page.locator(".opening").is_hidden()
    box = page.locator("noscript p").bounding_box()
    assert box is not None and box["y"] + box["height"] < 700
    context.close()


def test_in_the_frame_of_a_notebook(show, q5_page):
    above = '<div style="height: 3000px">cells above</div>'
    page = show(f"<!doctype html><title>notebook</title>{above}{in_frame(q5_page)}", ready="iframe")
    frame = page.frame_locator("iframe")
    frame.locator("[data-ready]").wait_for(state="attached")
    assert page.evaluate("window.scrollY") == 0  # nobody is carried away from what they read
    frame.get_by_role("button", name="To the end").click()
    assert "The plan is chosen" in frame.locator(".words").inner_text()
