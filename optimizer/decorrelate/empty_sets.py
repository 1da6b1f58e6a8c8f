"""Grouping sets with an empty set among them as a union: the others together, and each empty set as a scalar aggregate.

    Γ_{S, ∅; f}(A)  ≡  Γ_{S; f}(A) ∪all π_{NULLs, f}(Γ_{; f}(A'))        A': A under other column ids

An empty set has a row also where there is no input, so unnesting has to treat it as what it is.
"""

from typing import cast

from optimizer.algebra.building import passed_all, passed_as
from optimizer.algebra.columns import ColumnId, Columns, column_ids, column_set
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, AggregateItem, GroupingKey, GroupingSets, Project, ProjectItem, SetOp
from optimizer.algebra.predicates import compare
from optimizer.algebra.rebuild import copy_tree, renamed_scalar
from optimizer.algebra.scalars import AggregateCall, Case, ColumnRef, Literal
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT64

Part = tuple[Tree, tuple[ColumnId, ...]]  # a branch of the union, and which of its columns are those of `out`


def apart(op: GroupingSets, below: Tree, columns: Columns) -> Tree:
    """The rows of `op` over `below`; `number` still says which set of `op` a row is of."""
    out = [*(k.id for k in op.keys), *(i.id for i in op.aggregates), op.number]
    others = [i for i, each in enumerate(op.sets) if each]
    parts = [_together(op, others, below, out, columns)] if others else []
    parts += [_scalar(op, i, below, out, columns) for i, each in enumerate(op.sets) if not each]
    if len(parts) == 1:
        ((tree, source),) = parts
        return Tree(Project(passed_as(out, source, columns)), (tree,))
    union = SetOp(SetOpKind.UNION, True, tuple(out), tuple(source for _, source in parts))
    return Tree(union, tuple(tree for tree, _ in parts))


def _together(op: GroupingSets, sets: list[int], below: Tree, out: list[ColumnId], columns: Columns) -> Part:
    """The sets at these positions, which are not empty, over a copy of the input."""
    tree, new = copy_tree(below, columns)
    fresh = {c: columns.like(c) for c in out}
    keys = tuple(GroupingKey(fresh[k.id], new[k.source]) for k in op.keys)
    kept = tuple(column_set(fresh[c] for c in column_ids(op.sets[i])) for i in sets)
    grouped = Tree(GroupingSets(keys, kept, _calls(op, fresh, new), fresh[op.number]), (tree,))
    if sets != list(range(len(sets))):  # the positions of the sets, as they were
        number = columns.new("number", INT64, False).id
        position = ColumnRef(fresh[op.number], INT64)
        branches = tuple((compare("=", position, Literal(k, INT64)), Literal(i, INT64)) for k, i in enumerate(sets))
        item = ProjectItem(number, Case(branches, position, INT64))
        grouped = Tree(Project((*passed_all(grouped, columns), item)), (grouped,))
        fresh[op.number] = number
    return grouped, tuple(fresh[c] for c in out)


def _scalar(op: GroupingSets, position: int, below: Tree, out: list[ColumnId], columns: Columns) -> Part:
    """The empty set at this position, over a copy of the input."""
    tree, new = copy_tree(below, columns)
    fresh = {c: columns.like(c) for c in out}
    calls = _calls(op, fresh, new)
    if not calls:
        calls = (AggregateItem(columns.new("count", INT64, False).id, AggregateCall("count", (), False, None, INT64)),)
    scalar = Tree(Aggregate((), calls), (tree,))
    items = [ProjectItem(fresh[k.id], Literal(None, columns[k.id].type)) for k in op.keys]
    items.append(ProjectItem(fresh[op.number], Literal(position, INT64)))
    return Tree(Project((*passed_all(scalar, columns), *items)), (scalar,)), tuple(fresh[c] for c in out)


def _calls(op: GroupingSets, fresh: dict[ColumnId, ColumnId], new: dict[ColumnId, ColumnId]) -> tuple[AggregateItem, ...]:
    return tuple(AggregateItem(fresh[i.id], cast(AggregateCall, renamed_scalar(i.call, new))) for i in op.aggregates)
