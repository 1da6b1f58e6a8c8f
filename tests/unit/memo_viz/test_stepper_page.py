"""The stepper page as a file: what it holds, what it may not do, and where its groups lie. tests/browser opens it."""

import base64
import gzip
import hashlib
import html
import json
import re
from itertools import combinations

import pytest

from experiments.workloads.data import open_data
from memo_viz.names import group_names
from memo_viz.stepper.layout import GAP_X, PADDING, SCREEN, layout
from memo_viz.stepper.page import bundle, in_frame, stepper_page
from memo_viz.words import Names
from optimizer.trace.replay import Replay
from tests.search.planning import trace_of


@pytest.fixture(scope="module")
def q5(tpch):
    return trace_of("tpch/q05", tpch).events


def data_of(page):
    packed = re.search(r'<script id="data" type="text/plain">([\w+/=]*)</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def test_the_page_has_the_trace_and_nothing_else(q5):
    page = stepper_page(q5, title="q5")
    data = data_of(page)
    assert [event["kind"] for event in data["events"]] == [event["kind"] for event in q5]
    assert data["sql"] == q5[0]["sql"] and data["total"] == len(q5) and data["base"] is None
    assert page == stepper_page(q5, title="q5")  # the same trace, the same file
    without_namespace = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|\bimport [\w{*]|^export |\bsrc=|url\(", without_namespace, re.MULTILINE)


def test_the_policy_allows_its_own_script_and_style_alone(q5):
    page = stepper_page(q5[:3])
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    for tag, part in (('script type="module"', "script-src"), ("style", "style-src")):
        text = re.search(rf"<{tag}>(.*?)</{tag.split()[0]}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{part} 'sha256-{digest}'" in policy


def test_a_query_cannot_leave_its_place(q5):
    text = "</script></title><script>alert(1)</script>\u202e$data"
    header = {**q5[0], "sql": text}
    page = stepper_page([header, *q5[1:]], title=text)
    assert page.count("<script") == 2 and "alert(1)</script>" not in page and "\u202e" not in page
    assert data_of(page)["sql"] == text
    framed = in_frame(page)
    assert framed.count("<") == 2 and framed.count('"') == 4  # all of the page is the value of one attribute


def test_modules_are_joined_in_the_order_of_their_imports():
    script = bundle("main")
    made = re.findall(r"^const \$(\w+) = \(\(\) => \{$", script, re.MULTILINE)
    assert made[-1] == "main" and len(made) == len(set(made))
    for used in re.finditer(r"= \$(\w+);", script):
        assert f"const ${used[1]} = " in script[: used.start()]


@pytest.mark.parametrize("query", ["tpch/q02", "tpch/q05", "tpch/q08", "tpch/q17", "clique/8"])
def test_every_group_has_a_place_of_its_own(tpch, query):
    events = trace_of(query, open_data("joingraph") if query.startswith("clique") else tpch).events
    replay = Replay(events)
    final = replay.final()
    found = layout(events, final, group_names(final))
    for position in range(0, len(events), 97):
        for id in replay.seek(position).groups:
            assert id in found.boxes or found.alias[id] in found.boxes
    boxes = list(found.boxes.values())
    for a, b in combinations(boxes, 2):
        beside = abs(a.x - b.x) >= (a.width + b.width) / 2 + GAP_X - 1e-6
        assert beside or a.y + a.height < b.y or b.y + b.height < a.y, (a.title, b.title)
    width = max(box.x + box.width / 2 for box in boxes) - min(box.x - box.width / 2 for box in boxes)
    height = max(box.y + box.height for box in boxes)
    assert SCREEN / 4 < width / height < SCREEN * 4


def test_boxes_have_room_for_operators_and_costs(tpch):
    events = trace_of("select n_regionkey, count(*) from nation group by n_regionkey", tpch).events
    final = Replay(events).seek(len(events))
    boxes = layout(events, final, group_names(final)).boxes
    [(op, box)] = [(final.mexprs[row].op, box) for box in boxes.values() for row in box.rows
                   if final.mexprs[row].op == "streaming_aggregate"]  # fmt: skip
    page_cuts_at = (box.width - 2 * PADDING - 16 - 6.4 * len("123,456")) / 6.3
    assert page_cuts_at >= len(op)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("optimize group 5 for any, limit 9934.89", "optimize G5, limit 9,934.89"),
        ("optimize group 5 for order(a, limit b), limit 1.5e+06", "optimize G5 ordered by a, limit b, limit 1,500,000"),
        ("optimize goal 5 for order(goal 1 desc, x)), no limit [OptimizeGroup]",
         "optimize goal 5 ordered by goal 1 desc, x), no limit [OptimizeGroup]"),
        ("optimize expression 3 of group 4 for group(a, limit 7)", "optimize m3 of G4 grouped by a, limit 7"),
    ],
)  # fmt: skip
def test_tasks_with_figures_and_any_names(text, said):
    assert Names(Replay([]).seek(0), {1: text}).task(1) == said


def test_a_set_that_becomes_a_group_stays_in_its_place(q5):
    final = Replay(q5).final()
    placed = [event for event in q5 if event["kind"] == "place"]
    found = layout(q5, final, group_names(final))
    assert placed and all(found.alias[-2 - event["goal"]] == event["group"] for event in placed)


def test_a_trace_without_a_memo(q5):
    assert data_of(stepper_page(q5[:1]))["layout"]["boxes"] == {}
    assert data_of(stepper_page([]))["events"] == []
