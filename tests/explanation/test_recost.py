"""A memo that is costed again gives what a search from the start gives under the same figures."""

from random import Random

import pytest

from optimizer.algebra.plan import PlanNode
from optimizer.catalog.table import Catalog
from optimizer.engines.arrow import cost_model
from optimizer.errors import SettingsError
from optimizer.explanation.changed import changed_cost, changed_estimator
from optimizer.explanation.recost import Recosting
from optimizer.stats.system_r import SystemR
from optimizer.stats.upper_bound import UpperBound
from planscope import CostModel, Estimator, KnownRows, Optimizer, Settings
from tests.search.graphs import SHAPES, graph_query
from tests.search.planning import new_search, recomputed_cost
from tests.search.stored_tables import SHOP

QUERIES = (
    "select count(*) from a join b on a.k = b.k join c on b.j = c.j join d on c.y = d.y",
    "select a.x, count(*) from a join b on a.k = b.k join c on b.j = c.j group by a.x order by a.x",
    "select a.x from a left join b on a.k = b.k join c on a.x = c.j where exists (select * from d where d.y = a.x)",
    "select x from a where k = (select max(k) from b where b.j = a.x) union select j from c order by 1",
)
CHANGES = ({"a": 3}, {"b": 40}, {"a b": 2}, {"b c": 1e6, "a b c": 12}, {"a": 1e7, "b c": 5})


def rows_of(change: dict[str, float]) -> dict[frozenset[str], float]:
    return {frozenset(names.split()): float(rows) for names, rows in change.items()}


def shape(plan: PlanNode) -> list[str]:
    return [node.op.describe(str) + node.op.name for node in plan.walk()]


def joined(memo: Recosting, change: dict[str, float]) -> bool:
    try:
        memo.under(rows_of(change))
    except SettingsError:  # the query does not join these
        return False
    return True


def from_the_start(sql: str, change: dict[str, float], model: CostModel, estimator: type[Estimator]) -> PlanNode:
    def changed(catalog: Catalog, columns: object) -> Estimator:
        return changed_estimator(estimator(catalog, columns), rows_of(change))  # type: ignore[arg-type]

    return Optimizer(SHOP, estimator=changed, cost=model).optimize(sql).plan


@pytest.mark.few(2)
@pytest.mark.parametrize("estimator", [Estimator, SystemR, KnownRows])
@pytest.mark.parametrize("sql", QUERIES)
def test_recosted_is_searched_anew(sql: str, estimator: type[Estimator]) -> None:
    query = Optimizer(SHOP, estimator=estimator).optimize(sql)
    memo = Recosting(query.engine)
    model = cost_model(query.settings)
    for change in (*(change for change in CHANGES if joined(memo, change)), {}):
        found = memo.under(rows_of(change))
        wanted = from_the_start(sql, change, model, estimator)
        assert found.cost == pytest.approx(wanted.cost, rel=1e-12)
        assert memo.under(rows_of(change)).cost == wanted.cost
    assert found.cost == query.cost
    for factors in ({"hash_join": 5.0}, {"sort": 0.1}, {"hash_aggregate": 9.0, "table_scan": 2.0}, {"merge_join": 0.01}):
        found = memo.under({}, factors)
        wanted = from_the_start(sql, {}, changed_cost(model, factors), estimator)
        assert found.cost == pytest.approx(wanted.cost, rel=1e-12)


@pytest.mark.parametrize("region", ["tasks", "table"])
def test_random_graphs(region: str) -> None:
    for seed in range(8):
        random = Random(seed)
        query = graph_query(random.choice(SHAPES), random.randrange(2, 6), seed)
        search = new_search(query, Settings(region=region))
        search.run(query.tree, query.order)
        memo = Recosting(search)
        for _ in range(3):
            names = random.sample([scan.alias for scan in query.scans], random.randrange(1, len(query.scans) + 1))
            rows = {frozenset(names): 10 ** random.uniform(0, 7)}
            found = memo.under(rows)
            again = new_search(query, Settings(region=region))
            again.memo.figures.estimator = changed_estimator(Estimator(query.catalog, query.columns), rows)  # type: ignore[attr-defined]
            assert found.cost == pytest.approx(again.run(query.tree, query.order).best_cost, rel=1e-12)
            assert recomputed_cost(found.search, found.plan, found.search.cost) == pytest.approx(found.cost)


def test_a_plan_costs_what_it_was_found_to_cost() -> None:
    query = Optimizer(SHOP).optimize(QUERIES[0])
    query.give_groups()
    memo = Recosting(query.engine)
    assert memo.cost_of(query.plan) == query.cost
    rows = rows_of({"b c": 1e6})
    assert memo.cost_of(query.plan, rows) >= memo.under(rows).cost


def test_an_estimator_that_cannot_be_told_rows() -> None:
    memo = Recosting(Optimizer(SHOP, estimator=UpperBound).optimize(QUERIES[0]).engine)
    with pytest.raises(SettingsError, match="under the estimator UpperBound"):
        memo.under(rows_of({"a": 5}))
