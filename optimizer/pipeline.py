"""The way of a query, on one page.

    SQL ─bind─▶ tree with subqueries ─subqueries─▶ tree with Apply ─filters─▶ same ─decorrelate─▶ tree of joins
        ─prepass─▶ normalized tree ─search─▶ physical plan

What stands between bind and search is a tuple of stages (`stages.STAGES`), each a function from a tree to the next that can be
looked at (`OptimizedQuery.stages`), timed and traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

from optimizer.algebra.columns import Columns, column_set
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.query import BoundQuery, OutputColumn
from optimizer.algebra.traits import Collation, TraitSet
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog
from optimizer.collector import collector_paused
from optimizer.cost.model import CostModel
from optimizer.decorrelate.alternatives import settle_choices
from optimizer.decorrelate.quick import QUICK
from optimizer.drivers import new_search
from optimizer.errors import NoPlan, SettingsError
from optimizer.figures import Figures
from optimizer.joins.join_order import read_join_order
from optimizer.joins.placed_order import has_order
from optimizer.memo.memo import Memo
from optimizer.plugin_code import plugins_named
from optimizer.plugins.load import chosen_cost_model, chosen_enumerator, chosen_estimator, load_plugins
from optimizer.plugins.signatures import check_cost_model, check_object
from optimizer.prepass.hep import run_program
from optimizer.prepass.instructions import Program, rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.rules.catalog import ENFORCERS, IMPLEMENTATIONS, TRANSFORMATIONS, rule_set
from optimizer.rules.interface import ImplementationRule, Rule, RuleContext, TransformationRule
from optimizer.search.extract import extract, give_groups
from optimizer.search.search import Search
from optimizer.search_stats import SearchStats, search_stats
from optimizer.settings import DEFAULTS, Settings
from optimizer.sql.bind import bind
from optimizer.sql.hints import read_hints
from optimizer.stage_events import emit_plan, emit_stage
from optimizer.stages import STAGES, Given, Stage
from optimizer.stats.choose import EstimatorFactory
from optimizer.trace.recorder import Trace


class OptimizedQuery:
    """A planned query: the stages it went through, the chosen plan, and what the search did to find it."""

    def __init__(self, sql: str, catalog: Catalog, settings: Settings, bound: BoundQuery) -> None:
        self.sql, self.catalog, self.settings, self.bound = sql, catalog, settings, bound
        self.columns: Columns = bound.columns
        self.outputs: tuple[OutputColumn, ...] = bound.outputs
        self.order: Collation = bound.order
        self.stages: tuple[Stage, ...] = ()
        self.ms: dict[str, float] = {}
        self.warnings: tuple[str, ...] = ()  # on hints of the text that are not heeded
        self.plan: PlanNode
        self.search: SearchStats
        self.memo: Memo
        self.engine: Search

    def __copy__(self) -> OptimizedQuery:
        found = object.__new__(OptimizedQuery)
        found.__dict__.update(self.__dict__)
        return found

    def __reduce__(self) -> str:
        raise TypeError("an OptimizedQuery cannot be pickled: pickle its plan, or its sql and the Session that planned it")

    def __repr__(self) -> str:
        return f"OptimizedQuery({in_short(self.sql)!r}, cost={self.cost:,.0f}, rows={self.rows:,.0f})"

    @property
    def cost(self) -> float:
        return self.plan.cost

    def give_groups(self) -> None:
        """Give every node of the plan a group of the memo, also those that join relations of a region."""
        assert self.engine.root is not None
        give_groups(self.engine, self.engine.root, self.plan)

    @property
    def rows(self) -> float:
        return self.plan.rows


class Optimizer:
    """Plans queries over one catalog. Rules, the pre-pass program, the estimator and the cost model can be replaced; the
    setting `plugins` adds to them.

    >>> Optimizer(catalog).optimize("select count(*) from orders").plan
    """

    @plugins_named()
    def __init__(
        self, catalog: Catalog, settings: Settings = DEFAULTS, transformations: Sequence[TransformationRule] | None = None,
        implementations: Sequence[ImplementationRule] | None = None, program: Program | None = None,
        estimator: EstimatorFactory | None = None, cost: CostModel | None = None,
    ) -> None:  # fmt: skip
        """What is None is planscope's own."""
        transformations = TRANSFORMATIONS if transformations is None else transformations
        implementations = IMPLEMENTATIONS if implementations is None else implementations
        program = PROGRAM if program is None else program
        if not isinstance(catalog, Catalog) or not isinstance(settings, Settings):
            raise SettingsError("Optimizer takes a Catalog and Settings: Session takes names and mappings, and has an optimizer")
        settings.check_together()
        for kind, given in ((TransformationRule, transformations), (ImplementationRule, implementations)):
            if not isinstance(given, Sequence):
                raise SettingsError(f"Optimizer takes a sequence of {kind.__name__}s, not {given!r:.60}")
            for one in given:
                check_object(one)
                if not isinstance(one, kind):
                    raise SettingsError(f"Optimizer takes {kind.__name__}s, and {one!r:.60} is none")
        if not isinstance(program, Sequence) or isinstance(program, str):
            raise SettingsError(f"a program is a sequence of rules and batches, not {program!r:.60}")
        if estimator is not None and not callable(estimator):
            raise SettingsError(f"estimator is a class of an Estimator, or what makes one, not {estimator!r:.60}")
        if cost is not None:
            check_object(cost)
            check_cost_model(cost, type(cost).__name__)
        plugins = load_plugins(settings.plugins)
        transformations = (*transformations, *plugins.of_kind("transform").values())
        implementations = (*implementations, *plugins.of_kind("implement").values())
        program = plugins.program(program)
        self.catalog, self.settings, self.program = catalog, settings, program
        self.estimator = estimator if estimator is not None else chosen_estimator(settings, plugins)
        self.cost = cost if cost is not None else chosen_cost_model(settings, plugins)
        self.rewrites = rules_of((*QUICK, *PROGRAM, *program))
        rules: list[Rule] = [*self.rewrites, *transformations, *implementations]
        settings.check_disabled({rule.name for rule in rules} | set(ENFORCERS))
        self.enumerator = chosen_enumerator(settings, plugins)
        self.rules = rule_set(settings, transformations, implementations)

    def __repr__(self) -> str:
        return f"Optimizer({self.catalog!r})"

    @collector_paused()
    @plugins_named()
    def optimize(self, sql: str, trace: Trace | None = None) -> OptimizedQuery:
        """Plan one query. Raises SqlError, Unsupported, NoPlan."""
        if trace is not None:
            if not isinstance(trace, Trace):
                raise SettingsError(f"trace is a Trace(), to be filled, not {trace!r:.60}")
            trace.header(sql, self.settings.as_dict(), self.catalog.digest)
        ms: dict[str, float] = {}
        start = perf_counter_ns()
        bound = bind(sql, self.catalog, ms)
        ms["bind"] = _since(start) - ms.get("parse", 0.0)
        settings, warnings = self._hinted(sql)
        query = OptimizedQuery(sql, self.catalog, settings, bound)
        query.warnings = warnings
        query.ms = ms
        context = RuleContext(bound.columns, settings, partition=self.enumerator, bounds=self.catalog.bounds)
        given = Given(bound, self.program, context)
        tree = bound.tree
        query.stages = (Stage("bind", tree, bound.columns, (), ms["bind"], True),)
        if trace is not None:
            emit_stage(trace, "bind", None, tree, (), True, bound.columns)
        lost = ""
        for name, rewrite in STAGES:
            start = perf_counter_ns()
            done = rewrite(tree, given)
            ms[name] = _since(start)
            if done is not None:
                stage = Stage(name, done.tree, bound.columns, done.firings, ms[name], done.converged, done.batches)
                query.stages = (*query.stages, stage)
                if trace is not None:
                    emit_stage(trace, name, tree, done.tree, done.firings, done.converged, bound.columns)
                tree, lost = done.tree, lost or done.lost

        start = perf_counter_ns()
        figures = Figures(self.estimator(self.catalog, bound.columns), self.cost)
        query.memo = Memo(figures, trace, bound.columns.label)
        query.engine = new_search(query.memo, self.rules, context, self.cost, trace)
        if lost:
            query.engine.counters.narrow(lost)
        goal = query.engine.run(settle_choices(tree, bound.columns), TraitSet(bound.order))
        query.plan = extract(query.engine, goal)
        if settings.join_order and not query.engine.counters.proven:  # what a budget left may be the query as written
            if not has_order(query.plan, read_join_order(settings.join_order)):
                raise NoPlan("a budget ended the search before it had a plan with the join order asked for: raise the budget")
        prune_columns(query.plan, column_set(output.id for output in bound.outputs))
        ms["search"] = _since(start)
        query.search = search_stats(query.engine, all(stage.converged for stage in query.stages))
        if trace is not None:
            emit_plan(trace, query.engine, goal, query.plan)
            trace.finish()
        return query

    def _hinted(self, sql: str) -> tuple[Settings, tuple[str, ...]]:
        """The settings with the join order that a hint asks for, and warnings. The setting wins over the hint."""
        hints = read_hints(sql)
        if not hints.join_order:
            return self.settings, hints.warnings
        if self.settings.join_order:
            return self.settings, (*hints.warnings, "the setting join_order is heeded, not the hint Leading")
        return self.settings.replace(join_order=hints.join_order), hints.warnings

    @plugins_named()
    def plan(self, tree: Tree, columns: Columns) -> PlanNode:
        """The cheapest plan of a logical tree without subqueries, with all its columns, for those who have no SQL text."""
        context = RuleContext(columns, self.settings, partition=self.enumerator, bounds=self.catalog.bounds)
        tree = run_program(self.program, tree, context).tree if self.settings.prepass else tree
        figures = Figures(self.estimator(self.catalog, columns), self.cost)
        search = new_search(Memo(figures, None, columns.label), self.rules, context, self.cost)
        plan = extract(search, search.run(tree, TraitSet(())))
        prune_columns(plan, tree.columns)
        return plan


def in_short(sql: str) -> str:
    """The beginning of a query, on one line."""
    text = " ".join(sql.split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def _since(start_ns: int) -> float:
    return (perf_counter_ns() - start_ns) / 1e6
