"""Decorrelation by value generators: bottom-up, operator by operator, as Calcite's RelDecorrelator goes about it.

Each operator of a right input is rebuilt with a map from the outer columns that it depends on to columns of its own. Where an
operator reads an outer column, an inner column that an equality ties to it stands for it; where there is none, the distinct outer
values are joined in (the value generator). At the Apply the map becomes join conditions.

What it does not take: windows, set operations, grouping sets, full outer joins and anything volatile. Such an Apply stays. Inner
Applies are removed before outer ones, so generators for outer and inner columns are multiplied, which `general` avoids.
"""

from dataclasses import replace
from typing import NamedTuple

from optimizer.algebra.building import filtered, reference, tree_of
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set, union
from optimizer.algebra.congruence import has_one_form
from optimizer.algebra.flags import RAISES
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Filter, Limit, Project, ProjectItem, Scan, Values
from optimizer.algebra.logical_joins import Apply, IndependentJoin, Join, join_of_kind
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.rebuild import map_tree
from optimizer.algebra.scalar_trees import bound_to
from optimizer.algebra.scalars import Call, ColumnRef, OuterRef, Predicate
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.correlation import ambiguous, named, with_zeros, zeros_told_apart
from optimizer.decorrelate.domains import Domains
from optimizer.decorrelate.first_rows import first_rows
from optimizer.decorrelate.one_row import one_row, over_one_row, row_for_each
from optimizer.decorrelate.pull_up import without_idle_distinct
from optimizer.decorrelate.state import join_back, local_calls, localized, localized_predicate, meet
from optimizer.decorrelate.stays import Stays
from optimizer.prepass.report import Firing

Held = dict[ColumnId, ColumnId]  # outer column -> the column of the rebuilt tree that stands for it


class Frame(NamedTuple):
    """A rebuilt tree and the outer columns that columns of it stand for."""

    tree: Tree
    held: Held


class ValueGenerator:
    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.domains = Domains(columns)
        self.steps: list[Firing] = []

    def decorrelate(self, root: Tree) -> Tree:
        """The tree without those Applies that can be removed, inner ones first."""
        return map_tree(root, lambda tree: self._remove(tree) if isinstance(tree.op, Apply) else tree)

    def _remove(self, tree: Tree) -> Tree:
        op, left, right = tree.op, tree_of(tree.inputs[0]), tree_of(tree.inputs[1])
        assert isinstance(op, Apply)
        if op.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK):
            right = without_idle_distinct(right)
        free = right.outer & left.columns
        predicate = tuple(bound_to(s, left.columns) for s in op.predicate)
        if not free:
            after, note = Tree(join_of_kind(op.kind, predicate, op.mark), (left, right)), "independent"
        else:
            try:
                after, note = self._joined(op, predicate, left, right, free)
            except Stays as stays:
                after, note = tree, f"stays: {stays}"
        self.steps.append(Firing("value generator", tree, after, f"free columns: {named(self.columns, free)}; {note}"))
        return after

    def _joined(self, op: Apply, predicate: Predicate, left: Tree, right: Tree, free: ColumnSet) -> tuple[Tree, str]:
        if right.volatile or left.volatile:
            raise Stays("volatile expressions are evaluated for each row")
        found = one_row(right)
        inside = right if found is None else found.aggregate
        free &= inside.outer
        told: dict[ColumnId, ColumnId] = {}
        if zeros := ambiguous(inside, free, self.columns):
            left = zeros_told_apart(left, zeros, told, self.columns)
            free |= column_set(told.values())
        walk = _Walk(self.domains, left, free, told, exact=bool(zeros or inside.flags & RAISES))
        if found is not None:
            aggregate = found.aggregate.op
            assert isinstance(aggregate, Aggregate)
            below = walk.frame(tree_of(found.aggregate.inputs[0]))
            below = walk.holding(below, aggregate.outer_columns() & free)
            after = over_one_row(op, predicate, left, found, below.tree, below.held, self.columns)
        else:
            frame = walk.frame(right)
            back = join_back(left, frame.tree, frame.held, op.kind, self.columns)
            after = Tree(join_of_kind(op.kind, conjunction([*predicate, *back]), op.mark), (left, frame.tree))
        generated = named(self.columns, walk.generated)
        return after, f"generators of {generated}" if walk.generated else "inner columns stand for the free ones"


class _Walk:
    """The rebuilding of one right input. `generated`: outer columns for which generators were joined in."""

    def __init__(self, domains: Domains, left: Tree, free: ColumnSet, told: Held, exact: bool) -> None:
        self.domains, self.columns = domains, domains.columns
        self.left, self.free, self.told, self.exact = left, free, told, exact
        self.generated: ColumnSet = 0

    def frame(self, tree: Tree) -> Frame:
        if not tree.outer & self.free:
            return Frame(tree, {})
        op, inputs = tree.op, [tree_of(each) for each in tree.inputs]
        read = op.outer_columns() & self.free
        match op:
            case Scan(predicate=predicate):
                return self.frame(Tree(Filter(predicate), (Tree(replace(op, predicate=())),)))
            case Filter(predicate):
                return self._filter(predicate, self.frame(inputs[0]))
            case Project(items):
                below = self.holding(self.frame(inputs[0]), read)
                made = {item.id for item in items}
                kept = [ProjectItem(item.id, localized(item.value, below.held)) for item in items]
                for local in dict.fromkeys(below.held.values()):
                    if local not in made:
                        kept.append(ProjectItem(local, reference(local, self.columns)))
                    elif ProjectItem(local, reference(local, self.columns)) not in items:
                        raise Stays("a projection gives a new meaning to a column that stands for an outer one")
                return Frame(Tree(Project(tuple(kept)), (below.tree,)), below.held)
            case Aggregate(keys, aggregates) if keys:
                below = self.holding(self.frame(inputs[0]), read)
                every = tuple(dict.fromkeys((*keys, *below.held.values())))
                return Frame(Tree(Aggregate(every, local_calls(aggregates, below.held)), (below.tree,)), below.held)
            case Aggregate((), aggregates):
                below = self.holding(self.frame(inputs[0]), read)
                values, held = self._generator(column_set(below.held))
                return Frame(row_for_each(aggregates, values, held, below.tree, below.held, self.columns), held)
            case Limit():
                below = self.frame(inputs[0])
                return Frame(first_rows(op, below.tree, tuple(below.held.values()), self.columns), below.held)
            case Join(JoinKind.RIGHT, predicate):
                return self.frame(Tree(Join(JoinKind.LEFT, predicate), (inputs[1], inputs[0])))
            case IndependentJoin() if op.kind is not JoinKind.FULL:
                return self._join(op, *inputs)
            case Values():
                raise Stays("VALUES read outer columns")
        raise Stays(f"{op.name} reads outer columns, or something below it does")

    def _filter(self, predicate: Predicate, below: Frame) -> Frame:
        """Equalities with inner columns say which of them stand for outer ones; the rest of what is read is generated."""
        held = dict(below.held)
        for conjunct in predicate if not self.exact else ():
            match conjunct:
                case Call(function="=", args=(ColumnRef() as a, OuterRef() as b) | (OuterRef() as b, ColumnRef() as a)):
                    if self.free >> b.id & 1 and has_one_form(a.type):
                        held.setdefault(b.id, a.id)
        read = union(conjunct.outer for conjunct in predicate) & self.free
        below = self.holding(Frame(below.tree, held), read)
        return Frame(filtered(localized_predicate(predicate, below.held), below.tree), below.held)

    def holding(self, frame: Frame, read: ColumnSet) -> Frame:
        """The frame with a value generator joined in for those of `read` that it does not hold; of all free ones where no
        combination may be tried that no left row has."""
        if not read & ~column_set(frame.held):
            return frame
        missing = (self.free if self.exact else read) & ~column_set(frame.held)
        values, held = self._generator(missing)
        return Frame(Tree(Join(JoinKind.INNER, ()), (values, frame.tree)), {**frame.held, **held})

    def _generator(self, wanted: ColumnSet) -> tuple[Tree, Held]:
        self.generated |= wanted
        found, held = self.domains.of(self.left, wanted, self.exact)
        return with_zeros(found, held, self.told, self.columns), held

    def _join(self, op: IndependentJoin, left: Tree, right: Tree) -> Frame:
        a, b = self.frame(left), self.frame(right)
        read, mark = op.outer_columns() & self.free, op.kind is JoinKind.MARK
        if op.kind is JoinKind.INNER:
            for column in column_ids(read & ~column_set(b.held)):
                a = self.holding(a, 1 << column)
            held = {**b.held, **a.held}
        else:  # rows of the left come out without a match, so the left side holds whatever the join depends on
            a = self.holding(a, read | column_set(b.held))
            held = a.held
        tied = meet(a.tree, a.held, b.tree, b.held, mark, self.columns)
        predicate = conjunction([*localized_predicate(op.predicate, held, mark), *tied])
        return Frame(Tree(op.with_predicate(predicate), (a.tree, b.tree)), held)
