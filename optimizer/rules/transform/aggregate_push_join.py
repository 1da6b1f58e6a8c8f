"""An aggregate moves below a join that keeps its groups whole.

    γK;f(A ⋈p B)  ≡  πK,f(γK⁺;f(A) ⋈p B)        f over A; K⁺ = the columns of A in K and p

K fixes K⁺ and a key of B (often through p: then each row of A has at most one partner): so a group above is one group below
with one of its partners, and no partial aggregates are needed (invariant grouping).

Kinds   inner; left, where p or K itself fixes the key of B; semi and anti, whatever the number of partners. A is the left
        input, join_commute gives the mirror images
NULLs   safe: grouping takes NULL for a value; a group without a partner is dropped, or extended, as all its rows were
Rows    one row a group on both sides
Guards  K⁺ and K not empty, else a row would appear over no input; K fixes K⁺ by equalities of p and keys of the inputs, in
        other joins than inner by keys of A alone; A not unique on K⁺, else nothing is grouped; f reads A only, is not volatile,
        cannot raise (it sees rows that the join removes); p not volatile, reads no float of A; few relations
        (join_views): the search grows with the number of places for the aggregate
Source  Yan and Larson, Performing Group-By before Join, ICDE 1994 (invariant grouping: Chaudhuri and Shim, VLDB 1994)
"""

from collections.abc import Sequence

from optimizer.algebra.building import passed
from optimizer.algebra.columns import ColumnId, column_set
from optimizer.algebra.derive_props import matching_props
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Project, ProjectItem
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RuleContext, TransformationRule, node
from optimizer.rules.transform.grouping_below_join import (
    VIEWED,
    JoinView,
    determined_in_pairs,
    join_views,
    lower_keys,
    may_see_more_rows,
)
from optimizer.rules.transform.partial_aggregates import partial_item


class AggregatePushJoin(TransformationRule):
    name = "aggregate_push_join"
    pattern = node(Aggregate, node(VIEWED))
    expands = "never"  # join graphs are looked into as they are

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Aggregate(_, items) as aggregate, (below,)) if may_see_more_rows(items):
                found = []
                for view in join_views(below, context):
                    if any(item.call.columns & ~view.a.columns for item in items):
                        continue
                    keys = lower_keys(view.join, aggregate.keys, view.a, context)
                    if keys and not view.a.props.unique_on(column_set(keys)) and keeps_groups(aggregate, view, keys):
                        found.append(_pushed(aggregate, view, keys, context))
                return found
        return ()


def keeps_groups(aggregate: Aggregate, view: JoinView, keys: tuple[ColumnId, ...]) -> bool:
    """Whether the groups of `aggregate` above the join are those of `a` by `keys`, each with one partner of `b`, or none."""
    if not aggregate.keys:
        return False
    kind, a, b = view.join.kind, view.a.props, view.b.props
    known, fixed = column_set(aggregate.keys), column_set(keys)
    if kind.left_only:
        return not fixed & ~a.closure(known)
    pairs = matching_props(view.join.predicate, a, b)
    if kind is JoinKind.INNER:
        known = determined_in_pairs(pairs, a, b, known)
        return not fixed & ~known and any(not key & ~known for key in b.keys)
    if fixed & ~a.closure(known & a.columns):
        return False
    return pairs.unique_on(a.columns, b.keys) or any(not key & ~known for key in b.keys)


def _pushed(aggregate: Aggregate, view: JoinView, keys: tuple[ColumnId, ...], context: RuleContext) -> Tree:
    """The aggregate below the join, under a projection to the columns of the one above.

    An inner join stays in a group of its own, whatever its columns, since a group of inner joins is known by the relations it
    joins. Below the projection the aggregate has columns of its own, as the same aggregate has when another rule makes it.
    """
    items = aggregate.aggregates
    if view.join.kind is not JoinKind.INNER:
        whole = view.over(Tree(Aggregate(keys, items), (view.a,)))
        if column_set((*aggregate.keys, *(item.id for item in items))) == whole.columns:
            return whole
    below = {item.id: partial_item(item.call, (keys, view.a.columns), context) for item in items}
    joined = view.over(Tree(Aggregate(keys, tuple(dict.fromkeys(below.values()))), (view.a,)))
    results = (ProjectItem(item.id, ColumnRef(below[item.id].id, item.call.type)) for item in items)
    return Tree(Project((*passed(aggregate.keys, context.columns), *results)), (joined,))
