"""The memo of a finished search under other figures: costed again, not explored again.

Exploration does not look at figures, so the memo that one estimate led to is the memo of any other. What is made anew: the
statistics of each group, from its first expression, inputs first; its bound; costs; goals. Then the search optimizes the root as
it did the first time.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import NamedTuple

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import Scan
from optimizer.algebra.physical import OPERATORS
from optimizer.algebra.plan import PlanNode
from optimizer.cost.model import CostModel
from optimizer.errors import NoPlan, SettingsError, did_you_mean
from optimizer.explanation.changed import Rows, changed_cost, changed_estimator, inside, names_of, unheeded
from optimizer.figures import Figures
from optimizer.joins.inner import inner_region
from optimizer.memo.bounds import lower_bounds_fall
from optimizer.memo.goal import INFINITY
from optimizer.plan_space.expansion import explore_all_forms
from optimizer.search.extract import extract
from optimizer.search.failures import why_no_plan
from optimizer.search.search import Search
from optimizer.stats.relation import CEILING


def show_set(aliases: frozenset[str]) -> str:
    return "{" + ", ".join(sorted(aliases)) + "}"


def check_sets(sets: Iterable[object]) -> None:
    """Raises SettingsError for what is no set of relations."""
    for each in sets:
        if not isinstance(each, frozenset) or not all(isinstance(alias, str) for alias in each):
            raise SettingsError(f'{each!r} is no set of relations: write frozenset({{"o", "l"}}), with aliases in lower case')


class Recosted(NamedTuple):
    """The cheapest plan under some figures, of those that were searched; `proven`: these were all. `search`: what found it, valid
    until the memo is costed again."""

    plan: PlanNode
    search: Search
    proven: bool

    @property
    def cost(self) -> float:
        return self.plan.cost


class Recosting:
    """Owns a finished search from now on: its goals are forgotten and its figures change. The search explored everything first
    (exploration=all, driver=top_down)."""

    def __init__(self, search: Search) -> None:
        settings = search.context.settings
        assert settings.exploration == "all" and settings.driver == "top_down", "what was not explored cannot be costed again"
        assert search.root is not None, "a search that has not run cannot be costed again"
        figures = search.memo.figures
        assert isinstance(figures, Figures), "costing again needs the estimator"
        counters = search.counters
        self._whole = not (counters.narrowed or counters.heuristic or counters.budget)
        explore_all_forms(search)
        self._first, self.figures = search, figures
        self._group, self._required = search.root.group, search.root.required

    def under(self, rows: Rows | None = None, factors: Mapping[str, float] | None = None) -> Recosted:
        """The cheapest plan with these row counts, and with these factors on the cost of operators. Raises SettingsError where
        the estimator cannot be told rows, and for a figure that is no number from 0 up."""
        for figures, most, to in ((rows or {}, CEILING, f"to {CEILING:g}"), (factors or {}, sys.float_info.max, "up")):
            if not isinstance(figures, Mapping):
                raise SettingsError(f"rows by sets of relations and factors by operators are mappings, not {figures!r:.60}")
            if figures is rows:
                check_sets(figures)
            elif unknown := [name for name in figures if name not in self.operators]:
                hint = did_you_mean(unknown[0], self.operators, f"there are {', '.join(self.operators)}")
                raise SettingsError(f'there is no operator "{unknown[0]}"; {hint}')
            for name, figure in figures.items():
                if not isinstance(figure, Real) or not 0.0 <= figure <= most:
                    called = name if isinstance(name, str) else show_set(name)
                    raise SettingsError(f"{called} cannot be {figure!r:.60}: a number from 0 {to}")
        search = self._refigured(rows or {}, changed_cost(self.figures.cost, factors or {}))
        goal = search.optimize(search.memo.find(self._group), self._required)
        if goal.best_cost == INFINITY:
            raise NoPlan(why_no_plan(search, goal))
        if missing := unheeded(search.memo.figures.estimator):  # type: ignore[attr-defined]
            raise SettingsError(
                f"the query has no inner join of exactly {show_set(missing[0])}, so it has no rows to change\n"
                f"its relations are {', '.join(sorted(self.relations)) or 'none: it reads no table'}"
            )
        return Recosted(extract(search, goal), search, self._whole and search.counters.proven)

    @cached_property
    def operators(self) -> list[str]:
        """The names of physical operators: planscope's, and those that plug-ins made here."""
        made = {each.op.name for group in self._first.memo.groups for mexpr in group.logical for each in mexpr.physical}
        return sorted(made.union(op.name for op in OPERATORS))

    @cached_property
    def relations(self) -> dict[str, float]:
        """The rows of the tables that the query reads, by alias in lower case, before any filter."""
        found = {}
        for group in self._first.memo.groups:
            for op in (mexpr.op for mexpr in group.logical):
                table = self.figures.estimator.catalog.table(op.table) if isinstance(op, Scan) else None
                if table is not None and isinstance(op, Scan):
                    found[op.alias.lower()] = float(table.stats.rows)
        return found

    def rows(self, aliases: frozenset[str]) -> float | None:
        """The estimated rows of a set of relations: of a scan, or of the inner join of several; None where there is none."""
        check_sets([aliases])
        self._refigured({}, self.figures.cost)
        memo, columns = self._first.memo, self._first.context.columns
        for group in memo.groups:
            if any(isinstance(m.op, Scan) and {m.op.alias.lower()} == aliases for m in group.logical):
                return group.stats.rows
        for whole in self._first.regions.wholes:
            leaves = [memo.group(gid) for gid in whole.inputs]
            s = inside(aliases, [names_of(columns, leaf.stats) for leaf in leaves])
            if s & (s - 1) and isinstance(whole.op, JoinGraph):
                region = inner_region(tuple(leaf.props.columns for leaf in leaves), whole.op.predicate, True)
                return self.figures.region_rows(region, leaves).rows(s)
        return None

    def cost_of(self, plan: PlanNode, rows: Rows | None = None, factors: Mapping[str, float] | None = None) -> float:
        """What a plan costs with these row counts and factors; each of its nodes has a group."""
        return self.costs_of((plan,), rows, factors)[0]

    def costs_of(
        self, plans: Sequence[PlanNode], rows: Rows | None = None, factors: Mapping[str, float] | None = None
    ) -> list[float]:
        """The same for several plans. Much quicker than to search where many relations are joined."""
        search = self._refigured(rows or {}, changed_cost(self.figures.cost, factors or {}))
        return [self._cost(plan, search) for plan in plans]

    def _cost(self, plan: PlanNode, search: Search) -> float:
        groups = search.memo
        total: dict[int, float] = {}
        for node in reversed(list(plan.walk())):
            inputs = [groups.group(below.group) for below in node.inputs]
            cost = search.local(groups.group(node.group), node.op, node.alternative.delivered, inputs)
            for below in node.inputs:
                cost += total[id(below)]
            total[id(node)] = cost
        return total[id(plan)]

    def _refigured(self, rows: Rows, cost: CostModel) -> Search:
        """A new search over the memo, whose groups have the figures that follow."""
        check_sets(rows)
        memo, first = self._first.memo, self._first
        figures = memo.figures = Figures(changed_estimator(self.figures.estimator, rows), cost)
        figures.later_rules = self.figures.later_rules
        memo.goals.clear()
        for group in memo.groups:
            group.goals.clear()
            group.unseen.clear()
            group.runs = 1.0
            if not group.logical:
                continue
            made = group.logical[0]
            children = [memo.group(gid) for gid in made.inputs]
            leaves = children if group.region is None else [memo.group(gid) for gid in group.region.leaves]
            group.stats = figures.estimate(made.op, group.props, [child.stats for child in children])
            group.lower = figures.lower_bound(made.op, group.stats, children, leaves)
            for mexpr in group.logical:
                mexpr.least = -1.0
                for physical in mexpr.physical:
                    physical.costs.clear()
        settings = first.context.settings.replace(region="auto", gap=0.0, epsilon=0.0)  # nobody watches
        search = Search(memo, first.rules, first.context._replace(settings=settings), cost)
        lower_bounds_fall(memo, search.least)
        search.regions.wholes = first.regions.wholes
        return search
