"""planscope picture, memo at an event, and diff: from a query and from a written trace, into every format."""

import io
import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from optimizer.pipeline import Optimizer
from tests.e2e.conftest import JOIN


@pytest.mark.parametrize("kind", ["memo", "plan", "joins", "rules", "traits"])
def test_pictures_of_a_query_and_of_its_trace_are_the_same(planscope, shop, trace, tmp_path, kind):
    dots = []
    for source in ((JOIN, "-d", str(shop)), (trace,)):
        done = planscope("picture", kind, *source, "-q", "--format", "dot")
        assert done.code == 0, done.err
        dots.append(done.out.replace("a.jsonl", JOIN[:79] + "…").splitlines()[3:])
    assert dots[0][2:] == dots[1][2:]
    for ending, head in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("json", b"")):
        path = tmp_path / f"out.{ending}"
        assert planscope("picture", kind, trace, "-o", str(path)).code == 0
        assert path.read_bytes().startswith(head)
    ET.parse(tmp_path / "out.svg")
    json.loads((tmp_path / "out.json").read_text("utf-8"))


def test_steps_of_a_stage(planscope, shop, trace):
    done = planscope("picture", "steps", trace)
    assert done.code == 2 and "no subquery, so nothing was decorrelated" in done.err
    steps = json.loads(planscope("picture", "steps", trace, "--stage", "prepass", "--format", "json").out)
    assert steps and {step["stage"] for step in steps} == {"prepass"}
    sql = "select id from people p where exists (select 1 as one from sales s where s.person = p.id)"
    done = planscope("picture", "steps", sql, "-d", str(shop), "-q")
    assert done.code == 0 and done.out.startswith("<?xml")


def test_a_memo_at_an_event(planscope, trace, tmp_path):
    text = planscope("memo", trace, "--at", "0").out
    assert text.strip() == ""
    assert "★" in planscope("memo", trace).out and "people" in planscope("memo", trace, "--focus", "p", "--depth", "0").out
    first = planscope("memo", trace, "--focus", "0", "--at", "30", "-o", str(tmp_path / "first.svg"))
    assert (first.code, first.err) == (0, "0 has no plan at event 30\n")
    path = tmp_path / "growth.svg"
    assert planscope("memo", trace, "-o", str(path), "--animate", "5").code == 0
    ET.parse(path)
    for arguments, message in (
        (("--at", "99999"), "there is no event 99999"),
        (("--focus", "nosuch"), 'no group is called "nosuch"'),
        (("--animate", "5", "-o", "x.png"), "an animated memo is an SVG"),
        (("--animate", "5", "-o", "x.svg", "--overview"), "the whole memo is animated"),
        (("--winners", "-o", "x.json"), "memo.json holds the whole memo"),
        (("--overview", "--detail", "-o", "x.svg"), "--overview and --detail do not go together"),
        (("--since", "4"), "--since, --overview and --detail are for pictures"),
        (("--since", "9", "--at", "4", "-o", "x.svg"), "event 9 is not before event 4"),
    ):
        done = planscope("memo", trace, *arguments)
        assert done.code == 2 and message in " ".join(done.err.split()), arguments


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("step TRACE --web -x nosuch.txt", "carries out no script"),
        ("picture memo TRACE --animate 5 --format json", "an animated memo is an SVG"),
        ("picture steps TRACE --stage prepass --stage prepas", "there is no stage prepas;"),
        ("what-if SQL --rows {p}=1 --rows {P}=2", "--rows or --cost names one thing twice"),
        ("what-if SQL --cost sort=1 --cost sort=2", "--rows or --cost names one thing twice"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(planscope, trace, command, message):
    done = planscope(*({"TRACE": trace, "SQL": JOIN}.get(word, word) for word in command.split()))
    assert done.code == 2 and message in " ".join(done.err.split())


def test_a_cut_trace_is_shown_as_far_as_it_goes(planscope, trace, tmp_path):
    cut = tmp_path / "cut.jsonl"
    lines = Path(trace).read_text("utf-8").splitlines()
    cut.write_text("\n".join([*lines[:40], lines[40][:20]]), encoding="utf-8")
    done = planscope("picture", "memo", str(cut))
    assert done.code == 0 and "line 41: not a trace event" in done.err
    cut.write_text("\n".join(lines[:40]), encoding="utf-8")
    for command in (("picture", "plan"), ("memo",)):
        done = planscope(*command, str(cut))
        assert done.code == 0 and "cut.jsonl: it ends before a plan is chosen\n" in done.err
    (tmp_path / "none.jsonl").write_text("hello\n")
    done = planscope("picture", "memo", str(tmp_path / "none.jsonl"))
    assert done.code == 2 and "is not a planscope trace" in done.err


def test_diff_of_a_query_under_two_settings(planscope, shop, tmp_path):
    query = (JOIN, "-d", str(shop), "-q")
    done = planscope("diff", *query, "--", "--disable", "join_to_hash_join")
    assert done.code == 0, done.err
    assert "disable = (none) | join_to_hash_join" in done.out and "- hash_join" in " ".join(done.out.split())
    assert "join_to_hash_join" in done.out.split("firings")[1]
    value = json.loads(planscope("diff", *query, "--set", "pruning=none", "--format", "json", "--", "--set", "pruning=both").out)
    assert value["settings"] == {"pruning": ["none", "both"]} and value["same_plan"] is True
    assert planscope("diff", *query, "--", "--disable", "join_to_hash_join").out == done.out, "no times"
    joined = planscope("diff", *query, "--", "--join-order", "(p s)").out
    assert "--join-order" in joined.splitlines()[1]
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from planscope import Estimator\nfrom planscope.plugin import estimator\n@estimator\nclass Own(Estimator): pass\n"
    )
    done = planscope("diff", *query, "--plugin", str(plugin), "--", "--set", "estimator=Own")
    assert done.code == 2 and f"add --plugin {plugin} after --" in " ".join(done.err.split())
    page = tmp_path / "d.html"
    assert planscope("diff", *query, "-o", str(page), "--", "--preset", "textbook", "--disable", "join_to_hash_join").code == 0
    shown = page.read_text("utf-8")
    assert shown.startswith("<!doctype html>") and "join_to_hash_join</td>" in shown
    assert not {"True", "False", "None", "[]", "['join_to_hash_join']"} & set(re.split("[<>]", shown))


def test_a_query_from_standard_input_is_read_once(planscope, shop, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(JOIN.encode())))
    done = planscope("diff", "-", "-d", str(shop), "--", "--disable", "join_to_hash_join")
    assert done.code == 0 and "disable = (none) | join_to_hash_join" in done.out, done.err


def test_a_query_is_planned_once_to_be_shown(planscope, shop, monkeypatch):
    planned, optimize = [], Optimizer.optimize
    monkeypatch.setattr(Optimizer, "optimize", lambda *given: planned.append(given) or optimize(*given))
    for arguments in (("memo", JOIN), ("picture", "plan", JOIN), ("trace", JOIN)):
        planned.clear()
        assert planscope(*arguments, "-d", str(shop)).code == 0 and len(planned) == 1


def test_diff_of_two_traces(planscope, shop, trace, tmp_path):
    other = str(tmp_path / "b.jsonl")
    assert planscope("trace", JOIN, "-d", str(shop), "-o", other, "-q", "--disable", "join_to_hash_join").code == 0
    done = planscope("diff", trace, other)
    assert done.code == 0 and "groups" in done.out and "events  the same up to number" in done.out
    assert "the same, one by one" in planscope("diff", trace, trace).out


def test_options_about_planning_are_refused_beside_a_trace(planscope, shop, trace, tmp_path):
    commands = (["step"], "-x /dev/null"), (["memo"], "-o m.svg"), (["picture", "plan"], "-q"), (["trace"], "-o t.html")
    for command, more in commands:
        for option in (["--set", "pruning=none"], ["-d", str(shop)], ["--join-order", "(p s)"], ["--disable", "nosuch"]):
            done = planscope(*command, str(trace), *option, *more.split())
            assert done.code == 2 and "a written trace has its data and settings in it" in done.err
    assert planscope("diff", str(trace), str(trace), "--set", "gap=1").code == 2
    assert "cannot read trace nosuch.jsonl" in planscope("diff", "nosuch.jsonl", "nosuch2.jsonl").err


def test_endings_say_what_is_in_a_file(planscope, shop, trace, tmp_path):
    done = planscope("picture", "joins", str(trace), "-o", str(tmp_path / "x.txt"))
    assert done.code == 2 and "end the name in .svg, .png, .pdf, .dot, .json, or give --format" in done.err
    for name in ("t.txt", "t.jsonl.gz", "t", "t.svg"):
        done = planscope("trace", JOIN, "-d", str(shop), "-o", str(tmp_path / name))
        assert done.code == 2 and "a trace is JSON lines (.jsonl) or a page (.html)" in done.err
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".txt", ".gz")]


def test_diff_of_two_datasets_names_them(planscope, shop, tmp_path, monkeypatch):
    for name in ("one", "other"):
        shutil.copytree(shop, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    done = planscope("diff", "select name from people", "-d", "one", "--", "-d", "other")
    assert "a  select name from people -d one\nb  select name from people -d other\n" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("select 1 as x",), "both sides are the same"),
        (("select 1 as x", "--", "--set", "pruning=sideways"), "pruning"),
        (
            ("select 1 as x", "--", "--format", "json"),
            "'--format'. after -- stand settings of the second search, before it -o",
        ),
        (("a.jsonl",), "two trace files are compared"),
        (("select 1 as x", "select 2 as x"), "one query is compared under two settings"),
        (("tpch/q5",), "did you mean tpch/q05?"),
        (("select 1 as x", "--", "b.jsonl"), "a query is compared under two settings"),
        (("nosuch.jsonl", "nosuch2.jsonl"), "a written trace has its data and settings in it"),
        (("select 1 as x", "-o", "d.png", "--", "--set", "pruning=none"), "no format goes by .png"),
    ],
)
def test_diff_says_what_is_wrong(planscope, shop, arguments, message):
    done = planscope("diff", "-d", str(shop), *arguments)
    assert done.code == 2 and message.lower() in " ".join(done.err.lower().split())
