"""Search settings from the command line: odd values, tight budgets, large queries, and Ctrl-C in the middle of a search."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from experiments.workloads.joingraph_data import JoinGraphCatalog
from experiments.workloads.queries import resolve_sql
from optimizer import Optimizer, Settings
from tests.e2e.conftest import ROOT, Outcome

PROMPT = 0.5  # seconds from Ctrl-C to the end of the process, on a machine that may be busy

# tells when the search begins, so that the signal does not come while modules are loaded
ANNOUNCED = """
import sys
from experiments.cli import main
from optimizer.search.search import Search
run = Search.run
def announced(*arguments):
    print("searching", file=sys.stderr, flush=True)
    return run(*arguments)
Search.run = announced
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ("gap=x", ["gap", '"x"']),
        ("gap=-1", ["gap", "-1", "from 0 up"]),
        ("gap=nan", ["gap", "nan"]),
        ("epsilon=inf", ["epsilon", "inf"]),
        ("seed=foo", ["seed", "none, greedy, linearized, best"]),
        ("enumeration=bushy", ["enumeration", "left_deep"]),
        ("enumeration=duplicate_free_rules", ["cross_products=true"]),
        ("budget_ms=-1", ["budget_ms", "negative"]),
        ("budget_tasks=1.5", ["budget_tasks", "whole number"]),
        ("expand_join=3", ["expand_join", 'did you mean "expand_joins"?']),
    ],
)
@pytest.mark.parametrize("command", ["explain", "memo", "trace", "plans"])
def test_a_wrong_value_is_named(planscope, command, setting, parts):
    done = planscope(command, "chain/3", "--set", setting)
    assert done.code == 2 and done.out == "" and done.err.startswith("error: ")
    for part in parts:
        assert part in done.err


@pytest.mark.parametrize("query", ["clique/7", "star/15", "cycle/40", "random/20/7"])
@pytest.mark.parametrize("budget", ["budget_ms=1", "budget_tasks=1", "budget_mexprs=1", "budget_groups=1"])
@pytest.mark.parametrize("way", [(), ("--set", "driver=iterative"), ("--set", "seed=none", "--set", "enumeration=left_deep")])
def test_any_budget_leaves_a_plan_of_all_tables(planscope, query, budget, way):
    done = planscope("explain", query, "--set", budget, *way)
    assert done.code == 0
    assert done.out.count("table_scan") == int(query.split("/")[1])


def test_both_drivers_and_every_enumeration_of_all_orders_find_one_cost(planscope):
    sql = resolve_sql("clique/5")
    costs = set()
    for way in ("adaptive", "partition", "rules", "rules_b0"):
        for driver in ("top_down", "iterative"):
            found = Optimizer(JoinGraphCatalog(), Settings(enumeration=way, driver=driver)).optimize(sql)
            assert found.search.proven
            costs.add(f"{found.cost:.9g}")
    assert len(costs) == 1


@pytest.mark.parametrize("way", [(), ("--set", "driver=iterative"), ("--set", "exploration=on_demand")])
def test_many_unions_and_deep_nesting(planscope, shop, way):
    union = " union all ".join(f"select id + {i} from people" for i in range(200))
    done = planscope("run", f"select count(*) from ({union}) u", "-d", str(shop), "--format", "csv", *way)
    assert done.code == 0 and done.out.splitlines()[-1] == "800"
    nested = "select id from people"
    for i in range(60):
        nested = f"select id from ({nested}) t{i} where id > {i % 3}"
    done = planscope("run", f"{nested} order by id", "-d", str(shop), "--format", "csv", *way)
    assert done.code == 0 and done.out.splitlines()[1:] == ["3", "4"]


@pytest.mark.parametrize("driver", ["top_down", "iterative"])
def test_ctrl_c_ends_a_search_at_once_and_says_what_was_found(driver):
    """The faster of up to two tries counts, since the machine may be busy."""
    taken = []
    while len(taken) < 2 and min(taken, default=PROMPT) >= PROMPT:
        outcome, seconds = _interrupted(
            "explain", "clique/18", "--set", "exact_below=30", "--set", "budget_tasks=0", "--set", f"driver={driver}"
        )
        assert outcome.code == 130 and outcome.out == "" and "Traceback" not in outcome.err
        assert outcome.err.startswith("error: interrupted after ")
        assert "costs" in outcome.err or "no complete plan yet" in outcome.err
        taken.append(seconds)
    assert min(taken) < PROMPT


def _interrupted(*arguments: str) -> tuple[Outcome, float]:
    """Runs the command line, sends SIGINT a second into its search; what it printed from then on, and how long it took to end."""
    command = [sys.executable, "-c", ANNOUNCED, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "searching\n"
        time.sleep(1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        return Outcome(process.returncode, out, err), time.monotonic() - start
