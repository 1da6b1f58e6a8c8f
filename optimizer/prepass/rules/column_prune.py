"""Columns that nobody reads are not produced: scans, projections, aggregates, windows, unions are narrowed.

    πe(A)  ≡  πe(A')        A' = A without the columns that e, and no operator between, reads

One walk from an operator where columns end, down to the spares. At least one column is kept everywhere, so that rows can still
be counted. The left input of an Apply keeps what the right one, once narrowed, reads of it. A window of which nobody reads
anything disappears. Every alternative of a Choice is narrowed to the same columns.

Kinds         all; a semi or anti join reads its right input in its predicate only, and so does a mark join
NULLs, rows   untouched: no row is added or removed
Guards        keys of an aggregate, those in some grouping set, and columns of INTERSECT and EXCEPT decide which rows there are,
              so all of them stay; what is volatile stays, read or not
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from typing import TypeVar

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, union
from optimizer.algebra.kinds import SetOpKind
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
    WindowItem,
)
from optimizer.algebra.logical_joins import AnyJoin, Apply
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.spools import CteReference
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.types import type_width
from optimizer.prepass.demand import ENDS
from optimizer.rules.interface import RewriteRule, RuleContext

Item = TypeVar("Item", ProjectItem, AggregateItem, WindowItem)


class ColumnPrune(RewriteRule):
    name = "column_prune"
    pattern = ENDS
    covers = True
    scans = True  # are narrowed too

    def __init__(self, spares: tuple[RewriteRule, ...] = ()) -> None:
        self.spares = spares

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        narrowed = narrow(bound, bound.columns, context, self.scans)
        return None if narrowed is bound or not isinstance(narrowed, Tree) else narrowed


def narrow(root: Tree, needed: ColumnSet, context: RuleContext, scans: bool = True) -> Node:
    """`root` without the columns outside `needed` that nothing in it reads; the same object when there are none. `scans`: these
    are narrowed too."""
    built: list[Node] = []
    done: dict[tuple[int, ColumnSet], Node] = {}  # a vertex that stands in several places, as below a choice, is done once
    # with an operator: the narrowed one, whose inputs are done by then; an Apply's left input waits until the right one is
    stack: list[tuple[Node, ColumnSet, LogicalOperator | None, bool]] = [(root, needed, None, False)]
    while stack:
        tree, wanted, op, left_waits = stack.pop()
        if not isinstance(tree, Tree):
            built.append(tree)
        elif left_waits:
            left = tree.inputs[0]
            stack.append((left, (wanted | built[-1].outer) & left.columns, None, False))
        elif op is not None:
            arity = len(tree.inputs)
            inputs = tuple(built[len(built) - arity :])
            del built[len(built) - arity :]
            if isinstance(op, Apply):
                inputs = inputs[::-1]
            built.append(tree.with_inputs(inputs) if op is tree.op or op == tree.op else Tree(op, inputs))
            done[id(tree), wanted & tree.columns] = built[-1]
        elif (known := done.get((id(tree), wanted & tree.columns))) is not None:
            built.append(known)
        else:
            scan = not scans and isinstance(tree.op, Scan)
            op, below = (tree.op, 0) if scan else _narrow_one(tree, wanted & tree.columns, context)
            first = tree.inputs
            if op is not None:
                stack.append((tree, wanted, op, False))
            if isinstance(op, Apply):
                stack.append((tree, below, None, True))
                first = tree.inputs[1:]
            stack.extend((child, below & child.columns, None, False) for child in reversed(first))
    return built[0]


def _narrow_one(tree: Tree, needed: ColumnSet, context: RuleContext) -> tuple[LogicalOperator | None, ColumnSet]:
    """The narrowed operator (None: it does nothing any more), and the columns it reads of its inputs."""
    if isinstance(tree.op, (AnyJoin, Filter, Limit)):  # what an input does not have is taken away by the caller
        return tree.op, needed | tree.op.used_columns()
    match tree.op:
        case Scan() as scan:
            used = needed | predicate_columns(scan.predicate)
            used = used or 1 << narrowest((c.id for c in scan.columns), context)
            if not tree.columns & ~used:
                return scan, 0
            columns = tuple([c for c in scan.columns if used >> c.id & 1])
            return replace(scan, columns=columns, order=tuple(takewhile(lambda key: used >> key.column & 1, scan.order))), 0
        case CteReference() as reference:
            needed = needed or 1 << narrowest((c.id for c in reference.columns), context)
            return replace(reference, columns=tuple(c for c in reference.columns if needed >> c.id & 1)), 0
        case Values(columns=(_,)):
            return tree.op, 0
        case Values(columns, types, rows):
            keep = [i for i, c in enumerate(columns) if needed >> c & 1 or any(row[i].volatile for row in rows)] or [0]
            return Values(
                tuple(columns[i] for i in keep), tuple(types[i] for i in keep), tuple(tuple(r[i] for i in keep) for r in rows)
            ), 0
        case Project(items):
            project = Project(_read(items, needed))
            return (project, project.used_columns()) if project.items else (None, 0)
        case Aggregate(keys, aggregates):
            aggregate = Aggregate(keys, _read(aggregates, needed) or (() if keys else aggregates[:1]))
            return aggregate, aggregate.used_columns()
        case GroupingSets(grouping_keys, sets, aggregates, number):
            grouped = needed | union(sets)
            kept = tuple(k for k in grouping_keys if grouped >> k.id & 1)
            grouping = GroupingSets(kept, sets, _read(aggregates, needed), number)
            return grouping, grouping.used_columns()
        case Window(partition, order, windows):
            window = Window(partition, order, _read(windows, needed))
            return (window, needed | window.used_columns()) if window.items else (None, needed)
        case SetOp(SetOpKind.UNION, True, columns, sources) as op:
            keep = [i for i, c in enumerate(columns) if needed >> c & 1] or [0]
            op = replace(op, columns=tuple(columns[i] for i in keep), sources=tuple(tuple(s[i] for i in keep) for s in sources))
            return op, op.used_columns()
        case SetOp() as op:
            return op, op.used_columns()
        case Choice(columns):
            choice = Choice(needed or 1 << narrowest(column_ids(columns), context))
            return choice, choice.columns
    return tree.op, needed | tree.op.used_columns()


def _read(items: tuple[Item, ...], needed: ColumnSet) -> tuple[Item, ...]:
    """Those that somebody reads, and what is volatile."""
    return tuple(item for item in items if needed >> item.id & 1 or item[1].volatile)


def narrowest(ids: Iterable[ColumnId], context: RuleContext) -> ColumnId:
    """The column that is cheapest to read when only rows are counted: fixed width before strings, then the smallest."""
    return min(ids, key=lambda id: (type_width(context.columns[id].type), id))
