"""Plans as SVG, text and JSON."""

import xml.etree.ElementTree as ET

import pytest
from fake_plan import join_plan

from memo_viz.explain import Actual, plan_json, plan_table, rules_text, search_text
from memo_viz.plan_graph import Box, boxes_dot, plan_dot
from memo_viz.q_error import q_error
from memo_viz.svg import render_svg
from memo_viz.text import clean, label_text, shorten, wrap

ACTUAL = {i: Actual(rows, 1.5, 0) for i, rows in enumerate((3, 3, 14000, 1500, 15000))}


@pytest.mark.parametrize(
    ("estimate", "actual", "error"), [(10, 10, 1), (10, 1, 10), (1, 10, 10), (0, 0, 1), (0.001, 0, 1), (0.3, 1, 1), (100, 0, 100)]
)
def test_q_error(estimate, actual, error):
    assert q_error(estimate, actual) == error


def test_svg_has_every_operator_with_estimate_and_truth():
    plan, columns = join_plan()
    svg = render_svg(plan_dot(plan, columns, {i: a.rows for i, a in ACTUAL.items()}, "<b>title</b>"))
    seen = "\n".join(ET.fromstring(svg.encode()).itertext())
    for text in ("sort", "hash aggregate", "hash join", "table scan", "3 actual", "×33 off", "14,000 actual", "<b>title</b>"):
        assert text in seen
    assert "<script>alert" in seen, "shown as text"
    assert "<script" not in svg
    assert "actual" not in render_svg(plan_dot(plan, columns))


def test_a_cost_that_cannot_be():
    assert "cost -1" in boxes_dot(
        [Box(0, "table_scan", "t", 1.0, None, -1.0, "", "", ()), Box(1, "sort", "", 1.0, None, 5.0, "", "", (0,))]
    )


def test_table_keeps_every_character_of_a_payload():
    plan, columns = join_plan()
    for width in (40, 60, 80, 100, 200):
        text = plan_table(plan, columns, ACTUAL, width)
        words = text.replace("│", "").split()
        for node in plan.walk():
            payload = [word for word in node.op.describe(columns.label).split() if len(word) < 20]  # longer words are cut
            assert set(payload) <= set(words)
        if width >= 60:
            assert max(map(len, text.splitlines())) <= width
    assert plan_table(plan, columns).splitlines()[0].split() == ["rows", "cost"]
    assert plan_table(plan, columns, ACTUAL).splitlines()[0].split() == [
        "rows", "actual", "q-error", "cost", "in", "ms", "%", "MB",
    ]  # fmt: skip
    assert plan_table(plan, columns, ACTUAL, 60).splitlines()[0].split() == ["rows", "actual", "q-error", "ms"]
    partly = plan_table(plan, columns, {0: ACTUAL[0]})
    assert partly.splitlines()[1].split()[-5:] == ["3", "33.3", "535", "1.5", "100"]


def test_words_are_whole_where_a_line_has_room_for_them():
    plan, columns = join_plan(("customer", "b", "a_name_of_some_characters"))
    for width in range(52, 80):
        assert "a_name_of_some_characters#2" in plan_table(plan, columns, width=width), width


def test_json_has_the_fields_of_the_contract():
    plan, columns = join_plan()
    value = plan_json(plan, columns)
    figures = "actual_rows removed_rows rows_in ms share peak_bytes"
    assert list(value) == f"operator detail columns traits rows cost {figures} inputs".split()
    assert value["operator"] == "sort" and value["traits"] == "order(orders#3 desc)" and value["actual_rows"] is None
    assert [i["operator"] for i in value["inputs"][0]["inputs"][0]["inputs"]] == ["table_scan", "table_scan"]
    join = plan_json(plan, columns, ACTUAL)["inputs"][0]["inputs"][0]
    assert join["actual_rows"] == 14000 and join["rows_in"] == sum(scan["actual_rows"] for scan in join["inputs"])
    assert join["inputs"][0]["rows_in"] is None and join["peak_bytes"] == ACTUAL[2].bytes
    assert join["share"] == pytest.approx(ACTUAL[2].ms / sum(each.ms for each in ACTUAL.values()), abs=1e-4)


def test_search_text():
    search = {
        "groups": 3, "mexprs_logical": 4, "mexprs_physical": 5, "tasks": 6, "rules_fired": {"a": 3, "b": 4}, "costed": 8,
        "pruned": {"upper": 2, "lower": 0}, "joins_enumerated": 1, "proven": True,
    }  # fmt: skip
    text = search_text(search, {"parse": 1.0, "bind": 0.01, "search": 2.0}, 12.0)
    assert "2 by upper" in text and "lower" not in text and "3.0 ms = parse 1.0 + search 2.0" in text
    assert "not proven" in search_text({**search, "proven": False}, {}, 1.0)
    dominated = search_text({**search, "pruned": {"upper": 2, "dominated": 3}}, {}, 1.0)
    assert "pruned: 2 by upper; 3 merge joins left out, as hash joins never cost more" in " ".join(dominated.split())
    assert "regions" not in search_text({**search, "regions": {}}, {}, 1.0)
    regions = search_text({**search, "regions": {"tasks": 1, "table": 2}}, {}, 1.0)
    assert "\n        regions of joins: table ×2, tasks\n" in regions


def test_rules_text():
    text = rules_text({"bind": {}, "prepass": {"a": 1, "b": 2}, "search": {"join_to_hash_join": 1200}}, 40)
    assert text == "rules   prepass: b ×2, a\n        search: join_to_hash_join ×1,200"
    counts = {f"rule_{i}": 10 for i in range(20)}
    lines = [line for width in range(30, 60) for line in rules_text({"search": counts}, width).splitlines()]
    assert all(line.removesuffix(",").endswith(" ×10") for line in lines)
    assert rules_text({"search": {}}) == ""
    assert "\x1b" not in rules_text({"search": {"\x1b[31m": 1}})


def test_text_tools():
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abc", 3) == "abc"
    assert clean("a\tb\x01\udfff") == "a b\ufffd\ufffd"
    assert label_text("<a & \"b\" 'c' \\n>") == "&lt;a &amp; &quot;b&quot; &#x27;c&#x27; \\\\n&gt;"
    assert wrap("one two three four", 9, 3) == ["one two", "three", "four"]
    assert wrap("one two three four five", 9, 2) == ["one two", "three fo…"]
    assert wrap("", 9, 2) == []
