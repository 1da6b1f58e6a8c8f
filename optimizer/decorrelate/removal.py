"""Subquery removal: every subquery that stands in a scalar becomes an Apply below the operator it stands in.

    σ[EXISTS Q ∧ p](T)         ≡  T' A⋉ Q                         T' = σp(T); NOT EXISTS: A▷
    σ[x θ ANY Q](T)            ≡  T A⋉[x θ q] Q
    σ[¬(x θ ANY Q)](T)         ≡  T A▷[x θ q] Q                   if x θ q is never UNKNOWN, else by a mark
    f(x θ ANY Q) anywhere      ≡  f(m) over T A^mark[m: x θ q] Q   three-valued
    f((SELECT v FROM Q))       ≡  f(v) over T A^single Q          left where Q has one row at most, inner where exactly one

    T1 ⟕[p with Q] T2          ≡  T1 A⟕ σ[p with Q](T2)           Q reads both sides; else Q is applied on the side it reads

In a filter TRUE decides, so UNKNOWN counts as FALSE, but only under AND: below NOT, OR, CASE or IS NULL the mark is three-valued
(Neumann, Leis and Kemper, BTW 2017). Conjuncts without subqueries are tested first, so that no error comes from a row that they
remove; a subquery in a branch of CASE or COALESCE that may raise is evaluated only where that branch is taken.
"""

from __future__ import annotations

import sys

from optimizer.algebra.building import filtered, passed, passed_all, tree_of
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, union
from optimizer.algebra.flags import RAISES
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    ProjectItem,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import AnyJoin, Apply, Join
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.rebuild import copy_tree, map_scalars, map_tree, renamed_scalar
from optimizer.algebra.scalar_trees import as_outer
from optimizer.algebra.scalars import BOOL, FALSE, TRUE, Call, Case, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.subqueries import AnySubquery, ScalarSubquery, Subquery, has_subquery, subqueries_of
from optimizer.algebra.trees import Tree, postorder
from optimizer.algebra.types import INT32
from optimizer.decorrelate.correlation import named
from optimizer.decorrelate.one_row import is_true
from optimizer.decorrelate.pull_up import without_idle_distinct
from optimizer.prepass.report import Firing
from optimizer.prepass.row_bounds import at_least_one_row, has_one_row

_ADDING = (JoinKind.LEFT, JoinKind.SINGLE, JoinKind.MARK)  # an Apply of these kinds keeps all left rows


def remove_subqueries(root: Tree, columns: Columns) -> tuple[Tree, list[Firing]]:
    """The tree with an Apply for each subquery, and what was done; the tree itself where it has none."""
    if not root.flags & Subquery.flag:
        return root, []
    _allow_levels(root)
    removal = _Removal(columns)
    return removal.tree(root), removal.steps


def _allow_levels(root: Tree) -> None:
    """The levels of subqueries in subqueries. Removal and the stages after it recurse over them, some ten frames a level: for
    many of them Python's limit is raised. The binder says how many there can be."""
    levels, trees = 0, [root]
    while trees := [s.tree for t in trees for node in postorder(t) for s in subqueries_of(tree_of(node).op.scalars())]:
        levels += 1
    if levels > 20:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000 + 25 * levels))


class _Removal:
    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.steps: list[Firing] = []
        self._used: ColumnSet = 0  # columns of subqueries that were put in place already

    def tree(self, root: Tree) -> Tree:
        return map_tree(root, self._operator)

    def _operator(self, tree: Tree) -> Tree:
        if not any(has_subquery(s) for s in tree.op.scalars()):
            return tree
        inputs = [tree_of(each) for each in tree.inputs]
        match tree.op:
            case Filter(predicate):
                return self._filter(predicate, inputs[0])
            case Join(kind, predicate):
                return self._join(kind, predicate, *inputs)
            case Apply(kind, predicate, None) if kind in (JoinKind.INNER, JoinKind.LEFT):  # LATERAL: tested inside
                return self._pairs(kind, predicate, *inputs)
            case Values():
                return self._values(tree.op)
            case Project() | Aggregate() | GroupingSets() | Window():
                return self._arguments(tree.op, inputs[0])
        raise AssertionError(f"a subquery in {tree.op.name} cannot be removed")

    # -- operators --------------------------------------------------------------------------------------------------------

    def _filter(self, predicate: Predicate, below: Tree) -> Tree:
        """Conjuncts without subqueries, then those that are a semi or anti apply, then the rest over what they compute."""
        simple, asking = _by_subqueries(predicate)
        early = conjunction(s for s in simple if not (s.raises or s.volatile))
        late = [s for s in simple if s.raises or s.volatile]
        tree = filtered(early, below)
        rest: list[Scalar] = []
        for conjunct in asking:
            done = self._decided(conjunct, tree)
            if done is None:
                rest.append(conjunct)
            else:
                tree = done
        for conjunct in rest:
            value, tree = self._placed(conjunct, tree, ())
            late.append(value)
        return filtered(conjunction(late), tree)

    def _decided(self, conjunct: Scalar, below: Tree) -> Tree | None:
        """`below` without the rows for which a conjunct that is [NOT] ANY or EXISTS is not TRUE; None if it needs a mark."""
        negated = isinstance(conjunct, Call) and conjunct.function == "not"
        subquery = conjunct.children[0] if negated else conjunct
        if not isinstance(subquery, AnySubquery):
            return None
        if not subquery.left and at_least_one_row(subquery.tree):
            return Tree(Filter((FALSE,)), (below,)) if negated else below
        known = below.props.not_null | subquery.tree.props.not_null
        if negated and not all(has_subquery(s) or is_not_null(s, known) for s in (*subquery.left, *subquery.right)):
            return None
        subquery, below = self._with_plain_left(subquery, below, ())
        inner, condition = self._compared(subquery)
        if negated and not is_not_null(condition, below.props.not_null | inner.props.not_null):
            return None
        kind = JoinKind.ANTI if negated else JoinKind.SEMI
        predicate = conjunction([condition])
        after = Tree(Apply(kind, predicate), (below, without_idle_distinct(inner, not predicate)))
        form = "any" if subquery.left else "not exists" if negated else "exists"
        return self._note(form, after, below)

    def _join(self, kind: JoinKind, predicate: Predicate, left: Tree, right: Tree) -> Tree:
        """Subqueries in ON: on the side that they read; one that reads both is evaluated for each pair of rows."""
        plain, asking = _by_subqueries(predicate)
        if kind is JoinKind.INNER:
            return self._filter(tuple(asking), Tree(Join(kind, tuple(plain)), (left, right)))
        crossing: list[Scalar] = []
        for conjunct in asking:
            reads = union(part.columns for part in subqueries_of([conjunct]))
            if not reads & left.columns:
                value, right = self._placed(conjunct, right, ())
                plain.append(value)
            elif not reads & right.columns:
                value, left = self._placed(conjunct, left, ())
                plain.append(value)
            else:
                crossing.append(conjunct)
        if not crossing:
            return Tree(Join(kind, conjunction(plain)), (left, right))
        every = conjunction([*plain, *crossing])
        if kind is JoinKind.RIGHT:
            return self._pairs(JoinKind.LEFT, every, right, left)
        if kind is JoinKind.FULL:
            return self._full_pairs(every, left, right)
        return self._pairs(kind, every, left, right)

    def _pairs(self, kind: JoinKind, predicate: Predicate, left: Tree, right: Tree) -> Tree:
        """left ⊗p right  ≡  left A⊗ σp(right), the columns of the left read from outside."""
        inner = self._filter(tuple(as_outer(s, left.columns) for s in predicate), right)
        return Tree(Apply(kind, ()), (left, inner))

    def _full_pairs(self, predicate: Predicate, left: Tree, right: Tree) -> Tree:
        """left ⟗p right  ≡  (left A⟕ σp(right)) ∪all (NULLs × (right A▷ σp(left))), the two parts over copies of the inputs."""
        out = [*column_ids(left.columns), *column_ids(right.columns)]
        sources: list[tuple[int, ...]] = []
        parts: list[Tree] = []
        for matched in (True, False):
            a, new_a = copy_tree(left, self.columns)
            b, new_b = copy_tree(right, self.columns)
            new = {**new_a, **new_b}
            on = tuple(renamed_scalar(s, new) for s in predicate)
            if matched:
                parts.append(self._pairs(JoinKind.LEFT, on, a, b))
            else:
                nulls = (ProjectItem(new[c], Literal(None, self.columns[c].type)) for c in column_ids(left.columns))
                items = (*passed((new[c] for c in column_ids(right.columns)), self.columns), *nulls)
                parts.append(Tree(Project(items), (self._pairs(JoinKind.ANTI, on, b, a),)))
            sources.append(tuple(new[c] for c in out))
        return Tree(SetOp(SetOpKind.UNION, True, tuple(out), tuple(sources)), tuple(parts))

    def _values(self, op: Values) -> Tree:
        """VALUES with subqueries: a projection of one row for each row."""
        parts: list[Tree] = []
        sources: list[tuple[int, ...]] = []
        for row in op.rows:
            ids = op.columns if len(op.rows) == 1 else tuple(self.columns.like(c) for c in op.columns)
            start = self.columns.new("one", INT32, False).id
            one = Tree(Values((start,), (INT32,), ((Literal(1, INT32),),)))
            items = tuple(ProjectItem(id, item) for id, item in zip(ids, row, strict=True))
            parts.append(self._arguments(Project(items), one))
            sources.append(ids)
        if len(parts) == 1:
            return parts[0]
        return Tree(SetOp(SetOpKind.UNION, True, op.columns, tuple(sources)), tuple(parts))

    def _arguments(self, op: LogicalOperator, below: Tree) -> Tree:
        """Subqueries in what an operator computes from its rows."""

        def change(scalar: Scalar) -> Scalar:
            nonlocal below
            value, below = self._placed(scalar, below, ()) if isinstance(op, Project) else self._inside(scalar, below, ())
            return value

        changed = map_scalars(op, change)
        return Tree(changed, (below,))

    # -- scalars ----------------------------------------------------------------------------------------------------------

    def _placed(self, scalar: Scalar, below: Tree, guards: tuple[Scalar, ...]) -> tuple[Scalar, Tree]:
        """`scalar` over `below` with an Apply for each subquery in it. `guards` are TRUE where its value matters."""
        if not has_subquery(scalar):
            return scalar, below
        match scalar:
            case ScalarSubquery():
                return self._scalar(scalar, below, guards)
            case AnySubquery():
                return self._mark(scalar, below, guards)
            case Case():
                placed = []
                for condition, value in scalar.branches:
                    condition, below = self._placed(condition, below, guards)
                    taken = is_true(condition)
                    value, below = self._placed(value, below, (*guards, taken))
                    placed.append((condition, value))
                    guards = (*guards, Call("not", (taken,), BOOL))
                otherwise, below = self._placed(scalar.otherwise, below, guards)
                return Case(tuple(placed), otherwise, scalar.type), below
            case Call(function="coalesce", args=args):
                parts: list[Scalar] = []
                for arg in args:
                    part, below = self._placed(arg, below, guards)
                    parts.append(part)
                    guards = (*guards, Call("is_null", (part,), BOOL))
                return scalar.with_children(tuple(parts)), below
        return self._inside(scalar, below, guards)

    def _inside(self, scalar: Scalar, below: Tree, guards: tuple[Scalar, ...]) -> tuple[Scalar, Tree]:
        """`_placed` of each operand."""
        children = []
        for child in scalar.children:
            value, below = self._placed(child, below, guards)
            children.append(value)
        return scalar.with_children(tuple(children)) if children else scalar, below

    def _scalar(self, subquery: ScalarSubquery, below: Tree, guards: tuple[Scalar, ...]) -> tuple[Scalar, Tree]:
        inner, new = self._inner(subquery)
        if has_one_row(inner):
            kind = JoinKind.INNER
        else:
            kind = JoinKind.LEFT if inner.props.at_most_one_row else JoinKind.SINGLE
        guarded, below = self._guarded(inner, guards, below, raises=kind is JoinKind.SINGLE)
        if guarded is not inner and kind is JoinKind.INNER:
            kind = JoinKind.LEFT
        after = Tree(Apply(kind, ()), (below, guarded))
        return ColumnRef(new.get(subquery.column, subquery.column), subquery.type), self._note("scalar subquery", after, below)

    def _mark(self, subquery: AnySubquery, below: Tree, guards: tuple[Scalar, ...]) -> tuple[Scalar, Tree]:
        if not subquery.left and at_least_one_row(subquery.tree):
            return TRUE, below
        subquery, below = self._with_plain_left(subquery, below, guards)
        inner, condition = self._compared(subquery)
        mark = self.columns.new("mark", BOOL, True).id
        predicate = conjunction([condition])
        inner, below = self._guarded(without_idle_distinct(inner, not predicate), guards, below, raises=False)
        after = Tree(Apply(JoinKind.MARK, predicate, mark), (below, inner))
        return ColumnRef(mark, BOOL), self._note("any" if subquery.left else "exists", after, below)

    def _with_plain_left(self, subquery: AnySubquery, below: Tree, guards: tuple[Scalar, ...]) -> tuple[AnySubquery, Tree]:
        """What is compared, without subqueries in it; a volatile value is computed once for each row."""
        left = []
        for scalar in subquery.left:
            value, below = self._placed(scalar, below, guards)
            if value.volatile:
                value, below = self._column("value", value, below)
            left.append(value)
        return AnySubquery(subquery.function, tuple(left), subquery.right, subquery.tree), below

    def _column(self, name: str, value: Scalar, below: Tree) -> tuple[Scalar, Tree]:
        """A value as a column of its own."""
        id = self.columns.new(name, value.type, True).id
        kept = passed_all(below, self.columns)
        return ColumnRef(id, value.type), Tree(Project((*kept, ProjectItem(id, value))), (below,))

    def _low_column(self, name: str, value: Scalar, below: Tree) -> tuple[Scalar, Tree] | None:
        """`_column`, below the subqueries that were put in place before, so that a domain needs none of them; None if it reads
        their results."""
        match below:
            case Tree(Apply(kind, on), (Tree() as left, Tree() as right)) if kind in _ADDING or (not on and has_one_row(right)):
                if value.columns & ~left.columns:
                    return None
                low = self._low_column(name, value, left)
                return None if low is None else (low[0], Tree(below.op, (low[1], right)))
            case Tree(Project(items), (Tree() as under,)) if not value.columns & ~under.columns:
                id = self.columns.new(name, value.type, True).id
                return ColumnRef(id, value.type), Tree(Project((*items, ProjectItem(id, value))), (under,))
        return self._column(name, value, below)

    def _inner(self, subquery: Subquery) -> tuple[Tree, dict[ColumnId, ColumnId]]:
        """The subquery's tree, the subqueries in it removed, under column ids that no other use of it has; and the new ids."""
        inner = self.tree(subquery.tree)
        new: dict[ColumnId, ColumnId] = {}
        if inner.columns & self._used:
            inner, new = copy_tree(inner, self.columns)
        self._used |= inner.columns
        return inner, new

    def _compared(self, subquery: AnySubquery) -> tuple[Tree, Scalar]:
        """The subquery's tree and what is asked of a pair of rows."""
        inner, new = self._inner(subquery)
        right = tuple(renamed_scalar(s, new) for s in subquery.right)
        return inner, AnySubquery(subquery.function, subquery.left, right, inner).condition

    def _guarded(self, inner: Tree, guards: tuple[Scalar, ...], below: Tree, raises: bool) -> tuple[Tree, Tree]:
        """The subquery without rows where its value does not matter, if evaluating it there could raise; and `below` with a
        column that says where it matters. If guards read what other subqueries return there is no such column, and the subquery
        is evaluated, but its result left out."""
        usable = [g for g in guards if not g.volatile and not g.columns & ~below.columns]
        if not usable or not (raises or inner.flags & RAISES):
            return inner, below
        asked = Case(tuple((Call("not", (guard,), BOOL), FALSE) for guard in usable), TRUE, BOOL)  # in this order: they may raise
        if (low := self._low_column("matters", asked, below)) is None:
            return Tree(Filter(conjunction(as_outer(guard, below.columns) for guard in usable)), (inner,)), below
        matters, below = low
        return _sheltered(inner, as_outer(matters, below.columns)), below

    def _note(self, form: str, after: Tree, before: Tree) -> Tree:
        op, inner = after.op, after.inputs[1]
        assert isinstance(op, Apply)
        free = inner.outer & before.columns
        note = f"{op.kind.value} apply; free columns: {named(self.columns, free)}"
        self.steps.append(Firing(f"remove {form}", before, after, note))
        return after


def _by_subqueries(predicate: Predicate) -> tuple[list[Scalar], list[Scalar]]:
    """The conjuncts without subqueries, and those with some."""
    return [s for s in predicate if not has_subquery(s)], [s for s in predicate if has_subquery(s)]


def _sheltered(tree: Tree, matters: Scalar) -> Tree:
    """The tree without rows, and with nothing computed, where a scalar that is the same for all of them is not TRUE."""
    op = tree.op
    if tree.flags & RAISES and isinstance(
        op, Project | Filter | Limit | Window | Aggregate | GroupingSets | SetOp | AnyJoin | Apply
    ):
        tree = Tree(op, tuple(_sheltered(tree_of(each), matters) for each in tree.inputs))
        if not ((isinstance(op, Aggregate) and not op.keys) or (isinstance(op, GroupingSets) and 0 in op.sets)):
            return tree
    # which has no rows by itself, or one over none
    return Tree(Filter((matters,)), (tree,))
