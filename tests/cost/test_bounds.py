"""Bounds of every cost model are admissible, whatever the coefficients: `least` of each operator against its implementations,
searches against the brute force, and the audit of searches."""

from collections.abc import Iterator
from random import Random

import pytest

from experiments.workloads.queries import resolve_sql
from optimizer.algebra.traits import ANY
from optimizer.audit.audit import audit
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.coefficients import NAMES
from optimizer.cost.model import CostModel, Reruns
from optimizer.cost.spark import SparkCost
from optimizer.engines.arrow import COST_MODELS
from optimizer.figures import Figures
from optimizer.memo.goal import Status
from optimizer.memo.memo import Memo
from optimizer.plan_space.expansion import expand_all
from optimizer.plan_space.of_search import full_space
from optimizer.rules.catalog import rule_set
from optimizer.rules.interface import RuleContext
from optimizer.search.extract import extract
from optimizer.search.search import Search
from planscope import Estimator, Optimizer, Settings, Trace
from tests.cost.random_models import only, random_coefficients, random_model
from tests.search.graphs import SHAPES, GraphQuery, graph_query
from tests.search.planning import recomputed_cost
from tests.search.random_settings import random_settings

QUERIES = (
    "select c_mktsegment, count(*), sum(o_totalprice) from customer join orders on c_custkey = o_custkey "
    "where c_name like '%1%' group by c_mktsegment order by 2 limit 3",
    "select distinct o_orderpriority from orders union all select l_shipmode from lineitem order by 1",
    "select n_name from nation where n_nationkey in (select c_nationkey from customer) intersect select n_name from nation",
    "select r_name, row_number() over (partition by n_regionkey order by n_name) from region left join nation "
    "on r_regionkey = n_regionkey and r_name < n_name except all select 'x', 1",
    "select o_orderkey, (select max(l_quantity) from lineitem where l_orderkey = o_orderkey and l_tax < o_shippriority) "
    "from orders where exists (select * from customer where c_custkey > o_custkey and c_acctbal < o_totalprice)",
    "select c_mktsegment, c_nationkey, count(*) from customer group by rollup (c_mktsegment, c_nationkey) limit 4 offset 2",
    "select * from (values (1, 2), (3, 4)) t(a, b) full join region on a = r_regionkey order by b, a",
)


def models() -> Iterator[CostModel]:
    yield from (make() for make in COST_MODELS.values())
    yield from (ArrowCost(only(name)) for name in NAMES)
    yield from (ArrowCost(random_coefficients(Random(seed))) for seed in range(20))
    yield from (SparkCost(random_coefficients(Random(seed)), nodes) for seed, nodes in enumerate((1, 2, 3, 50)))


@pytest.mark.parametrize("decorrelate", ["general", "none"])
@pytest.mark.parametrize("sql", QUERIES)
def test_no_implementation_undercuts_least(tpch, sql: str, decorrelate: str) -> None:
    """Every logical expression of an explored memo, every operator that implements it, every model; in a large memo the models
    take turns."""
    query = Optimizer(tpch, Settings(decorrelate=decorrelate, pruning="none")).optimize(sql)
    expand_all(query.engine)
    memo, checked, every = query.memo, 0, list(models())
    pairs = [(g, m, physical.op) for g in memo.live_groups() for m in g.logical for physical in m.physical]
    turns = 1 + len(pairs) // 400
    for number, (group, mexpr, physical) in enumerate(pairs):
        inputs = [memo.group(g).stats for g in mexpr.inputs]
        kept = [not memo.group(g).outer for g in mexpr.inputs]
        for model in every[number % turns :: turns]:
            least = model.least(mexpr.op, group.stats, inputs)
            local = model.local(physical, ANY, group.stats, inputs)
            assert 0.0 <= least <= local * (1 + 1e-9), f"{model.name}: {mexpr.op}, {physical}"
            if isinstance(model, Reruns):
                again = model.rerun(physical, ANY, group.stats, inputs, kept)
                assert 0.0 <= model.least_rerun(mexpr.op) <= again * (1 + 1e-9), physical
            checked += 1
    assert checked > 100


def search_with(query: GraphQuery, model: CostModel, settings: Settings, trace: Trace | None = None) -> Search:
    memo = Memo(Figures(Estimator(query.catalog, query.columns), model), trace, query.columns.label)
    search = Search(memo, rule_set(settings), RuleContext(query.columns, settings), model, trace)
    search.run(query.tree, query.order)
    return search


@pytest.mark.parametrize("batch", range(8))
def test_searches_find_the_cheapest_plan_of_their_space(batch: int) -> None:
    """Of all plans that the memo allows, found without bounds; and no bound of a group is above it. `test_optimum` compares the
    models as shipped with the brute force."""
    for number in range(batch * 15, batch * 15 + 8):
        random = Random(f"models {number}")
        query = graph_query(SHAPES[number % 5], random.randrange(2, 5), number)
        model, options = random_model(random), random_settings(random)
        options["cost_model"] = "arrow"
        search = search_with(query, model, Settings(**options))
        case = f"{number}, {model.name}, {options}"
        goal = search.root
        assert goal is not None and goal.status is Status.OPTIMAL, case
        again = recomputed_cost(search, extract(search, goal), model)
        assert again == pytest.approx(goal.best_cost, rel=1e-9, abs=1e-9), case
        assert goal.best_cost == pytest.approx(full_space(search).best_cost, rel=1e-9, abs=1e-9), case
        assert search.memo.group(goal.group).lower <= goal.best_cost * (1 + 1e-9) + 1e-9, case


@pytest.mark.parametrize("seed", range(16))
def test_audits_of_searches_are_sound(seed: int) -> None:
    random = Random(f"audited model {seed}")
    query = graph_query(SHAPES[seed % 5], random.randrange(3, 6), seed)
    model, trace = random_model(random), Trace()
    options = {**random_settings(random), "cost_model": "arrow", "pruning": random.choice(("lower", "both"))}
    search = search_with(query, model, Settings(**options), trace)
    report = audit(search, trace)
    assert report.sound, f"{model.name}, {options}: {report}"


@pytest.mark.parametrize("name", ["c_mm", "spark"])
@pytest.mark.parametrize("query", ["q03", "q04", "q16"])
def test_tpch_is_sound(tpch, name: str, query: str) -> None:
    trace = Trace()
    planned = Optimizer(tpch, Settings(cost_model=name)).optimize(resolve_sql(f"tpch/{query}"), trace)
    assert planned.search.proven
    report = audit(planned.engine, trace)
    assert report.sound, str(report)
    exhaustive = Optimizer(tpch, Settings(cost_model=name, pruning="none", seed="none")).optimize(resolve_sql(f"tpch/{query}"))
    assert planned.cost == pytest.approx(exhaustive.cost)
