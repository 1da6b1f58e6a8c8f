"""Correlated conjuncts of a subquery move up into the join, where that leaves nothing correlated behind.

    L A⊗ σ_p(E)  ≡  L ⊗_p E        for every kind ⊗; E reads nothing of L (Galindo-Legaria and Joshi, SIGMOD 2001, rule 2)

The conjuncts are found at the top of the right input and below projections, inner joins and what keeps its left rows. A mark is
three-valued, a filter is not: where the conjunct of a filter is UNKNOWN its row is gone, so below a mark it is asked as
`p IS TRUE`; for an equality as k IS NOT DISTINCT FROM x over rows with k IS NOT NULL. What may raise goes up with them, so that
it is asked of no row that they kept from it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.algebra.building import filtered, passed, passed_all, tree_of
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.flags import RAISES
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Filter, Limit, Project, ProjectItem
from optimizer.algebra.logical_joins import Apply, IndependentJoin, Join, MarkJoin, SingleJoin, join_of_kind
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.predicates import compare, conjunction, predicate_columns
from optimizer.algebra.scalar_trees import bound_to, substitute
from optimizer.algebra.scalars import BOOL, TRUE, Call, Case, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.one_row import is_true
from optimizer.prepass.movable import grow


class Pulled(NamedTuple):
    """`tree` reads nothing from outside; its rows count where `conjuncts` are TRUE. `values`: columns to compute above the join,
    since they read both sides, or may raise for rows without a match."""

    tree: Tree
    conjuncts: tuple[Scalar, ...]
    values: dict[ColumnId, Scalar]


def pull_up(root: Tree, outer: ColumnSet, columns: Columns) -> Pulled | None:
    """The tree without what it reads of `outer`, if that is in conjuncts and values that can be taken up; None if not."""
    if not root.outer & outer:
        return Pulled(root, (), {})
    inputs = [tree_of(each) for each in root.inputs]
    match root.op:
        case Filter(predicate):
            below = pull_up(inputs[0], outer, columns)
            if below is None:
                return None
            tested = [substitute(s, below.values) for s in predicate]
            if any(s.volatile for s in tested) or grow(predicate, below.values):
                return None
            up, stay = _apart(tested, outer, below.conjuncts)
            return Pulled(filtered(stay, below.tree), (*below.conjuncts, *up), below.values)
        case Project(items):
            return _project(items, inputs[0], outer, columns)
        case Join(JoinKind.INNER, predicate):
            left, right = (pull_up(each, outer, columns) for each in inputs)
            if left is None or right is None or left.values or right.values or any(s.volatile for s in predicate):
                return None
            taken = (*left.conjuncts, *right.conjuncts)
            up, stay = _apart(predicate, outer, taken)
            return Pulled(Tree(Join(JoinKind.INNER, stay), (left.tree, right.tree)), (*taken, *up), {})
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI) | MarkJoin() | SingleJoin() | Apply():
            if inputs[1].outer & outer or root.op.outer_columns() & outer:
                return None
            left = pull_up(inputs[0], outer, columns)
            if left is None or left.values or (left.conjuncts and _raises(root.op, inputs[1])):
                return None
            return Pulled(Tree(root.op, (left.tree, inputs[1])), left.conjuncts, {})
        case Limit(_, 0, None):
            return pull_up(inputs[0], outer, columns)
        case Aggregate(keys, ()) if keys:
            below = pull_up(inputs[0], outer, columns)
            if below is None or below.values or predicate_columns(below.conjuncts) & ~column_set(keys):
                return None
            if not all(map(is_congruent, below.conjuncts)):  # asked of one row of a group
                return None
            return Pulled(Tree(root.op, (below.tree,)), below.conjuncts, {})
    return None


def _apart(conjuncts: Sequence[Scalar], outer: ColumnSet, taken: Sequence[Scalar]) -> tuple[list[Scalar], Predicate]:
    """The conjuncts that go up, and the others: those that read from outside, and, if any do or are `taken` up from below, those
    that may raise, else they would be asked of rows that were no rows of the subquery."""
    reading = [s for s in conjuncts if s.outer & outer]
    up = [s for s in conjuncts if s.raises or s.outer & outer] if reading or taken else []
    return up, conjunction(s for s in conjuncts if s not in up)


def _raises(op: IndependentJoin | Apply, right: Tree) -> bool:
    """Whether a join or Apply may raise for one of its left rows."""
    second = op.kind is JoinKind.SINGLE and not right.props.at_most_one_row
    return second or any(s.raises for s in op.scalars()) or (isinstance(op, Apply) and bool(right.flags & RAISES))


def _project(items: tuple[ProjectItem, ...], node: Tree, outer: ColumnSet, columns: Columns) -> Pulled | None:
    """Items that read from outside become values, and those that may raise where conjuncts go up; what conjuncts and values read
    is passed through."""
    below = pull_up(node, outer, columns)
    if below is None or grow([item.value for item in items], below.values):
        return None
    kept: list[ProjectItem] = []
    values: dict[ColumnId, Scalar] = {}
    needed = 0
    for item in items:
        value = substitute(item.value, below.values)
        if value.outer & outer or (value.raises and below.conjuncts):
            if value.volatile:
                return None
            values[item.id] = value
            needed |= value.columns
        else:
            kept.append(ProjectItem(item.id, value))
    needed |= predicate_columns(below.conjuncts)
    made = column_set(item.id for item in kept)
    kept += passed(column_ids(needed & ~made), columns)
    if not kept:
        kept += passed_all(below.tree, columns)[:1]
    return Pulled(Tree(Project(tuple(kept)), (below.tree,)), below.conjuncts, values)


def without_idle_distinct(root: Tree, any_row: bool = False) -> Tree:
    """Below a semi, anti or mark join it does not matter how often a row comes, nor in which order, nor, if nothing is asked of
    the row (`any_row`), how many come at most."""
    while (isinstance(root.op, Aggregate) and root.op.keys and not root.op.aggregates) or (
        isinstance(root.op, Limit) and root.op.offset == 0 and (root.op.count is None or (any_row and root.op.count > 0))
    ):
        root = tree_of(root.inputs[0])
    return root


def pulled_join(op: Apply, predicate: Predicate, left: Tree, pulled: Pulled, columns: Columns) -> Tree:
    """The join that an Apply is, its right input taken apart by `pull_up`; `predicate` reads the left columns as its own."""
    values: dict[ColumnId, Scalar] = {id: bound_to(v, left.columns) for id, v in pulled.values.items()}
    if not values or op.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK):
        on, right = as_join(op.kind, predicate, left, pulled)
        return Tree(join_of_kind(op.kind, on, op.mark), (left, right))
    tree = pulled.tree
    if op.kind is not JoinKind.INNER:  # NULL where there is no match, whatever the expression makes of NULLs
        tree, known = with_witness(tree, "matched", columns)
        values = {id: Case(((known, v),), Literal(None, v.type), v.type) for id, v in values.items()}
    on, right = as_join(op.kind, predicate, left, pulled._replace(tree=tree))
    joined = Tree(join_of_kind(op.kind, on, None), (left, right))
    return Tree(Project((*passed_all(joined, columns), *(ProjectItem(id, v) for id, v in values.items()))), (joined,))


def with_witness(tree: Tree, name: str, columns: Columns) -> tuple[Tree, Scalar]:
    """The tree with a column that is TRUE in every row, and what says above an outer join whether a row of the tree is there."""
    there = columns.new(name, BOOL, False).id
    shown = Tree(Project((*passed_all(tree, columns), ProjectItem(there, TRUE))), (tree,))
    return shown, Call("is_not_null", (ColumnRef(there, BOOL),), BOOL)


def as_join(kind: JoinKind, predicate: Predicate, left: Tree, pulled: Pulled) -> tuple[Predicate, Tree]:
    """The join's predicate and right input for conjuncts that were taken up."""
    own = [substitute(s, {id: bound_to(v, left.columns) for id, v in pulled.values.items()}) for s in predicate]
    taken = [bound_to(s, left.columns) for s in pulled.conjuncts]
    right = pulled.tree
    if kind is not JoinKind.MARK:
        return conjunction([*own, *taken]), right
    certain: list[Scalar] = []
    guards: list[Scalar] = []
    known = left.props.not_null | right.props.not_null
    for conjunct in taken:
        if is_not_null(conjunct, known):
            certain.append(conjunct)
            continue
        sides = _equality(conjunct, right.columns)
        guarded = sides is not None and not is_not_null(sides[0], right.props.not_null)
        if sides is None or (guarded and sides[0].raises):  # as a filter it would be asked of rows that meet no other
            certain.append(is_true(conjunct))
            continue
        if guarded:
            guards.append(Call("is_not_null", sides[:1], BOOL))
        certain.append(compare("is_not_distinct_from", *sides))
    return conjunction([*own, *certain]), filtered(conjunction(guards), right)


def _equality(conjunct: Scalar, right: ColumnSet) -> tuple[Scalar, Scalar] | None:
    """(scalar over the right columns, scalar over others) of an equality."""
    if isinstance(conjunct, Call) and conjunct.function == "=":
        a, b = conjunct.args
        for one, other in ((a, b), (b, a)):
            if one.columns and not one.columns & ~right and not other.columns & right:
                return one, other
    return None
