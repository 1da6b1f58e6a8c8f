"""Aggregates in the branches of a union, and one over their results.

    γK;f(A ∪ B)  ≡  γK;f″(γK;f′(A) ∪ γK;f′(B))        ∪ with ALL

f′ are partial aggregates, f″ adds them up (partial_aggregates.py). Without aggregates: duplicates are removed in the
branches, and then once more.

NULLs   safe: grouping takes NULL for a value; sums and extremes pass over NULL on both steps
Rows    the same groups. Without K every branch gives one row, of no rows too: counts are 0 there, everything else NULL
Guards  some branch is not unique on its K, else nothing is grouped (a branch grouped once is unique); no DISTINCT aggregate,
        nothing volatile, no sum of decimals so long that part of it might overflow
Source  Yan and Larson, Eager Aggregation and Lazy Aggregation, VLDB 1995 (partial aggregation); as in any parallel database
"""

from collections.abc import Sequence

from optimizer.algebra.building import reference
from optimizer.algebra.columns import ColumnId, column_set
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, AggregateItem, SetOp
from optimizer.algebra.scalar_trees import substitute
from optimizer.algebra.scalars import AggregateCall, Scalar
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RuleContext, TransformationRule, node
from optimizer.rules.transform.partial_aggregates import TwoSteps, may_overflow, partial_item


class AggregateSplitUnion(TransformationRule):
    name = "aggregate_split_union"
    pattern = node(Aggregate, node(SetOp))

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Aggregate(keys, items) as aggregate, (Tree(SetOp(SetOpKind.UNION, True) as union, branches),)):
                if (aggregate.used_columns() | column_set(item.id for item in items)) & context.columns.derived_ids:
                    return ()  # a final or a partial step
                mapped = [dict(zip(union.columns, source, strict=True)) for source in union.sources]
                below = [tuple(dict.fromkeys(to[key] for key in keys)) for to in mapped]
                if all(b.props.unique_on(column_set(own)) for b, own in zip(branches, below, strict=True)):
                    return ()
                steps = TwoSteps(keys, (keys, column_set(union.columns)), context)
                if any(may_overflow(item.call) for item in items) or not all(steps.add(item) for item in items):
                    return ()
                parts, sources = [], []
                for branch, to, own in zip(branches, mapped, below, strict=True):
                    partials: dict[AggregateItem, None] = {}
                    source = [to[key] for key in keys]
                    for item in steps.partials.values():
                        partial = partial_item(_renamed(item.call, to, context), (own, branch.columns), context)
                        partials[partial] = None
                        source.append(partial.id)
                    parts.append(Tree(Aggregate(own, tuple(partials)), (branch,)))
                    sources.append(tuple(source))
                united = SetOp(SetOpKind.UNION, True, (*keys, *steps.partials), tuple(sources))
                return (steps.upper(Tree(united, tuple(parts))),)
        return ()


def _renamed(call: AggregateCall, to: dict[ColumnId, ColumnId], context: RuleContext) -> AggregateCall:
    """The call over a branch's columns."""
    values: dict[ColumnId, Scalar] = {out: reference(id, context.columns) for out, id in to.items()}
    renamed = substitute(call, values)
    assert isinstance(renamed, AggregateCall)
    return renamed
