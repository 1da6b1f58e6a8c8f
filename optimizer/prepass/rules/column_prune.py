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

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, union
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    Choice,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    Scan,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import AnyJoin, Apply
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.spools import CteReference
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.types import type_width
from optimizer.prepass.demand import ENDS
from optimizer.rules.interface import RewriteRule, RuleContext


class ColumnPrune(RewriteRule):
    name = "column_prune"
    pattern = ENDS
    covers = True

    def __init__(self, spares: tuple[RewriteRule, ...] = ()) -> None:
        self.spares = spares

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        narrowed = narrow(bound, bound.columns, context)
        return None if narrowed is bound or not isinstance(narrowed, Tree) else narrowed


class _Narrowed(NamedTuple):
    """An operator whose inputs are being narrowed; `op` None: it gives way to its input."""

    op: LogicalOperator | None


class _Left(NamedTuple):
    """The left input of an Apply, which waits until its right one is narrowed."""

    tree: Node


def narrow(root: Tree, needed: ColumnSet, context: RuleContext) -> Node:
    """`root` without the columns outside `needed` that nothing in it reads; the same object when there are none."""
    built: list[Node] = []
    stack: list[tuple[Node, ColumnSet, _Narrowed | _Left | None]] = [(root, needed, None)]
    while stack:
        tree, wanted, done = stack.pop()
        if not isinstance(tree, Tree):
            built.append(tree)
        elif isinstance(done, _Left):
            stack.append((done.tree, (wanted | built[-1].outer) & done.tree.columns, None))
        elif done is not None:
            arity = len(tree.inputs)
            inputs = tuple(built[len(built) - arity :])
            del built[len(built) - arity :]
            op = done.op
            if isinstance(op, Apply):
                inputs = inputs[::-1]
            if op is None:
                built.append(inputs[0])
            else:
                built.append(tree.with_inputs(inputs) if op is tree.op or op == tree.op else Tree(op, inputs))
        else:
            narrowed, below = _narrow_one(tree, wanted & tree.columns, context)
            stack.append((tree, wanted, _Narrowed(narrowed)))
            if isinstance(narrowed, Apply):
                left, right = tree.inputs
                stack.append((tree, below, _Left(left)))
                stack.append((right, below & right.columns, None))
            else:
                stack.extend((child, below & child.columns, None) for child in reversed(tree.inputs))
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
            return replace(scan, columns=columns, order=available_prefix(scan.order, used)), 0
        case CteReference() as reference:
            needed = needed or 1 << narrowest((c.id for c in reference.columns), context)
            return replace(reference, columns=tuple(c for c in reference.columns if needed >> c.id & 1)), 0
        case Values(columns, types, rows):
            keep = [i for i, c in enumerate(columns) if needed >> c & 1 or any(row[i].volatile for row in rows)] or [0]
            return Values(
                tuple(columns[i] for i in keep), tuple(types[i] for i in keep), tuple(tuple(r[i] for i in keep) for r in rows)
            ), 0
        case Project(items):
            kept = tuple(item for item in items if needed >> item.id & 1 or item.value.volatile) or items[:1]
            project = Project(kept)
            return project, project.used_columns()
        case Aggregate(keys, aggregates):
            used_items = tuple(item for item in aggregates if needed >> item.id & 1 or item.call.volatile)
            if not keys and not used_items:
                used_items = aggregates[:1]
            aggregate = Aggregate(keys, used_items)
            return aggregate, aggregate.used_columns()
        case GroupingSets(grouping_keys, sets, aggregates, number):
            grouped = needed | union(sets)
            used_items = tuple(item for item in aggregates if needed >> item.id & 1 or item.call.volatile)
            grouping = GroupingSets(tuple(k for k in grouping_keys if grouped >> k.id & 1), sets, used_items, number)
            return grouping, grouping.used_columns()
        case Window(partition, order, items):
            read = tuple(item for item in items if needed >> item.id & 1 or item.call.volatile)
            if not read:
                return None, needed
            window = Window(partition, order, read)
            return window, needed | window.used_columns()
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


def narrowest(ids: Iterable[ColumnId], context: RuleContext) -> ColumnId:
    """The column that is cheapest to read when only rows are counted: fixed width before strings, then the smallest."""
    return min(ids, key=lambda id: (type_width(context.columns[id].type), id))


def available_prefix(order: Collation, columns: ColumnSet) -> Collation:
    kept = []
    for key in order:
        if not columns >> key.column & 1:
            break
        kept.append(key)
    return tuple(kept)
