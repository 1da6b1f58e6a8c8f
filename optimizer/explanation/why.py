"""Why was that plan not chosen?

Asked is a join order, a rule, a physical operator, a multi-expression or a whole plan. It becomes a plan: the cheapest with that
order or operator. The plan is found again among the moves of the goals (`walk`); the first of its operators, from the root down,
that the search did not choose has a reason in the trace (`reasons`). What is in no goal has a reason in the rules (`refusals`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.printing import number
from optimizer.algebra.traits import ANY
from optimizer.audit.ledger import Ledger
from optimizer.errors import SettingsError, many
from optimizer.explanation.answer import Answer, compared
from optimizer.explanation.asked import Asked, asked_plan, order_of, read_asked
from optimizer.explanation.changed import Rows, inside, names_of
from optimizer.explanation.reasons import Judge, Kind, Reason
from optimizer.explanation.recost import Recosting
from optimizer.explanation.refusals import Refusals
from optimizer.explanation.row_change import RowChange, smallest_change
from optimizer.explanation.walk import Matcher, Step, plan_of
from optimizer.joins.collect import collect_join_graphs
from optimizer.joins.graph import bits
from optimizer.joins.join_order import JoinOrder, read_join_order, show_join_order, subtrees
from optimizer.joins.placed_order import OrderRefused, place_order
from optimizer.memo.goal import INFINITY, Split, Way
from optimizer.memo.mexpr import LogicalExpr
from optimizer.pipeline import OptimizedQuery
from optimizer.plan_space.expansion import expand_all
from optimizer.plan_space.of_search import full_space
from optimizer.plan_space.settle import cost_of
from optimizer.search.set_goals import PARTITION
from optimizer.trace.recorder import Trace

_MOVING = "aggregate_push_join,aggregate_pull_join,aggregate_split_join"
MOST_EXPRESSIONS = 100  # of a rule's, that are looked at for the one that came nearest


class Why:
    """Questions about a query.

    `planned`: plans it and fills the trace given; a question uses the search up, so each but the first plans anew. `again`: plans
    it with a join order forced. `changes`: whether to look for a change of one row count. `rewrites`: names of the rules before
    the search, and what they are rules of where that is off.
    """

    def __init__(
        self, planned: Callable[[Trace], OptimizedQuery], again: Callable[[str], OptimizedQuery], changes: bool = True,
        rewrites: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._planned, self._again, self._asks, self._rewrites = planned, again, changes, rewrites
        self._plan()
        self._fresh = True

    def __repr__(self) -> str:
        return f"Why({self._query!r})"

    def _plan(self) -> None:
        trace = Trace()
        query = self._query = self._planned(trace)
        self.events, settings = trace.events, query.settings
        self._changes = self._asks and settings.exploration == "all" and settings.driver == "top_down"
        self._search = query.engine
        self._search.trace = query.memo.trace = None  # looking is no part of the search
        self._judge = Judge(self._search, Ledger(trace.events))
        query.give_groups()

    def _begin(self) -> None:
        """A question begins with a search that no other has used."""
        if not self._fresh:
            self._plan()
        self._fresh, self._whole = False, True

    # -- questions ----------------------------------------------------------------------------------------------------------

    def join_order(self, text: str) -> Answer:
        """Raises SettingsError for a text that is no join order, or names what the query does not join."""
        order = read_join_order(text)
        self._begin()
        asked = f"join order {show_join_order(order)}"
        try:
            forced = self._again(show_join_order(order))
        except OrderRefused as error:
            return self._absent(asked, _refused(error))
        found = self._found(asked_plan(forced.plan, self._query.columns.label))
        if found is None:
            note = f"no reason is told: rules that move aggregates numbered columns otherwise; ask with --set disable={_MOVING}"
            return Answer(
                asked, "exists", None, forced.cost, self._query.cost, compared(forced.plan, self._query.plan), None, (note,)
            )
        change = Recosting(forced.engine) if self._changes else None
        return self._exists(asked, found, None if change is None else lambda rows: change.under(rows).cost)

    def plan(self, value: Any, where: str = "the plan asked about") -> Answer:
        """`value`: an Asked, or what JSON read. Raises SettingsError for what is no plan."""
        asked = value if isinstance(value, Asked) else read_asked(value, where)
        self._begin()
        found = self._found(asked)
        if found is not None:
            return self._exists(where, found)
        order = order_of(asked)
        if order is not None and not isinstance(order, str):
            try:
                order = read_join_order(show_join_order(order))  # which no plan that scans a table twice has
                cross = self._search.context.settings.cross_products
                tree = collect_join_graphs(self._query.stages[-1].tree, lambda region: True, cross)
                place_order(order, tree, cross)
            except OrderRefused as error:
                return self._absent(where, _refused(error))
            except SettingsError:
                pass  # it names relations otherwise than orders do: the operators say more
        assert self._search.root is not None
        matcher = Matcher(self._search)
        return self._absent(where, self._refusals().of_missing(matcher.missing(self._search.root, asked)))

    def operator(self, name: str) -> Answer:
        """The cheapest plan that has a physical operator of that name. Raises SettingsError for a name that no rule makes."""
        if not isinstance(name, str):
            raise SettingsError(f"an operator is told by its name, hash_join for example, not {name!r:.60}")
        asked = f"operator {name}"
        self._begin()
        if any(node.op.name == name for node in self._query.plan.walk()):
            return self._chosen(asked)
        refusals = self._refusals()
        found = self._cheapest_with(name)
        if found is not None:
            step = self._found(found)
            assert step is not None, "a plan of the space is in the space"
            return self._exists(f"{asked}, the cheapest plan that has it", step)
        reason = refusals.of_operator(name)
        if reason is None or reason.kind is Kind.NO_SUCH:
            raise SettingsError(reason.text if reason else f"no plan has a {name}")
        return self._absent(asked, reason)

    def rule(self, name: str) -> Answer:
        """Raises SettingsError for a name that is no rule of the search or of the stages before it."""
        asked = f"rule {name}"
        self._begin()
        fired = [(stage.name, sum(1 for f in stage.rewritings if f.rule == name)) for stage in self._query.stages]
        before = [f"it fired {many(count, 'time')} in the stage {stage}, before the search" for stage, count in fired if count]
        refusals = self._refusals()
        if before and name not in refusals.rules:
            return self._chosen(asked, *before)
        if name == PARTITION and self._search.regions.made:
            return self._chosen(asked, "the splits that it stands for were searched set by set, which fires no rule")
        reason = refusals.of_rule(name, self._rewrites)
        if reason is not None:
            return Answer(asked, "unused", reason, None, self._query.cost)
        fires = [event for event in self.events if event["kind"] == "fire" and event["rule"] == name]
        first, made = fires[0]["seq"], [id for event in fires for id in event["new"]]
        note = f"it fired, first at event {first}, and made {many(len(made), 'expression')}"
        if self._chosen_ids() & set(made):
            return self._chosen(asked, f"{note}; the plan has one of them")
        reasons = [reason for id in made[:MOST_EXPRESSIONS] if (reason := self._of_expression(id)) is not None]
        lost = [reason for reason in reasons if reason.kind is Kind.LOST and reason.by is not None]
        nearest = min(lost, key=lambda each: each.by or 0.0, default=reasons[0] if reasons else None)
        if nearest is None:
            nearest = Reason(Kind.NO_MATCH, "all that it made was known already", first)
        return Answer(asked, "unused", nearest, None, self._query.cost, notes=(f"{note}; the plan has none of them",))

    def mexpr(self, id: int) -> Answer:
        """Raises SettingsError for a number that no multi-expression has."""
        self._begin()
        event = next((e for e in self.events if e["kind"] == "mexpr" and e["id"] == id and not e["duplicate"]), None)
        if event is None:
            last = max((e["id"] for e in self.events if e["kind"] == "mexpr"), default=-1)
            raise SettingsError(f"there is no expression {id}: they are numbered from 0 to {last}, by a trace")
        made = "given by the query" if event["rule"] is None else f"made by {event['rule']} of expression {event['source']}"
        what = f"{event['op']} {event['detail']}".rstrip()
        note = f"{what}, of group {event['group']}, {made} (event {event['seq']})"
        reason = self._of_expression(id)
        if reason is None:
            return self._chosen(f"expression {id}", note)
        return Answer(f"expression {id}", "unused", reason, None, self._query.cost, notes=(note,))

    # -- how they are answered ----------------------------------------------------------------------------------------------

    def _refusals(self) -> Refusals:
        return Refusals(self._search, self.events)

    def _chosen(self, asked: str, *notes: str) -> Answer:
        return Answer(asked, "chosen", None, self._query.cost, self._query.cost, notes=notes)

    def _absent(self, asked: str, reason: Reason) -> Answer:
        notes = () if self._whole else ("a limit on the size of the memo left a part of the space out, so there may be one",)
        return Answer(asked, "absent", reason, None, self._query.cost, notes=notes)

    def _found(self, asked: Asked) -> Step | None:
        """The plan as moves of the goals. Joins of regions that the plan has and the memo lacks become expressions."""
        assert self._search.root is not None
        order = order_of(asked)
        if order is not None and not isinstance(order, str):
            self._open_along(order)
        found = Matcher(self._search).match(self._search.root, asked)
        if found is None:
            self._whole = expand_all(self._search)
            found = Matcher(self._search).match(self._search.root, asked)
        return found

    def _open_along(self, order: JoinOrder) -> None:
        search, columns = self._search, self._query.columns
        for whole in search.regions.wholes:  # a region that no goal needed was not made
            search.goal(search.memo.find(whole.group), ANY)
        for region in search.regions.made:
            names = [names_of(columns, leaf.stats) for leaf in region.leaves]
            graph = region.region.graph
            for left, right in subtrees(order):
                a, b = inside(left, names), inside(right, names)
                if a and b and not a & b and graph.connected(a) and graph.connected(b) and graph.joined(a, b):
                    goal = region.figures(a | b).goal
                    region.expressions(search, goal, Way(0.0, 0, 0.0, (), Split(PhysicalOperator, a, b)))
                    for part in (a | b, *bits(a), *bits(b)):
                        region.group_of(part)

    def _exists(self, asked: str, step: Step, own: Callable[[Rows], float] | None = None) -> Answer:
        first = self._judge.first_reason(step)
        plan, chosen = plan_of(self._search, step), self._query.plan
        if first is None:
            return Answer(asked, "chosen", None, plan.cost, self._query.cost)
        reason = self._with_inputs(*first)  # before the goals are forgotten
        change: RowChange | float | None = None
        if self._changes:
            with suppress(SettingsError):  # the estimator cannot be told row counts
                change = smallest_change(Recosting(self._search), plan, chosen, own)
        operators = compared(plan, chosen)
        return Answer(asked, "exists", reason, plan.cost, self._query.cost, operators, change)

    def _with_inputs(self, step: Step, reason: Reason) -> Reason:
        """The reason, and what the plan asked about adds to it further down: its inputs may be dearer than they need to be."""
        texts = [reason.text]
        for below in step.inputs:
            goal, cost = self._judge.goal(below.goal), plan_of(self._search, below).cost
            if goal.settled and cost > goal.best_cost * (1.0 + 1e-9):
                more = f"{number(cost)}, {number(cost - goal.best_cost)} above its cheapest"
                texts.append(f"the plan asked about has {self._judge.names.goal(goal)} for {more}")
        return reason._replace(text="\n".join(texts))

    def _cheapest_with(self, name: str) -> Asked | None:
        """The cheapest plan of the space that has an operator of that name somewhere."""
        space = full_space(self._search)
        settled, label = space.settled, self._query.columns.label
        least: dict[int, tuple[float, int, int]] = {}  # by choice: cost, way, and which input has it (-1: the way itself)
        for n in settled.order:
            options = [(INFINITY, -1, -1)]
            for at, way in enumerate(settled.ways[n]):
                total = cost_of(way, settled.best)
                if way.op.name == name:
                    options.append((total, at, -1))
                else:
                    options += [(total - settled.best[i] + least[i][0], at, k) for k, i in enumerate(way.inputs) if i in least]
            least[n] = min(options)

        def built(n: int, needed: bool) -> Asked:
            _, at, which = least[n] if needed else (0.0, -1, -1)
            ways = settled.ways[n]
            way = ways[at] if needed else min(ways, key=lambda each: cost_of(each, settled.best))
            inputs = tuple(built(i, needed and k == which) for k, i in enumerate(way.inputs))
            return Asked(way.op.name, way.op.describe(label), way.alternative.delivered.show(label), inputs)

        return built(space.root, True) if least[space.root][0] < INFINITY else None

    def _of_expression(self, id: int) -> Reason | None:
        """Why no operator of the plan is of an expression; None if one is. The reason is that of the goal of its group that is
        nearest to the plan."""
        search = self._search
        every = search.memo.expressions().values()
        logical = next((m for m in every if m.id == id or any(physical.id == id for physical in m.physical)), None)
        if logical is None:
            return Reason(Kind.NOT_SEARCHED, f"expression {id} turned out to be another one when groups were merged")
        if id in self._chosen_ids():
            return None
        group = search.memo.group(logical.group)
        matcher = Matcher(search)
        reasons: list[tuple[float, Reason]] = []
        for goal in sorted(group.goals.values(), key=lambda goal: goal.id):
            if not goal.opened:
                continue
            for move in matcher.moves(goal).native:
                owns = any(p.op == move.op and (id in (p.id, logical.id)) for p in logical.physical) or not logical.physical
                if owns and [search.memo.find(i.group) for i in move.inputs] == [search.memo.find(g) for g in logical.inputs]:
                    reason = self._judge.of(Step(goal, move, tuple(Step(i, move, (), False) for i in move.inputs), False))
                    if reason is not None:
                        reasons.append((reason.by if reason.by is not None else INFINITY, reason))
        if reasons:
            return min(reasons, key=lambda pair: pair[0])[1]
        name = self._judge.names.group(group.id)
        return Reason(Kind.NOT_SEARCHED, f"{name} was never optimized as a group: no plan within bounds needed it")

    def _chosen_ids(self) -> set[int]:
        """The physical expressions of the chosen plan and the logical ones that they implement."""
        assert self._search.root is not None
        found: set[int] = set()
        pending = [self._search.root]
        while pending:
            goal = pending.pop()
            assert goal.way is not None
            what = goal.way.what
            physical = None if isinstance(what, Split | LogicalExpr) else what.mexpr
            if physical is not None:
                found |= {physical.id, physical.source}
            pending += goal.way.inputs
        return found


def _refused(error: OrderRefused) -> Reason:
    return Reason(Kind.CROSS_PRODUCT if error.unlinked else Kind.CONFLICT, str(error))
