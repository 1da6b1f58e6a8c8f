"""An aggregate of the NULL-extended side moves below a left join.

    γK;f(A ⟕p B)  ≡  πK,f̄(A ⟕p γK⁺;f(B))        f over B; K⁺ = the columns of B that p reads

K holds a key of A, so a group above is a row of A with its partners; p binds K⁺ to columns of A, so these are one group of
B, or none. f̄ is f, with the value over one NULL-extended row where a row of A has no partner: count(*) is 1, another count 0.

Kinds   left; join_commute brings a right join into this form
NULLs   sums, means and extremes of no partner are NULL on both sides; a predicate over NULL in K⁺ is never TRUE, so the
        group of NULL has no partner, as its rows had none
Rows    one row for each row of A on both sides
Guards  K lies in A and holds a key of it; K not empty, else the aggregate has a row where A, of one row at most, has none; p
        fixes K⁺ by A, K⁺ not empty; B not unique on K⁺, else nothing is grouped; f reads B only, through an expression that is
        NULL when B is, or is a count(*) without FILTER; it is not volatile and cannot raise (it sees rows without a partner);
        p not volatile, reads no float of B; at most expand_joins relations
Source  Galindo-Legaria and Joshi, Orthogonal Optimization of Subqueries and Aggregation, SIGMOD 2001 (§3.2)
"""

from collections.abc import Sequence

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.building import passed
from optimizer.algebra.columns import ColumnId, ColumnSet, column_set
from optimizer.algebra.derive_props import matching_props
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, AggregateItem, Project, ProjectItem
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.nulls import strict_columns
from optimizer.algebra.scalars import AggregateCall, Call, ColumnRef, Literal, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.types import INT64
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node, of_kinds
from optimizer.rules.transform.grouping_below_join import lower_keys, may_see_more_rows
from optimizer.rules.transform.partial_aggregates import partial_item


class AggregatePushOuterJoin(TransformationRule):
    name = "aggregate_push_outer_join"
    pattern = node(Aggregate, node(Join, ANY, ANY, where=of_kinds(JoinKind.LEFT)))
    expands = "never"  # no inner join is looked for

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Aggregate(keys, items) as aggregate, (Tree(Join(JoinKind.LEFT, predicate) as join, (a, b)),)):
                known = column_set(keys)
                if not keys or known & ~a.columns or not a.props.unique_on(known) or not may_see_more_rows(items):
                    return ()
                if (a.relations | b.relations).bit_count() > context.settings.expand_joins:
                    return ()
                if any(not missing_partner_is_null(item.call, b.columns) for item in items):
                    return ()
                lower = lower_keys(join, (), b, context)
                if not lower or b.props.unique_on(column_set(lower)):
                    return ()
                if column_set(lower) & ~matching_props(predicate, a.props, b.props).closure(a.columns):
                    return ()
                return (self._pushed(aggregate, join, lower, a, b, context),)
        return ()

    def _pushed(
        self, aggregate: Aggregate, join: Join, lower: tuple[ColumnId, ...], a: Node, b: Node, context: RuleContext
    ) -> Tree:
        inner: dict[AggregateItem, None] = {}
        results = []
        for item in aggregate.aggregates:
            partial = partial_item(item.call, (lower, b.columns), context)
            inner[partial] = None
            value: Scalar = ColumnRef(partial.id, item.call.type)
            if item.call.function == "count":
                value = Call("coalesce", (value, Literal(0 if item.call.args else 1, INT64)), INT64)
            results.append(ProjectItem(item.id, value))
        joined = Tree(join, (a, Tree(Aggregate(lower, tuple(inner)), (b,))))
        return Tree(Project((*passed(aggregate.keys, context.columns), *results)), (joined,))


def missing_partner_is_null(call: AggregateCall, columns: ColumnSet) -> bool:
    """Whether the aggregate reads `columns` only, and over one row with NULL in all of them is NULL, or a count that is known."""
    if call.columns & ~columns:
        return False
    if not call.args:
        return call.filter is None
    if call.function != "count" and AGGREGATE_FUNCTIONS[call.function].empty_value is not None:
        return False
    return bool(strict_columns(call.args[0]))
