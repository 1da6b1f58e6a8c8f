"""Search settings from the command line: tight budgets and large queries. Odd values: `search_settings.console`."""

import pytest


@pytest.mark.few(5)
@pytest.mark.parametrize("query", ["clique/7", "star/15", "cycle/40", "random/14/7"])
@pytest.mark.parametrize("budget", ["budget_ms=1", "budget_tasks=1", "budget_mexprs=1", "budget_groups=1"])
@pytest.mark.parametrize("way", [(), ("--set", "driver=iterative"), ("--set", "seed=none", "--set", "enumeration=left_deep")])
def test_any_budget_leaves_a_plan_of_all_tables(planscope, query, budget, way):
    done = planscope("explain", query, "--set", budget, *way)
    assert done.code == 0
    plan, _, _ = done.out.partition("\n\n")
    assert plan.count("table_scan") == int(query.split("/")[1])


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
