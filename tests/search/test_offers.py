"""Offers that are passed over would give nothing."""

import pytest

from experiments.workloads.queries import resolve_sql
from optimizer.algebra.physical import MergeJoin, PhysicalOperator, StreamingAggregate
from optimizer.algebra.traits import ANY, Alternative
from optimizer.catalog.table import Catalog
from optimizer.memo.alternatives import Offered, Offers, derive, helpful
from optimizer.memo.goal import Goal
from optimizer.pipeline import Optimizer
from optimizer.search.tasks import optimize_mexpr


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
