"""Trees made anew: other scalars in the same shape, the same rows under fresh column ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from optimizer.algebra.building import tree_of
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set, union
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import (
    Aggregate,
    AggregateItem,
    Choice,
    Filter,
    GroupingKey,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    ProjectItem,
    Scan,
    ScanColumn,
    ScanForeignKey,
    SetOp,
    Values,
    Window,
    WindowItem,
)
from optimizer.algebra.logical_joins import AnyJoin, Apply, MarkJoin
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalar_trees import rewrite
from optimizer.algebra.scalars import ColumnRef, OuterRef, Scalar
from optimizer.algebra.series import Series
from optimizer.algebra.spools import CteReference, Recursion, Spool, SpoolColumn, With
from optimizer.algebra.subqueries import AnySubquery, ScalarSubquery, Subquery, has_subquery, trees_of
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Node, Tree, postorder

Change = Callable[[Scalar], Scalar]


def map_scalars(op: LogicalOperator, change: Change) -> LogicalOperator:
    """The operator with `change` made to each scalar of its payload; itself where nothing changed."""
    before = op.scalars()
    after = [change(scalar) for scalar in before]
    if all(a is b for a, b in zip(before, after, strict=True)):
        return op
    left = iter(after)
    return rebuilt(op, lambda id: id, lambda scalar: next(left))


def map_tree(root: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """The tree rebuilt bottom-up: `change` sees each node with its inputs already changed. Shared nodes stay shared."""
    done: dict[int, Node] = {}
    for node in postorder(root):
        if isinstance(node, Tree):
            done[id(node)] = change(node.with_inputs(tuple(done[id(i)] for i in node.inputs)))
        else:
            done[id(node)] = node
    return tree_of(done[id(root)])


S = TypeVar("S")


def map_down(root: Node, state: S, visit: Callable[[Node, S], Node | tuple[Tree, Sequence[S]]]) -> Node:
    """The tree rebuilt from the root down; the same object where nothing changed. Iterative.

    `visit` sees each node with the state that the operator above has for it (the root: `state`), and says what stands in its
    place: a node that is done with, or a tree and the states for its inputs, which are visited next.
    """
    built: list[Node] = []
    stack: list[tuple[Node, S, Tree | None]] = [(root, state, None)]
    while stack:
        node, state, done = stack.pop()
        if done is not None:
            first = len(built) - len(done.inputs)
            inputs = tuple(built[first:])
            del built[first:]
            built.append(done.with_inputs(inputs))
            continue
        found = visit(node, state)
        if isinstance(found, tuple):
            tree, states = found
            stack.append((tree, state, tree))
            stack.extend((below, each, None) for below, each in zip(reversed(tree.inputs), reversed(states), strict=True))
        else:
            built.append(found)
    return built[0]


def map_everywhere(root: Tree, change: Callable[[Tree], Tree], done: dict[int, Tree] | None = None) -> Tree:
    """As `map_tree`, also in the trees of subqueries, which come before the operators that they stand in. One that stands in two
    places stays one: `done` has them by the ids of the trees that they were."""
    made = {} if done is None else done

    def inside(part: Scalar) -> Scalar | None:
        if not isinstance(part, Subquery):
            return None
        known = made.get(id(part.tree))
        if known is None:
            known = made[id(part.tree)] = map_everywhere(part.tree, change, made)
        return None if known is part.tree else part.with_tree(known)

    def one(tree: Tree) -> Tree:
        return change(_with_scalars(tree, lambda scalar: rewrite(scalar, inside) if has_subquery(scalar) else scalar))

    return map_tree(root, one)


def map_tree_scalars(root: Tree, change: Change) -> Tree:
    """The tree with `change` made to every scalar in it, also in the trees of subqueries."""
    return map_everywhere(root, lambda tree: _with_scalars(tree, change))


def _with_scalars(tree: Tree, change: Change) -> Tree:
    op = map_scalars(tree.op, change)
    return tree if op is tree.op else Tree(op, tree.inputs)


def replace_outer(root: Tree, values: Mapping[ColumnId, Scalar]) -> Tree:
    """The tree with references to outer columns replaced by `values`."""
    wanted = column_set(values)

    def change(scalar: Scalar) -> Scalar:
        if not scalar.outer & wanted:
            return scalar
        return rewrite(scalar, lambda s: values.get(s.id) if isinstance(s, OuterRef) else None)

    return map_tree_scalars(root, change) if root.outer & wanted else root


def defined_columns(node: Tree) -> ColumnSet:
    """The columns that come into being at this operator, and not below it."""
    return node.columns & ~union(below.columns for below in node.inputs)


def copy_tree(
    root: Tree, columns: Columns, known: Mapping[ColumnId, ColumnId] = MappingProxyType({})
) -> tuple[Tree, dict[ColumnId, ColumnId]]:
    """The same rows under fresh column ids, and which id became which; `known`: what some are to become. References to outer
    columns stay."""
    new = dict(known)
    for node in trees_of(root):
        for id in column_ids(defined_columns(node)):
            if id not in new:
                new[id] = columns.copy(id)
    return renamed_tree(root, new), new


def renamed(op: LogicalOperator, new: Mapping[ColumnId, ColumnId]) -> LogicalOperator:
    """The operator with each column `c` called `new[c]`, where there is one, whether it makes it, reads it or knows of it."""
    return rebuilt(op, lambda id: new.get(id, id), lambda scalar: renamed_scalar(scalar, new))


def rebuilt(op: LogicalOperator, one: Callable[[ColumnId], ColumnId], call: Callable[[Scalar], Any]) -> LogicalOperator:
    """The operator with `one` made to each of its columns and `call` to each of its scalars, in the order of `scalars`."""

    def many(ids: ColumnSet) -> ColumnSet:
        return column_set(one(id) for id in column_ids(ids))

    def order(collation: Collation) -> Collation:
        return tuple(key._replace(column=one(key.column)) for key in collation)

    match op:
        case Scan():
            return replace(
                op,
                columns=tuple(ScanColumn(one(c.id), c.source) for c in op.columns),
                keys=tuple(many(k) for k in op.keys),
                not_null=many(op.not_null),
                order=order(op.order),
                predicate=conjunction(map(call, op.predicate)),
                foreign_keys=tuple(ScanForeignKey(tuple(map(one, f.columns)), f.table, f.referenced) for f in op.foreign_keys),
            )
        case Values(ids, types, rows):
            made = rows if isinstance(rows, Series) else tuple(tuple(map(call, row)) for row in rows)
            return Values(tuple(map(one, ids)), types, made)
        case Filter() | JoinGraph():
            return replace(op, predicate=conjunction(map(call, op.predicate)))
        case MarkJoin(predicate, mark) | Apply(JoinKind.MARK, predicate, int() as mark):
            return replace(op, predicate=conjunction(map(call, predicate)), mark=one(mark))
        case AnyJoin():
            return op.with_predicate(conjunction(map(call, op.predicate)))
        case Project(items):
            return Project(tuple(ProjectItem(one(i.id), call(i.value)) for i in items))
        case Aggregate(keys, aggregates):
            return Aggregate(tuple(map(one, keys)), tuple(AggregateItem(one(i.id), call(i.call)) for i in aggregates))
        case GroupingSets(grouping_keys, sets, aggregates, number):
            return GroupingSets(
                tuple(GroupingKey(one(k.id), one(k.source)) for k in grouping_keys),
                tuple(map(many, sets)),
                tuple(AggregateItem(one(i.id), call(i.call)) for i in aggregates),
                one(number),
            )
        case Window(partition, by, calls):
            return Window(tuple(map(one, partition)), order(by), tuple(WindowItem(one(i.id), call(i.call)) for i in calls))
        case Limit():
            return replace(op, order=order(op.order))
        case SetOp() | Recursion():
            return replace(op, columns=tuple(map(one, op.columns)), sources=tuple(tuple(map(one, s)) for s in op.sources))
        case Choice(ids):
            return Choice(many(ids))
        case CteReference():
            read = tuple(SpoolColumn(one(c.id), c.source) for c in op.columns)
            return replace(op, columns=read, keys=tuple(many(k) for k in op.keys), not_null=many(op.not_null))
        case With() | Spool():
            return op
    raise AssertionError(f"{op.name} does not say how its columns are renamed")


def renamed_scalar(scalar: Scalar, new: Mapping[ColumnId, ColumnId]) -> Scalar:
    """The scalar with references to other columns, which have the same values; outer ones too."""

    def change(part: Scalar) -> Scalar | None:
        match part:
            case ColumnRef():
                return ColumnRef(new[part.id], part.type) if part.id in new else None
            case OuterRef():
                return OuterRef(new[part.id], part.type) if part.id in new else None
            case ScalarSubquery():
                return ScalarSubquery(renamed_tree(part.tree, new), new.get(part.column, part.column), part.type)
            case AnySubquery():
                right = tuple(renamed_scalar(s, new) for s in part.right)
                return AnySubquery(part.function, part.left, right, renamed_tree(part.tree, new))
        return None

    return rewrite(scalar, change, same_values=True)


def renamed_tree(root: Tree, new: Mapping[ColumnId, ColumnId]) -> Tree:
    return map_tree(root, lambda tree: Tree(renamed(tree.op, new), tree.inputs))
