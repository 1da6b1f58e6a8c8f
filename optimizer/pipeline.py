"""The way of a query, on one page.

    SQL ─bind─▶ tree with subqueries ─remove subqueries─▶ tree with Apply ─decorrelate─▶ tree of joins
        ─prepass─▶ normalized tree ─search─▶ physical plan

Each stage is a function from one form to the next that can be looked at (`OptimizedQuery.stages`), timed and traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from time import perf_counter_ns

from optimizer.algebra.columns import Columns, column_set
from optimizer.algebra.logical import Project, ProjectItem
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.printing import show_tree
from optimizer.algebra.query import BoundQuery, OutputColumn
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.traits import Collation, TraitSet
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog
from optimizer.cost.model import CostModel
from optimizer.decorrelate.alternatives import settle_choices
from optimizer.decorrelate.methods import decorrelate, has_apply
from optimizer.decorrelate.quick import QUICK
from optimizer.decorrelate.removal import remove_subqueries
from optimizer.decorrelate.steps import Step
from optimizer.drivers import new_search
from optimizer.memo.memo import Memo
from optimizer.plugins.load import chosen_cost_model, chosen_estimator, load_plugins
from optimizer.prepass.hep import run_program
from optimizer.prepass.instructions import Program, rules_of
from optimizer.prepass.program import PROGRAM, before_decorrelation
from optimizer.prepass.report import BatchRun, Firing
from optimizer.rules.catalog import ENFORCERS, IMPLEMENTATIONS, TRANSFORMATIONS, rule_set
from optimizer.rules.interface import ImplementationRule, Rule, RuleContext, TransformationRule
from optimizer.search.counters import SearchStats
from optimizer.search.extract import extract, give_groups
from optimizer.search.figures import Figures
from optimizer.search.search import Search
from optimizer.search.stats import search_stats
from optimizer.settings import DEFAULTS, Settings
from optimizer.sql.bind import bind
from optimizer.stage_events import emit_plan, emit_stage
from optimizer.stats.choose import EstimatorFactory
from optimizer.trace.recorder import Trace


class Stage:
    """One step between the SQL text and the search: the tree it gave, the rules that fired in it, and its time in ms.

    `batches`: how the program of the stage went, if it has one. `converged`: it reached its fixpoint; `notes` say what did not.
    """

    def __init__(
        self,
        name: str,
        tree: Tree,
        columns: Columns,
        firings: Sequence[Firing],
        ms: float,
        converged: bool,
        batches: Sequence[BatchRun] = (),
    ) -> None:
        self.name, self.tree, self.ms, self.converged, self.batches = name, tree, ms, converged, tuple(batches)
        self.columns, self.rewritings = columns, tuple(firings)

    @cached_property
    def text(self) -> str:
        """The tree as indented text."""
        return show_tree(self.tree, self.columns)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on each batch that ended before its fixpoint: why, and which rules still fired."""
        return tuple(batch.note for batch in self.batches if batch.stopped is not None)

    @cached_property
    def firings(self) -> tuple[tuple[str, str, str], ...]:
        """(rule, subtree before, subtree after) for each firing, in order."""
        return tuple((f.rule, show_tree(f.before, self.columns), show_tree(f.after, self.columns)) for f in self.rewritings)


class OptimizedQuery:
    """A planned query: the stages it went through, the chosen plan, and what the search did to find it."""

    def __init__(self, sql: str, catalog: Catalog, settings: Settings, bound: BoundQuery) -> None:
        self.sql, self.catalog, self.settings, self.bound = sql, catalog, settings, bound
        self.columns: Columns = bound.columns
        self.outputs: tuple[OutputColumn, ...] = bound.outputs
        self.order: Collation = bound.order
        self.stages: tuple[Stage, ...] = ()
        self.ms: dict[str, float] = {}
        self.plan: PlanNode
        self.search: SearchStats
        self.memo: Memo
        self.engine: Search

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

    def __init__(
        self,
        catalog: Catalog,
        settings: Settings = DEFAULTS,
        transformations: Sequence[TransformationRule] = TRANSFORMATIONS,
        implementations: Sequence[ImplementationRule] = IMPLEMENTATIONS,
        program: Program = PROGRAM,
        estimator: EstimatorFactory | None = None,
        cost: CostModel | None = None,
    ) -> None:
        settings.check_together()
        plugins = load_plugins(settings.plugins)
        transformations = (*transformations, *plugins.of_kind("transform").values())
        implementations = (*implementations, *plugins.of_kind("implement").values())
        program = plugins.program(program)
        self.catalog, self.settings, self.program = catalog, settings, program
        self.estimator = estimator if estimator is not None else chosen_estimator(settings, plugins)
        self.cost = cost if cost is not None else chosen_cost_model(settings, plugins)
        rules: list[Rule] = [*rules_of((*QUICK, *PROGRAM, *program)), *transformations, *implementations]
        settings.check_disabled({rule.name for rule in rules} | set(ENFORCERS))
        self.rules = rule_set(settings, transformations, implementations)

    def optimize(self, sql: str, trace: Trace | None = None) -> OptimizedQuery:
        """Plan one query. Raises SqlError, Unsupported, NoPlan."""
        if trace is not None:
            trace.header(sql, self.settings.as_dict(), self.catalog.digest)
        ms: dict[str, float] = {}
        start = perf_counter_ns()
        bound = bind(sql, self.catalog, ms)
        ms["bind"] = _since(start) - ms.get("parse", 0.0)
        query = OptimizedQuery(sql, self.catalog, self.settings, bound)
        query.ms = ms
        query.stages = (Stage("bind", bound.tree, bound.columns, (), ms["bind"], True),)
        self._emit(trace, query.stages[-1], None)

        start = perf_counter_ns()
        context = RuleContext(bound.columns, self.settings)
        tree, removed = remove_subqueries(bound.tree, bound.columns)
        subqueries = tree is not bound.tree or has_apply(tree)
        if subqueries:
            removal_ms, since = _since(start), perf_counter_ns()
            moved = run_program(before_decorrelation(self.program) if self.settings.prepass else (), tree, context)
            filters_ms, since = _since(since), perf_counter_ns()
            unnested = decorrelate(moved.tree, self.settings.decorrelate, context)
            ms["decorrelate"] = _since(start)
            for given, stage in (
                (bound.tree, Stage("subqueries", tree, bound.columns, _firings(removed), removal_ms, True)),
                (tree, Stage("filters", moved.tree, bound.columns, moved.firings, filters_ms, moved.converged, moved.batches)),
                (moved.tree, Stage("decorrelate", unnested.tree, bound.columns, _firings(unnested.steps), _since(since), True)),
            ):
                query.stages = (*query.stages, stage)
                self._emit(trace, stage, given)
            tree = unnested.tree
        else:
            ms["decorrelate"] = _since(start)

        start = perf_counter_ns()
        if self.settings.prepass:
            whole = tree
            tree = required_only(bound, whole)
            first = () if tree is whole else (Firing("required_only", whole, tree),)
            rewritten = run_program(self.program, tree, context)
            tree = rewritten.tree
            ms["prepass"] = _since(start)
            stage = Stage(
                "prepass", tree, bound.columns, rewritten.firings, ms["prepass"], rewritten.converged, rewritten.batches
            )
            query.stages = (*query.stages, stage)
            self._emit(trace, stage, whole, first)
        else:
            ms["prepass"] = 0.0

        start = perf_counter_ns()
        figures = Figures(self.estimator(self.catalog, bound.columns), self.cost)
        query.memo = Memo(figures, trace, bound.columns.label)
        query.engine = new_search(query.memo, self.rules, context, self.cost, trace)
        goal = query.engine.run(settle_choices(tree, bound.columns) if subqueries else tree, TraitSet(bound.order))
        query.plan = extract(query.engine, goal)
        prune_columns(query.plan, column_set(output.id for output in bound.outputs))
        ms["search"] = _since(start)
        query.search = search_stats(query.engine, all(stage.converged for stage in query.stages))
        if trace is not None:
            emit_plan(trace, query.engine, goal, query.plan)
            trace.finish()
        return query

    def plan(self, tree: Tree, columns: Columns) -> PlanNode:
        """The cheapest plan of a logical tree without subqueries, with all its columns, for those who have no SQL text."""
        context = RuleContext(columns, self.settings)
        tree = run_program(self.program, tree, context).tree if self.settings.prepass else tree
        figures = Figures(self.estimator(self.catalog, columns), self.cost)
        search = new_search(Memo(figures, None, columns.label), self.rules, context, self.cost)
        plan = extract(search, search.run(tree, TraitSet(())))
        prune_columns(plan, tree.columns)
        return plan

    def _emit(self, trace: Trace | None, stage: Stage, given: Tree | None, first: tuple[Firing, ...] = ()) -> None:
        if trace is not None:
            firings = (*first, *stage.rewritings)
            emit_stage(trace, stage.name, given, stage.tree, firings, stage.converged, stage.columns)


def required_only(bound: BoundQuery, tree: Tree) -> Tree:
    """The tree of a bound query under a projection to what the result and its order read, for column pruning to start from."""
    needed = list(dict.fromkeys([*(o.id for o in bound.outputs), *(k.column for k in bound.order)]))
    if column_set(needed) == tree.columns:
        return tree
    return Tree(Project(tuple(ProjectItem(id, ColumnRef(id, bound.columns[id].type)) for id in needed)), (tree,))


def _firings(steps: Sequence[Step]) -> list[Firing]:
    return [Firing(f"{step.rule}: {step.note}", step.before, step.after) for step in steps]


def _since(start_ns: int) -> float:
    return (perf_counter_ns() - start_ns) / 1e6
