"""Bounds of every cost model are admissible, whatever the coefficients: `least` of each operator against its implementations.
Searches with random coefficients are in `search/independent` and `search/test_audit`."""

from collections.abc import Iterator
from random import Random

import pytest

from optimizer.algebra.traits import ANY
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.coefficients import NAMES
from optimizer.cost.model import CostModel, Reruns
from optimizer.cost.spark import SparkCost
from optimizer.engines.arrow import COST_MODELS
from optimizer.plan_space.expansion import expand_all
from planscope import Optimizer, Settings
from tests.cost.random_models import only, random_coefficients

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
