"""planscope plans: what it prints, what it refuses, and that a wrong result does not pass."""

import json
import re

import pytest

from executor.arrow.watch import LimitReached
from executor.session import Session
from experiments import plan_space
from experiments.commands.plans import _plans_text
from optimizer.plan_space.of_search import full_space
from tests.e2e.conftest import JOIN
from tests.wrong_rule import DROP, TURN

RULES = ("--set", "enumeration=rules")


def test_counting(planscope, shop):
    done = planscope("plans", JOIN, "-d", str(shop), *RULES)
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert lines[0].split(";")[0].endswith("operator trees)")
    assert "goals" in lines[1] and "alternatives" in lines[1]
    assert lines[2].startswith("pruned away: ") and lines[2].endswith("optimum kept")
    assert any(line.startswith("the chosen plan has rank ") for line in lines)
    assert any(line.startswith("2nd cheapest: +") for line in lines)
    facts = json.loads(planscope("plans", JOIN, "-d", str(shop), *RULES, "--format", "json").out)
    space, count = facts["space"], facts["count"]
    assert space["plans"] >= count["operator_trees"] > 1 <= count["searched_plans"] < space["plans"]
    assert space["best_cost"] == space["chosen_cost"]
    assert [step["position"] for step in count["next"]][:1] == [2]
    assert lines[0].startswith(f"{space['plans']:,} plans ")


def test_plans_of_the_same_operators_say_where_they_differ(planscope):
    lines = planscope("plans", "tpch/q03", "-d", "tpch:0.01", "--top", "30").out.split("\n", 4)[4].replace("\n" + " " * 20, "")
    told = [" ".join(line.split()[3:]) for line in lines.splitlines()]
    assert len(set(told)) == len(told) and any(": group(" in line or ": order(" in line for line in told)


def test_a_terminal_hears_how_far_the_space_is(planscope, monkeypatch):
    monkeypatch.setattr("experiments.commands.limits._FIRST_S", 0.0)
    monkeypatch.setattr("experiments.commands.limits._EVERY_S", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert " goals of the space" in planscope("plans", "chain/3").err


def test_the_default_settings(planscope, shop):
    facts = json.loads(planscope("plans", JOIN, "-d", str(shop), "--format", "json").out)
    assert facts["space"]["plans"] > 1
    assert facts["count"]["optimum_kept"]
    assert facts["space"]["best_cost"] == facts["space"]["chosen_cost"]


@pytest.mark.parametrize("query", ["job/17a", "cycle/7"])
def test_costs_that_differ_by_rounding_are_one(planscope, query):
    assert json.loads(planscope("plans", query, "--format", "json").out)["count"]["optimum_kept"]


def test_plans_and_their_ranks(planscope, shop):
    def plans(*options: str) -> list[dict]:
        return json.loads(planscope("plans", JOIN, "-d", str(shop), *RULES, "--format", "json", *options).out)["plans"]

    top = plans("--top", "5")
    assert [plan["cost"] for plan in top] == sorted(plan["cost"] for plan in top)
    assert top[0]["ratio"] == 1.0
    sample = plans("--sample", "7", "--seed", "4")
    assert sample == plans("--sample", "7", "--seed", "4") != plans("--sample", "7", "--seed", "5")
    assert len({plan["rank"] for plan in sample}) == 7
    (one,) = plans("--rank", str(top[3]["rank"]))
    assert one["plan"]["operator"] and {**top[3], "by": "rank"} == {k: v for k, v in one.items() if k != "plan"}
    assert max(plan["ratio"] for plan in plans("--sample", "50", "--within", "1.5")) <= 1.5
    facts = json.loads(planscope("plans", JOIN, "-d", str(shop), *RULES, "--format", "json").out)
    assert all(plan["rank"] < facts["count"]["searched_plans"] for plan in plans("--sample", "3", "--searched"))


def test_long_ranks_are_cut_in_a_text():
    plans = [{"rank": rank, "cost": 1.0, "ratio": 1.0, "operators": "scan"} for rank in (10**30 - 1, 10**3000)]
    text = _plans_text(plans)
    assert "9" * 30 in text and "1.00e+3000" in text and len(text) < 500
    assert text.endswith("\nranks are cut: --format json has them whole")
    assert "cut" not in _plans_text(plans[:1])


def test_a_plan_is_drawn_by_its_rank(planscope, shop):
    done = planscope("plans", JOIN, "-d", str(shop), *RULES, "--rank", "3")
    assert done.code == 0
    assert "operators" in done.out and "└─ " in done.out and "table_scan  people" in done.out


def test_running_plans(planscope, shop):
    done = planscope("plans", JOIN, "-d", str(shop), *RULES, "--sample", "12", "--top", "3", "--execute")
    assert done.code == 0
    assert "15 of 15 plans gave the rows of the chosen plan (2 rows)" in done.out
    assert "Kendall's tau" in done.out
    arguments = ("plans", JOIN, "-d", str(shop), *RULES, "--sample", "6", "--execute", "--format", "json")
    facts = json.loads(planscope(*arguments).out)
    assert facts["execution"]["same"] == 6 and not facts["execution"]["may_differ"]
    assert {plan["result"] for plan in facts["plans"]} == {"same"}
    assert all(plan["rows"] == 2 and plan["ms"] > 0 for plan in facts["plans"])


def test_a_plan_that_takes_too_long_is_stopped_and_no_bug(planscope, shop, monkeypatch):
    def slow(*all: object) -> None:
        raise LimitReached("stopped")

    monkeypatch.setattr(plan_space, "timed", slow)
    asked = ("plans", JOIN, "-d", str(shop), *RULES, "--top", "2", "--timeout", "60")
    done = planscope(*asked, "--execute")
    assert done.code == 0 and done.out.count("stopped after 60 s") == 2
    assert "0 of 2 plans gave the rows of the chosen plan (2 rows)\n2 plans took longer than the --timeout\n" in done.out + "\n"
    assert "--timeout is about running: it needs --execute" in planscope(*asked).err


def test_a_limit_among_ties_may_choose(planscope, shop):
    sql = "select a.person from sales a, sales b order by b.day limit 3"
    done = planscope("plans", sql, "-d", str(shop), *RULES, "--sample", "100", "--execute")
    assert done.code == 0
    assert "plans gave the rows of the chosen plan" in done.out


def test_different_results_are_a_bug(planscope, shop, tmp_path, monkeypatch):
    """The table is printed, then the error names the plans; the exit code is that of our own bugs."""
    monkeypatch.chdir(tmp_path)
    right = plan_space.compare_run
    monkeypatch.setattr(plan_space, "compare_run", lambda *all: right(*all)._replace(difference="1 row, not 2"))
    done = planscope("plans", JOIN, "-d", str(shop), *RULES, "--rank", "3", "--execute")
    assert done.code == 1
    assert "0 of 1 plan" in done.out
    assert "plans of one query gave different results" in done.err and "plan 3: 1 row, not 2" in done.err


def test_the_rules_behind_a_wrong_plan_are_named(planscope, shop, tmp_path):
    """A left join turned round is another join."""
    (tmp_path / "turn.py").write_text(TURN)
    sql = "select p.name, s.day, t.day from people p left join sales s on p.id = s.person left join sales t on t.day = s.day"
    done = planscope("plans", sql, "-d", str(shop), "--plugin", str(tmp_path / "turn.py"), "--sample", "100", "--execute")
    assert done.code == 1
    wrong = re.findall(r"^plan \d+: .*; rules behind it: turn", done.err, re.MULTILINE)
    assert len(wrong) > 10, "more than fits in a short message"
    assert "\nrules behind the chosen plan: " in done.err and "\nplanscope plans --rank R --execute runs one" in done.err


def test_a_rule_is_behind_a_plan_only_where_the_operators_are_those_it_made(shop, tmp_path):
    """The rule drops the filter of a scan; the plan that keeps it does not come from the rule."""
    (tmp_path / "drop.py").write_text(DROP)
    query = Session(str(shop), plugins=[str(tmp_path / "drop.py")]).optimize("select name from people where id = 1")
    space = full_space(query.engine)
    found = {bool(plan.op.scan.predicate): plan_space.rules_behind(query, plan) for plan in map(space.unrank, range(space.count))}
    assert found == {True: [], False: ["drop"]}


def test_shares_do_not_look_like_all():
    from experiments.commands.plans import _share

    assert _share(0, 5) == "0 %"
    assert _share(5, 5) == "100 %"
    assert _share(18_253, 18_400) == "99.2 %"
    assert _share(3_782_307, 3_782_320) == "99.9996 %"
    assert _share(10**40 - 1, 10**40) == "99.999999999999 %"
    assert _share(1, 3) == "33.3 %"
