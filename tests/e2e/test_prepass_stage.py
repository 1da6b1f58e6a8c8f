"""The pre-pass from the command line: every firing before and after, programs from files, what did not converge."""

import json
import re
from pathlib import Path

from executor.session import Session
from optimizer.prepass.instructions import rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.prepass.program_text import parse_program

SQL = "select p.name from people p join sales s on p.id = s.person where p.id > 1 and s.person < 4"
ONE_PASS = '[[step]]\nname = "short"\npasses = 1\nrules = ["filter_push_join"]\n'


def test_what_stayed_is_cut_short(planscope) -> None:
    """A clique of 16: the trees have 31 operators and 120 predicates, a firing takes no more than a screen."""
    out = planscope("explain", "clique/16", "--stage", "prepass").out
    parts = out.partition("after prepass")[0].split("\n\n")
    assert max(part.count("\n") for part in parts) <= 41
    assert " lines as before" in out or "more line" in out or "operators as before" in out


def test_as_json(planscope) -> None:
    value = json.loads(planscope("explain", "job/1a", "--stage", "prepass", "--format", "json").out)
    assert list(value) == ["stage", "ms", "converged", "notes", "batches", "firings", "common", "tree"]
    assert value["converged"] is True and value["notes"] == [] and value["common"] == []
    assert [batch["batch"] for batch in value["batches"]] == [batch.name for batch in PROGRAM]
    assert sum(batch["firings"] for batch in value["batches"]) == len(value["firings"])
    first = value["firings"][0]
    assert list(first) == ["batch", "rule", "before", "after"] and first["batch"] == "predicates"
    assert first["before"].startswith("filter  ") and first["after"].startswith("join  inner on ")
    bound = json.loads(planscope("explain", "job/1a", "--stage", "bind", "--format", "json").out)
    assert bound["stage"] == "bind" and bound["firings"] == [] and "join  cross" in bound["tree"]


def test_every_firing_of_every_part_is_in_its_batch(planscope, shop) -> None:
    """A common table expression that is kept and the query that reads it are rewritten one after the other."""
    sql = "with s as materialized (select id+0 as y, name from people where id>0 and 1=1) select p.y from s p, s q where p.y=q.y "
    sql += "and p.name>'1' and q.name>'1' and 2=2"
    told = json.loads(planscope("explain", sql, "-d", str(shop), "--stage", "prepass", "--format", "json").out)
    known = {("spool_filter", "readers"), ("required_only", "readers")}
    known |= {(rule.name, batch.name) for batch in PROGRAM for rule in rules_of((batch,))}
    fired = [(each["rule"], each["batch"]) for each in told["firings"]]
    assert len(fired) > 8 and {"spool_filter", "constant_fold"} <= {rule for rule, _ in fired}
    assert set(fired) <= known, fired
    text = planscope("explain", sql, "-d", str(shop), "--stage", "prepass").out
    assert [line.split() for line in text.splitlines() if re.match(r" ?[0-9]+  ", line)] == [
        [str(i + 1), rule] for i, (rule, _) in enumerate(fired)
    ]


def test_the_printed_program_can_be_given_back(planscope, shop, tmp_path: Path) -> None:
    text = planscope("rules", "--program").out
    assert parse_program(text) == PROGRAM
    file = tmp_path / "p.toml"
    file.write_text(text, encoding="utf-8")
    for command in ("explain", "run"):
        assert planscope(command, SQL, "-d", str(shop), "--program", str(file)).code == 0
    plain = json.loads(planscope("explain", SQL, "-d", str(shop), "--format", "json").out)
    again = json.loads(planscope("explain", SQL, "-d", str(shop), "--format", "json", "--program", str(file)).out)
    assert plain["plan"] == again["plan"]


def test_another_program(planscope, shop, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('[[step]]\nrule = "filter_push_join"\n', encoding="utf-8")
    out = planscope("explain", SQL, "-d", str(shop), "--stage", "prepass", "--program", str(file)).out
    assert "batch filter_push_join: " in out and "batch predicates" not in out
    rows = [planscope("run", SQL, "-d", str(shop), *more, "--format", "csv").out for more in ((), ("--program", str(file)))]
    assert sorted(rows[0].splitlines()) == sorted(rows[1].splitlines())


def test_what_did_not_converge_is_said_everywhere(planscope, shop, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(ONE_PASS, encoding="utf-8")
    note = "batch short: no fixpoint within 1 pass; in the last one fired filter_push_join"
    arguments = ("explain", SQL, "-d", str(shop), "--program", str(file))
    assert f"! {note}" in planscope(*arguments, "--stage", "prepass").out
    plan = " ".join(planscope(*arguments).out.split())
    assert "the pre-pass did not reach its fixpoint" in plan and note in plan
    value = json.loads(planscope(*arguments, "--stage", "prepass", "--format", "json").out)
    assert value["converged"] is False and value["notes"] == [note] and value["batches"][-1]["stopped"] == "passes"
    query = Session(str(shop), program=parse_program(ONE_PASS)).optimize(SQL)
    assert query.stages[-1].notes == (note,) and not query.search.prepass_converged


def test_a_rule_can_be_disabled_that_the_program_has_not(planscope, shop, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(ONE_PASS, encoding="utf-8")
    arguments = ("explain", SQL, "-d", str(shop), "--program", str(file), "--disable")
    assert planscope(*arguments, "column_prune").code == 0
    assert planscope(*arguments, "column_prone").code == 2
