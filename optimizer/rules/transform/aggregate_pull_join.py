"""An aggregate moves above a join (lazy aggregation).

    γG;f(A) ⋈p B  ≡  γG∪B;f(A ⋈p B)        p reads G and B only

The join first: it may leave few rows to aggregate, and A's own joins can be reordered with it.

Kinds   inner and left: B has a key, so a group above is one row of the aggregate with one partner, or without one. Semi and
        anti: γG;f(A ⋉p B), B needs no key. The aggregate is the left input, join_commute gives the mirror images
NULLs   safe: grouping takes NULL for a value; a row of B that is all NULL cannot be taken for a missing partner, since a group
        has partners or has none
Rows    one row for each pair of group and partner on both sides
Guards  G not empty, else a group without rows would be lost; p reads no aggregate and is not volatile, nor is f; no column of
        B, nor of G that p reads, is a float (grouping takes -0.0 for 0.0); not an aggregate that another
        rule has pushed down; at most MOST_RELATIONS relations
Source  Yan and Larson, Eager Aggregation and Lazy Aggregation, VLDB 1995
"""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.columns import column_ids, column_set
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Join, LogicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate, combined, predicate_columns
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node, node_over_some
from optimizer.rules.transform.grouping_below_join import BY_RULES, KEPT_LEFT, MOST_RELATIONS, one_value, relations


class AggregatePullJoin(TransformationRule):
    name = "aggregate_pull_join"
    pattern = node(Join, node(Aggregate, ANY), ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(kind, predicate) as join, (Tree(Aggregate() as aggregate, (a,)), b)) if kind in KEPT_LEFT:
                graphs = context.settings.enumeration not in BY_RULES and not any(s.raises for s in predicate)
                if kind is JoinKind.INNER and graphs:
                    return ()
                beside = LogicalProps(0, 0, (0,)) if kind.left_only else b.props
                if relations(a.columns | b.columns, context) <= MOST_RELATIONS and _may_join_first(aggregate, a, predicate, beside, context):
                    return (Tree(_widened(aggregate, beside), (Tree(join, (a, b)),)),)
        return ()
