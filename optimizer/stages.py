"""The stages between a bound query and the search: each makes a tree of the tree before, or finds that it has nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import is_
from typing import NamedTuple

from optimizer.algebra.building import filtered, passed, tree_of
from optimizer.algebra.columns import ColumnId, Columns, column_ids, column_set
from optimizer.algebra.ctes import inlined_spools, map_parts, operators_inlined, spools_of
from optimizer.algebra.logical import Choice, Project
from optimizer.algebra.printing import show_tree
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.spools import Spool, With
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.alternatives import exactly
from optimizer.decorrelate.methods import decorrelate
from optimizer.decorrelate.removal import remove_subqueries
from optimizer.prepass.common_spools import with_common_spools
from optimizer.prepass.hep import run_program
from optimizer.prepass.instructions import Program
from optimizer.prepass.program import before_decorrelation
from optimizer.prepass.report import BatchRun, Firing, Rewritten
from optimizer.prepass.rules.column_prune import narrow
from optimizer.prepass.semi_joins import with_semi_joins
from optimizer.prepass.spool_filters import Readers
from optimizer.rules.interface import RuleContext


class Stage:
    """One step between the SQL text and the search: the tree it gave, the rules that fired in it, and its time in ms.

    `batches`: how the program of the stage went, if it has one. `converged`: it reached its fixpoint; `notes` say what did not.
    """

    def __init__(
        self, name: str, tree: Tree, columns: Columns, firings: Sequence[Firing], ms: float, converged: bool,
        batches: Sequence[BatchRun] = (),
    ) -> None:  # fmt: skip
        self.name, self.tree, self.ms, self.converged, self.batches = name, tree, ms, converged, tuple(batches)
        self.columns, self.rewritings = columns, tuple(firings)

    def __repr__(self) -> str:
        return f"Stage({self.name}, {self.ms:.1f} ms)"

    @cached_property
    def text(self) -> str:
        """The tree as indented text."""
        return show_tree(self.tree, self.columns, reads=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on each batch that ended before its fixpoint: why, and which rules still fired."""
        return tuple(batch.note for batch in self.batches if batch.stopped is not None)

    @cached_property
    def firings(self) -> tuple[tuple[str, str, str], ...]:
        """(rule with its note, subtree before, subtree after) for each firing, in order."""

        def shown(tree: Tree) -> str:
            return show_tree(tree, self.columns, reads=True)

        return tuple((firing.title, shown(firing.before), shown(firing.after)) for firing in self.rewritings)


class Given(NamedTuple):
    """What a stage may look at: the query, the program of the pre-pass, columns and settings."""

    bound: BoundQuery
    program: Program
    context: RuleContext


Rewrite = Callable[[Tree, Given], Rewritten | None]
RewritePart = Callable[[Tree, Spool | None], Rewritten | None]  # what a spool holds; a body, for None
RewriteForReaders = Callable[[Tree, Sequence[ColumnId], Predicate], Rewritten]  # columns and rows that its readers need

MOST_INLINED = 200  # operators of a query in which common table expressions are computed for each reference


def _ctes(tree: Tree, given: Given) -> Rewritten | None:
    """Two ways to treat common table expressions that are read several times: all are computed for each reference, but those that
    must not be, or all are computed once."""
    setting, spools = given.context.settings.ctes, [each.op for each in tree.inputs if isinstance(each, Tree)]
    free = [op.spool for op in spools if isinstance(tree.op, With) and isinstance(op, Spool) and not op.forced]
    if not free or setting == "spool" or operators_inlined(tree) > MOST_INLINED:
        return None
    inline = inlined_spools(tree, free, given.bound.columns)
    if setting == "inline":
        return Rewritten(inline, (Firing("cte_inline", tree, inline),))
    both = Tree(Choice(column_set(_needed(given.bound))), (tree, inline))
    return Rewritten(both, (Firing("spool or cte_inline", tree, both),))


def _subqueries(tree: Tree, given: Given) -> Rewritten | None:
    removed, firings = remove_subqueries(tree, given.bound.columns)
    return Rewritten(removed, firings) if removed is not tree or removed.has_apply else None


def _filters(tree: Tree, given: Given) -> Rewritten | None:
    """Decorrelation copies left inputs for domains, and a filter that came later would come too late."""
    if not tree.has_apply:
        return None
    program = before_decorrelation(given.program) if given.context.settings.prepass else ()
    return run_program(program, tree, given.context)


def _decorrelate(tree: Tree, given: Given) -> Rewritten | None:
    if not tree.has_apply:
        return None
    return decorrelate(tree, given.context.settings.decorrelate, given.context)


def _normalized(tree: Tree, needed: Sequence[ColumnId], kept: Predicate, given: Given) -> Rewritten:
    enough = filtered(kept, tree)
    asked = _only(enough, needed, given.bound.columns)
    steps = (("spool_filter", tree, enough), ("required_only", enough, asked))
    first = tuple(Firing(name, before, after) for name, before, after in steps if before is not after)
    done = run_program(given.program, asked, given.context)
    before = Rewritten(asked, first, batches=(BatchRun("readers", 0, len(first), 1),))
    return _joined([before, done], done.tree) if first else done


def _prepass(tree: Tree, given: Given) -> Rewritten | None:
    """A spool keeps what its readers read, which is known when these are done."""
    if not given.context.settings.prepass:
        return None
    told = _with_spools(given, tree)
    return _over_parts(
        tree, _readers_first(_needed(given.bound), lambda part, needed, kept: _normalized(part, needed, kept, told))
    )


def _readers_first(result: Sequence[ColumnId], rewrite: RewriteForReaders) -> RewritePart:
    """`rewrite` as it is done to the parts of a query, readers first, told what columns are read of each, and what is true of
    the rows that matter; `result`: the columns of all."""
    readers = Readers()

    def one(part: Tree, spool: Spool | None) -> Rewritten | None:
        nonlocal readers
        if spool is None:
            readers = Readers()
        needed = result if spool is None else readers.columns(spool.spool)
        if needed is None:
            return None
        done = rewrite(part, needed, () if spool is None else readers.filter(spool.spool))
        readers.add(done.tree)
        return done

    return one


def _semi_joins(tree: Tree, given: Given) -> Rewritten | None:
    setting = given.context.settings.semi_joins
    if setting == "off":
        return None
    reduced = with_semi_joins(tree, given.context)
    if reduced is tree:
        return None
    if setting == "always":
        return Rewritten(reduced, (Firing("semi_joins", tree, reduced),))
    # a join is also its own semi-join: rules would go on
    apart = exactly(reduced, tree.columns, given.bound.columns, always=True)
    both = Tree(Choice(tree.columns), (tree, apart))
    return Rewritten(both, (Firing("semi_joins or not", tree, both),))


def _common_parts(tree: Tree, given: Given) -> Rewritten | None:
    """For each alternative of a query another one with spools; those it has already are chosen about as a whole."""
    setting, columns = given.context.settings.common_parts, given.bound.columns
    if setting == "off" or tree.has_reference:
        return None
    narrowed = _readers_first(list(column_ids(tree.columns)), lambda part, needed, _: _narrowed(part, needed, given))

    def spooled(whole: Tree) -> Tree:
        with_spools = with_common_spools(whole, columns)
        done = None if with_spools is whole else _over_parts(with_spools, narrowed)
        return with_spools if done is None else done.tree

    plain = [each for each in tree.inputs if isinstance(each, Tree)] if isinstance(tree.op, Choice) else [tree]
    trees = [spooled(each) for each in plain]
    if all(map(is_, trees, plain)):
        return None
    if setting == "cost":
        trees = [*plain, *(each for each, before in zip(trees, plain, strict=True) if each is not before)]
    after = trees[0] if len(trees) == 1 else Tree(Choice(tree.columns), tuple(trees))
    return Rewritten(after, (Firing("common_parts or not" if setting == "cost" else "common_parts", tree, after),))


def _narrowed(part: Tree, needed: Sequence[ColumnId], given: Given) -> Rewritten:
    return Rewritten(tree_of(narrow(part, column_set(needed), given.context)), ())


def _each_part(rewrite: Rewrite) -> Rewrite:
    """A stage that does nothing to spools, for what they hold and for who reads them."""

    def each(tree: Tree, given: Given) -> Rewritten | None:
        told = _with_spools(given, tree)
        return _over_parts(tree, lambda part, spool: rewrite(part, told))

    return each


def _with_spools(given: Given, tree: Tree) -> Given:
    """With what the references in the parts of a query read."""
    return given._replace(context=given.context._replace(spools=spools_of(tree)))


def _over_parts(tree: Tree, rewrite: RewritePart) -> Rewritten | None:
    made: list[Rewritten] = []

    def one(part: Tree, spool: Spool | None) -> Tree:
        done = rewrite(part, spool)
        if done is None:
            return part
        made.append(done)
        return done.tree

    whole = map_parts(tree, one)
    return _joined(made, whole) if made else None


def _joined(made: Sequence[Rewritten], tree: Tree) -> Rewritten:
    """What was done one after the other, as one; `tree`: what came of it."""
    firings: list[Firing] = []
    batches: list[BatchRun] = []
    for each in made:
        at = len(firings)
        batches += [run._replace(start=at + run.start, stop=at + run.stop) for run in each.batches]
        firings += each.firings
    return Rewritten(tree, firings, all(e.converged for e in made), batches, next((e.lost for e in made if e.lost), ""))


STAGES: tuple[tuple[str, Rewrite], ...] = (
    ("ctes", _ctes),
    ("subqueries", _each_part(_subqueries)),
    ("filters", _each_part(_filters)),
    ("decorrelate", _each_part(_decorrelate)),
    ("prepass", _prepass),
    ("semi_joins", _each_part(_semi_joins)),
    ("common_parts", _common_parts),
)


def required_only(bound: BoundQuery, tree: Tree) -> Tree:
    """The tree of a bound query under a projection to what the result and its order read, for column pruning to start from."""
    return _only(tree, _needed(bound), bound.columns)


def _only(tree: Tree, needed: Sequence[ColumnId], columns: Columns) -> Tree:
    if column_set(needed) == tree.columns:
        return tree
    return Tree(Project(passed(needed, columns)), (tree,))


def _needed(bound: BoundQuery) -> list[ColumnId]:
    """The columns that the result and its order read."""
    return list(dict.fromkeys([*(o.id for o in bound.outputs), *(k.column for k in bound.order)]))
