"""The plan space: every plan that a memo stands for, counted, numbered, drawn at random and listed by cost.

In: choices (goals) with their ways (a physical operator and the choices its inputs are taken from), made by
`optimizer.plan_space.of_search` from a memo, or by hand. Out: plans, as `PlanNode`s, and numbers.
Read `ways` (the data), `settle` (what makes the space finite), `plan_space` (count, rank, unrank, sample), `cheapest` (by
cost), `operator_trees` (plans that run the same operators count once).

Source: Waas and Galindo-Legaria, Counting, enumerating, and sampling of execution plans in a cost-based query optimizer,
SIGMOD 2000.
"""

from optimizer.plan_space.plan_space import PlanSpace
from optimizer.plan_space.ways import Choice, Way

__all__ = ["Choice", "PlanSpace", "Way"]
