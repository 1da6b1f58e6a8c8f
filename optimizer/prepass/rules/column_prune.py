"""Columns that nobody reads are not produced: scans, projections, aggregates and unions are narrowed.

    πe(A)  ≡  πe(A')        A' = A without the columns that e, and no operator between, reads

One walk from a projection or aggregate, where columns end, down to the leaves. At least one column is kept everywhere, so
that rows can still be counted.

NULLs, rows   untouched: no row is added or removed
Guards        keys of an aggregate and columns of INTERSECT and EXCEPT decide which rows there are, so all of them stay
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from optimizer.algebra.columns import ColumnId, ColumnSet
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, Filter, Join, Limit, LogicalOperator, Project, Scan, SetOp, Values
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import RewriteRule, RuleContext, node
from optimizer.stats.estimator import type_width


class ColumnPrune(RewriteRule):
    name = "column_prune"
    pattern = node(LogicalOperator)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        if not isinstance(bound.op, Project | Aggregate):
            return None
        narrowed = narrow(bound, bound.columns, context)
        return None if narrowed is bound else narrowed


def narrow(root: Tree, needed: ColumnSet, context: RuleContext) -> Tree:
    """`root` without the columns outside `needed` that nothing in it reads; the same object when there are none."""
    built: list[Node] = []
    stack: list[tuple[Node, ColumnSet, LogicalOperator | None]] = [(root, needed, None)]
    while stack:
        tree, wanted, done = stack.pop()
        if not isinstance(tree, Tree):
            built.append(tree)
        elif done is not None:
            arity = len(tree.inputs)
            inputs = tuple(built[len(built) - arity :])
            del built[len(built) - arity :]
            same = (done is tree.op or done == tree.op) and all(a is b for a, b in zip(inputs, tree.inputs, strict=True))
            built.append(tree if same else Tree(done, inputs))
        else:
            op, below = _narrow_one(tree, wanted & tree.columns, context)
            stack.append((tree, wanted, op))
            stack.extend((child, below & child.columns, None) for child in reversed(tree.inputs))
    result = built[0]
    assert isinstance(result, Tree)
    return result


def _narrow_one(tree: Tree, needed: ColumnSet, context: RuleContext) -> tuple[LogicalOperator, ColumnSet]:
    """The narrowed operator, and the columns it reads of its inputs."""
    match tree.op:
        case Scan() as scan:
            used = needed
            for conjunct in scan.predicate:
                used |= conjunct.columns
            used = used or 1 << narrowest((c.id for c in scan.columns), context)
            if not tree.columns & ~used:
                return scan, 0
            columns = tuple(c for c in scan.columns if used >> c.id & 1)
            return replace(scan, columns=columns, order=available_prefix(scan.order, used)), 0
        case Values(columns, types, rows):
            keep = [i for i, c in enumerate(columns) if needed >> c & 1] or [0]
            return Values(
                tuple(columns[i] for i in keep), tuple(types[i] for i in keep), tuple(tuple(r[i] for i in keep) for r in rows)
            ), 0
        case Filter() | Join() | Limit() as op:
            return op, needed | op.used_columns()
        case Project(items):
            kept = tuple(item for item in items if needed >> item.id & 1) or items[:1]
            project = Project(kept)
            return project, project.used_columns()
        case Aggregate(keys, aggregates):
            used_items = tuple(item for item in aggregates if needed >> item.id & 1)
            if not keys and not used_items:
                used_items = aggregates[:1]
            aggregate = Aggregate(keys, used_items)
            return aggregate, aggregate.used_columns()
        case SetOp(SetOpKind.UNION, True, columns, sources) as op:
            keep = [i for i, c in enumerate(columns) if needed >> c & 1] or [0]
            op = replace(op, columns=tuple(columns[i] for i in keep), sources=tuple(tuple(s[i] for i in keep) for s in sources))
            return op, op.used_columns()
    return tree.op, tree.op.used_columns()


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
