"""Join operators and cost models that are not ours, as plug-ins have them: the search takes nothing for granted of what they keep
and what they cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from optimizer.algebra import HashJoin, Join, LogicalOperator, LogicalProps, PhysicalOperator, Scan, Tree
from optimizer.algebra.physical.operator import Props
from optimizer.algebra.traits import ANY, Alternative, TraitSet, spelled
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.model import Bounded, CostModel
from optimizer.drivers import new_search
from optimizer.engines.arrow import cost_model
from optimizer.errors import BoundRefuted, PlanscopeError
from optimizer.figures import Figures
from optimizer.memo.memo import Memo
from optimizer.rules.catalog import IMPLEMENTATIONS, TRANSFORMATIONS, rule_set
from optimizer.rules.implement.join_to_hash_join import JoinToHashJoin
from optimizer.rules.interface import ImplementationRule, RuleContext
from optimizer.stats.relation import RelationStats
from planscope import Estimator, Settings
from tests.search.graphs import SHAPES, GraphQuery, graph_query


@dataclass(frozen=True, slots=True)
class KeepsRight(HashJoin):
    """Reads the right input in order, and costs most by the rows of the left one."""

    name: ClassVar[str] = "keeps_right"

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        if required == ANY:
            return (Alternative((ANY, ANY)),)
        return tuple(Alternative((ANY, way), way) for way in spelled(required, inputs[1].columns, output, inputs[1]))

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((ANY, delivered), delivered),) if index else ()

    def cost(self, model: str, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return 101.0 + 0.16 * inputs[0].rows + 0.08 * inputs[1].rows + 0.015 * output.rows


class JoinToKeepsRight(JoinToHashJoin):
    name = "join_to_keeps_right"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        assert isinstance(bound.op, Join)
        made = super().apply(bound, context)
        return [KeepsRight(op.kind, op.keys, op.residual) for op in made if isinstance(op, HashJoin) and not op.build_left]


RULES = (JoinToKeepsRight(), *(rule for rule in IMPLEMENTATIONS if not issubclass(rule.pattern.op or object, Join)))


def best_cost(
    query: GraphQuery, rules: Sequence[ImplementationRule] = RULES, model: CostModel | None = None, **chosen: Any
) -> float:
    settings = Settings(**chosen)
    cost = cost_model(settings) if model is None else model
    memo = Memo(Figures(Estimator(query.catalog, query.columns), cost), None, query.columns.label)
    search = new_search(memo, rule_set(settings, TRANSFORMATIONS, rules), RuleContext(query.columns, settings), cost, None)
    goal = search.run(query.tree, query.order)
    assert search.counters.proven
    return goal.best_cost


@pytest.mark.parametrize("shape", SHAPES)
def test_a_join_that_keeps_the_order_of_its_right_rows(shape: str) -> None:
    ordered = 0
    for number in range(16):
        query = graph_query(shape, 4, number)
        stored = [scan for scan in query.scans if scan.order]
        if stored:
            query.order = TraitSet(max(stored, key=lambda scan: rows_of(query, scan)).order)
            ordered += 1
        cheapest = best_cost(query, enumeration="rules", pruning="none")
        settings: dict[str, Any]
        for settings in ({"expand_joins": 0}, {"expand_joins": 0, "region": "table"}, {"enumeration": "rules"}):
            assert best_cost(query, **settings) == pytest.approx(cheapest, rel=1e-9), f"{number} {settings}"
    assert ordered > 8


def rows_of(query: GraphQuery, scan: Scan) -> float:
    table = query.catalog.table(scan.table)
    assert table is not None
    return float(table.stats.rows)


@dataclass(frozen=True, slots=True)
class TooCheap(HashJoin):
    """Costs less than what the model says any join costs."""

    name: ClassVar[str] = "too_cheap"

    def cost(self, model: str, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return 1e-6


class JoinToTooCheap(JoinToHashJoin):
    name = "join_to_too_cheap"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        return [TooCheap(op.kind, op.keys, op.residual) for op in super().apply(bound, context) if isinstance(op, HashJoin)]


class HighBound(ArrowCost):
    """Says that groups of several relations cost a thousand times as much as they may."""

    def lower_bound(
        self, op: LogicalOperator, output: RelationStats, inputs: Sequence[Bounded], leaves: Sequence[Bounded]
    ) -> float:
        return super().lower_bound(op, output, inputs, leaves) * (1000.0 if len(leaves) > 1 else 1.0)


class NotANumber(ArrowCost):
    def local(self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return float("nan")


@pytest.mark.parametrize("enumeration", ["rules", "adaptive"])
def test_an_operator_that_undercuts_the_models_bound_is_refused_where_bounds_are_used(enumeration: str) -> None:
    query, rules = graph_query("chain", 4, 1), (JoinToTooCheap(), *IMPLEMENTATIONS)
    for pruning in ("both", "lower"):
        with pytest.raises(
            BoundRefuted, match=r"(?s)^too_cheap, an implementation of join, costs 1e-06, less than .*pruning=upper$"
        ):
            best_cost(query, rules, enumeration=enumeration, pruning=pruning)
    cheapest = best_cost(query, rules, enumeration=enumeration, pruning="none")
    assert best_cost(query, rules, enumeration=enumeration, pruning="upper") == pytest.approx(cheapest, rel=1e-9)


def test_a_plan_below_the_bound_of_its_group_is_refused_where_bounds_are_used() -> None:
    query = graph_query("chain", 4, 1)
    with pytest.raises(BoundRefuted, match=r"a plan of goal \d+ costs .*, less than .*, which the cost model arrow says"):
        best_cost(query, IMPLEMENTATIONS, HighBound(), enumeration="rules")
    cheapest = best_cost(query, IMPLEMENTATIONS, HighBound(), enumeration="rules", pruning="upper")
    assert cheapest == pytest.approx(best_cost(query, IMPLEMENTATIONS), rel=1e-9)


class Spilling(ArrowCost):
    """Inherits `join_costs`, which do not know of the price of its hash joins."""

    def local(self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        spills = isinstance(op, HashJoin) and inputs[1].rows > 20
        return super().local(op, delivered, output, inputs) * (9.0 if spills else 1.0)


@pytest.mark.parametrize("shape", ["chain", "star", "cycle"])
def test_a_model_with_costs_of_its_own_is_not_searched_by_the_arithmetic_of_another(shape: str) -> None:
    query = graph_query(shape, 6, 8)
    cheapest = best_cost(query, IMPLEMENTATIONS, Spilling(), enumeration="rules", pruning="none")
    assert cheapest > best_cost(query, IMPLEMENTATIONS)
    for settings in ({}, {"region": "table"}, {"region": "tasks", "pruning": "none"}):
        assert best_cost(query, IMPLEMENTATIONS, Spilling(), **settings) == pytest.approx(cheapest, rel=1e-9)


def test_a_cost_that_is_no_number_is_refused() -> None:
    with pytest.raises(PlanscopeError, match=r"the cost model arrow gives \w+ the cost nan, which is no number from 0 up"):
        best_cost(graph_query("chain", 4, 1), IMPLEMENTATIONS, NotANumber())
