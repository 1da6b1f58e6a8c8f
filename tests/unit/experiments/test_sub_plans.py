"""Sub-plans by alias: what they are estimated at is what the search uses, and their SQL counts what was published."""

import pytest

from experiments.duckdb_estimates import DuckDBEstimates, FlatQuery
from experiments.sub_plans import JOINS_ALONE, SubPlans, scan_of
from experiments.workloads.data import open_data
from experiments.workloads.queries import resolve_sql
from experiments.workloads.true_cardinalities import true_cardinalities
from optimizer.algebra.plan import PlanNode
from optimizer.errors import Unsupported
from optimizer.pipeline import OptimizedQuery, Optimizer
from optimizer.settings import DEFAULTS
from tests.conftest import quick_and_slow

WHOLE = DEFAULTS.replace(disable=list(JOINS_ALONE))


def aliases_below(query: OptimizedQuery, node: PlanNode) -> frozenset[str]:
    scans = (scan_of(query.memo.group(each.group)) for each in node.walk() if not each.inputs)
    return frozenset(scan.alias.lower() for scan in scans if scan is not None)


@pytest.mark.parametrize("name", quick_and_slow(["stats/061", "job_m/15a", "job_light/44"], ["stats/133", "job_m/29a"]))
@pytest.mark.parametrize("estimator", ["histogram", "system_r", "upper_bound"])
def test_rows_are_those_of_the_plan(name: str, estimator: str) -> None:
    catalog = open_data("stats" if name.startswith("stats") else "job")
    query = Optimizer(catalog, WHOLE.replace(estimator=estimator)).optimize(resolve_sql(name))
    sub_plans = SubPlans(query)
    seen = 0
    for node in query.plan.walk():
        group = None if node.group < 0 else query.memo.group(node.group)  # a set of relations
        if group is None or group.region is not None or scan_of(group) is not None:
            aliases = aliases_below(query, node)
            assert sub_plans.rows(aliases) == pytest.approx(node.rows, rel=1e-9, abs=1e-9), aliases
            assert sub_plans.stats(aliases).rows == pytest.approx(node.rows, rel=1e-9, abs=1e-9)
            seen += 1
    assert seen >= 2 * len(sub_plans.aliases) - 1


def test_an_implied_equality_connects() -> None:
    """stats/025 joins comments, postLinks and votes by way of others: p.Id = c.PostId = pl.PostId = v.PostId. For the search,
    too, unless it takes the joins as they are written."""
    as_written = WHOLE.replace(disable=(*WHOLE.disable, "join_infer_equality"))
    found = []
    for settings in (as_written, WHOLE):
        sub_plans = SubPlans(Optimizer(open_data("stats"), settings).optimize(resolve_sql("stats/025")))
        c, pl, v = (1 << sub_plans.aliases.index(alias) for alias in ("c", "pl", "v"))
        assert sub_plans.graph.connected(c | v) == (settings is WHOLE) and sub_plans.graph.connected(c | pl | v)
        found.append(sub_plans.rows(("c", "v")))
    assert 0 < found[0] < sub_plans.rows("c") * sub_plans.rows("v") / 100 and found[1] == pytest.approx(found[0])


def test_other_queries_are_refused() -> None:
    query = Optimizer(open_data("job"), WHOLE).optimize("select * from title t left join movie_keyword mk on t.id = mk.movie_id")
    with pytest.raises(Unsupported, match="inner joins of tables only"):
        SubPlans(query)


@pytest.mark.slow
def test_sql_of_sub_plans_counts_what_was_published() -> None:
    catalog = open_data("stats")
    database = DuckDBEstimates(catalog)
    checked = 0
    for query, counted in true_cardinalities("stats").items():
        flat = FlatQuery(resolve_sql(query))
        stored = {alias for alias, table in flat.tables.items() if catalog.tables[table].files}
        for aliases, true in counted.items():
            if aliases <= stored and len(aliases) < 4 and true < 100_000:
                assert database._connection.execute(flat.sub_query(aliases)).fetchall() == [(true,)], flat.sub_query(aliases)
                checked += 1
    assert checked > 200


def test_implied_equalities_in_sql() -> None:
    flat = FlatQuery("select count(*) from r as a, s as b, t as c where a.x = b.y and b.y = c.z and a.k > 3;")
    assert flat.sub_query({"a", "c"}) == "select count(*) from r as a, t as c where a.k > 3 and a.x = c.z"
    assert flat.sub_query({"b"}) == "select count(*) from s as b"
