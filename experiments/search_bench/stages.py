"""The way of a query cut before the search, so that the search alone can be timed and its parts replaced."""

from typing import NamedTuple

from experiments.workloads.joingraph_data import JoinGraphCatalog
from experiments.workloads.queries import resolve_sql
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.traits import TraitSet
from optimizer.algebra.trees import Tree
from optimizer.drivers import new_search
from optimizer.figures import Figures
from optimizer.memo.goal import Goal
from optimizer.memo.memo import Memo
from optimizer.pipeline import Optimizer
from optimizer.prepass.hep import run_program
from optimizer.rules.interface import RuleContext
from optimizer.search.extract import extract
from optimizer.search.search import Search
from optimizer.settings import Settings
from optimizer.sql.bind import bind
from optimizer.stages import required_only
from optimizer.trace.recorder import Trace


class Prepared(NamedTuple):
    """A query ready for one search: rules may add columns, so each search has its own."""

    optimizer: Optimizer
    bound: BoundQuery
    context: RuleContext
    tree: Tree

    def figures(self) -> Figures:
        """A fresh estimator and the cost model."""
        return Figures(self.optimizer.estimator(self.optimizer.catalog, self.bound.columns), self.optimizer.cost)

    def engine(self, memo: Memo) -> Search:
        return new_search(memo, self.optimizer.rules, self.context, self.optimizer.cost, memo.trace)

    def search(self, trace: Trace | None = None) -> tuple[Search, Goal]:
        """Search and take the plan out, as the pipeline does."""
        engine = self.engine(Memo(self.figures(), trace, self.bound.columns.label))
        goal = engine.run(self.tree, TraitSet(self.bound.order))
        extract(engine, goal)
        return engine, goal


def prepare(query: str, settings: Settings) -> Prepared:
    """Parse, bind and normalize a query of a join graph."""
    optimizer = Optimizer(JoinGraphCatalog(), settings)
    bound = bind(resolve_sql(query), optimizer.catalog)
    context = RuleContext(bound.columns, settings, bounds=optimizer.catalog.bounds)
    return Prepared(optimizer, bound, context, run_program(optimizer.program, required_only(bound, bound.tree), context).tree)
