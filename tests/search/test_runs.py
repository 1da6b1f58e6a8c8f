"""How often the right input of an Apply is run: the left rows of each Apply decide, so one subquery below two has two costs."""

import pytest

from optimizer.algebra import ColumnId, ColumnSet, NestedApply, PlanNode, column_ids
from optimizer.cost.model import Reruns
from planscope import OptimizedQuery, Optimizer, Settings
from tests.search.stored_tables import catalog, table

TABLES = catalog(
    table("small", 40, {"k": 40, "v": 40}, key="k"),
    table("mid", 80, {"k": 40, "f": 80, "x": 80}),
    table("large", 5_000_000, {"id": 2_500_000, "w": 100}, order="id"),
)
JOINED = "from small s join mid m on m.k = s.k"
QUERIES = {
    "a filter on another table": f"select * {JOINED} join large l on l.id = m.f where s.v = 1",
    "left joins": f"select * {JOINED} left join large l on l.id = m.f where s.v = 1",
    "groups": f"select * {JOINED} join (select id, sum(w) n from large group by id) l on l.id = m.f where s.v = 1",
    "an Apply above an Apply": f"select * {JOINED} join large l on l.id = m.f join large h on h.id = m.x where s.v = 1",
    "a filter or none above": "select * from small s, mid m where s.k = m.k and s.v < 3 and "
    "(select count(*) from large l where l.id = m.f and l.w < s.v) > 2",
    "an Apply in an Apply": "select * from mid m where m.x < 7 and m.f > "
    "(select count(*) from large l where l.id = m.f and l.w > (select avg(w) from large h where h.id = l.id and h.w <> m.k))",
}


def cost_by_the_plan(query: OptimizedQuery) -> float:
    """The cost of a plan with the runs that its own Applies make."""
    memo, model = query.engine.memo, query.engine.cost
    assert isinstance(model, Reruns)

    def runs(outer: ColumnSet, bound: dict[ColumnId, float]) -> float:
        return max([1.0, *(bound[column] for column in column_ids(outer))])

    def cost(node: PlanNode, bound: dict[ColumnId, float]) -> float:
        own, inputs = memo.group(node.group), [memo.group(below.group) for below in node.inputs]
        stats, delivered = [each.stats for each in inputs], node.alternative.delivered
        again = model.rerun(node.op, delivered, own.stats, stats, [not each.outer and not each.volatile for each in inputs])
        total = model.local(node.op, delivered, own.stats, stats) + (runs(own.outer, bound) - 1.0) * again
        inside = [bound] * len(inputs)
        if isinstance(node.op, NestedApply):
            left, right = inputs
            columns = right.outer & left.props.columns
            bindings = left.stats.rows if right.volatile else memo.figures.distinct(left.stats, columns)
            inside[1] = {**bound, **dict.fromkeys(column_ids(columns), runs(left.outer, bound) * max(1.0, bindings))}
        return total + sum(map(cost, node.inputs, inside))

    query.give_groups()
    return cost(query.plan, {})


@pytest.mark.parametrize("decorrelate", ["cost", "none"])
@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
def test_a_plan_costs_what_its_own_applies_run(sql: str, decorrelate: str) -> None:
    ways = [{"enumeration": "adaptive"}, {"enumeration": "rules"}, {"pruning": "none"}, {"exploration": "on_demand"}]
    plans = [Optimizer(TABLES, Settings(decorrelate=decorrelate, **way)).optimize(sql) for way in ways]
    applies = any(isinstance(node.op, NestedApply) for node in plans[0].plan.walk())
    counts, lookups = "(select count" in sql, "(select count" not in sql or "(select avg" in sql
    assert applies == (lookups if decorrelate == "cost" else counts)
    for query in plans:
        assert query.cost == pytest.approx(cost_by_the_plan(query), rel=1e-9)
        assert query.cost == pytest.approx(plans[0].cost, rel=1e-9)
