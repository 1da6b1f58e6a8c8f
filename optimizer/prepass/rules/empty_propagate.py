"""A tree that is seen to have no rows becomes a VALUES list without rows, and takes what depends on it along.

    σFALSE(A) ≡ ∅        λ0(A) ≡ ∅        A ⋈FALSE B ≡ ∅        π(∅), σ(∅), λ(∅), γK(∅), window(∅) ≡ ∅        ∅ ⋈ A, A ⋉ ∅ ≡ ∅
    γ;count(*),sum(x)(∅) ≡ {(0, NULL)}        A ⟕ ∅ ≡ A with NULLs        A ▷ ∅ ≡ A        A ∩ ∅ ≡ ∅
    A ∪ ∅, A − ∅ ≡ δ(A), with ALL A        A with mark over ∅ ≡ A with mark FALSE        A single ∅ ≡ A with NULLs

Kinds   inner, semi: empty with either side. Left, single, mark, anti: empty with the left; over an empty right (or, the mark
        apart, on a predicate that is never TRUE) every left row without a match. Right the other way round. Full: the other side
        with NULLs. An Apply as the join of its kind; its right input may be empty for all left rows alike
NULLs   a predicate that is always NULL lets no more rows pass than FALSE. The mark over no rows is FALSE, even of a NULL
Rows    the same. Set operations without ALL remove the duplicates of what is left (δ)
Guards  FALSE or NULL as a conjunct makes a predicate never TRUE. What is left out is not computed: it cannot raise any more,
        which is how a plan behaves that asks for no row of one side because the other has none, and volatile calls in it had no
        row to show their value in
"""

from collections.abc import Iterable
from dataclasses import replace

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.building import passed_as, tree_of
from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set
from optimizer.algebra.flags import LIMITED, LISTED, NOT_TRUE
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    AggregateItem,
    Choice,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    ProjectItem,
    Scan,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import AnyJoin
from optimizer.algebra.scalars import FALSE, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.types import INT64
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(
    node((Scan, Filter, AnyJoin, Project, Limit, Window, Choice, Aggregate, GroupingSets, SetOp)),
    openings=NOT_TRUE | LISTED | LIMITED,
)
def empty_propagate(bound: Tree, context: RuleContext) -> Tree | None:
    op = bound.op
    if not (any(map(is_nothing, bound.inputs)) or _has_no_rows(op)):
        return None
    match op:
        case AnyJoin():
            return _join(bound, op.kind, op.predicate, context)
        case Scan() | Filter() | Project() | Limit() | Window() | Choice() | Aggregate(keys=(_, *_)):
            return nothing(bound.columns, context)
        case Aggregate(_, items):
            return _values([_over_nothing(items)], context)
        case GroupingSets():
            return _grouping_sets(op, context)
        case SetOp():
            return _set_operation(op, bound.inputs, context)
    return None


def _has_no_rows(op: LogicalOperator) -> bool:
    """Whether the operator lets no row, or of a join no pair of rows, pass."""
    if isinstance(op, AnyJoin | Filter):
        return _never(op.predicate)
    if isinstance(op, Scan):
        return op.limit == 0 or _never(op.predicate)
    return isinstance(op, Limit) and op.count == 0


def _never(predicate: Predicate) -> bool:
    """Whether the predicate is seen to be TRUE of no row."""
    return bool([c for c in predicate if isinstance(c, Literal) and c.value is not True])


def nothing(columns: ColumnSet, context: RuleContext) -> Tree:
    """No rows, with these columns."""
    ids = tuple(column_ids(columns))
    return Tree(Values(ids, tuple(context.columns[id].type for id in ids), ()))


def is_nothing(node: Node) -> bool:
    """Whether a tree is such a list, or has no more rows than one below."""
    while isinstance(node, Tree) and (
        isinstance(node.op, Filter | Project | Limit | Window) or (isinstance(node.op, AnyJoin) and not node.op.kind.keeps_right)
    ):
        node = node.inputs[0]
    return isinstance(node, Tree) and isinstance(node.op, Values) and not node.op.rows


def _join(bound: Tree, kind: JoinKind, predicate: Predicate, context: RuleContext) -> Tree | None:
    left, right = bound.inputs
    keeps_left = kind.keeps_left or kind in (JoinKind.ANTI, JoinKind.MARK)
    kept = [side for side, keeps in ((left, keeps_left), (right, kind.keeps_right)) if keeps and not is_nothing(side)]
    if not kept:
        return nothing(bound.columns, context)
    if len(kept) == 2:  # a full join that finds no match
        return None
    if kind is JoinKind.ANTI:
        return tree_of(left)
    if kind is JoinKind.MARK and not is_nothing(right) and FALSE not in predicate:  # NULL: over some row the mark is UNKNOWN
        return None
    return _extended(kept[0], bound.columns, context, FALSE if kind is JoinKind.MARK else None)


def _extended(kept: Node, columns: ColumnSet, context: RuleContext, mark: Scalar | None = None) -> Tree:
    """Each row of `kept` with its other columns NULL, or `mark`."""
    items = []
    for id in column_ids(columns):
        type = context.columns[id].type
        other = mark if mark is not None else Literal(None, type)
        items.append(ProjectItem(id, ColumnRef(id, type) if kept.columns >> id & 1 else other))
    return Tree(Project(tuple(items)), (kept,))


def _over_nothing(items: Iterable[AggregateItem]) -> dict[ColumnId, Literal]:
    return {item.id: Literal(AGGREGATE_FUNCTIONS[item.call.function].empty_value, item.call.type) for item in items}


def _values(rows: list[dict[ColumnId, Literal]], context: RuleContext) -> Tree:
    ids = tuple(rows[0])
    types = tuple(context.columns[id].type for id in ids)
    return Tree(Values(ids, types, tuple(tuple(row[id] for id in ids) for row in rows)))


def _grouping_sets(op: GroupingSets, context: RuleContext) -> Tree:
    """Only a set without keys has a row over no rows."""
    empty = {key.id: Literal(None, context.columns[key.id].type) for key in op.keys}
    rows = [
        {**empty, **_over_nothing(op.aggregates), op.number: Literal(number, INT64)}
        for number, keys in enumerate(op.sets)
        if not keys
    ]
    return _values(rows, context) if rows else nothing(op.output_columns(()), context)


def _set_operation(op: SetOp, inputs: tuple[Node, ...], context: RuleContext) -> Tree | None:
    """The operation without its empty inputs; of a single one its rows, under the names of the columns of `op`."""
    if op.kind is SetOpKind.INTERSECT or all(map(is_nothing, inputs[:1] if op.kind is SetOpKind.EXCEPT else inputs)):
        return nothing(column_set(op.columns), context)
    kept = [(each, source) for each, source in zip(inputs, op.sources, strict=True) if not is_nothing(each)]
    branches, sources = zip(*kept, strict=True)
    if len(kept) > 1:
        return Tree(replace(op, sources=sources), branches)
    rest = Tree(Project(passed_as(op.columns, sources[0], context.columns)), branches)
    return rest if op.all else Tree(Aggregate(op.columns, ()), (rest,))
