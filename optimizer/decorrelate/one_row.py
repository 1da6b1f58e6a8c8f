"""A subquery that has exactly one row for each binding: a scalar aggregate, with projections and filters on top.

    L A⊗ π_v(σ_h(Γ¹_f(E)))  ≡  above( L ⟕_{F ≐ r} Γ_{r; f}(E') )

E' is E with the bindings as columns r (`general`). Every left row meets at most one group; where it meets none, its aggregates
have their values over no rows (count 0, others NULL), put in place right above the join, and h and v are computed from those.
No domain is needed: the left input is one (Neumann and Kemper, BTW 2015; Galindo-Legaria and Joshi, SIGMOD 2001, rule 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.building import filtered, passed_all, tree_of
from optimizer.algebra.columns import ColumnId, Columns
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, AggregateItem, Filter, Limit, Project, ProjectItem
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.predicates import conjunction, predicate_scalar
from optimizer.algebra.scalar_trees import bound_to, substitute
from optimizer.algebra.scalars import BOOL, FALSE, Call, Case, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.state import Held, local_calls, meet
from optimizer.prepass.movable import grow


class OneRow(NamedTuple):
    """`aggregate` without keys; `values`: the columns of the subquery over its columns; `condition`: whether the row is there."""

    aggregate: Tree
    values: dict[ColumnId, Scalar]
    condition: Predicate


def one_row(root: Tree) -> OneRow | None:
    """The tree as a scalar aggregate under projections and filters; None if it is something else."""
    chain: list[Tree] = []
    node = root
    while not (isinstance(node.op, Aggregate) and not node.op.keys):
        if not isinstance(node.op, Project | Filter) and not (
            isinstance(node.op, Limit) and node.op.offset == 0 and (node.op.count is None or node.op.count > 0)
        ):
            return None
        chain.append(node)
        node = tree_of(node.inputs[0])
    assert isinstance(node.op, Aggregate)
    values: dict[ColumnId, Scalar] = {item.id: ColumnRef(item.id, item.call.type) for item in node.op.aggregates}
    condition: list[Scalar] = []
    for step in reversed(chain):
        scalars = step.op.scalars()
        if any(s.volatile for s in scalars) or grow(scalars, values):
            return None
        match step.op:
            case Project(items):
                values = {item.id: substitute(item.value, values) for item in items}
            case Filter(predicate):
                condition += [substitute(s, values) for s in predicate]
    return OneRow(node, values, conjunction(condition))


def with_empty_values(
    aggregates: tuple[AggregateItem, ...], columns: Columns
) -> tuple[tuple[AggregateItem, ...], tuple[ProjectItem, ...]]:
    """The aggregates under other ids where they are not NULL over no rows, and the items that give each its value under its own
    id when the group may be missing."""
    below: list[AggregateItem] = []
    above: list[ProjectItem] = []
    for item in aggregates:
        empty = AGGREGATE_FUNCTIONS[item.call.function].empty_value
        if empty is None:
            below.append(item)
            above.append(ProjectItem(item.id, ColumnRef(item.id, item.call.type)))
            continue
        id = columns.like(item.id)
        below.append(AggregateItem(id, item.call))
        value = Call("coalesce", (ColumnRef(id, item.call.type), Literal(empty, item.call.type)), item.call.type)
        above.append(ProjectItem(item.id, value))
    return tuple(below), tuple(above)


def is_true(*predicate: Scalar) -> Scalar:
    """Whether a predicate is TRUE: never UNKNOWN."""
    return Call("coalesce", (predicate_scalar(predicate), FALSE), BOOL)


def row_for_each(
    aggregates: tuple[AggregateItem, ...], bindings: Tree, held: Held, below: Tree, inside: Held, columns: Columns
) -> Tree:
    """A scalar aggregate for each of the `bindings`, also those without rows in `below`: D ⟕ Γ_D, the values over no rows put in.

    `held`, `inside`: where the bindings are in `bindings` and in `below`.
    """
    calls, patched = with_empty_values(aggregates, columns)
    grouped = Tree(Aggregate(tuple(dict.fromkeys(inside.values())), local_calls(calls, inside)), (below,))
    on = conjunction(meet(bindings, held, grouped, inside, False, columns))
    return Tree(Project((*passed_all(bindings, columns), *patched)), (Tree(Join(JoinKind.LEFT, on), (bindings, grouped)),))


def over_one_row(
    op: Apply, predicate: Predicate, left: Tree, found: OneRow, below: Tree, repr: Mapping[ColumnId, ColumnId], columns: Columns
) -> Tree:
    """The Apply of a scalar aggregate: a left outer join with its groups, and what stands above the aggregate above the join.

    `below`: the input of the aggregate for each binding, the bindings in the columns `repr`.
    """
    aggregate = found.aggregate.op
    assert isinstance(aggregate, Aggregate)
    tree = row_for_each(aggregate.aggregates, left, {outer: outer for outer in repr}, below, repr, columns)
    return above(op, predicate, left, found, tree, columns)


def above(op: Apply, predicate: Predicate, left: Tree, found: OneRow, tree: Tree, columns: Columns) -> Tree:
    """What an Apply gives whose right input is `found`; `tree` has the left rows, each with the aggregates of its binding."""
    values: dict[ColumnId, Scalar] = {id: bound_to(v, left.columns) for id, v in found.values.items()}
    condition = tuple(bound_to(s, left.columns) for s in found.condition)
    tested = tuple(substitute(s, values) for s in predicate)

    def with_values(tree: Tree, values: Mapping[ColumnId, Scalar]) -> Tree:
        return Tree(Project((*passed_all(left, columns), *(ProjectItem(id, v) for id, v in values.items()))), (tree,))

    every = conjunction([*condition, *tested])
    match op.kind:
        case JoinKind.INNER:
            return with_values(filtered(every, tree), values)
        case JoinKind.SEMI:
            return filtered(every, tree)
        case JoinKind.ANTI:
            return Tree(Filter((Call("not", (is_true(*every),), BOOL) if every else FALSE,)), (tree,))
        case JoinKind.MARK:
            assert op.mark is not None
            mark: Scalar = predicate_scalar(tested)
            if condition:
                mark = Case(((is_true(*condition), mark),), FALSE, BOOL)
            return with_values(tree, {op.mark: mark})
    assert op.kind in (JoinKind.LEFT, JoinKind.SINGLE), f"an apply of kind {op.kind.value}"
    if every:
        taken = is_true(*every)
        values = {id: Case(((taken, v),), Literal(None, v.type), v.type) for id, v in values.items()}
    return with_values(tree, values)
