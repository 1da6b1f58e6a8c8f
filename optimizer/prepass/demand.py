"""What is demanded of a join: which of its columns are read above, and whether it matters how often its rows come.

Columns end at projections, aggregates, set operations and choices, and on the right of a semi, anti or mark join. From such an
operator the demand travels down to the next one:

    needed   the columns that something above reads
    once     duplicates do not matter: only which distinct rows there are (below DISTINCT, which UNION is too, below min and max,
             on the right of a semi, anti or mark join)

Joins are here all operators that join: also mark and single joins, and Apply, whose right input reads columns of the left one.
"""

from __future__ import annotations

from collections.abc import Callable

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.columns import ColumnSet, column_set
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import Aggregate, Choice, Filter, GroupingSets, Limit, Project, SetOp, Window
from optimizer.algebra.logical_joins import AnyJoin, Apply
from optimizer.algebra.rebuild import map_down
from optimizer.algebra.scalars import AggregateCall
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import node

Reduce = Callable[[Tree, ColumnSet, bool], Node | None]
Demand = tuple[ColumnSet, bool]


# operators that do not pass on all columns of their inputs
ENDS = node(
    (Project, Aggregate, GroupingSets, SetOp, Choice, AnyJoin),
    where=lambda op: not isinstance(op, AnyJoin) or op.kind.left_only or op.kind is JoinKind.MARK,
)


def reduce_joins(root: Tree, reduce: Reduce) -> Tree | None:
    """`root` with its joins replaced by what `reduce(join, needed, once)` gives for them, where it is not None.

    `needed` does not count what the join itself reads. Only joins up to the next operator where columns end are asked; those
    below have that operator for a root. None when nothing was replaced.
    """
    inputs = list(root.inputs)
    for i, (child, demand) in enumerate(zip(root.inputs, starts(root), strict=True)):
        if demand is not None:
            inputs[i] = _reduced(child, demand, reduce)
    changed = root.with_inputs(tuple(inputs))
    return None if changed is root else changed


def ignores_duplicates(call: AggregateCall) -> bool:
    """Whether the aggregate is the same over the distinct rows of its input."""
    return not call.volatile and (call.distinct or AGGREGATE_FUNCTIONS[call.function].duplicate_insensitive)


def starts(root: Tree) -> list[Demand | None]:
    """What an operator where columns end demands of each input; None: it is no such operator for that input."""
    match root.op:
        case Project() as project:
            return [(project.used_columns(), False)]
        case Aggregate(aggregates=aggregates) | GroupingSets(aggregates=aggregates) as aggregate:
            return [(aggregate.used_columns(), all(ignores_duplicates(item.call) for item in aggregates))]
        case SetOp(all=all_, sources=sources):
            return [(column_set(source), not all_) for source in sources]
        case AnyJoin() as join if join.kind.left_only or join.kind is JoinKind.MARK:
            return [None, (join.used_columns(), not any(s.volatile for s in join.predicate))]
        case Choice(columns):
            return [(columns, False) for _ in root.inputs]
    return [None for _ in root.inputs]


def _reduced(start: Node, demand: Demand | None, reduce: Reduce) -> Node:
    def visit(node: Node, wanted: Demand | None) -> Node | tuple[Tree, list[Demand | None]]:
        while wanted is not None and isinstance(node, Tree) and node.inputs:
            other = reduce(node, *wanted) if isinstance(node.op, AnyJoin) else None
            if other is None:
                return node, _passed(node, wanted)
            node = other
        return node

    return map_down(start, demand, visit)


def _passed(tree: Tree, demand: Demand) -> list[Demand | None]:
    """The demand on each input of an operator that is no end of columns; None where it is one."""
    needed, once = demand
    match tree.op:
        case Filter(predicate) as op:
            return [(needed | op.used_columns(), once and not any(s.volatile for s in predicate))]
        case AnyJoin() as op:
            read, same = needed | op.used_columns(), once and not any(s.volatile for s in op.predicate)
            ends = op.kind.left_only or op.kind is JoinKind.MARK
            to_right = None if ends else (read, same and op.kind is not JoinKind.SINGLE)  # twice from there is an error
            if isinstance(op, Apply):
                right = tree.inputs[1]
                read, same = read | right.outer, same and not right.volatile
            return [(read, same), to_right]
        case Limit() | Window() as op:
            return [(needed | op.used_columns(), False)]
        case Project() as op if once and not any(item.value.volatile for item in op.items):
            return [(op.used_columns(), True)]
        case SetOp(SetOpKind.UNION, sources=sources) if once:  # not EXCEPT ALL: how often a row comes decides whether any is left
            return [(column_set(source), True) for source in sources]
    return [None for _ in tree.inputs]
