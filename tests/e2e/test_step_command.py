"""planscope step, from the command line."""

from pathlib import Path

import pytest

from tests.e2e.conftest import JOIN


def script(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "script.txt"
    file.write_text("\n".join(lines), "utf-8")
    return str(file)


def test_a_search_and_its_trace_are_stepped_alike(planscope, shop, trace, tmp_path):
    commands = script(tmp_path, "until best", "plan", "back task", "stack", "why")
    live = planscope("step", JOIN, "-d", str(shop), "-x", commands)
    recorded = planscope("step", trace, "-x", commands)
    assert live.code == recorded.code == 0
    assert "has a cheaper plan" in live.out and "hash_aggregate" in live.out
    total = len(Path(trace).read_text("utf-8").splitlines())
    assert recorded.out.replace(f" of {total - 1}  ", "  ") == live.out


def test_a_cut_trace_is_stepped_up_to_the_cut(planscope, trace, tmp_path):
    whole = Path(trace).read_bytes()
    cut = whole.index(b"\n", len(whole) // 2) + 10  # within a line, however long the times in it are
    lines = whole[:cut].count(b"\n")
    Path(trace).write_bytes(whole[:cut])
    done = planscope("step", trace, "-x", script(tmp_path, "end"))
    assert done.code == 0
    assert f"read up to its damage: line {lines + 1}: not a trace event" in done.err
    assert f"event {lines - 1} of {lines - 1}" in done.out and "The trace is damaged after this event" in done.out


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("break rule join_comute", 'there is no rule "join_comute"; did you mean "join_commute"?'),
        ("until rule join_comute", 'there is no rule "join_comute"; did you mean "join_commute"?'),
        ("until rule zebra", 'there is no rule "zebra"; planscope rules lists them'),
        ('until kind == "bst"', 'no event is of kind "bst"; did you mean "best"?'),
        ('break kind in ["prune", "bst"]', 'no event is of kind "bst"; did you mean "best"?'),
        ("untill best", 'there is no command "untill"; did you mean "until"?'),
        ("break rule unnest", ""),
        ("break group sales", 'there is no group "sales" at this event'),
        ("end\nbreak group s", ""),
        ("end\ngroup {s, p}", ""),
        ("end\ngroup { s,p }", ""),
        ("end\nmemo G0", ""),
        ("group", "which group? groups are called G12"),
        ("back -3", 'back takes a number from 0 up, not "-3": step 3 goes the other way'),
        ("step -1", ": back 1 goes the other way"),
        ("help stp", 'there is no command "stp"; did you mean "step"?'),
        ("clear", ""),
        ("break rule limit_merge", ""),
        ("until rule == 'join_commute'", ""),
    ],
)
def test_names_that_do_not_exist(planscope, shop, tmp_path, command: str, told: str):
    done = planscope("step", JOIN, "-d", str(shop), "-x", script(tmp_path, *command.split("\n")))
    assert (done.code == 2 and told in done.err) if told else done.code == 0


def test_mistakes_are_told(planscope, shop, tmp_path):
    wrong = planscope("step", JOIN, "-d", str(shop), "-x", script(tmp_path, "step", "fly"))
    assert wrong.code == 2 and 'line 2 of the script: there is no command "fly"' in wrong.err
    assert planscope("step", "selec", "-d", str(shop), "-x", script(tmp_path, "step")).code == 2
    missing = planscope("step", str(tmp_path / "none.jsonl"), "-x", script(tmp_path))
    assert missing.code == 2 and "cannot read trace" in missing.err
    assert "cannot read" in planscope("step", JOIN, "-d", str(shop), "-x", str(tmp_path / "none.txt")).err
