"""A planned query under other row counts and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from executor.pictures import PlanDiagram
from memo_viz.explain import plan_json, plan_table
from memo_viz.export import finite_json
from optimizer.algebra.columns import column_set
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.printing import number
from optimizer.errors import SettingsError
from optimizer.explanation.diagram import SEARCHED, axis, diagram
from optimizer.explanation.recost import Recosting
from optimizer.pipeline import OptimizedQuery


class WhatIf:
    """A query whose figures may be changed: `query` as it was planned with the figures that are there."""

    def __init__(self, query: OptimizedQuery) -> None:
        self.query = query
        query.give_groups()
        self._memo = Recosting(query.engine)

    def __repr__(self) -> str:
        return f"WhatIf({self.query!r})"

    def under(self, rows: Mapping[frozenset[str], float] | None = None, factors: Mapping[str, float] | None = None) -> Changed:
        """The cheapest plan if relation sets (aliases in lower case) have these rows and operators cost so many times as much."""
        found = self._memo.under(rows, factors)
        return Changed(self.query, found.plan, self._memo.cost_of(self.query.plan, rows, factors), found.proven)

    def diagram(
        self, axes: Sequence[tuple[Set[str], float | None, float | None]], factors: Mapping[str, float] | None = None,
        points: int = 60,
    ) -> PlanDiagram:  # fmt: skip
        """The plan diagram over the rows of one set of relations or two, each with the least and the greatest value (None: by
        the estimate). Raises SettingsError."""
        triples = isinstance(axes, Sequence) and all(isinstance(each, tuple | list) and len(each) == 3 for each in axes)
        if not triples or not 1 <= len(axes) <= 2:
            raise SettingsError('a plan diagram has one axis or two: diagram([({"orders"}, None, None)])')
        read = [axis(self._memo, *each, points) for each in axes]
        found = PlanDiagram(*diagram(self._memo, read, factors))
        found.title = " ".join(self.query.sql.split())
        return found


class Changed:
    """A plan under changed figures: `plan`, and `before`: what the plan chosen without the change costs now. `proven`: all plans
    were searched."""

    def __init__(self, query: OptimizedQuery, plan: PlanNode, before: float, proven: bool) -> None:
        self.query, self.plan, self.before, self.proven = query, plan, before, proven
        prune_columns(plan, column_set(output.id for output in query.outputs))

    @property
    def winner_changes(self) -> bool:
        return self.before > self.plan.cost * (1.0 + 1e-9)

    def show(self, width: int = 100) -> str:
        """The plan, and whether it is another one."""
        before, now = number(self.before), number(self.plan.cost)
        change = f"the winner changes: the plan chosen before would cost {before}, this one costs {now}"
        stays = f"the winner stays: it costs {now} now, and cost {number(self.query.cost)} before"
        told = f"{change if self.winner_changes else stays}{'' if self.proven else SEARCHED}"
        return plan_table(self.plan, self.query.columns, None, width) + f"\n\n{told}"

    @property
    def json(self) -> dict[str, Any]:
        return {
            "winner_changes": self.winner_changes,
            "cost": finite_json(self.plan.cost),
            "cost_of_plan_before": finite_json(self.before),
            "cost_before": finite_json(self.query.cost),
            "proven": self.proven,
            "plan": plan_json(self.plan, self.query.columns),
        }

    def __repr__(self) -> str:
        return self.show()
