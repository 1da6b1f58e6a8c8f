"""Eager aggregation: part of an aggregate is computed below a join, the rest above it.

    γK;f(A ⋈p B)  ≡  γK;f″(γK⁺;f′(A) ⋈p B)        K⁺ = the columns of A in K and p

f′ holds the partial aggregates of A's columns (eager group-by) and, where an aggregate of B's columns or count(*) needs it,
the number of A's rows in each group (eager count); f″ adds partial results up and multiplies values of B by that number.
A DISTINCT becomes one below and one above.

Kinds   inner, of two or of many (JoinGraph: A is some of its relations); left, semi and anti with A on the left: rows of A
        that agree on K⁺ have the same partners, or none. The NULL-extended side is left to aggregate_push_outer_join
NULLs   safe: grouping takes NULL for a value, so rows of one group are alike to p too; sums and extremes pass over NULL on
        both steps; a count over no rows stays 0
Rows    the same groups: each holds what its partial groups hold together, so it is empty only if all of them are
Guards  K⁺ not empty, else a row would appear over no input; A not unique on K⁺, else nothing is grouped; no DISTINCT
        aggregate; an aggregate reads one side only; nothing volatile; what reads A cannot raise (it sees rows that the join
        removes); p reads no float of A; no exact push down is possible (aggregate_push_join); partial results are not
        split again; few relations (join_views): the search grows with the number of places for the partial step; by the
        estimates the partial step leaves no more of A's rows than the setting split_share
Source  Yan and Larson, Eager Aggregation and Lazy Aggregation, VLDB 1995; Eich, Fender and Moerkotte, Efficient
        Generation of Query Plans Containing Group-By, Join, and Groupjoin, VLDB Journal 2018
"""

from collections.abc import Sequence

from optimizer.algebra.columns import column_set
from optimizer.algebra.logical import Aggregate
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import RuleContext, TransformationRule, node
from optimizer.rules.transform.aggregate_push_join import keeps_groups
from optimizer.rules.transform.grouping_below_join import VIEWED, join_views, lower_keys, may_see_more_rows
from optimizer.rules.transform.partial_aggregates import TwoSteps


class AggregateSplitJoin(TransformationRule):
    name = "aggregate_split_join"
    pattern = node(Aggregate, node(VIEWED))
    expands = "never"  # join graphs are looked into as they are

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Aggregate() as aggregate, (below,)):
                if (below.columns | column_set(item.id for item in aggregate.aggregates)) & context.columns.derived_ids:
                    return ()
                found = []
                grouped_share = context.grouped_share if context.settings.split_share < 1.0 else None
                for view in join_views(below, context):
                    keys = lower_keys(view.join, aggregate.keys, view.a, context)
                    if not keys or view.a.props.unique_on(column_set(keys)) or keeps_groups(aggregate, view, keys):
                        continue
                    if grouped_share is not None and grouped_share(view.a, column_set(keys)) > context.settings.split_share:
                        continue
                    steps = split(aggregate, keys, view.a, context)
                    if steps is not None:
                        found.append(steps.upper(view.over(Tree(steps.lower(keys), (view.a,)))))
                return found
        return ()


def split(aggregate: Aggregate, keys: tuple[int, ...], a: Node, context: RuleContext) -> TwoSteps | None:
    """The aggregate in two steps, the partial one over `a` by `keys`; None where that is not possible."""
    steps = TwoSteps(aggregate.keys, (keys, a.columns), context)
    for item in aggregate.aggregates:
        if not item.call.columns & ~a.columns:
            if not may_see_more_rows((item,)) or not steps.add(item):
                return None
        elif item.call.columns & a.columns or not steps.add_beside(item):
            return None
    return steps
