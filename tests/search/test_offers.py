"""Offers that are passed over would give nothing, and none is lost."""

import pytest

from experiments.workloads.queries import resolve_sql
from optimizer.algebra.physical import MergeJoin, PartialSort, PhysicalOperator, StreamingAggregate
from optimizer.algebra.traits import ANY, Alternative
from optimizer.catalog.table import Catalog
from optimizer.memo.alternatives import Offered, Offers, derive, helpful
from optimizer.memo.goal import Goal
from optimizer.pipeline import Optimizer
from optimizer.search.tasks import optimize_mexpr
from tests.search.stored_tables import catalog, table


def test_offers_that_are_passed_over_give_nothing(tpch: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    passed_over, used = 0, 0

    def checked(goal: Goal, op: PhysicalOperator, known: list[Alternative], by: Offered) -> Offers:
        nonlocal passed_over, used
        kept = helpful(goal, op, known, by)
        if goal.required != ANY or not (
            isinstance(op, MergeJoin | StreamingAggregate)  # all that is worth trying was passed through
            or any(all(traits == ANY for traits in each.inputs) for each in known)
        ):
            every = [(index, offer) for index, offers in enumerate(by.offers) for offer in offers]
            found = derive(goal, op, known, by, kept)
            assert derive(goal, op, known, by, every) == found
            passed_over, used = passed_over + len(every) - len(kept), used + len(found)
        return kept

    monkeypatch.setattr(optimize_mexpr, "helpful", checked)
    for number in (2, 3, 5, 9, 10, 13, 18, 21):
        Optimizer(tpch).optimize(resolve_sql(f"tpch/q{number:02}"))
    assert passed_over > 1000 and used


def test_a_stored_order_is_known_above_many_joins() -> None:
    """A partial sort by what is left of six keys; beyond the keys of 16 joins it was by all but the first."""
    keys = [f"u{i}" for i in range(6)]
    big = table("t0", 1_000_000, dict.fromkeys(keys, 50) | {"b": 1000}, order=" ".join(keys[:5]))
    small = [table(f"t{i}", 950, {"a": 950, "b": 1000}, key="a") for i in range(1, 19)]
    joins = " ".join(f"join t{i} on t{i - 1}.b = t{i}.a" for i in range(1, 19))
    found = Optimizer(catalog(big, *small)).optimize(f"select {', '.join(keys)} from t0 {joins} order by {', '.join(keys)}")
    sorts = [node.op for node in found.plan.walk() if isinstance(node.op, PartialSort)]
    assert found.search.proven and [len(op.order) for op in sorts] == [1]
