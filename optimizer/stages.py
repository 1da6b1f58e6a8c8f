"""The stages between a bound query and the search: each makes a tree of the tree before, or finds that it has nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from optimizer.algebra.columns import Columns, column_set
from optimizer.algebra.logical import Project, ProjectItem
from optimizer.algebra.printing import show_tree
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.methods import decorrelate, has_apply
from optimizer.decorrelate.removal import remove_subqueries
from optimizer.decorrelate.steps import Step
from optimizer.prepass.hep import run_program
from optimizer.prepass.instructions import Program
from optimizer.prepass.program import before_decorrelation
from optimizer.prepass.report import BatchRun, Firing
from optimizer.rules.interface import RuleContext


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


class Given(NamedTuple):
    """What a stage may look at: the query, the program of the pre-pass, columns and settings."""

    bound: BoundQuery
    program: Program
    context: RuleContext


class Rewritten(NamedTuple):
    """What a stage made. `given`: what its firings began with, if not the tree of the stage before."""

    tree: Tree
    firings: Sequence[Firing]
    converged: bool = True
    batches: Sequence[BatchRun] = ()
    given: tuple[Firing, ...] = ()


def _subqueries(tree: Tree, given: Given) -> Rewritten | None:
    removed, steps = remove_subqueries(tree, given.bound.columns)
    return Rewritten(removed, _firings(steps)) if removed is not tree or has_apply(removed) else None


def _filters(tree: Tree, given: Given) -> Rewritten | None:
    """Decorrelation copies left inputs for domains, and a filter that came later would come too late."""
    if not has_apply(tree):
        return None
    program = before_decorrelation(given.program) if given.context.settings.prepass else ()
    moved = run_program(program, tree, given.context)
    return Rewritten(moved.tree, moved.firings, moved.converged, moved.batches)


def _decorrelate(tree: Tree, given: Given) -> Rewritten | None:
    if not has_apply(tree):
        return None
    unnested = decorrelate(tree, given.context.settings.decorrelate, given.context)
    return Rewritten(unnested.tree, _firings(unnested.steps))


def _prepass(tree: Tree, given: Given) -> Rewritten | None:
    if not given.context.settings.prepass:
        return None
    needed = required_only(given.bound, tree)
    first = () if needed is tree else (Firing("required_only", tree, needed),)
    done = run_program(given.program, needed, given.context)
    return Rewritten(done.tree, done.firings, done.converged, done.batches, first)


STAGES: tuple[tuple[str, Callable[[Tree, Given], Rewritten | None]], ...] = (
    ("subqueries", _subqueries),
    ("filters", _filters),
    ("decorrelate", _decorrelate),
    ("prepass", _prepass),
)


def required_only(bound: BoundQuery, tree: Tree) -> Tree:
    """The tree of a bound query under a projection to what the result and its order read, for column pruning to start from."""
    needed = list(dict.fromkeys([*(o.id for o in bound.outputs), *(k.column for k in bound.order)]))
    if column_set(needed) == tree.columns:
        return tree
    return Tree(Project(tuple(ProjectItem(id, ColumnRef(id, bound.columns[id].type)) for id in needed)), (tree,))


def _firings(steps: Sequence[Step]) -> list[Firing]:
    return [Firing(f"{step.rule}: {step.note}", step.before, step.after) for step in steps]
