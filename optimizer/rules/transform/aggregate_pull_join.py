"""An aggregate moves above a join (lazy aggregation).

    γG;f(A) ⋈p B  ≡  γG∪B;f(A ⋈p B)                  p reads G and B only
    γG;f(A) ⋈p∧q B  ≡  σq(γG∪B;f(A ⋈p B))            q reads f, too; inner joins

The join first: it may leave few rows to aggregate, and A's own joins can be reordered with it.

Kinds   inner and left: B has a key, so a group above is one row of the aggregate with one partner, or without one. Semi and
        anti: γG;f(A ⋉p B), B needs no key. The aggregate is the left input, join_commute or partition_joins give the
        mirror images; inner joins of many relations are seen where a join graph is small enough to be expanded
NULLs   safe: grouping takes NULL for a value; a row of B that is all NULL cannot be taken for a missing partner, since a group
        has partners or has none
Rows    one row for each pair of group and partner on both sides
Guards  G not empty, else a group without rows would be lost; f not empty: duplicates are best removed first; p, q and f are
        not volatile; where there is a q, p does not raise, as q had sheltered it, nor is it TRUE; no column of B, nor of G that
        p reads, is a float (grouping takes -0.0 for 0.0); not an aggregate that another rule has pushed down; at most
        expand_joins relations
Source  Yan and Larson, Eager Aggregation and Lazy Aggregation, VLDB 1995
"""

from collections.abc import Sequence

from optimizer.algebra.building import filtered
from optimizer.algebra.columns import ColumnSet, column_ids, column_set
from optimizer.algebra.congruence import has_one_form
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node, of_kinds
from optimizer.rules.transform.grouping_below_join import KEPT_LEFT


class AggregatePullJoin(TransformationRule):
    name = "aggregate_pull_join"
    pattern = node(Join, node(Aggregate, ANY), ANY, where=of_kinds(*KEPT_LEFT))
    expands = "small"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(kind, predicate) as join, (Tree(Aggregate() as aggregate, (a,)), b)) if kind in KEPT_LEFT:
                if (a.relations | b.relations).bit_count() > context.settings.expand_joins:
                    return ()
                beside = 0 if kind.left_only else b.columns
                above = tuple(s for s in predicate if s.columns & results(aggregate)) if kind is JoinKind.INNER else ()
                here = tuple(s for s in predicate if s not in above)
                if above and (not here or any(s.volatile or s.raises for s in predicate)):
                    return ()
                if (not beside or b.props.keys) and may_join_first(aggregate, a, here, beside, context):
                    wider = tuple(column_ids(column_set(aggregate.keys) | beside))
                    joined = Tree(join.with_predicate(here), (a, b))
                    return (filtered(above, Tree(Aggregate(wider, aggregate.aggregates), (joined,))),)
        return ()


def results(aggregate: Aggregate) -> ColumnSet:
    return column_set(item.id for item in aggregate.aggregates)


def may_be_pulled(aggregate: Aggregate, context: RuleContext) -> bool:
    """Whether there are joins below which `aggregate` need not stay."""
    if not aggregate.keys or not aggregate.aggregates or any(item.call.volatile for item in aggregate.aggregates):
        return False
    return not (results(aggregate) | column_set(aggregate.keys)) & context.columns.derived_ids


def may_join_first(aggregate: Aggregate, a: Node, predicate: Predicate, beside: ColumnSet, context: RuleContext) -> bool:
    """Whether `aggregate` over `a` may be computed after a join on `predicate` that brings the columns `beside`."""
    read = predicate_columns(predicate)
    if not may_be_pulled(aggregate, context) or any(s.volatile for s in predicate) or read & results(aggregate):
        return False
    return all(has_one_form(context.columns[id].type) for id in column_ids(beside | read & a.columns))
